"""Proves the theorems that are shipped, checks them, and writes them into docs/theorems.md.

.venv/bin/python scripts/theorems.py           # prove, check, save, write the page (two minutes)
.venv/bin/python scripts/theorems.py --page    # the page alone, from the saved certificates
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np

import reluflow as rf

ROOT = Path(__file__).resolve().parent.parent
SAVED = ROOT / "src" / "reluflow" / "certify" / "theorems"
PAGE = ROOT / "docs" / "theorems.md"


def problem(x, y, w, s, log_scale) -> rf.Problem:
    w = np.array(w)
    return rf.Problem(rf.Data(x, y), rf.Params(w, np.array(s) * np.linalg.norm(w, axis=1), log_scale=log_scale))


def two_points(width: int, log_scale: float) -> rf.Problem:
    return rf.Problem(rf.data.two_points(), rf.init.balanced(width, 2, log_scale=log_scale, seed=0))


def not_minimum_norm() -> rf.Certificate:
    x, y = [[1.0, 1.0], [1.25, -0.75], [-1.0, 0.0]], [0.5, -0.5, 1.0]
    w, s = [[0.875, 1.625], [0.5, 1.625], [-0.25, 1.625], [0.75, -1.625]], [-1, -1, 1, -1]
    return rf.certify(problem(x, y, w, s, -30.0), digits=60)


def five_points() -> rf.Certificate:
    return rf.certify(rf.Problem(rf.data.five_points(), rf.init.balanced(5, 2, log_scale=-10.0, seed=5)))


def every_small_scale() -> rf.Certificate:
    return rf.certify(two_points(5, -14.0), every_scale_below=True)


def two_points_e30() -> rf.Certificate:
    return rf.certify(two_points(6, -30.0))


def positive_loss() -> rf.Certificate:
    x, y = [[1.75, 1.5], [-2.0, -1.75], [-1.5, 0.5]], [-0.5, -1.25, -1.25]
    w = [[1.75, 0.375], [-1.875, -1.0], [0.625, -1.0], [1.125, -0.875], [0.5, -1.625]]
    return rf.certify(problem(x, y, w, [1, 1, 1, 1, -1], -3.0))


ALL = (not_minimum_norm, five_points, every_small_scale, two_points_e30, positive_loss)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", action="store_true", help="write the page alone")
    page_alone = parser.parse_args().page
    page = PAGE.read_text(encoding="utf-8")
    for make in ALL:
        path = SAVED / f"{make.__name__}.json"
        if not page_alone:
            found = make()
            print(path.name, *found.check(), sep="\n  ")
            found.save(path)
        shown = f"<!-- {make.__name__} -->\n```text\n{rf.Certificate.load(path)}\n```\n"
        page, hits = re.subn(rf"<!-- {make.__name__} -->\n```text\n.*?\n```\n", lambda _, t=shown: t, page, flags=re.S)
        assert hits == 1, f"docs/theorems.md has no place for {make.__name__}"
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
