"""Every example runs, in a folder of its own."""

import runpy
from pathlib import Path

import pytest
from support.command import reluflow

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("name", sorted(p.name for p in EXAMPLES.iterdir() if p.suffix in (".py", ".toml")))
def test_example(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if name.endswith(".py"):
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    else:
        assert reluflow("run", EXAMPLES / name) == 0
    assert capsys.readouterr().out
