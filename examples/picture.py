"""Two pictures in the project's palette: how neurons grow, and the function they end at."""

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import reluflow as rf

problem = rf.Problem(rf.data.five_points(), rf.init.balanced(width=60, dim=2, log_scale=-11.26, seed=0))
sol = rf.solve(problem, t1=600.0)

with rf.plot.style():
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    rf.plot.norms(left, sol)
    left.set(title="Growth", xlabel="time", ylabel="log of each neuron's norm")
    rf.plot.function(right, problem.data, sol.final, np.linspace(-2.2, 2.7, 400))
    right.set(title="Limit")
    figure.savefig("picture.png", dpi=120)

print("wrote", Path("picture.png").resolve().name)
