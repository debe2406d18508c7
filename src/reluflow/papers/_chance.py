"""Probabilities by counting draws, with the exact confidence interval of Clopper and Pearson."""

from reluflow.claim import Claim

LEVEL = 0.999


def interval(hits: int, draws: int, level: float = LEVEL) -> tuple[float, float]:
    """The confidence interval of a probability that came true `hits` times in `draws`, whatever the probability is."""
    from scipy.stats import beta

    tail = (1.0 - level) / 2
    low = float(beta.ppf(tail, hits, draws - hits + 1)) if hits else 0.0
    high = float(beta.isf(tail, hits + 1, draws - hits)) if hits < draws else 1.0
    return low, high


def counted(text: str, hits: int, draws: int, relation: str, p: float, level: float = LEVEL) -> Claim:
    """A claim about a probability: violated where no value of the interval satisfies it. The interval is noted."""
    share, (low, high) = hits / draws, interval(hits, draws, level)
    slack = high - share if (relation in (">", ">=") or (relation == "=" and p > share)) else share - low
    note = f"{hits} of {draws}, {100 * level:.7g}% interval [{low:.4g}, {high:.4g}]"
    return Claim(text, share, relation, p, slack=slack, note=note)
