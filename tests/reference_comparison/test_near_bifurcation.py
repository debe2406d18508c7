"""Problems on either side of a change of their story, built so that the label y_0 is `offset` away from the change.

The promise holds away from bifurcations. How far away is a number here: an error of 100 rtol in the state may stand in
for a label moved by as much, so the story must be the reference's when |offset| > 100 rtol, and below that it must be
the story of one of the two sides. Event times are held to 100 rtol over the margin: an error e of the state moves the
time of a crossing at (normalised) rate v by e / v, and near these bifurcations v is small.
"""

import pytest

from reference_comparison import judge

# Grazes shorter than the interpolant's sampling of a step go unseen: `first_violation` looks at 16 points of a step and
# mid-step releases at one, so a visit that fits between them is lost however small the tolerance.
UNSEEN = {
    (33, 1e-10): "off -> slide -> release_off lasting 4e-4 at y_0 1e-6 away is not seen; times off by 5e3 rtol",
    (36, 1e-10): "a release 4e-3 long in the middle of a slide at y_0 1e-6 away is not seen",
    (42, 1e-10): "slide -> release_on lasting 2e-4 at y_0 1e-6 away is not seen; times off by 3e2 rtol",
    (50, 1e-10): "slide -> release_off lasting 2e-3 at y_0 1e-6 away is not seen; outputs off by 1.5e3 rtol",
}


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
            if (seed, rtol) in UNSEEN:
                marks = [pytest.mark.xfail(strict=True, reason=UNSEEN[seed, rtol])]
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
        # On the wrong side: then it is the other side's run, up to what the labels' distance makes of the outputs.
        other = judge.compare(specs[-offset], rtol, sol)
        assert other.same_events, str(other)
        assert other.outputs <= 100 * rtol + 20 * abs(offset), str(other)


def test_the_engine_says_that_a_bifurcation_was_near():
    # Crossing or sliding, decided with y_0 1e-9 from the change: the distance must not read like a safe one.
    for seed in (2, 15, 16):
        for offset in (-1e-9, 1e-9):
            spec = groups()[seed][offset]
            assert judge.solve(spec, 1e-8).stats.nearest_bifurcation < 1e-6
