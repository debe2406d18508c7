"""Experiments as files: what they say, what they refuse, and that they give the same bits again."""

import inspect
import os

import numpy as np
import pytest

import reluflow as rf
from reluflow import _schema
from reluflow.experiment import Experiment, ExperimentError

SMALL = {"kind": "balanced", "width": 6, "log_scale": -2.0, "seed": 1}
FLOW = {"kind": "flow", "rtol": 1e-6}

MISTAKES = """\
format = 1

[dta]
kind = "two_points"

[data]
kind = "orthonormal"
n = 0

[init]
kind = "balanced"
widht = 60
log_scale = "-16"
seed = 0.0

[problem]
loss = "sqare"

[method]
kind = "flow"
rtol = 5.0

[solve]
t1 = -3.0

[solve.save]
frames = 1

[sweep.over]
"init.seed" = 3
"""

SENTENCES = [
    "my.toml line 3: `dta` is not a table of an experiment: did you mean `data`?",
    "my.toml line 8: `n` must be a whole number >= 1, got 0: a data set needs at least one row.",
    "my.toml line 12: `init.widht` is not an argument of `rf.init.balanced`: did you mean `width`?",
    "my.toml line 13: `init.log_scale` must be a number, got '-16': drop the quotes.",
    "my.toml line 14: `init.seed` must be a whole number, got 0.0: write 0.",
    "my.toml line 17: `loss` must be one of 'square', 'logistic', 'logistic2', 'exponential', 'hinge2', 'softmax', got "
    "'sqare': did you mean `square`?",
    "my.toml line 21: `rtol` must be in [1e-13, 1e-2], got 5.0: 1e-8 suits most uses.",
    "my.toml line 24: `t1` must be positive and finite, got -3.0: time starts at 0; beyond 1e308 use `log_t1`.",
    "my.toml line 27: `frames` must be a whole number >= 2, got 1: the first and the last frame are always kept.",
    "my.toml line 30: `init.seed` in `[sweep.over]` must be a list of values, got 3: put it in [ ].",
]


def small(**tables) -> Experiment:
    given = {"data": {"kind": "two_points"}, "init": SMALL, "method": FLOW, "solve": {"t1": 3.0}}
    return Experiment(**(given | tables))


def test_ten_mistakes_are_ten_sentences_with_line_and_fix(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(MISTAKES)
    with pytest.raises(ExperimentError) as caught:
        Experiment.from_toml(path)
    assert caught.value.mistakes == SENTENCES
    assert str(caught.value) == "\n".join(SENTENCES)


DATA = "[data]\nkind = 'two_points'\n"
INIT = "[init]\nkind = 'balanced'\nwidth = 3\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[data]\nkind = two\n", r"^Line 2: this must be TOML, got `kind = two` \(.*\): write `name = value`, with"),
        ("[data]\nkind = 'a'\nkind = 'b'\n", r"^Line 3: this must be TOML, got .*: give each key once\.$"),
        (INIT, r"^`\[data\]` is missing: add `\[data\]` with `kind = \"two_points\"`\.$"),
        (f"format = 2\n{DATA}{INIT}", r"^Line 1: `format` must be at most 1 for this version, got 2: install a newer"),
        (f"{DATA}[init]\nwidth = 3\n", r"^Line 3: `init` needs a `kind`: add `kind = \"balanced\"`\.$"),
        (f"[data]\nkind = 'two_pints'\n{INIT}", r"^Line 2: `data.kind` is not known, .*did you mean `two_points`\?$"),
        (
            f"loss = 'square'\n{DATA}{INIT}",
            r"^Line 1: `loss` is not a table .*: it belongs to `problem`, as `problem\.loss`\.$",
        ),
        (f"data = 3\n{INIT}", r"^Line 1: `data` must be a table, got 3: write `\[data\]` and its keys below\.$"),
        (f"{DATA}[init]\nkind = 'balanced'\n", r"^Line 3: `init.width` is required by .*: add `width = 60`\.$"),
        (f"{DATA}{INIT}seed = true\n", r"^Line 6: `init.seed` must be a whole number, got True: try `seed = 0`\.$"),
        (
            f"{DATA}{INIT}[method]\nkind = 'descent'\n",
            r"^Line 6: `method.step` is required by .*: add `step = 0.002`\.$",
        ),
        (f"{DATA}{INIT}[solve]\nt1 = 1.0\nlog_t1 = 2.0\n", r"^Line 7: Give `t1` or `log_t1`, not both"),
        (f"{DATA}{INIT}[problem]\nactivation = 3\n", r"^Line 7: `problem.activation` must be a table, got 3: write"),
        (f"{DATA}{INIT}[problem]\nloss = 'logistic'\n", r"`t1` must be given for the logistic loss"),
    ],
)
def test_other_mistakes_are_one_sentence(text, sentence):
    with pytest.raises(ExperimentError, match=sentence) as caught:
        Experiment.parse(text)
    assert len(caught.value.mistakes) == 1


