"""Lemma 7 of [BPF22]: by t_{+1} the neurons of S_{+,1} point along D+ and have let go of the negative labels."""

from reluflow.claim import Report
from reluflow.papers.boursier2022 import _alignment, _scale
from reluflow.papers.boursier2022._constants import hypotheses
from reluflow.papers.boursier2022._track import track as run_of

needs = "flow"
forms = ("corrected", "printed")


def check(sol, form="corrected", epsilon=None) -> Report:
    r"""Claim: at $t_{+1} = \varepsilon\ell/|D_+|$, (i) all $|w_j| \le 2c\lambda^{1-\varepsilon}$; (ii) on $S_{+,1}$
    $\langle W_j, D_+\rangle \ge (1 - 2\lambda^\varepsilon)|D_+|$; (iii) there $\langle w_j, x_k\rangle \le 0$ for $y_k
    < 0$.

    (iii) is printed with "= 0" (E3). (iii) needs the last crossing to be over, condition C5: it fails on random data at
    1e-6 and 1e-20. Also the proof's bounds on the outputs and $\langle W_j, D_+\rangle \ge a \tanh(a t)$. Slack: a
    direction is good to 100 rtol, a misalignment to its square.
    """
    track = run_of(sol, epsilon)
    const = track.const
    return Report(
        name="boursier2022.lemma7",
        hypotheses=[*hypotheses(const), _scale.small_enough(const, _scale.PHASE_1)],
        claims=_alignment.claims(track, const.S_plus, const.plus, const.t_plus, const.epsilon, form),
        constants={**const.numbers(), "t_{+1}": const.t_plus},
        form=form,
        until=const.t_plus,
    )
