"""What the page is sent: numbers of the run itself, frames close together, time that never stands still."""

import numpy as np
import pytest

import reluflow as rf
from reluflow.explorer import frames, spec, wire
from reluflow.explorer.presets import PRESETS

TABLES = {p["name"]: p["experiment"] for p in PRESETS}


def solved(name, **init):
    tables = TABLES[name] | {"init": TABLES[name]["init"] | init}
    return spec.experiment(tables).run()


@pytest.mark.parametrize("name", ["two_points", "toy_plane", "orthogonal"])
def test_frames_hold_the_numbers_of_the_run(name):
    sol = solved(name, width=12)
    header, arrays = frames.picture(sol)
    for k in np.linspace(0, header["frames"] - 1, 9).astype(int):
        t = arrays["t"][k]
        params = sol.at(t)
        size = np.linalg.norm(params.w, axis=1)
        np.testing.assert_allclose(arrays["log_loss"][k], sol.log_loss_at(t), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(arrays["log_w"][k], params.log_scales[0] + np.log(size), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(arrays["outputs"][k], sol.outputs_at(t), rtol=1e-12, atol=1e-300)
        # Directions are sent as float32.
        flat = (params.w / size[:, None]) @ np.array(header["plane"]).T
        np.testing.assert_allclose(arrays["dir"][k], flat, atol=1e-6)
        slid = sol.sliding_at(t)
        np.testing.assert_array_equal(arrays["bits"][k], np.where(slid, 2, sol.bits_at(t) > 0))


@pytest.mark.parametrize("log_scale", [-14.0, -100000.0])
@pytest.mark.parametrize("name", ["two_points", "five_points", "two_angles"])
def test_no_step_between_frames_is_large_at_any_scale(name, log_scale):
    _, arrays = frames.picture(solved(name, log_scale=log_scale))
    event = arrays["event"]
    assert event[0] == 0 and event[-1] == pytest.approx(1.0) and np.all(np.diff(event) > 0)
    assert np.max(np.diff(event)) < 0.04
    # Neurons turn by small angles from frame to frame, but for the few that swing round at a saddle.
    a, b = arrays["dir"][:-1], arrays["dir"][1:]
    turn = np.arccos(np.clip(np.sum(a * b, axis=-1), -1, 1))
    assert np.quantile(np.max(turn, axis=1), 0.9) < np.deg2rad(12)


def test_every_time_has_a_place_on_the_clock_even_far_beyond_float64():
    tables = TABLES["two_angles"] | {"solve": {"log_t1": 2000.0}}
    header, arrays = frames.picture(spec.experiment(tables).run())
    assert arrays["log_t"][-1] == pytest.approx(2000.0) and arrays["t"][-1] > 1e308
    wire.encode(header, arrays)  # no infinity in the header


def test_what_is_sent_comes_back_the_same():
    header, arrays = frames.picture(solved("two_points", width=5))
    again, same = wire.decode(wire.encode(header, arrays))
    assert again == header and set(same) == set(arrays)
    for name, value in arrays.items():
        np.testing.assert_array_equal(same[name], value)
        assert same[name].dtype == value.dtype
    with pytest.raises(ValueError, match="RFX1"):
        wire.decode(b"GIF89a" + bytes(50))


def test_the_plane_of_higher_dimensions_holds_both_class_sums():
    problem = solved("orthogonal", width=4).problem
    flat = frames.plane(problem)
    np.testing.assert_allclose(flat @ flat.T, np.eye(2), atol=1e-12)
    x, y = problem.data.x, problem.data.y
    for s in (1, -1):
        total = np.sum(np.where(s * y > 0, np.abs(y), 0)[:, None] * x, axis=0)
        assert np.linalg.norm(flat @ total) == pytest.approx(np.linalg.norm(total))


def test_extremal_directions_are_those_of_the_limit():
    problem = solved("two_points").problem
    found = frames.targets(problem)
    wanted = rf.limit(problem).early.targets
    assert [k["neurons"] for k in found] == [len(k.neurons) for k in wanted]
    assert frames.targets(solved("two_points", kind="gaussian").problem) == []


def test_a_draft_is_a_smaller_picture_of_the_same_run():
    whole, _ = frames.picture(spec.experiment(TABLES["five_points"]).run())
    draft, arrays = frames.picture(spec.experiment(TABLES["five_points"], draft=True).run(), draft=True)
    assert draft["frames"] < whole["frames"] and draft["steps"] <= spec.DRAFT_STEPS
    # The story is told: past the last saddle, whose loss is .0318, by a factor of ten.
    assert np.exp(arrays["log_loss"][-1]) < 0.00318


def test_extremal_directions_are_found_once_for_all_scales(monkeypatch):
    from reluflow import _early

    frames._aims.clear()
    found = [frames.targets(solved("five_points", log_scale=scale).problem) for scale in (-10.0, -20.0)]
    assert found[0] is found[1] and len(frames._aims) == 1
    fresh = frames._targets(solved("five_points", log_scale=-20.0).problem)
    assert [k["rate"] for k in fresh] == [k["rate"] for k in found[0]]
    # Anything but the scale is another question.
    for change in ({"seed": 1}, {"width": 9}):
        frames.targets(solved("five_points", **change).problem)
    assert len(frames._aims) == 3

    def never(problem):
        raise RuntimeError("The early phase did not settle.")

    monkeypatch.setattr(_early, "early_phase", never)
    assert frames.targets(solved("five_points", seed=2).problem) == []


def test_a_draft_follows_nothing_twice(monkeypatch):
    sol = spec.experiment(TABLES["two_points"], draft=True).run()
    monkeypatch.setattr(type(sol), "_replay", None)
    header, arrays = frames.picture(sol, draft=True)
    assert header["frames"] == len(sol.log_t) <= frames.DRAFT_FRAMES
    np.testing.assert_allclose(arrays["log_loss"], sol.log_loss, rtol=1e-12)


def test_no_line_of_the_page_is_longer_than_140_columns():
    from reluflow.explorer.app import assets

    files = {name: raw.decode() for name, raw in assets().items() if name.endswith((".js", ".css", ".html"))}
    long = [
        f"{name}:{k}" for name, text in files.items() for k, line in enumerate(text.split("\n"), 1) if len(line) > 140
    ]
    assert len(files) > 20 and long == []
