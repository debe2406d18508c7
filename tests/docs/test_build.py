"""The documentation builds, and a fault in it would not pass."""

import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def build(source: Path, out: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    # The notebooks are executed by a test of their own.
    still = ["-D", "nb_execution_mode=off"] if source == DOCS else []
    return subprocess.run([*command, *still, source, out], capture_output=True, text=True, check=False)


@pytest.fixture(autouse=True)
def tools():
    for name in ("sphinx", "myst_parser", "myst_nb", "furo"):
        pytest.importorskip(name, reason="`make docs` installs what builds the documentation")


def test_the_documentation_builds_without_a_warning_and_reads_without_a_network(tmp_path):
    told = build(DOCS, tmp_path)
    assert told.returncode == 0, told.stderr
    numerics = (tmp_path / "numerics.html").read_text(encoding="utf-8")
    assert "<math" in numerics and "<munderover>" in numerics
    for page in tmp_path.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for where in ("cdn.", "googleapis", "unpkg", "jsdelivr"):
            assert f"//{where}" not in text and f".{where}" not in text, (page.name, where)


CONF = """
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
extensions = ["myst_parser", "mathml"]
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"
"""


def test_faults_in_a_page_fail_the_build(tmp_path):
    source = tmp_path / "docs"
    (source / "_ext").mkdir(parents=True)
    for file in (DOCS / "_ext").glob("*.py"):
        (source / "_ext" / file.name).write_text(file.read_text())
    (source / "conf.py").write_text(CONF)
    (source / "index.md").write_text("# Page\n\n$x_i$, sound\n")
    assert build(source, tmp_path / "sound").returncode == 0
    faults = ("[a](nowhere.md)", "$\\nosuchcommand{x}$", "```{nosuchdirective}\n```")
    (source / "index.md").write_text("# Page\n\n" + "\n\n".join(faults) + "\n")
    told = build(source, tmp_path / "faulty")
    assert told.returncode != 0
    for part in ("nowhere", "nosuchcommand", "nosuchdirective"):
        assert part in told.stderr
