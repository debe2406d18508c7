"""Compiled kernels.

Numba keeps a compiled function until its own file changes, although code of other files is compiled into it. Kernels
are therefore forgotten together: when any kernel file, or the table of losses compiled into them, is newer than the
last time one was, everything compiled beside them is deleted.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path


def _forget_stale() -> None:
    here = Path(os.path.abspath(__file__)).parent
    cache = here / "__pycache__"
    if os.environ.get("NUMBA_CACHE_DIR"):
        cache = Path(os.environ["NUMBA_CACHE_DIR"]) / f"{here.name}_{hashlib.sha1(str(here).encode()).hexdigest()}"
    sources = [*sorted(here.glob("*.py")), here.parent / "losses.py"]
    stamp = ";".join(f"{p.name}:{p.stat().st_mtime_ns}:{p.stat().st_size}" for p in sources)
    note = cache / "kernels.stamp"
    with contextlib.suppress(OSError):
        if note.exists() and note.read_text() == stamp:
            return
        for old in (*cache.glob("*.nbi"), *cache.glob("*.nbc")):
            old.unlink(missing_ok=True)
        cache.mkdir(parents=True, exist_ok=True)
        note.write_text(stamp)


_forget_stale()
