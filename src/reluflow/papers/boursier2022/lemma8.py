"""Lemma 8 of [BPF22]: by t_{-1} the neurons of S_{-,1} point along -D- and have let go of the positive labels."""

from reluflow.claim import Report
from reluflow.papers.boursier2022 import _alignment, _scale
from reluflow.papers.boursier2022._constants import hypotheses
from reluflow.papers.boursier2022._track import track as run_of

needs = "flow"
forms = ("corrected", "printed")


def check(sol, form="corrected", epsilon=None) -> Report:
    r"""Claim: at $t_{-1} = \varepsilon\ell/|D_-|$, (i) all $|w_j| \le 2c\lambda^{1-r\varepsilon}$; (ii) on $S_{-,1}$
    $\langle W_j, -D_-\rangle \ge (1 - 2\lambda^\varepsilon)|D_-|$; (iii) there $\langle w_j, x_k\rangle \le 0$ for $y_k
    > 0$.

    As Lemma 7, with "= 0" in print (E3); slack as there.
    """
    track = run_of(sol, epsilon)
    const = track.const
    return Report(
        name="boursier2022.lemma8",
        hypotheses=[*hypotheses(const), _scale.small_enough(const, _scale.PHASE_1)],
        claims=_alignment.claims(track, const.S_minus, const.minus, const.t_minus, const.r * const.epsilon, form),
        constants={**const.numbers(), "t_{-1}": const.t_minus},
        form=form,
        until=const.t_minus,
    )
