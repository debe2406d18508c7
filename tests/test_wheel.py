"""What users install: the wheel with the lowest, locked and newest dependencies, on every Python that is here."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13")


def interpreter(version: str) -> str | None:
    """A Python of that version: of pyenv, or on the path."""
    found = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    return str(found[-1]) if found else shutil.which(f"python{version}")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    builders = pytest.importorskip("hatchling.builders.wheel", reason="building a wheel needs hatchling")
    (made,) = builders.WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("dist")))
    return made


def test_the_wheel_has_the_glossary_and_the_page_and_no_data(wheel):
    import zipfile

    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"reluflow/glossary.md", "reluflow/explorer/page/index.html", "reluflow/cli/words.py"} <= names
    assert not [name for name in names if name.endswith((".npz", ".png", ".pyc"))]


@pytest.mark.exhaustive
@pytest.mark.parametrize("how", ["lowest", "locked", "newest"])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_wheel_solves_saves_checks_draws_and_sweeps(version, how, wheel, tmp_path):
    python = interpreter(version)
    if python is None or shutil.which("uv") is None:
        pytest.skip(f"needs Python {version} and uv")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NUMBA", "VIRTUAL_ENV"))}
    env |= {"PYTHON": python, "WHEEL": wheel, "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    subprocess.run(["sh", str(ROOT / "scripts" / "wheel_env.sh"), how, str(tmp_path / "env")], env=env, check=True)
    done = subprocess.run(
        [tmp_path / "env" / "bin" / "python", ROOT / "scripts" / "wheel_smoke.py"],
        cwd=tmp_path,
        env=env,
        check=True,
        capture_output=True,
        text=True,
    )
    assert f"on Python {version}" in done.stdout and "all is well" in done.stdout
    print(done.stdout.strip())
