"""`reluflow check`: what it lists, judges, prints, and how it leaves."""

import json

import numpy as np
import pytest
from support.command import reluflow

import reluflow as rf

TOML = """\
[data]
kind = "toy_plane"
[init]
kind = "balanced"
width = 12
log_scale = -12.0
[problem]
loss = "exponential"
reduction = "sum"
[solve]
log_t1 = 6.0
"""

BAD = "a,b,c,label\n1.0,0.2,0.1,1\n0.9,-0.3,0.4,1\n-1.0,0.1,0.2,-1\n-0.8,-0.4,-0.9,-1\n0.3,1.0,-0.2,-1\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "my.toml").write_text(TOML)
    (tmp_path / "bad.csv").write_text(BAD)
    return tmp_path


def said(capsys) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_without_arguments_all_checks_are_listed(here, capsys):
    assert reluflow("check") == 0
    text = capsys.readouterr().out
    for check in rf.checks():
        assert check.name in text
    assert reluflow("check", "--json") == 0
    assert {c["name"] for c in json.loads(capsys.readouterr().out)} == {c.name for c in rf.checks()}
    assert reluflow("check", "min2024") == 0
    assert "kou2023" not in capsys.readouterr().out


def test_an_experiment_and_its_saved_run_get_the_same_verdicts(here, capsys):
    rf.Experiment.from_toml("my.toml").run().save("run")
    found = []
    for subject in ("my.toml", "run"):
        assert reluflow("check", "min2024.theorem1", subject, "--json") == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0]["claims"] == found[1]["claims"]
    assert found[0]["applies"] is False  # e^-12 is far above (28)
    assert reluflow("check", "min2024.theorem1", "run") == 0
    text = said(capsys)
    for words in ("not all satisfied", "eps <= eps_B of (28)", "last arrival of V+", "holds"):
        assert words in text


def test_a_csv_that_breaks_assumption_1_is_told_which_pair_by_how_much_and_what_remains(here, capsys):
    assert reluflow("check", "min2024.theorem1", "--data", "bad.csv", "--set", "init.log_scale=-30") == 0
    text = said(capsys)
    assert "-0.44066 > 0 -0.44066 rows 0 and 4" in text
    assert "rows 0 and 4 (different labels, cosine 0.4407 must be below 0)" in text
    assert "Without row 4 the other 4 satisfy it with mu = 0.4461" in text
    assert "need no separation and hold as stated" in text
    assert "last arrival of V+ (" in text
    assert reluflow("check", "min2024.assumption1", "--data", "bad.csv") == 0
    assert "violated" in said(capsys)
    # What is said to need no separation indeed holds.
    for name in ("lemma1", "lemma3", "lemma4", "lemma6", "lemma10"):
        arguments = ("--data", "bad.csv", "--set", "init.log_scale=-30", "--json")
        assert reluflow("check", f"min2024.{name}", *arguments) == 0
        assert {c["verdict"] for c in json.loads(capsys.readouterr().out)["claims"]} == {"holds"}, name


def test_a_scale_given_on_the_command_line_is_the_theorems_own(here, capsys):
    rf.data.orthogonally_separable(6, 5, 0.64, seed=0).to_csv("good.csv")
    arguments = ("--data", "good.csv", "--set", "init.log_scale=-4300", "--set", "init.seed=0", "--json")
    assert reluflow("check", "min2024.theorem1", *arguments) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["applies"] is True
    assert all(c["verdict"] in ("holds", "consistent so far") for c in report["claims"])


def test_the_printed_form_and_generators_are_reached(here, capsys):
    assert reluflow("check", "min2024.lemma2", "--form", "printed") == 0
    text = said(capsys)
    assert "(printed)" in text
    assert "violated" in text
    assert reluflow("check", "min2024.assumption1", "--data", "toy_plane") == 0
    assert "0.25882 >" in said(capsys)


