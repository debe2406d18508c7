"""The stable rank of a Gaussian matrix: where every run of the experiments starts."""

import numpy as np

TW_MEAN, TW_STD = -1.2065336, 1.2680340  # Tracy and Widom's law of order 1


def gaussian_rank(m: int, d: int) -> tuple[float, float]:
    r"""Mean and standard deviation of |W|_F^2/|W|_2^2 for an m x d matrix with independent N(0, s^2) entries.

    To leading order md/(sqrt m + sqrt d)^2, the handbook's value. Here with Johnstone's next term,
    |W|_2^2/s^2 = (sqrt(m-1) + sqrt d)^2 + (sqrt(m-1) + sqrt d)(1/sqrt(m-1) + 1/sqrt d)^{1/3} TW_1, which matters at the
    1 % that five runs can tell; |W|_F^2 = md s^2 is steadier by far.
    """
    root = np.sqrt(m - 1.0), np.sqrt(d)
    centre, width = sum(root) ** 2, sum(root) * (1.0 / root[0] + 1.0 / root[1]) ** (1.0 / 3.0)
    top, spread = centre + TW_MEAN * width, TW_STD * width
    return m * d / top, m * d / top * np.hypot(spread / top, np.sqrt(2.0 / (m * d)))