def test_one_number_where_rows_are_wanted_is_one_sentence():
    with pytest.raises(ExperimentError, match=r"^Line 3: `x` must have 2 dimension\(s\), got shape \(\)"):
        Experiment.parse(f"[data]\nkind = 'arrays'\nx = 0.5\ny = [1.0]\n{INIT}").problem()


def test_what_only_the_data_can_tell_is_said_with_its_line(tmp_path):
    path = tmp_path / "e.toml"
    path.write_text(f"[data]\nkind = 'five_points'\n{INIT}[problem]\nloss = 'logistic'\n[solve]\nt1 = 1.0\n")
    with pytest.raises(
        ExperimentError, match=r"^e.toml line 7: Labels must be \+1 or -1 for the logistic loss, got 0.7"
    ):
        Experiment.from_toml(path).problem()
    with pytest.raises(ExperimentError, match=r"File not found: .*none.toml. .*reluflow run --template > none.toml"):
        Experiment.from_toml(tmp_path / "none.toml")


def test_lines_are_found_through_arrays_strings_and_comments():
    from reluflow import _toml

    text = 'a = 1 # [x]\n[t]\nb = [\n  1, # ]\n  2,\n]\nc = """\n[no]\nd = 3\n"""\ne.f = "["\n[t.u]\n"g.h" = 2\n'
    assert _toml.lines(text) == {"a": 1, "t": 2, "t.b": 3, "t.c": 7, "t.e.f": 11, "t.u": 12, "t.u.g.h": 13}


def test_toml_and_dict_give_an_equal_experiment_back():
    first = small(
        data={"kind": "arrays", "x": [[1.0, 0.5], [0.1, -2.0]], "y": [1.0, -1.0], "name": 'odd "name"\\ \u00e9 [x]'},
        problem={"activation": {"kind": "leaky_relu", "slope": 0.25}},
        solve={"t1": 2.5, "save": {"times": [0.0, 1.0]}},
        sweep={"over": {"init.seed": range(3), "init.log_scale": np.linspace(-2, -4, 3)}},
    )
    for again in (Experiment.parse(first.to_toml()), Experiment.from_dict(first.to_dict())):
        assert again == first
        assert again.key == first.key
    assert first["sweep.over"] == {"init.seed": [0, 1, 2], "init.log_scale": [-2.0, -3.0, -4.0]}


def test_the_key_is_what_an_experiment_means():
    spelled = {**SMALL, "log_scale": -2}
    assert small().key == small(init=spelled, problem={"loss": "square", "activation": "relu"}).key
    assert small().key != small(init={**SMALL, "seed": 2}).key
    assert len(small().key) == 16
    # Changes only when the meaning of experiments does: stored keys must stay valid.
    assert small().key == "89c7444bf34019b6"


def test_dotted_keys_read_and_change():
    first = small()
    assert first["init.log_scale"] == -2.0
    assert first["solve.save.frames"] == 1000
    second = first.changed({"init.log_scale": -7, "problem.activation": {"kind": "leaky_relu", "slope": 0.1}})
    assert (second["init.log_scale"], second["problem.activation.slope"]) == (-7.0, 0.1)
    assert first["init.log_scale"] == -2.0
    turned = first.changed({"method.kind": "descent", "method.step": 0.01})
    assert turned["method"] == {"kind": "descent", "step": 0.01, "seed": 0, "dtype": "float64"}
    with pytest.raises(ExperimentError, match=r"`init.sede` is not an argument .*did you mean `seed`\?"):
        first.changed({"init.sede": 3})
    with pytest.raises(KeyError, match=r"did you mean `init.seed`\?"):
        first["init.sed"]


def test_relative_paths_are_looked_for_from_the_files_folder(tmp_path, monkeypatch):
    rf.data.two_points().to_csv(tmp_path / "points.csv")
    (tmp_path / "e.toml").write_text(small(data={"kind": "from_csv", "path": "points.csv"}).to_toml())
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert Experiment.from_toml(tmp_path / "e.toml").data == rf.data.two_points()
    with pytest.raises(ExperimentError, match=r"File not found: points.csv"):
        Experiment.parse(small(data={"kind": "from_csv", "path": "points.csv"}).to_toml()).problem()


def test_every_public_constructor_is_reachable():
    kinds = _schema.tables()["data"].kinds
    for name in rf.data.__all__:
        make = getattr(rf.data, name)
        if inspect.isfunction(make) and "Data" == str(make.__annotations__.get("return")):
            assert name in kinds
    assert {"balanced", "gaussian", "fixed_output", "arrays"} <= set(_schema.tables()["init"].kinds)
    assert set(_schema.tables()["method"].kinds) == {"flow", "stepped_flow", "decay_limit", "descent"}


# Round trips: experiment -> run -> saved -> experiment -> identical bits ----------------------------------------------


def data_kinds():
    return [k for k in _schema.tables()["data"].kinds if k not in ("from_csv", "from_npz", "mnist")]


