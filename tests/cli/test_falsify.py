"""`reluflow falsify`: files, options and sentences."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from reluflow.cli import app

CONJECTURE = '''
import reluflow as rf

def labels_agree(data: rf.Data):
    """The labels differ by at most 1."""
    return 1.0 - float(max(data.y) - min(data.y))


def sometimes(data: rf.Data):
    if data.y[0] > 0:
        raise ArithmeticError("no such label")
    return 1.0
'''


def reluflow(*arguments):
    return CliRunner().invoke(app, ["falsify", *map(str, arguments)])


@pytest.fixture
def conjecture(tmp_path):
    (tmp_path / "mine.py").write_text(CONJECTURE)
    return tmp_path / "mine.py"


def test_a_function_of_a_file_is_refuted_and_written_as_toml_python_and_table(conjecture, tmp_path):
    done = reluflow(
        f"{conjecture}:labels_agree", "--space", "line", "--set", "space.n=2", "--runs", 60, "--out", tmp_path / "out"
    )
    assert done.exit_code == 0 and "refuted" in done.stdout, done.output
    found = {p.name for p in (tmp_path / "out").iterdir()}
    assert found == {
        "counterexample.toml",
        "counterexample.py",
        "report.md",
        "picture.png",
        "before_shrinking.toml",
    }
    said = subprocess.run([sys.executable, tmp_path / "out" / "counterexample.py"], capture_output=True, text=True)
    assert float(said.stdout) < 0.0, said.stderr  # the margin
    assert "[data]" in (tmp_path / "out" / "counterexample.toml").read_text()


def test_the_number_of_runs_is_kept(conjecture):
    done = reluflow(f"{conjecture}:sometimes", "--space", "line", "--set", "space.n=2", "--runs", 3)
    assert "runs: 3" in done.stdout or "in 3 runs" in done.stdout or "after 3 runs" in done.stdout, done.output


def test_a_file_says_all_and_dotted_keys_change_it(conjecture, tmp_path):
    (tmp_path / "search.toml").write_text(
        'claim = "mine.py:labels_agree"\n[space]\nkind = "line"\nn = 2\n[search]\nruns = 3\nsearch = "random"\n'
    )
    done = reluflow(tmp_path / "search.toml", "--set", "space.n=4", "--json")
    found = json.loads(done.stdout)
    assert found["claim"] == "labels_agree" and found["verdict"] in ("refuted", "not refuted", "doubtful")
    assert len(found["spec"]["x"]) <= 4


def test_a_check_is_refuted_and_its_file_is_an_experiment_that_shows_it(tmp_path):
    done = reluflow(
        "kou2023.lemma_f2", "--form", "printed", "--runs", 40, "--claim", "lower bound", "--out", tmp_path / "f2.toml"
    )
    assert done.exit_code == 0, done.output
    again = CliRunner().invoke(
        app, ["check", "kou2023.lemma_f2", str(tmp_path / "f2.toml"), "--form", "printed", "--json"]
    )
    assert any(c["verdict"] == "violated" and "lower bound" in c["text"] for c in json.loads(again.stdout)["claims"])


def test_a_number_of_data_that_was_asked_for_is_kept_and_a_check_s_own_space_may_shrink_below(conjecture):
    done = reluflow(f"{conjecture}:labels_agree", "--space", "line", "--set", "space.n=3", "--runs", 60, "--json")
    found = json.loads(done.stdout)
    assert found["verdict"] == "refuted" and len(found["spec"]["x"]) == 3  # two points violate it as well
    assert len(found["first"]["x"]) == 3
    done = reluflow(f"{conjecture}:labels_agree", "--space", "line", "--set", "space.n=[2, 3]", "--runs", 60, "--json")
    assert len(json.loads(done.stdout)["spec"]["x"]) == 2


def test_a_run_that_failed_is_said_with_its_reason(conjecture):
    done = reluflow(f"{conjecture}:sometimes", "--space", "line", "--runs", 20)
    assert "failed with ArithmeticError: no such label" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    "arguments, text",
    [
        ((), "add `--space KIND`, for instance `--space line --set space.n=3 --set space.width=6`"),
        (("--set", "space.n=3"), "add `--space KIND`"),
        (("--set", "space.n=-1"), "`n` must be a whole number >= 1, got -1"),
        (("--set", "space.foo=2"), "takes no argument `foo`"),
    ],
)
def test_a_function_without_a_space_is_told_the_options_of_the_command(conjecture, arguments, text):
    done = reluflow(f"{conjecture}:labels_agree", *arguments)
    assert done.exit_code != 0 and text in str(done.exception)


def test_a_file_without_a_function_is_told_those_it_has(conjecture):
    done = reluflow(conjecture)
    assert "mine.py:FUNCTION`; it has labels_agree, sometimes." in str(done.exception)


@pytest.mark.parametrize(
    "arguments, text",
    [
        (("min2024.dwel",), "did you mean `min2024.dwell`"),
        (("none.toml",), "File not found: none.toml"),
        (("none.py:f", "--space", "line"), "File not found: none.py"),
        (("min2024.dwell", "--set", "n=3"), "write `space.n` or `search.n`"),
        (("min2024.dwell", "--set", "space.m=3"), "takes no argument `m`"),
        (("min2024.dwell", "--space", "lines"), "did you mean `line`"),
    ],
)
def test_mistakes_are_one_sentence(arguments, text):
    done = reluflow(*arguments)
    assert done.exit_code != 0 and text in str(done.exception)
