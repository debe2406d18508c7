"""Closed forms of the orthogonal case (Boursier et al., small scale): crossing times, amplitudes, half-times.
Written for tests alone."""

import numpy as np


def alignment(data, g, s):
    """Crossing times and growth of one neuron w(0) = g with frozen residuals, h = 0: (times, log amplitude, rate,
    members).

    |w(t)| ~ scale * A e^{rate t} once the last crossing is over.
    """
    n = data.n
    nu2 = np.sum(data.x**2, axis=1)
    c = data.x @ g
    active = c > 0
    slope = s * data.y * nu2 / n
    dies = np.where(active & (slope < 0), -c / np.where(slope < 0, slope, -1.0), np.inf)
    w, t, eta = g.copy(), 0.0, 0.0
    crossings = []
    order = np.argsort(dies)
    live = active.copy()
    for k in [*order[np.isfinite(dies[order])], None]:
        D = s * (data.y * live) @ data.x / n
        d = np.linalg.norm(D)
        if k is None:
            break
        p = w @ D / d
        q = np.sqrt(max(w @ w - p * p, 0.0))
        step = dies[k] - eta
        t += (np.arcsinh((p + d * step) / q) - np.arcsinh(p / q)) / d
        w = w + step * D
        eta = dies[k]
        live[k] = False
        crossings.append((t, int(k)))
    if not np.any(live):
        return crossings, -np.inf, 0.0, live
    p = w @ D / d
    return crossings, float(np.log(0.5 * (p + np.linalg.norm(w))) - d * t), float(d), live


def half_times(data, init):
    """(t_+, t_-) when each class is half fitted, handbook 4.3, for one norm per class; and the sizes of the two
    groups."""
    log_scale = init.log_scales[0][0]
    s = np.sign(init.a)
    nu2 = np.sum(data.x**2, axis=1)
    result, groups = [], []
    for sign in (1.0, -1.0):
        cls = data.y * sign > 0
        logs = []
        for j in range(init.width):
            if s[j] != sign or not np.all(init.w[j] @ data.x[cls].T > 0):
                continue
            logs.append(alignment(data, init.w[j], s[j])[1])
        D = np.linalg.norm((data.y * cls) @ data.x) / data.n
        u_inf = np.sqrt(np.sum((data.y[cls] ** 2) / nu2[cls]))
        log_v = np.logaddexp.reduce(2 * np.array(logs))
        result.append((-log_scale + 0.5 * (np.log(u_inf) - log_v)) / D)
        groups.append(len(logs))
    return tuple(result), tuple(groups)
