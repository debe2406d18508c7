"""Bad input gets one sentence: the rule, the value, the way out."""

import numpy as np
import pytest

import reluflow as rf

X, Y = [[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0]


def problem(**changes):
    return rf.Problem(rf.Data(X, Y), rf.init.balanced(3, 2, log_scale=-2.0), **changes)


CASES = {
    "nan data": (lambda: rf.Data([[1.0, np.nan]], [1.0]), r"`x` must be finite, got nan at index \(0, 1\)"),
    "infinite label": (lambda: rf.Data([[1.0]], [np.inf]), r"`y` must be finite, got inf at index \(0,\)"),
    "flat x": (
        lambda: rf.Data([1.0, 2.0], Y),
        r"`x` must have 2 dimension\(s\), got shape \(2,\): give one row per data point",
    ),
    "words": (lambda: rf.Data("abc", Y), r"`x` must be an array of real numbers, got str"),
    "label count": (lambda: rf.Data(X, [1.0]), r"`y` must have one label per row of `x`, got 1 for 2 rows"),
    "no rows": (lambda: rf.Data(np.zeros((0, 2)), []), r"at least one row and one column, got shape \(0, 2\)"),
    "labels for logistic": (
        lambda: rf.Problem(rf.Data(X, [1.0, 0.5]), rf.init.balanced(3, 2), loss="logistic"),
        r"Labels must be \+1 or -1 for the logistic loss, got 0.5: relabel",
    ),
    "width 0": (lambda: rf.init.balanced(0, 2), r"`width` must be a whole number >= 1, got 0: a network needs"),
    "scale overflows": (
        lambda: rf.init.balanced(3, 2, log_scale=400.0),
        r"`log_scale` must lie in \[-1000000, 300\], got 400",
    ),
    "scale per neuron": (
        lambda: rf.Params([[1.0]], [1.0], log_scale=[0.0, 1.0]),
        r"`log_scale` must be one number or one per neuron \(1\)",
    ),
    "dimension": (
        lambda: rf.Problem(rf.Data(X, Y), rf.init.balanced(3, 5)),
        r"`init` must have the data's dimension, got 5 for d = 2",
    ),
    "a column short": (
        lambda: rf.Problem(rf.Data(X, Y), rf.init.balanced(3, 3)),
        r"got 3 for d = 2: if the network has biases, use `data.with_bias\(\)`, otherwise draw it with `rf.init",
    ),
    "complex data": (lambda: rf.Data(np.array(X) + 1j, Y), r"`x` must be an array of real numbers, got ndarray"),
    "t1 in quotes": (
        lambda: rf.solve(problem(), t1="10"),
        r"`t1` must be positive and finite, got '10': write the number without quotes",
    ),
    "no log scale": (
        lambda: rf.init.balanced(3, 2, log_scale=np.nan),
        r"`log_scale` must be finite, got nan: give one number, or one per neuron, such as -10",
    ),
    "classes for logistic": (
        lambda: rf.Problem(rf.Data(X, [0, 1], classes=("a", "b")), rf.init.balanced(3, 2), loss="logistic"),
        r'Labels must be \+1 or -1 for the logistic loss, got 0.0: use `loss="softmax"` for classes',
    ),
    "unknown loss": (
        lambda: problem(loss="logistc"),
        r"`loss` must be one of .*, got 'logistc': did you mean `logistic`\?",
    ),
    "unknown reduction": (
        lambda: problem(reduction="men"),
        r"`reduction` must be one of 'mean', 'sum', got 'men': did you mean `mean`\?",
    ),
    "slope": (lambda: rf.LeakyReLU(1.5), r"`slope` must be in \[0, 1\], got 1.5: 0 is ReLU"),
    "tiny first layer": (
        lambda: rf.Problem(rf.Data(X, Y), rf.init.balanced(3, 2, log_scale=-701.0), train="first"),
        r"`log_scale` must be >= -700 when only the first layer is trained, got -701",
    ),
    "rtol too small": (lambda: rf.Flow(rtol=1e-14), r"`rtol` must be in \[1e-13, 1e-2\], got 1e-14: 1e-8 suits"),
    "rtol too large": (lambda: rf.Flow(rtol=0.1), r"`rtol` must be in \[1e-13, 1e-2\], got 0.1"),
    "t1 zero": (lambda: rf.solve(problem(), t1=0.0), r"`t1` must be positive and finite, got 0.0: time starts at 0"),
    "t1 infinite": (lambda: rf.solve(problem(), t1=np.inf), r"`t1` must be positive and finite, got inf"),
    "t1 twice": (lambda: rf.solve(problem(), t1=1.0, log_t1=0.0), r"Give `t1` or `log_t1`, not both"),
    "endless tail": (
        lambda: rf.solve(problem(loss="logistic")),
        r"`t1` must be given for the logistic loss, got None",
    ),
    "zero neuron": (
        lambda: rf.solve(rf.Problem(rf.Data(X, Y), rf.Params([[0.0, 0.0]], [0.0])), t1=1.0),
        r"Every neuron must have a non-zero weight, got w = 0 and a = 0 for neuron 0",
    ),
    "frames": (lambda: rf.Save(frames=1), r"`frames` must be a whole number >= 2, got 1"),
    "memory": (lambda: rf.Save(memory="a lot"), r"`memory` must be a size, got 'a lot': write it like \"64 MiB\""),
    "times": (lambda: rf.Save(times=[2.0, 1.0]), r"`times` must be increasing"),
    "outside the span": (
        lambda: rf.solve(problem(), t1=1.0).at(2.0),
        r"A time must lie in \[0, 1\], the span of the run, got 2.0",
    ),
    "before the start": (
        lambda: rf.solve(problem(), t1=1.0).at(-1.0),
        r"A time must lie in \[0, 1\], the span of the run, got -1.0",
    ),
    "before the start, in log(1 + t)": (
        lambda: rf.solve(problem(loss="logistic"), t1=1.0).at(-1.0),
        r"A time must lie in \[0, 1\], the span of the run, got -1.0",
    ),
    "underflow": (
        lambda: rf.init.balanced(3, 2, log_scale=-1000.0).arrays(),
        r"Plain weights must not underflow, got log scale -1000",
    ),
    "kind": (lambda: rf.solve(problem(), t1=1.0).events["offf"], r"An event kind must be one of on, off, slide"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_gets_one_sentence(case):
    call, text = CASES[case]
    with pytest.raises((ValueError, KeyError), match=text) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_objects_of_the_wrong_type_are_named():
    with pytest.raises(TypeError, match=r"`data` must be an rf.Data, got list: write `rf.Data\(x, y\)`"):
        rf.Problem(X, rf.init.balanced(3, 2))
    with pytest.raises(TypeError, match=r"`activation` must be rf.ReLU\(\) or rf.LeakyReLU\(slope\)"):
        problem(activation=0.1)
    with pytest.raises(TypeError, match=r"`problem` must be an rf.Problem, got Data"):
        rf.solve(rf.Data(X, Y), t1=1.0)


NAMES = {
    "another name": (lambda: rf.init.balanced(3, 2, scale=1e-3), "give its logarithm, `log_scale=np.log(...)`."),
    "of a class": (lambda: rf.Flow(tol=1e-6), "`Flow` takes `rtol`, `events`, got `tol`: did you mean `rtol`?"),
    "a letter": (lambda: rf.solve(problem(), T=1.0), "got `T`: did you mean `t1`?"),
    "no name at all": (lambda: rf.ReLU(zzz=1), "`ReLU` takes `at_zero`, got `zzz`: it is not supported; leave it out."),
    "missing": (lambda: rf.Descent(), "`Descent` is missing the argument `step`: add `step=...`."),
    "missing in a function": (lambda: rf.init.gaussian(3), "`gaussian` is missing the argument `dim`"),
    "too many": (
        lambda: rf.solve(problem(), rf.Flow(), 1.0, 7),
        "`solve` takes 3 positional, got 4 values: pass the others by name, of `problem`, `method`, `t1`, `log_t1`",
    ),
    "twice": (lambda: rf.init.balanced(3, 2, width=4), "takes `width` once, got it twice, by position and"),
    "of the method": (lambda: rf.solve(problem(), rtol=1e-6), "it belongs to the method, `rf.Flow(rtol=...)`."),
    "a step": (lambda: rf.solve(problem(), step=0.1), "it belongs to the method, `rf.Descent(step=...)`."),
    "iterations": (lambda: rf.solve(problem(), steps=9), "give a time `t1`; for descent it is iterations times step."),
    "of the activation": (lambda: problem(slope=0.1), "`activation=rf.LeakyReLU(slope)`."),
    "data without labels": (lambda: rf.Data(X), "`Data` is missing the argument `y`: add `y=...`."),
    "another's labels": (lambda: rf.Data(X, labels=Y), "got `labels`: did you mean `y`?"),
    "a limit": (lambda: rf.limit(problem(), tol=1e-6), "did you mean `rtol`?"),
    "many": (lambda: rf.solve_many([problem()], rf.Descent(0.1), t_end=1.0), "did you mean `t1`?"),
}


@pytest.mark.parametrize("case", NAMES)
def test_an_argument_that_does_not_fit_is_named(case):
    call, text = NAMES[case]
    with pytest.raises(TypeError) as caught:
        call()
    assert text in str(caught.value) and "\n" not in str(caught.value)


def test_a_type_error_inside_is_its_own():
    class Odd:
        def __float__(self):
            raise TypeError("odd")

    with pytest.raises((TypeError, ValueError)) as caught:
        rf.Flow(rtol=Odd())
    assert "takes" not in str(caught.value)


def test_names_that_others_use_are_understood():
    for call, name in (
        (lambda: rf.Descent(lr=0.05), "step"),
        (lambda: rf.solve(problem(), t_max=5.0), "t1"),
        (lambda: rf.init.balanced(hidden=4, dim=2), "width"),
        (lambda: rf.data.from_csv("none.csv", target="y"), "label"),
        (lambda: rf.compare(problem(), lr=0.1, t1=1.0), "step"),
    ):
        with pytest.raises(TypeError, match=rf"did you mean `{name}`\?"):
            call()


def test_a_comparison_is_with_a_descent():
    with pytest.raises(TypeError, match=r"`method` must be rf.Descent\(step=...\), got Flow\("):
        rf.compare(problem(), rf.Flow(), t1=1.0)


def test_what_is_given_in_place_of_a_run_its_times_or_data_is_named():
    sol = rf.solve(problem(), t1=1.0)
    for call, text in (
        (
            lambda: rf.check(sol, "boursier2022.theorem1"),
            'takes the name of a result first, got Solution: write `rf.check("boursier2022.theorem1", sol)`.',
        ),
        (lambda: rf.observe.alignment(problem()), "`rf.observe` measures a run, got Problem: give what `rf.solve`"),
        (lambda: rf.observe.stable_rank(problem(), t=1.0), "`rf.observe` measures a run, got Problem"),
        (
            lambda: sol.test_loss(np.array(X)),
            "`test_loss` takes an rf.Data, got ndarray: write `sol.test_loss(rf.Data(",
        ),
        (lambda: sol.accuracy(np.array(X)), "`accuracy` takes an rf.Data, got ndarray"),
        (lambda: sol.loss_at("a"), "`t` must be a number or a list of numbers, got 'a': try `t=1.0`."),
        (lambda: sol.loss_at(log_t="1"), "`log_t` must be a number or a list of numbers, got '1'"),
    ):
        with pytest.raises(TypeError) as caught:
            call()
        assert text in str(caught.value)
