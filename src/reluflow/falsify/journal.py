"""A search on disk: its description and every run it judged, one JSON object a line, written as it goes.

Proposals depend on scores alone, so a search resumes by being repeated: what the journal has is not run again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO

from reluflow.falsify.judgement import Judged


class Journal:
    """Runs already judged, by digest of their specification; new ones are appended to the file, if there is one."""

    def __init__(self, path: str | Path | None, about: dict, resume: bool):
        self.known: dict[str, Judged] = {}
        self._file: IO[str] | None = None
        if path is None:
            return
        path = Path(path)
        if path.exists() and not resume:
            raise FileExistsError(f"`{path}` exists: give another name, or `resume=True` to continue it.")
        if path.exists():
            self._read(path, about)
            self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "w", encoding="utf-8")  # noqa: SIM115
            self._write({"search": about})

    def _read(self, path: Path, about: dict) -> None:
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                try:
                    row = json.loads(line)
                except json.JSONDecodeError:
                    break  # the last line of an interrupted write
                if number == 0:
                    if row.get("search") != json.loads(json.dumps(about)):
                        raise ValueError(f"`{path}` holds another search: {row.get('search')}. Give another name.")
                    continue
                self.known[row.pop("run")] = Judged(**row)

    def add(self, digest: str, found: Judged) -> None:
        self.known[digest] = found
        self._write({"run": digest, **found.to_dict()})

    def _write(self, row: dict) -> None:
        if self._file is not None:
            self._file.write(json.dumps(row) + "\n")
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
