"""Starting is quick: help and `import reluflow` load nothing heavy. `reluflow bench start` measures the seconds."""

import subprocess
import sys


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from reluflow.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'numba', 'scipy', 'zarr', 'xarray', 'matplotlib', 'pydantic', 'distributed'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_importing_imports_nothing_heavy():
    code = "import sys, reluflow; sys.exit(', '.join({'numpy', 'numba', 'zarr'} & set(sys.modules)) or 0)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
