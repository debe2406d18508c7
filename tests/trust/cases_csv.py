"""CSV files: spoiled bytes, spoiled cells, odd delimiters and labels, and files of no sense at all."""

from __future__ import annotations

from pathlib import Path
from random import Random

from trust.mutate import ODD_NUMBERS, ODD_TEXTS, spoiled

VALID = [
    "x0,x1,y\n1.5,2.0,1\n-0.25,1e-3,-1\n0.1,0.2,1\n",
    "1,2,1\n3,4,-1\n",
    "# points\n\nheight,y,weight\n1.0,1,70.5\n1.9,-1,80.25\n",
    "\ufeffa,b\r\n1,2\r\n3,4\r\n",
]
NUMBERS = [
    "1e308",
    "-1e308",
    "1e309",
    "nan",
    "inf",
    "-inf",
    "1_000",
    "0x10",
    "1e-320",
    "",
    " ",
    "1,5",
    "--1",
    "١٢",
    "+.5e1",
]


def absurd(rng: Random) -> tuple[str, bytes]:
    many = rng.choice([100, 10_000, 200_000])
    choices = {
        "empty": b"",
        "only newlines": b"\n" * many,
        "one long cell": b"1" * many + b",2\n",
        "one long quoted cell": b'"' + b"1," * many,
        "long number": b"1" * many + b",1\n2,1\n",
        "many columns": b",".join([b"1"] * min(many, 20_000)) + b"\n",
        "many header columns": b",".join([b"a"] * min(many, 20_000)) + b"\n1,2\n",
        "quotes": b'"' * many,
        "NUL bytes": b"\0" * many,
        "utf-16": VALID[0].encode("utf-16"),
        "latin-1": "é,y\n1,2\n".encode("latin-1"),
        "surrogates": b"\xed\xa0\x80,y\n1,2\n",
        "not text": bytes(rng.randrange(256) for _ in range(300)),
        "comments": b"#\n" * min(many, 10_000),
        "an archive": b"PK\x03\x04" + bytes(rng.randrange(256) for _ in range(60)),
        "control characters": b"\x1b[31mx\x1b[0m,y\n1,2\n",
        "duplicate headers": b"y,y\n1,2\n",
        "ragged": b"1,2\n1,2,3\n1\n",
        "line separators": "1,2\u20283,4\n5,6\x85\n".encode(),
    }
    label = rng.choice(list(choices))
    return label, choices[label]


class Cases:
    def __init__(self, folder: Path, outside: Path):
        self.folder, self.outside = folder / "inside", outside
        self.folder.mkdir()
        self.path, self.more = self.folder / "case.csv", {}

    def write(self, rng: Random, valid: bool = False) -> str:
        self.path, self.more = self.folder / "case.csv", {}
        text = rng.choice(VALID)
        if valid:
            self.path.write_text(text)
            return "valid"
        roll = rng.random()
        if roll < 0.35:
            label, raw = spoiled(rng, text.encode())
            while rng.random() < 0.3:
                label, raw = spoiled(rng, raw)
        elif roll < 0.7:
            lines = [line.split(",") for line in text.split("\n")]
            for _ in range(rng.randint(1, 3)):
                row = rng.choice(lines)
                odd = rng.choice(NUMBERS if rng.random() < 0.6 else [repr(v) for v in ODD_NUMBERS] + list(ODD_TEXTS))
                row[rng.randrange(len(row))] = odd
                if rng.random() < 0.2:
                    row.append(odd)
            label, raw = "cells", "\n".join(",".join(row) for row in lines).encode("utf-8", "surrogatepass")
        else:
            label, raw = absurd(rng)
        if rng.random() < 0.2:
            label += ", arguments"
            self.more["label"] = rng.choice([*ODD_NUMBERS, *ODD_TEXTS, None, 0, -1, -2, 1, 5, "y", ["y"]])
        if rng.random() < 0.1:
            self.more["delimiter"] = rng.choice([";", "\t", "", ",,", "\n", "\0", '"', 3, None, "é", " "])
        self.path.write_bytes(raw)
        if rng.random() < 0.03:
            label, self.path = (
                "a place",
                rng.choice([self.folder, Path("/dev/zero"), Path("/proc/self/mem"), Path("no\0where")]),
            )
        return label

    def load(self) -> None:
        import reluflow as rf

        data = rf.data.from_csv(self.path, **self.more)
        assert repr(data) and data.x.shape == (data.n, data.d)