def of_kind(kind: str) -> dict:
    """Small data of a kind: required arguments from the schema's examples, sizes cut down."""
    params = _schema.tables()["data"].kinds[kind].params
    table = {name: _schema.EXAMPLES[name] for name, p in params.items() if p.required}
    return {
        "kind": kind,
        **table,
        **{name: v for name, v in (("n", 4), ("d", 5)) if name in params and name not in table},
    }


def same_bits(first: Experiment, folder) -> None:
    one = first.run()
    one.save(folder / "one")
    loaded = rf.load(folder / "one")
    assert loaded.experiment == first
    two = loaded.experiment.run()
    t = np.linspace(0.0, float(one.t[-1]), 11)
    for sol in (loaded, two):
        for name in ("log_t", "log_loss", "log_norm", "w", "a", "log_scale", "outputs"):
            np.testing.assert_array_equal(getattr(sol, name), getattr(one, name), err_msg=name)
        for name in ("outputs_at", "log_loss_at", "bits_at"):
            np.testing.assert_array_equal(getattr(sol, name)(t), getattr(one, name)(t), err_msg=name)
        for name in ("t", "log_t", "neuron", "datum", "code", "unique"):
            np.testing.assert_array_equal(getattr(sol.events, name), getattr(one.events, name), err_msg=name)
        assert sol.outcome is one.outcome
    assert repr(loaded.stats) == repr(one.stats)
    assert repr(loaded) == repr(one)


@pytest.mark.parametrize("kind", data_kinds())
def test_round_trip_of_every_kind_of_data(kind, tmp_path):
    same_bits(small(data=of_kind(kind), solve={"t1": 0.5}), tmp_path)


@pytest.mark.parametrize("kind", ["from_csv", "from_npz", "mnist"])
def test_round_trip_of_data_in_files(kind, tmp_path):
    if kind == "mnist":
        if not os.environ.get("RELUFLOW_DATA"):
            pytest.skip("RELUFLOW_DATA is not set")
        data = {"kind": "mnist", "size": 6}
    else:
        path = tmp_path / f"points.{kind[-3:]}"
        points = rf.data.random_points(4, 3, seed=2)
        points.to_csv(path) if kind == "from_csv" else points.to_npz(path)
        data = {"kind": kind, "path": str(path)}
    same_bits(small(data=data, init={**SMALL, "log_scale": -5.0}, solve={"t1": 0.2}), tmp_path)


METHODS = [FLOW, {"kind": "descent", "step": 0.01}, {"kind": "descent", "step": 0.01, "batch": 2, "dtype": "float32"}]


@pytest.mark.parametrize("method", METHODS, ids=["flow", "descent", "sgd32"])
@pytest.mark.parametrize("kind", ["balanced", "gaussian", "fixed_output", "arrays"])
def test_round_trip_of_every_kind_of_init_and_method(kind, method, tmp_path):
    init = {"kind": kind, "width": 6, "log_scale": -1.0}
    if kind == "arrays":
        init = {
            "kind": kind,
            "w": [[1.0, 0.5], [-0.3, 0.2]],
            "a": [1.0, -0.7],
            "log_scale": [-1.0, -2.0],
            "log_scale_a": -1.5,
        }
    problem = {
        "train": "first" if kind == "fixed_output" else "both",
        "activation": {"kind": "leaky_relu", "slope": 0.2},
    }
    solve = {"t1": 1.0, "save": {"times": [0.0, 0.3, 1.0]}}
    same_bits(small(data={"kind": "five_points"}, init=init, method=method, problem=problem, solve=solve), tmp_path)


@pytest.mark.parametrize("loss", ["logistic", "logistic2", "exponential"])
def test_round_trip_of_every_loss_and_reduction(loss, tmp_path):
    problem = {"loss": loss, "reduction": "sum"}
    same_bits(small(problem=problem, solve={"log_t1": 3.0}), tmp_path)


@pytest.mark.parametrize("kind", ["two_points", "five_points"])
def test_round_trip_from_a_scale_that_underflows(kind, tmp_path):
    init = {"kind": "balanced", "width": 20, "log_scale": -2000.0}
    same_bits(small(data={"kind": kind}, init=init, solve={"t1": 4000.0}), tmp_path)


def test_label_noise_is_a_key_of_every_kind_of_data():
    plain = dict(data={"kind": "teacher", "n": 10, "d": 2}, init={"kind": "balanced", "width": 4}, solve={"t1": 1.0})
    clean = rf.Experiment(**plain).data
    noisy = rf.Experiment(**plain).changed({"data.label_noise": 0.5, "data.label_flip": 0.2, "data.label_seed": 3}).data
    np.testing.assert_array_equal(noisy.y, clean.noisy(flip=0.2, std=0.5, seed=3).y)
    with pytest.raises(rf.ExperimentError, match="label_flip"):
        rf.Experiment(**plain).changed({"data.label_flip": "many"})
