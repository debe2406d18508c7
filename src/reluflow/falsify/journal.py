"""A search on disk: its description and every run it judged, one JSON object a line, written as it goes.

Proposals depend on scores alone, so a search resumes by being repeated: what the journal has is not run again.
"""

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
            good = self._read(path, about)
            self._file = open(path, "r+", encoding="utf-8")
            self._file.truncate(good)  # the last line of an interrupted write
            self._file.seek(good)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "w", encoding="utf-8")
            self._write({"search": about})

    def _read(self, path: Path, about: dict) -> int:
        """Reads the runs; returns the bytes of whole lines."""
        good = 0
        for number, line in enumerate(path.read_bytes().splitlines(keepends=True)):
            try:
                row = json.loads(line)
            except ValueError:
                break
            if not line.endswith(b"\n"):
                break
            if number == 0 and row.get("search") != json.loads(json.dumps(about)):
                raise ValueError(f"`{path}` holds another search, {row.get('search')}: give another name.")
            if number > 0:
                digest = row.pop("run")
                self.known[digest] = Judged(**row)
            good += len(line)
        return good

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
