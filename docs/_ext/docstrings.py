"""Docstrings as they are written here, for autodoc: `names` in backticks, $formulas$, indented lines kept as they are.

They are not reStructuredText: |w_j| is a norm and not a substitution, a_j a weight and not a link.
"""

import re

PIECES = re.compile(r"(`[^`]+`|\$[^$\n]+\$)")


def words(text: str) -> str:
    """One line of prose as reStructuredText."""
    out = []
    for piece in PIECES.split(text):
        if piece.startswith("`") and len(piece) > 2:
            out.append(f"``{piece[1:-1]}``\\ ")
        elif piece.startswith("$") and len(piece) > 2:
            out.append(f":math:`{piece[1:-1]}`\\ ")
        else:
            out.append(re.sub(r"([\\*_|`])", r"\\\1", piece))
    return "".join(out)


def convert(lines: list[str]) -> list[str]:
    """Prose and indented blocks of a docstring as reStructuredText."""
    out: list[str] = []
    inside = False
    for line in lines:
        if line.startswith("  ") and line.strip():
            if not inside:
                out += ["", "::", ""]
            inside = True
            out.append("    " + line)
        else:
            if inside and line.strip():
                out.append("")
            inside = inside and not line.strip()
            item = line.lstrip().startswith(("- ", "* "))
            out.append(line[:2] + words(line[2:]) if item else words(line))
    return out


def process(app, what, name, obj, options, lines) -> None:
    lines[:] = convert(lines)


def setup(app):
    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
