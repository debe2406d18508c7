"""Data in CSV and NPZ files. Numbers are preserved bit for bit; nothing is unpickled."""

from __future__ import annotations

import csv
import io
import math
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from reluflow._checks import by_name, plainly, shown, whole
from reluflow.data.core import Data

# Most bytes an archive may decompress to, or most times its own size.
UNPACKED, RATIO = 2**28, 100
NAME = 1000  # characters of a name


@by_name
def from_csv(path, label=None, delimiter: str = ",") -> Data:
    """Read one row per line; blank lines and lines that start with # are skipped.

    The first line is a header when none of its cells is a number. `label` is the label's column, by its header or
    by its number from 0 (-1 is the last); by default it is the column called y, or the last one. A list of columns, or
    columns called y0, y1, ..., are labels of shape (n, k). Labels that are words are classes, numbered 0, 1, ... in
    alphabetical order, as the softmax loss takes them; `data.classes` has the words, `print(data)` shows them.
    """
    path = _existing(path)
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '\r\n"\0':
        raise ValueError(f'`delimiter` must be one character, got {shown(delimiter)}: try "," or ";".')
    try:
        with open(path, newline="", encoding="utf-8-sig") as handle:
            return _from_lines(handle, path, label, delimiter)
    except (UnicodeDecodeError, OSError) as error:
        raise _not_csv(path, error) from None


def from_csv_text(text: str, name: str = "data.csv", label=None, delimiter: str = ",") -> Data:
    """The same from the text of a file called `name`."""
    return _from_lines(io.StringIO(text.removeprefix("\ufeff"), newline=""), Path(name), label, delimiter)


def _from_lines(lines: Iterable[str], path: Path, label, delimiter: str) -> Data:
    header: list[str] | None = None
    rows: list[list[float]] = []
    words: list[str] = []
    columns: list[int] = []
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        for cells in reader:
            if not cells or cells[0].lstrip().startswith("#") or all(not c.strip() for c in cells):
                continue
            if not rows and header is None:
                _needs_two(path, reader.line_num, cells, delimiter)
            if header is None and not rows and not all(_is_number(c) for c in cells):
                header = _header(path, reader.line_num, cells, delimiter)
                continue
            width = len(header) if header else len(rows[0]) if rows else len(cells)
            if not rows:
                columns = _label_columns(path, label, header, width)
            worded = header and len(columns) == 1 and len(cells) == width > 1 and len(words) == len(rows)
            if worded and not _is_number(cells[columns[0]]):
                words.append(_word(path, reader.line_num, cells[columns[0]]))
                cells = [*cells[: columns[0]], "0", *cells[columns[0] + 1 :]]
            rows.append(_numbers(path, reader.line_num, cells, width, delimiter))
    except csv.Error as error:
        raise _not_csv(path, error) from None
    if not rows:
        raise ValueError(
            f"{_called(path)} must hold at least one line of numbers, got none: one row per line, label included."
        )
    table = np.array(rows)
    x, y = np.delete(table, columns, axis=1), table[:, columns]
    named = None if header is None else _column_names(header, columns)
    if not words:
        return Data(x, y, name=path.stem, columns=named)
    if len(words) < len(rows):
        raise ValueError(
            f"Labels of {_called(path)} must be all words or all numbers, got {shown(words[0])} beside a number: "
            "repair the column."
        )
    names, found = np.unique(np.array(words), return_inverse=True)
    return Data(x, found.reshape(-1), name=path.stem, classes=tuple(names.tolist()), columns=named)


def _column_names(header: list[str], labels: list[int]) -> tuple[str, ...] | None:
    """The names of the columns that are not labels; None where they say no more than their numbers."""
    names = tuple(plainly(name, NAME) for k, name in enumerate(header) if k not in labels)
    return None if names == tuple(f"x{k}" for k in range(len(names))) else names


def _not_csv(path: Path, error: Exception) -> ValueError:
    why = plainly(str(error), 200)
    return ValueError(f"{_called(path)} must be a CSV file in UTF-8, got {why}: save it as plain text.")


def _header(path: Path, line: int, cells: list[str], delimiter: str) -> list[str]:
    """The names of the columns; a first line that is neither all names nor all numbers is refused."""
    for k, cell in enumerate(cells):
        if _is_number(cell):
            other = next(c for c in cells if not _is_number(c))
            raise ValueError(
                f"The first line of {_called(path)} must hold names or numbers, not both, got {shown(other.strip())} "
                f"beside {shown(cell.strip())} in column {k + 1} of line {line}: {_repair(cells, delimiter)}."
            )
    return [c.strip() for c in cells]


