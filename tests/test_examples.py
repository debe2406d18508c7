"""Every example runs, in a folder of its own, under ten seconds."""

import runpy
import time
from pathlib import Path

import pytest

from reluflow.cli import main

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("name", sorted(p.name for p in EXAMPLES.iterdir() if p.suffix in (".py", ".toml")))
def test_example(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    began = time.perf_counter()
    if name.endswith(".py"):
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    else:
        with pytest.raises(SystemExit) as left:
            main(["run", str(EXAMPLES / name)])
        assert not left.value.code
    assert capsys.readouterr().out
    assert time.perf_counter() - began < 30.0  # ten alone; three times that beside other tests
