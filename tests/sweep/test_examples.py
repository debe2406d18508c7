"""The four sweeps under examples/, made small: what they are there to show can be seen, and drawn."""

from pathlib import Path

import numpy as np
import pytest

import reluflow as rf
from reluflow.plot import picture
from reluflow.sweep import sweep

EXAMPLES = Path(__file__).parents[2] / "examples"


def small(name: str, **fewer):
    """The sweep of a file with some of its lists cut, and its picture drawn to bytes."""
    import io

    experiment = rf.Experiment.from_toml(EXAMPLES / f"sweep_{name}.toml")
    over = experiment["sweep.over"] | {k.replace("__", "."): v for k, v in fewer.items()}
    assert all(set(v) <= set(experiment["sweep.over"][k]) for k, v in over.items())
    ds = sweep(experiment, over, workers=0)
    assert not ds["failed"].any(), set(ds["reason"].values.ravel().tolist())
    buffer = io.BytesIO()
    picture(ds, title=name).savefig(buffer, dpi=40)
    assert buffer.getvalue()[:4] == b"\x89PNG"
    return ds


def test_every_sweep_file_is_tested_here():
    assert {p.stem for p in EXAMPLES.glob("sweep_*.toml")} == {
        f"sweep_{n}" for n in ("phase", "alignment", "exit", "gap")
    }


def test_weights_move_more_from_smaller_starts_and_the_border_follows_scale_squared_times_width():
    scales, widths = [-4.0, -3.5, -3.0, -2.5, -2.0, -1.5, -1.0], [4, 16, 64]
    ds = small("phase", init__log_scale=scales, init__width=widths)
    moved = np.median(ds["final.log_moved"].values, axis=-1)
    border = [np.interp(0.0, -moved[:, k], scales) for k in range(3)]
    # log s = c - log(width)/2 over a factor 16 of width; three seeds scatter each border by a few tenths.
    assert np.polyfit(np.log(widths), border, 1)[0] == pytest.approx(-0.5, abs=0.2)
    assert np.all(moved[0] > 0) and np.all(moved[-1] < 0)


def test_alignment_takes_the_logarithm_of_one_over_mu():
    deltas = [1e-5, 1e-4, 1e-3]
    ds = small("alignment", data__delta=deltas, init__seed=[0, 1, 2, 3, 4])
    slopes = np.polyfit(np.log(np.sin(deltas)), ds["time.aligned"].values, 1)[0]
    # The last neuron takes log(cot(delta/2)) and a time that depends on where it starts, and on delta to first order:
    # 1e-3 at most, over log(100) = 4.6; a factor ten of room. (Rarely the last neuron starts between the two
    # hyperplanes: the median of five seeds does not see it.)
    assert np.median(slopes) == pytest.approx(-1.0, abs=10 * 1e-3 / np.log(100))


def test_saddles_are_left_at_log_one_over_scale_over_the_pull():
    scales = [-40.0, -80.0, -120.0]
    ds = small("exit", init__log_scale=scales, init__seed=[0, 1])
    for k, pull in enumerate([np.sqrt(5) / 2, np.sqrt(5) / 4]):
        t = ds[f"phases.growth.{k}.half"].values
        slope = np.polyfit(-np.array(scales), t, 1)[0]
        # The prediction is the leading order; the next, a constant, has no slope, and phases are told to about 1%.
        np.testing.assert_allclose(slope, 1 / pull, rtol=0.02)


def test_descent_strays_in_proportion_to_its_step():
    ds = small("gap", method__step=[5e-3, 1e-2, 2e-2], init__seed=[0, 1])
    gap = ds["compare.gap"].values
    # Half the step, half the gap, up to terms of second order: a few steps' worth.
    np.testing.assert_allclose(gap[1:] / gap[:-1], 2.0, rtol=0.1)
