"""What the page is sent: numbers of the run itself, frames close together, time that never stands still."""

import numpy as np
import pytest

import reluflow as rf
from reluflow.explorer import encoding, frames, request
from reluflow.explorer.presets import PRESETS

TABLES = {p["name"]: p["experiment"] for p in PRESETS}


def solved(name, **init):
    tables = TABLES[name] | {"init": TABLES[name]["init"] | init}
    return request.experiment(tables).run()


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
    header, arrays = frames.picture(request.experiment(tables).run())
    assert arrays["log_t"][-1] == pytest.approx(2000.0) and arrays["t"][-1] > 1e308
    encoding.encode(header, arrays)  # no infinity in the header


def test_what_is_sent_comes_back_the_same():
    header, arrays = frames.picture(solved("two_points", width=5))
    again, same = encoding.decode(encoding.encode(header, arrays))
    assert again == header and set(same) == set(arrays)
    for name, value in arrays.items():
        np.testing.assert_array_equal(same[name], value)
        assert same[name].dtype == value.dtype
    with pytest.raises(ValueError, match="RFX1"):
        encoding.decode(b"GIF89a" + bytes(50))


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


@pytest.mark.parametrize("name", ["five_points", "orthogonal", "random", "three_classes", "nearly_orthogonal"])
def test_the_bits_of_a_picture_are_those_of_the_run(name):
    sol = solved(name, width=12)
    seen, slope = sol.frames, sol.problem.activation.slope
    wanted = np.where(seen.sliding, frames.SLIDING, seen.bits > slope)
    np.testing.assert_array_equal(frames.States(sol.frames).bits, wanted)


@pytest.mark.parametrize("slope", [0.0, 0.3, 1.0])
def test_the_bits_of_rows_on_both_sides_of_a_surface_are_read_from_codes(slope):
    data = rf.Data([[1.0, 0.5], [-2.0, -1.0], [0.3, 1.0], [0.0, 0.0]], [1.0, 0.5, -0.7, 0.0])
    init = rf.init.balanced(12, 2, log_scale=-3.0, seed=0)
    seen = rf.solve(rf.Problem(data, init, activation=rf.LeakyReLU(slope)), rf.Flow(1e-6), t1=20.0).frames
    still = ~seen.sliding
    # On the far side a bit is 1 + slope - 1, which rounds to more than the slope.
    np.testing.assert_array_equal(seen.active[still], (seen.bits > slope + 1e-12)[still])


