"""Problems on either side of a change of their story, built so that the label y_0 is `offset` away from the change.

The promise holds away from bifurcations. How far away is a number here: an error of 100 rtol in the state may stand in
for a label moved by as much, so the story must be the reference's when |offset| > 100 rtol, and below that it must be
the story of one of the two sides. Event times are held to 100 rtol over the margin: an error e of the state moves the
time of a crossing at (normalised) rate v by e / v, and near these bifurcations v is small.
"""

import pytest

from reference_comparison import judge


def groups():
    """The six problems of each seed, by offset."""
    found: dict = {}
    for spec in judge.stored("near_bifurcation"):
        found.setdefault(spec["seed"], {})[spec["offset"]] = spec
    return found


def cases():
    found = []
    for rtol in (1e-6, 1e-8, 1e-10):
        for seed in groups():
            marks = [] if rtol == 1e-8 else [pytest.mark.exhaustive]
            found.append(pytest.param(seed, rtol, id=f"{seed}-{rtol:.0e}", marks=marks))
    return found


@pytest.mark.parametrize("seed, rtol", cases())
def test_farther_than_the_promise_the_story_is_right_and_nearer_it_is_one_of_the_two(seed, rtol):
    specs = groups()[seed]
    for offset, spec in specs.items():
        sol = judge.solve(spec, rtol)
        own = judge.compare(spec, rtol, sol)
        if own.holds_eased:
            continue
        print(f"seed {seed}, rtol {rtol:.0e}: y_0 is {offset:+.0e} from the bifurcation. {own}")
        assert abs(offset) <= 100 * rtol * (1 + 1e-9), str(own)
        # So near, an error e of the state moves the two ends of a graze by its square root, and their times are not
        # promised: the story must be that of one of the two sides, and the outputs that side's, up to how far the
        # labels are apart.
        sides = (own, judge.compare(specs[-offset], rtol, sol))
        near = [v for v in sides if v.same_events and v.outputs <= 100 * rtol + 20 * abs(offset)]
        assert near, "; ".join(map(str, sides))


def test_a_time_is_excused_by_what_came_before_it_and_no_further(monkeypatch):
    # Seed 17, label 1e-6 past the bifurcation: neuron 2 comes to the boundary of datum 1 at 2.7e-4 of its speed, 4.1e-7
    # late at rtol 1e-10 with its state right to one rtol, and to that of datum 0, at 0.37 of its speed, 5.7e-7 late.
    spec, rtol = groups()[17][1e-6], 1e-10
    sol = judge.solve(spec, 1e-12)
    slowest = min(e[5] for e in spec["events"] if e[1] == 2)
    assert slowest < 1e-3
    rows = judge.engine_rows(sol)
    for neuron, share, right in ((2, 0.9, True), (2, 1.1, False), (3, 0.9, False)):
        # The last event of the neuron, late by this share of what the slowest crossing of neuron 2 makes of 100 rtol.
        last = max(row for row in rows if row[1] == neuron)
        late = last[0] + share * 100 * rtol * max(1.0, last[0]) / slowest
        moved = [(late, *row[1:]) if row == last else row for row in rows]
        monkeypatch.setattr(judge, "engine_rows", lambda _, moved=moved: moved)
        assert judge.compare(spec, rtol, sol).holds_eased is right


def test_the_engine_says_that_a_bifurcation_was_near():
    # Crossing or sliding, decided with y_0 1e-9 from the change: the distance must not read like a safe one.
    for seed in (2, 15, 16):
        for offset in (-1e-9, 1e-9):
            spec = groups()[seed][offset]
            assert judge.solve(spec, 1e-8).stats.nearest_bifurcation < 1e-6
