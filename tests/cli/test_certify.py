"""`reluflow certify`: a theorem from a TOML, its check, and refusals."""

import json

import pytest
from typer.testing import CliRunner

from reluflow.cli import app

pytest.importorskip("flint")

TOML = """
format = 1
[data]
kind = "two_points"
[init]
kind = "balanced"
width = 4
dim = 2
log_scale = -7.0
seed = 0
"""


def said(*arguments, code=0) -> str:
    result = CliRunner().invoke(app, ["certify", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.parametrize("t1", ["abc", "1/0", "-3", "1e400", "1e-9999999999", "nan"])
def test_a_time_that_is_none_is_one_sentence(t1, tmp_path):
    (tmp_path / "two.toml").write_text(TOML, encoding="utf-8")
    result = CliRunner().invoke(app, ["certify", str(tmp_path / "two.toml"), f"--t1={t1}"])
    assert isinstance(result.exception, ValueError) and f"got {t1}: try 30." in str(result.exception)


def test_a_theorem_is_proved_saved_and_checked(tmp_path):
    experiment, certificate = tmp_path / "two.toml", tmp_path / "two.json"
    experiment.write_text(TOML, encoding="utf-8")
    text = said(experiment, "--out", certificate)
    assert text.startswith("Theorem.") and "0.89442741" in text
    assert said("--check", certificate).endswith("Proved.\n")
    content = json.loads(certificate.read_text(encoding="utf-8"))
    content["limit"]["loss"] = "0.2"
    certificate.write_text(json.dumps(content), encoding="utf-8")
    assert "Refused." in said("--check", certificate, code=1)
    assert json.loads(said("--check", certificate, "--json", code=1))["proved"] is False


def test_a_file_that_is_no_certificate_is_said_to_be_none(tmp_path):
    from support.command import reluflow

    experiment = tmp_path / "two.toml"
    for text in (TOML, "[]"):
        experiment.write_text(text, encoding="utf-8")
        done = CliRunner().invoke(app, ["certify", "--check", str(experiment)])
        assert "is not a certificate of format 1" in str(done.exception)
    assert reluflow("certify", "--check", experiment) == 2


def test_a_large_problem_is_told_how_long_its_proof_takes(tmp_path, monkeypatch):
    from reluflow.cli import certify

    experiment = tmp_path / "two.toml"
    experiment.write_text(TOML, encoding="utf-8")
    assert "events" not in CliRunner().invoke(app, ["certify", str(experiment), "--t1", "3"]).stderr
    monkeypatch.setattr(certify, "LARGE", 1)
    assert "events" not in CliRunner().invoke(app, ["certify", str(experiment), "--t1", "3"]).stderr
    monkeypatch.setattr(certify, "EACH", 100.0)
    told = " ".join(CliRunner().invoke(app, ["certify", str(experiment), "--t1", "3"]).stderr.split())
    assert "4 neurons on 2 data: about" in told and "Ctrl-C stops" in told


def test_ctrl_c_says_how_far_a_proof_was(tmp_path, monkeypatch):
    from reluflow.certify import proof

    def interrupted(exact, end, say):
        say(proof.Run.begin(exact))
        raise KeyboardInterrupt

    experiment = tmp_path / "two.toml"
    experiment.write_text(TOML, encoding="utf-8")
    monkeypatch.setattr(proof, "_until", interrupted)
    done = CliRunner().invoke(app, ["certify", str(experiment), "--t1", "3"])
    assert done.exit_code == 130 and "two.toml, at t = 0 of 3, 0 events proved: nothing is reported." in done.stderr


def test_what_is_not_covered_is_refused_with_exit_code_1(tmp_path):
    experiment = tmp_path / "two.toml"
    experiment.write_text(TOML, encoding="utf-8")
    assert "balanced" in said(experiment, "--set", "init.kind=gaussian", "--t1", "1", code=1)
