"""What `import reluflow` offers."""

import reluflow as rf


def test_every_public_name_is_there():
    for name in rf.__all__:
        assert getattr(rf, name) is not None


def test_the_public_names_are_these():
    # A contract: adding one is a decision, removing one a breach.
    assert set(rf.__all__) == {
        *("Data", "Params", "Problem", "ReLU", "LeakyReLU", "data", "init"),
        *("Flow", "Descent", "solve", "Save", "Limits", "Solution", "Outcome", "SolveError"),
        *("compare", "limit", "Experiment", "ExperimentError", "load", "plot", "__version__"),
        *("Claim", "Report", "check", "checks", "observe", "papers", "single", "deep", "bias"),
        *("sweep", "solve_many", "torch", "from_torch", "show"),
    }
