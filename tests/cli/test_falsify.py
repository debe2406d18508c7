"""`reluflow falsify`: files, options and sentences."""

import json

import pytest
from typer.testing import CliRunner

from reluflow.cli import app

CONJECTURE = '''
import reluflow as rf

def labels_agree(data: rf.Data):
    """The labels differ by at most 1."""
    return 1.0 - float(max(data.y) - min(data.y))
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
    assert found == {"counterexample.toml", "counterexample.py", "report.md", "picture.png"}
    import reluflow as rf

    assert rf.Experiment.from_toml.__self__ is rf.Experiment
    assert "[data]" in (tmp_path / "out" / "counterexample.toml").read_text()


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
