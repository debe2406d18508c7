"""Which points a sweep has."""

import numpy as np
import pytest

from reluflow.sweep.design import Design


def test_a_grid_has_every_combination_with_the_last_key_fastest():
    grid = Design({"init.log_scale": [-4.0, -8.0], "init.seed": range(3)})
    assert (len(grid), grid.shape, grid.dims) == (6, (2, 3), ("init.log_scale", "init.seed"))
    assert [tuple(grid[k].values()) for k in range(6)] == [(s, k) for s in (-4.0, -8.0) for k in range(3)]


def test_a_list_takes_the_kth_value_of_each():
    rows = Design({"init.width": [4, 8], "solve.t1": [1.0, 2.0]}, "list")
    assert [rows[k] for k in range(2)] == [{"init.width": 4, "solve.t1": 1.0}, {"init.width": 8, "solve.t1": 2.0}]
    assert rows.dims == ("point",)


def test_kinds_come_first_whatever_the_order_they_were_given_in():
    assert list(Design({"method.step": [0.1], "method.kind": ["descent"]})[0]) == ["method.kind", "method.step"]


def test_a_latin_hypercube_has_one_draw_in_every_slice_of_every_range():
    n = 40
    over = {"init.log_scale": [-40.0, -2.0], "init.seed": [0, n - 1], "method.step": ["log", 1e-4, 1e-1]}
    draws = [Design(over, "latin", n, seed=3)[k] for k in range(n)]
    uniform = (np.array([d["init.log_scale"] for d in draws]) + 40.0) / 38.0
    log = np.log(np.array([d["method.step"] for d in draws]) / 1e-4) / np.log(1e3)
    for u in (uniform, log):
        assert sorted(np.floor(u * n).astype(int)) == list(range(n))
    assert sorted(d["init.seed"] for d in draws) == list(range(n))


def test_independent_draws_leave_slices_empty_and_repeat_with_their_seed():
    over = {"init.log_scale": [-40.0, -2.0], "problem.loss": ["square", "logistic", "exponential"]}
    one, same, other = (Design(over, "random", 40, seed=s) for s in (0, 0, 1))
    assert [one[k] for k in range(40)] == [same[k] for k in range(40)]
    assert one[0] != other[0]
    u = (np.array([one[k]["init.log_scale"] for k in range(40)]) + 40.0) / 38.0
    assert np.all((u >= 0) & (u < 1))
    assert len(set(np.floor(u * 40))) < 40  # 40 draws fill all 40 slices with probability 40!/40^40 < 1e-16
    assert {one[k]["problem.loss"] for k in range(40)} == {"square", "logistic", "exponential"}


def test_draws_are_those_of_the_documented_stream():
    rng = np.random.default_rng([7, 4])
    u = rng.random(5)
    drawn = Design({"init.log_scale": [-3.0, 1.0]}, "random", 5, seed=7)
    assert [drawn[k]["init.log_scale"] for k in range(5)] == (-3.0 + u * 4.0).tolist()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (({},), "`over` must name at least one dotted key"),
        (({"init.seed": 3},), "`init.seed` in `over` must be a list of values, got 3"),
        (({"init.seed": []},), "`init.seed` in `over` must be a list of values"),
        (({"init.seed": [1, 1]},), "`init.seed` must have each value once in a grid, got 1 again"),
        (({"init.seed": [1], "init.width": [1, 2]}, "list"), "Lists must be equally long"),
        (({"init.seed": [1, 2]}, "grd"), "`design` must be one of .* did you mean `grid`?"),
        (({"init.seed": [1, 2]}, "latin"), "`points` is required for a latin design"),
        (({"init.seed": [1, 2]}, "grid", 5), "`points` must be omitted"),
    ],
)
def test_what_is_no_design_is_refused_in_one_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        Design(*arguments)


@pytest.mark.parametrize("ends", [[2.0, 1.0], ["log", 0.0, 1.0], ["log", 1.0]])
def test_a_range_without_an_inside_is_refused(ends):
    with pytest.raises(ValueError, match="must be"):
        Design({"init.log_scale": ends}, "random", 5)[0]