def test_stable_ranks_are_those_of_the_singular_values():
    s = frames.States(solved("random", width=12).frames)
    found = frames.ranks(s)
    for k in (0, len(s) // 2, len(s) - 1):
        w = s.unit[k] * np.exp(s.log_w[k] - np.max(s.log_w[k]))[:, None]
        for column, mine in enumerate((s.sign[k] != 0, s.sign[k] > 0, s.sign[k] < 0)):
            values = np.linalg.svd(w[mine], compute_uv=False)
            np.testing.assert_allclose(found[k, column], np.sum(values**2) / values[0] ** 2, rtol=1e-6)


def test_a_draft_is_a_smaller_picture_of_the_same_run():
    whole, _ = frames.picture(request.experiment(TABLES["five_points"]).run())
    draft, arrays = frames.picture(request.experiment(TABLES["five_points"], draft=True).run(), draft=True)
    assert draft["frames"] < whole["frames"] and draft["steps"] <= request.DRAFT_STEPS
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


@pytest.mark.parametrize("name", ["two_points", "toy_plane"])
def test_an_end_time_found_by_the_server_is_that_of_the_same_tables_written_out(name):
    found = request.experiment(TABLES[name], draft=True)
    assert rf.Experiment.from_dict(found.to_dict()) == found  # every table is complete and valid
    assert found.problem() is found.problem() and found.data is found.problem().data


def test_a_draft_takes_no_implicit_steps_of_a_loss_with_a_tail():
    from reluflow.explorer.scheduler import CancellableLimits, Scheduler

    tables = TABLES["random"] | {"init": TABLES["random"]["init"] | {"log_scale": -866.0}}
    found, ticket = request.experiment(tables, draft=True), Scheduler().ticket("p", 0)
    runs = [found.run(limits=CancellableLimits(ticket, request.DRAFT_STEPS, draft)) for draft in (True, False)]
    stiff = [sol.stats.regimes["stiff"] for sol in runs]
    assert stiff[0] == 0 < stiff[1]
    at = 0.99 * min(sol.t_end for sol in runs)
    np.testing.assert_allclose(runs[0].outputs_at(at), runs[1].outputs_at(at), rtol=1e-3)


def test_a_draft_is_not_followed_a_second_time(monkeypatch):
    sol = request.experiment(TABLES["two_points"], draft=True).run()
    monkeypatch.setattr(type(sol), "moments", None)  # states between the run's own frames
    header, arrays = frames.picture(sol, draft=True)
    assert header["frames"] == len(sol.log_t) <= frames.DRAFT_FRAMES
    np.testing.assert_allclose(arrays["log_loss"], sol.log_loss, rtol=1e-12)


@pytest.mark.parametrize("step", [0.01, 0.05])
def test_frames_of_a_descent_are_close_together_where_it_turns(step):
    tables = TABLES["toy_plane"] | {"method": {"kind": "descent", "step": step}, "solve": {"t1": 2000.0}}
    sol = request.experiment(tables).run()
    header, arrays = frames.picture(sol)
    turn = np.arccos(np.clip(np.sum(arrays["dir"][:-1] * arrays["dir"][1:], axis=-1), -1, 1))
    # Alignment takes 30 of 2000 units of time: frames even in t would turn by 60 degrees and more between two of them.
    assert np.quantile(np.max(turn, axis=1), 0.9) < np.deg2rad(12)
    assert np.max(np.diff(arrays["event"])) < 0.05
    iterations = arrays["t"] / step
    np.testing.assert_allclose(iterations, np.rint(iterations), atol=1e-6)
    for k in np.linspace(0, header["frames"] - 1, 7).astype(int):
        np.testing.assert_allclose(arrays["log_loss"][k], sol.log_loss_at(arrays["t"][k]), rtol=1e-10, atol=1e-12)


def test_stable_ranks_and_margins_are_those_of_the_library():
    for name in ("toy_plane", "two_points"):
        sol = solved(name, width=12)
        _, arrays = frames.picture(sol)
        at = np.linspace(1, len(arrays["t"]) - 1, 6).astype(int)
        t = arrays["t"][at]
        for column, group in enumerate((None, "+", "-")):
            np.testing.assert_allclose(arrays["rank"][at, column], rf.observe.stable_rank(sol, group, t=t), rtol=1e-5)
        if name == "toy_plane":
            least = np.min(arrays["margin"][at], axis=1)
            np.testing.assert_allclose(least, rf.observe.normalised_margin(sol, t=t), rtol=1e-4, atol=1e-6)


def test_a_compact_run_is_the_same_to_its_rounding():
    header, arrays = frames.picture(solved("two_points", width=5))
    raw = encoding.compact(header, arrays)
    again, same = encoding.decode(raw)
    assert again == header and len(raw) < 0.5 * len(encoding.encode(header, arrays))
    for name, value in arrays.items():
        np.testing.assert_allclose(same[name], value, rtol=1e-6, atol=2e-5 if name in encoding.ROUNDED else 1e-37)


def test_no_line_of_the_page_is_longer_than_140_columns():
    from reluflow.explorer.app import assets

    files = {name: raw.decode() for name, raw in assets().items() if name.endswith((".js", ".css", ".html"))}
    long = [
        f"{name}:{k}" for name, text in files.items() for k, line in enumerate(text.split("\n"), 1) if len(line) > 140
    ]
    assert len(files) > 20 and long == []