def _existing(path) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"`path` must be a path, got {shown(path)}: write it in quotes.")
    path = Path(path)
    try:
        there = path.is_file()
    except (OSError, ValueError):  # path too long, or invalid characters
        there = False
    if not there:
        raise FileNotFoundError(f"File not found: {plainly(str(path))} (current folder {Path.cwd()}).")
    return path


def _called(path: Path) -> str:
    return f"`{plainly(str(path))}`"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python reads 1_0 as 10; in a data file it is a mistake


def _numbers(path: Path, line: int, cells: list[str], width: int, delimiter: str) -> list[float]:
    if len(cells) != width:
        raise ValueError(
            f"Every line of {_called(path)} must have {width} cells, got {len(cells)} on line {line}: "
            f"{_repair(cells, delimiter)}."
        )
    try:
        values = [float(cell) for cell in cells]
    except ValueError:
        values = []
    if values and "_" not in "".join(cells) and all(map(math.isfinite, values)):
        return values
    k = next(k for k, cell in enumerate(cells) if not _is_number(cell) or not math.isfinite(float(cell)))
    way_out = "repair or drop that line; only labels may be words, other columns of text must be replaced by numbers"
    if _is_number(cells[k].replace(",", ".", 1)) and "," in cells[k]:
        way_out = "write decimals with a point"
    raise ValueError(
        f"Every cell of {_called(path)} must be a finite number, got {shown(cells[k].strip())} on line {line}, "
        f"column {k + 1}: {way_out}."
    )


def _needs_two(path: Path, line: int, cells: list[str], delimiter: str) -> None:
    """Refuses a file whose first line has one cell."""
    if len(cells) < 2:
        other = _other_delimiter(cells, delimiter)
        way_out = f"try `delimiter={other}`" if other else "change it with `delimiter`"
        raise ValueError(
            f"{_called(path)} must have at least two columns, a row and its label, got one on line {line}: "
            f"cells end at {delimiter!r}, {way_out}."
        )


def _repair(cells: list[str], delimiter: str) -> str:
    """The way out for a line with the wrong cells. Where semicolons were asked for, commas are decimals."""
    other = _other_delimiter(cells, delimiter) if delimiter == "," else ""
    return f"repair that line (cells end at {delimiter!r})" + (f", or try `delimiter={other}`" if other else "")


def _other_delimiter(cells: list[str], delimiter: str) -> str:
    """A character that seems to end the cells instead, in quotes; empty where there is none."""
    text = delimiter.join(cells)
    return next((f'"{c}"' if c != "\t" else '"\\t"' for c in ";\t|," if c != delimiter and c in text), "")


def _word(path: Path, line: int, cell: str) -> str:
    """The name of a class."""
    word = cell.strip()
    if not word or len(word) > NAME:
        raise ValueError(
            f"Labels of {_called(path)} must be words or numbers, got {shown(word)} on line {line}: repair that line."
        )
    return word


def likely_delimiter(text: str) -> str:
    """What seems to end the cells of a file: a comma if its first line has one, else a semicolon, a tab or a bar."""
    first = text.lstrip().partition("\n")[0]
    return next((c for c in ",;\t|" if c in first), ",")


def _label_columns(path: Path, label, header: list[str] | None, width: int) -> list[int]:
    """The label's column, or those of several outputs."""
    if isinstance(label, list | tuple):
        found = [_label_column(path, one, header, width) for one in label]
        if not found or len(set(found)) < len(found):
            raise ValueError(f"`label` must name one or more different columns, got {shown(label)}: drop repeats.")
    elif label is None and header and "y0" in header and "y" not in header:
        found = []
        while f"y{len(found)}" in header:
            found.append(_label_column(path, f"y{len(found)}", header, width))
    else:
        found = [_label_column(path, label, header, width)]
    if len(found) >= width > 1:
        raise ValueError(f"{_called(path)} must have columns besides its labels, got {width} labels and no other.")
    return found


def _label_column(path: Path, label, header: list[str] | None, width: int) -> int:
    if label is None and header and header.count("y") > 1:
        raise ValueError(
            f"{_called(path)} must have one column called y, got {header.count('y')}: give the number of the label's "
            f"column, as in `label={len(header) - 1 - header[::-1].index('y')}`."
        )
    if label is None:
        label = "y" if header and header.count("y") == 1 else width - 1
    if isinstance(label, str):
        if header is None or header.count(label) != 1:
            have = (
                "no header"
                if header is None
                else f"columns {plainly(', '.join(header[:12]), 200)}{', ...' if width > 12 else ''}"
            )
            raise ValueError(
                f"`label` must name one column of {_called(path)}, got {shown(label)} with {have}: or give its number."
            )
        return header.index(label)
    column = whole("label", label, least=-width, hint="a column name, or a number counted from 0")
    if column >= width:
        raise ValueError(
            f"`label` must be below the {width} columns of {_called(path)}, got {column}: count from 0, -1 is the last."
        )
    return column % width


