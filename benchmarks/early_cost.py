"""Cost of the early phase on the data of Figure 6 of Boursier et al.: against events, and against the scale.

python -m benchmarks.early_cost [PICTURE.png]
"""

import sys
import time

import numpy as np

import reluflow as rf


def timed(data, width, log_scale):
    """(events, seconds) of a run that ends before any neuron has grown; the median of three."""
    problem = rf.Problem(data, rf.init.balanced(width=width, dim=data.d, log_scale=log_scale, seed=0))
    spent = []
    for _ in range(3):
        began = time.perf_counter()
        sol = rf.solve(problem, rf.Flow(rtol=1e-6), t1=abs(log_scale))
        spent.append(time.perf_counter() - began)
    return sol.stats.events, float(np.median(spent))


def main():
    data = rf.data.teacher(75, 150, 6, seed=0)
    timed(data, 10, -46.0)
    by_events = np.array([timed(data, width, -51.0) for width in (25, 50, 100, 200, 400)])
    scales = np.array([-46.0, -460.0, -4600.0, -46000.0])
    by_scale = np.array([timed(data, 200, scale) for scale in scales])
    growth = np.polyfit(np.log(by_events[:, 0]), np.log(by_events[:, 1]), 1)[0]
    flat = np.polyfit(np.log(-scales), np.log(by_scale[:, 1]), 1)[0]
    for events, seconds in by_events:
        print(f"{events:8.0f} events  {seconds:.3f} s")
    for scale, (events, seconds) in zip(scales, by_scale):
        print(f"log scale {scale:8.0f}  {events:6.0f} events  {seconds:.3f} s")
    print(f"exponent {growth:.3f} in events, {flat:.3f} in log(1/scale)")
    if len(sys.argv) > 1:
        picture(by_events, scales, by_scale, growth, flat).savefig(sys.argv[1], dpi=150)


def picture(by_events, scales, by_scale, growth, flat):
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    fig = Figure(figsize=(6.6, 2.6), layout="constrained")
    left, right = fig.subplots(1, 2, sharey=True)
    left.loglog(*by_events.T, "o-", color="#1f2937")
    left.set(xlabel="events", ylabel="seconds")
    left.text(0.05, 0.9, f"exponent {growth:.2f}", transform=left.transAxes)
    right.loglog(-scales, by_scale[:, 1], "o-", color="#d97706")
    right.set(xlabel="log(1/scale)")
    right.text(0.05, 0.9, f"exponent {flat:.2f}", transform=right.transAxes)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
        ax.xaxis.set_minor_formatter(NullFormatter())
    return fig


if __name__ == "__main__":
    main()