def test_a_whole_paper_is_judged_at_once(here, capsys):
    rf.Experiment.from_toml("my.toml").run().save("run")
    assert reluflow("check", "min2024", "run", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    judged, left = {r["name"] for r in found["reports"]}, {r["name"] for r in found["left_out"]}
    assert judged | left == {c.name for c in rf.checks("min2024")}
    assert left == {c.name for c in rf.checks("min2024") if c.needs == "nothing"}
    assert reluflow("check", "lee2023", "run") == 0
    text = said(capsys)
    assert "lee2023.theorem3_2 left out: lee2023.theorem3_2 needs a run of rf.single.solve, got Solution" in text
    assert "lee2023.lemma2_1 left out: it is about no run or data" in text
    assert f"0 of {len(rf.checks('lee2023'))} checks apply: no claim." in text


@pytest.fixture
def screen(monkeypatch):
    """A terminal on which a line appears at once."""
    from io import StringIO

    from rich.console import Console

    from reluflow.cli import _show
    from reluflow.cli import check as command

    class AtOnce:
        def __init__(self, seconds, do):
            self.start, self.cancel, self.join = do, lambda: None, lambda: None

    shown, plain = StringIO(), _show.console
    terminal = Console(file=shown, force_terminal=True, width=200)
    monkeypatch.setattr(_show, "console", lambda stderr=False: terminal if stderr else plain())
    monkeypatch.setattr(command.threading, "Timer", AtOnce)
    return shown


def test_the_check_that_is_being_judged_is_shown_with_its_number(here, capsys, screen):
    rf.Experiment.from_toml("my.toml").run().save("run")
    assert reluflow("check", "lee2023", "run") == 0
    total = len(rf.checks("lee2023"))
    assert f"({total} of {total})" in screen.getvalue() and "reading run" in screen.getvalue()
    screen.truncate(0)
    assert reluflow("check", "min2024.lemma3", "run") == 0
    assert "min2024.lemma3" in screen.getvalue()
    screen.truncate(0)
    assert reluflow("check", "lee2023", "run", "--json") == 0
    assert screen.getvalue() == ""


def test_ctrl_c_ends_with_a_sentence_that_names_the_check(here, capsys, monkeypatch):
    from reluflow.papers.min2024 import lemma3

    def interrupted(subject):
        raise KeyboardInterrupt

    rf.Experiment.from_toml("my.toml").run().save("run")
    monkeypatch.setattr(lemma3, "check", interrupted)
    assert reluflow("check", "min2024", "run") == 130
    told = " ".join(capsys.readouterr().err.split())
    assert "Interrupted before the end of min2024, at lemma3 (" in told and told.endswith("nothing is reported.")


def test_a_callback_is_told_every_check_of_a_paper(here):
    told = []
    summary = rf.check("lee2023", rf.Experiment.from_toml("my.toml").run(), progress=told.append)
    assert [now.name for now in told] == [c.name for c in rf.checks("lee2023")]
    assert [now.done for now in told] == list(range(told[0].total)) and summary.name == "lee2023"


def test_an_unfinished_run_is_told_how_long_it_must_be(here, capsys):
    rf.data.orthogonally_separable(6, 5, 0.64, seed=0).to_csv("good.csv")
    short = ("--data", "good.csv", "--set", "init.log_scale=-4300", "--set", "solve.log_t1=-1.6")
    assert reluflow("check", "min2024.theorem1", *short) == 0
    text = said(capsys)
    assert "0 violated" not in text
    assert "violated" not in text.replace("not violated", "")
    assert "unfinished: a run up to t1 = " in text


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["min2024.lemma99"], '"min2024.lemma99" is not a check: did you mean'),
        (["min2024.lemma3"], "min2024.lemma3 needs an input"),
        (["min2024.lemma3", "none"], "File not found: none. Give a run folder or an experiment TOML"),
        (["min2024.lemma3", "my.toml", "--data", "bad.csv"], "takes RUN or `--data`, got both"),
        (["min2024.lemma3", "my.toml", "--form", "printed"], '`form` must be "corrected" for min2024.lemma3'),
        (["min2024.lemma3", "--data", "bad.csv", "--set", "init.widht=3"], "`init.widht` is not an argument"),
    ],
)
def test_mistakes_are_one_sentence(here, capsys, arguments, sentence):
    assert reluflow("check", *arguments) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_settings_of_a_saved_run_cannot_be_changed(here, capsys):
    rf.Experiment.from_toml("my.toml").run().save("run")
    assert reluflow("check", "min2024.lemma3", "run", "--set", "init.seed=3") == 2
    assert "got a saved run" in capsys.readouterr().err


def test_a_descent_is_told_what_a_flow_check_needs(here, capsys):
    text = TOML.replace("log_t1 = 6.0", "t1 = 5.0") + '[method]\nkind = "descent"\nstep = 1e-2\n'
    (here / "descent.toml").write_text(text)
    assert reluflow("check", "min2024.lemma3", "descent.toml") == 2
    assert "needs a Solution of rf.solve with rf.Flow" in capsys.readouterr().err


def test_a_csv_read_here_is_the_data_judged(here):
    assert np.array_equal(rf.data.from_csv("bad.csv").y, [1, 1, -1, -1, -1])


def test_a_narrow_screen_gets_sentences_and_the_run_is_named(here, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert reluflow("check", "min2024.theorem1", "--data", "bad.csv", "--set", "init.width=7") == 0
    lines = capsys.readouterr().out.split("\n")
    text = " ".join(" ".join(lines).split())
    assert max(map(len, lines)) <= 80
    assert "init.width = 7, init.log_scale = -20.0" in text
    assert "labels are +1 and -1: max ||y_i| - 1|: 0 = 0 (margin 0)" in text
