"""Data in CSV and NPZ files. Numbers survive the round trip bit for bit; nothing is ever unpickled."""

from __future__ import annotations

import csv
import math
import os
import zipfile
import zlib
from pathlib import Path

import numpy as np

from reluflow._checks import whole
from reluflow.data.core import Data


def from_csv(path, label=None, delimiter: str = ",") -> Data:
    """Read one row per line; blank lines and lines that start with # are skipped.

    The first line is a header when one of its cells is not a number. `label` names the label's column, by its header or
    counted from 0 (-1 is the last); left out, it is the column called y, or the last one.
    """
    path = _existing(path)
    header: list[str] | None = None
    rows: list[list[float]] = []
    try:
        with open(path, newline="", encoding="utf-8-sig") as handle:
            reader = csv.reader(handle, delimiter=delimiter)
            for cells in reader:
                if not cells or cells[0].lstrip().startswith("#") or all(not c.strip() for c in cells):
                    continue
                if header is None and not rows and not all(_is_number(c) for c in cells):
                    header = [c.strip() for c in cells]
                    continue
                width = len(header) if header else len(rows[0]) if rows else len(cells)
                rows.append(_numbers(path, reader.line_num, cells, width, delimiter))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"`{path}` must be a CSV file in UTF-8, got {error}: save it as plain text.") from None
    if not rows:
        raise ValueError(
            f"`{path}` must hold at least one line of numbers, got none: one row per line, label included."
        )
    table = np.array(rows)
    column = _label_column(path, label, header, table.shape[1])
    return Data(np.delete(table, column, axis=1), table[:, column], name=path.stem)


def _existing(path) -> Path:
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"`{path}` must be a file, got nothing there: check the path (now in `{Path.cwd()}`).")
    return path


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python reads 1_0 as 10; a data file that holds it is broken


def _numbers(path: Path, line: int, cells: list[str], width: int, delimiter: str) -> list[float]:
    if len(cells) != width:
        raise ValueError(
            f"Every line of `{path}` must have {width} cells, got {len(cells)} on line {line}: repair that line "
            f"(cells end at {delimiter!r})."
        )
    if width < 2:
        raise ValueError(
            f"`{path}` must have at least two columns, a row and its label, got one on line {line}: "
            f"cells end at {delimiter!r}, change it with `delimiter`."
        )
    try:
        values = [float(cell) for cell in cells]
    except ValueError:
        values = []
    if values and "_" not in "".join(cells) and all(map(math.isfinite, values)):
        return values
    k = next(k for k, cell in enumerate(cells) if not _is_number(cell) or not math.isfinite(float(cell)))
    raise ValueError(
        f"Every cell of `{path}` must be a finite number, got {cells[k].strip()!r} on line {line}, column {k + 1}: "
        "repair or drop that line."
    )


def _label_column(path: Path, label, header: list[str] | None, width: int) -> int:
    if label is None:
        label = "y" if header and header.count("y") == 1 else width - 1
    if isinstance(label, str):
        if header is None or header.count(label) != 1:
            have = "no header" if header is None else f"columns {', '.join(header[:12])}{', ...' if width > 12 else ''}"
            raise ValueError(
                f"`label` must name one column of `{path}`, got {label!r} with {have}: or give its number."
            )
        return header.index(label)
    column = whole("label", label, least=-width, hint="a column name, or a number counted from 0")
    if column >= width:
        raise ValueError(
            f"`label` must be below the {width} columns of `{path}`, got {column}: count from 0, -1 is the last."
        )
    return column % width


def write_csv(data: Data, path) -> None:
    def write(handle):
        handle.write((",".join([f"x{k}" for k in range(data.d)] + ["y"]) + "\n").encode())
        for row, label in zip(data.x.tolist(), data.y.tolist(), strict=True):
            # repr is the shortest text that reads back as the same float64.
            handle.write((",".join(map(repr, row)) + f",{label!r}\n").encode())

    _replace(path, write)


def from_npz(path) -> Data:
    """Read arrays `x` (n, d) and `y` (n,), and `name` where there is one."""
    path = _existing(path)
    if not zipfile.is_zipfile(path):
        raise ValueError(
            f"`{path}` must be an NPZ file, got something else: write one with `np.savez(path, x=x, y=y)`."
        )
    try:
        with np.load(path, allow_pickle=False) as archive:
            missing = [key for key in ("x", "y") if key not in archive.files]
            if missing:
                raise ValueError(
                    f"`{path}` must hold arrays `x` and `y`, got {', '.join(archive.files) or 'none'}: "
                    "write them with `np.savez(path, x=x, y=y)`."
                )
            arrays = {key: archive[key] for key in ("x", "y", "name") if key in archive.files}
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise ValueError(f"`{path}` must be a whole NPZ file, got damage ({error}): write it again.") from None
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        raise ValueError(f"`{path}` must hold plain numbers, got Python objects: save float arrays.") from None
    for key in ("x", "y"):
        if arrays[key].dtype.kind not in "fiub":
            raise ValueError(
                f"`{key}` in `{path}` must be an array of real numbers, got {arrays[key].dtype}: save floats."
            )
    return Data(arrays["x"], arrays["y"], name=str(arrays.get("name", path.stem)))


def write_npz(data: Data, path) -> None:
    _replace(path, lambda handle: np.savez(handle, x=data.x, y=data.y, name=np.array(data.name)))


def _replace(path, write) -> None:
    """Write beside `path`, then rename: a reader never sees half a file."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"The folder of `{path}` must exist, got no `{path.parent}`: make it first.")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as handle:
            write(handle)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