def write_csv(data: Data, path) -> None:
    def write(handle):
        names = ["y"] if data.outputs == 1 else [f"y{k}" for k in range(data.outputs)]
        columns = data.columns or ()
        if not columns or columns[0].lstrip().startswith("#") or any(_is_number(c) or not c for c in columns):
            columns = tuple(f"x{k}" for k in range(data.d))  # names that a header cannot have
        csv.writer(text := io.StringIO(), lineterminator="\n").writerow([*columns, *names])
        handle.write(text.getvalue().encode())
        for row, labels in zip(data.x.tolist(), data.y.reshape(data.n, -1).tolist(), strict=True):
            # repr is the shortest text that reads back as the same float64.
            handle.write((",".join(map(repr, row + labels)) + "\n").encode())

    _replace(path, write)


@by_name
def from_npz(path) -> Data:
    """Read arrays `x` (n, d) and `y` (n,) or (n, k), and `name` if there is one."""
    path = _existing(path)
    try:
        archive = zipfile.ZipFile(path)
    except Exception:  # whatever the parser raises, the file is not a valid archive
        raise ValueError(
            f"{_called(path)} is not a complete NPZ file: write one with `np.savez(path, x=x, y=y)`."
        ) from None
    with archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if not {"x", "y"} <= set(members):
            held = plainly(", ".join(list(members)[:12]), 200) or "none"
            raise ValueError(
                f"{_called(path)} must hold arrays `x` and `y`, got {held}: write them with `np.savez(path, x=x, y=y)`."
            )
        wanted: dict[str, zipfile.ZipInfo] = {key: members[key] for key in ("x", "y", "name") if key in members}
        _bounded(path, wanted)
        arrays = {key: _member(path, archive, key, info) for key, info in wanted.items()}
    for key in ("x", "y"):
        if arrays[key].dtype.kind not in "fiub":
            raise ValueError(
                f"`{key}` in {_called(path)} must be an array of real numbers, got {arrays[key].dtype}: save floats."
            )
    name = arrays.get("name", np.array(path.stem))
    if name.dtype.kind != "U" or name.ndim != 0 or name.dtype.itemsize > 4 * NAME:
        raise ValueError(
            f"`name` in {_called(path)} must be one text, got {name.dtype} of shape {name.shape}: drop it."
        )
    return Data(arrays["x"], arrays["y"], name=str(name))


def _bounded(path: Path, members: dict[str, zipfile.ZipInfo]) -> None:
    """The decompressed size stated in the archive, which `zipfile` enforces, must be within bounds."""
    whole, most = sum(info.file_size for info in members.values()), max(UNPACKED, RATIO * path.stat().st_size)
    if whole > most:
        raise ValueError(f"{_called(path)} must unpack to at most {most} bytes, got {whole}: save it with `np.savez`.")


def _member(path: Path, archive: zipfile.ZipFile, key: str, info: zipfile.ZipInfo) -> np.ndarray:
    """One array, read only after its header was checked against its size; objects are never unpickled."""
    objects = False
    try:
        with archive.open(info) as handle:
            version = np.lib.format.read_magic(handle)
            read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            shape, fortran, dtype = read[version](handle)
            objects = dtype.hasobject
            if (
                objects
                or min(shape, default=0) < 0
                or handle.tell() + dtype.itemsize * math.prod(shape) != info.file_size
            ):
                raise ValueError("the header must fit the member")
            return np.frombuffer(handle.read(), dtype).reshape(shape, order="F" if fortran else "C")
    except Exception:  # whatever the parser raises, the member is damaged
        got = "Python objects: save float arrays" if objects else "damage: write it again with `np.savez`"
        raise ValueError(f"`{key}` in {_called(path)} must be a complete array of plain numbers, got {got}.") from None


def write_npz(data: Data, path) -> None:
    _replace(path, lambda handle: np.savez(handle, x=data.x, y=data.y, name=np.array(data.name)))


def _replace(path, write) -> None:
    """Write a temporary file beside `path`, then rename it, so that readers never see an incomplete file."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"Folder not found: {plainly(str(path.parent))}. Create it first.")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as handle:
            write(handle)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
