"""Every example runs, in a folder of its own."""

import runpy
from pathlib import Path

import pytest

from reluflow.cli import main

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("name", sorted(p.name for p in EXAMPLES.iterdir() if p.suffix in (".py", ".toml")))
def test_example(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if name.endswith(".py"):
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    else:
        with pytest.raises(SystemExit) as left:
            main(["run", str(EXAMPLES / name)])
        assert not left.value.code
    assert capsys.readouterr().out
