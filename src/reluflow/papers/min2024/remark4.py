"""Remark 4 of [MMV24]: the square loss meets Lemma 2's condition, so the early phase is the same."""

from reluflow.claim import Report
from reluflow.papers.min2024.lemma2 import worst_ratio

needs = "nothing"


def check() -> Report:
    r"""Claim: $|-\nabla_{\hat y}\ell - y| = |\hat y| \le 2|\hat y|$ for $\ell = \frac12(y - \hat y)^2$, $y = \pm 1$.

    The standard runs include a square-loss run on which Lemmas 1, 3, 4 and 10 are judged.
    """
    return Report("min2024.remark4", [worst_ratio("square (1/2)(f-y)^2")])
