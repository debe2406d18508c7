"""Conjectures about training on a line, as functions that `rf.falsify` can attack.

reluflow falsify examples/conjectures.py:minimum_norm --space line --set space.log_scale=-100.0
"""

import numpy as np

import reluflow as rf


def fitted(sol):
    """The hypothesis that the run ends at zero loss."""
    return rf.Claim("loss at the end over the start", sol.log_loss[-1] - sol.log_loss[0], "<=", -20.0, log=True)


def ratio(sol):
    """|theta|^2 at the end over the least of a network that fits; balanced, so |theta|^2 = 2 sum |w_j|^2."""
    return 2 * np.sum(np.exp(2 * sol.log_norm[-1])) / rf.bias.min_norm(sol.problem.data).value


def minimum_norm(sol: rf.Solution):
    """From a vanishing scale training ends at the interpolator of least norm."""
    return rf.Report("minimum_norm", [rf.Claim("|theta|^2 over the least", ratio(sol), "<=", 1.01)], [fitted(sol)])


def twice_the_norm(sol: rf.Solution):
    """From a vanishing scale training ends at no more than twice the least norm."""
    return rf.Report("twice_the_norm", [rf.Claim("|theta|^2 over the least", ratio(sol), "<=", 2.0)], [fitted(sol)])


def convex_loss(sol: rf.Solution):
    """The loss is a convex function of log t: no value above the chord of its neighbours, by more than 1%."""
    log_t = np.linspace(np.log(sol.t_end) - 8.0, np.log(sol.t_end), 400)
    loss = sol.loss_at(log_t=log_t) / sol.loss[0]
    above = loss[1:-1] - 0.5 * (loss[:-2] + loss[2:])
    return rf.Claim("L above the chord of its neighbours, of L(0)", float(np.max(above)), "<=", 1e-5)


def kinks(sol: rf.Solution):
    """At the end the function has at most n kinks."""
    found = rf.observe.kink_positions(sol)
    large = found.position.values[np.abs(found.jump.values) > 1e-3 * np.max(np.abs(found.jump.values))]
    count = 1 + np.sum(np.diff(np.sort(large)) > 1e-3) if len(large) else 0
    return rf.Report("kinks", [rf.Claim("kinks at the end", int(count), "<=", sol.problem.data.n)], [fitted(sol)])


if __name__ == "__main__":
    print(rf.falsify(convex_loss, over=rf.space.line(n=2, width=2, log_scale=-20.0), runs=50))
