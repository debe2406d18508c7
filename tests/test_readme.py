"""What the README shows is true: its code runs, its files exist, its commands are commands."""

import re
from pathlib import Path

import numpy as np
import pytest

import reluflow as rf

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_opening_runs_and_says_what_it_says(capsys):
    code = re.search(r"```python\n(import reluflow.*?)```", README, re.S)[1]
    space = {}
    exec(code, space)
    assert "The run converged" in capsys.readouterr().out
    np.testing.assert_allclose(space["sol"].loss_at([0.0, 1300.0, 1800.0]), [0.5, 0.25, 0.0], atol=1e-6)


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / target).is_file(), target


def test_commands_and_names_exist():
    from reluflow.cli import app

    known = {c.name for c in app.registered_commands} | {g.name for g in app.registered_groups}
    for line in re.findall(r"^ {4}reluflow (\w+)", README, re.M):
        assert line in known, line
    for name in re.findall(r"`rf\.(\w+)", README):
        assert hasattr(rf, name), name
    for name in re.findall(r"`sol\.(\w+)", README):
        assert hasattr(rf.Solution, name) or name in ("events", "stats"), name


def test_the_saved_run_of_the_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.toml").write_text((ROOT / "examples" / "two_points.toml").read_text())
    code = re.findall(r"```python\n(.*?)```", README, re.S)[1]
    exec(code, {"rf": rf})
    assert rf.load("runs/seed-3").experiment["init.seed"] == 3


def test_your_own_data(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rf.data.random_points(n=12, d=2, labels="signs").to_csv("points.csv")
    exec(re.findall(r"```python\n(.*?)```", README, re.S)[2], {"rf": rf})
    said = capsys.readouterr().out
    assert "n = 12, d = 2" in said and "alignment" in said and "Descent with step 0.01 against the flow" in said


@pytest.mark.parametrize("name", ["make demo", "make test"])
def test_make_targets_exist(name):
    assert re.search(rf"^{name.split()[1]}:", (ROOT / "Makefile").read_text(), re.M)


def test_the_pytorch_model_of_the_readme(capsys):
    torch = pytest.importorskip("torch", reason="watching PyTorch models needs PyTorch")
    torch.manual_seed(0)
    x, y = torch.randn(6, 2), torch.randn(6, 1)
    model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    first, rest = re.findall(r"```python\n(.*?)```", README, re.S)[3].split("\n", 1)
    space = {"rf": rf, "model": model, "x": x, "y": y, "optimizer": optimizer}
    exec(first, space)
    for _ in range(40):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    exec(rest, space)
    assert "SGD, 40 steps, against the gradient flow up to t = 4." in capsys.readouterr().out
