"""The table of activation events: neuron, datum, time, kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

Times = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # of clock values, as (t, log t)
KINDS = ("on", "off", "slide", "release_on", "release_off", "dead", "sign", "origin")
COLUMNS = ("t", "log_t", "neuron", "datum", "kind", "unique")
SHOWN = 10  # rows that are printed
# For a row on the opposite side of a shared hyperplane the same event is reversed.
MIRROR = np.array([1, 0, 2, 4, 3, 5, 6, 7])


class Events:
    """Columns `t`, `log_t`, `neuron`, `datum` (-1 if none), `kind`, `unique`; rows in order of time, simultaneous
    ones sharing `t`."""

    def __init__(
        self,
        t: np.ndarray,
        log_t: np.ndarray,
        neuron: np.ndarray,
        datum: np.ndarray,
        code: np.ndarray,
        unique: np.ndarray,
    ):
        self.t, self.log_t = np.asarray(t, float), np.asarray(log_t, float)
        self.neuron, self.datum = np.asarray(neuron, np.int64), np.asarray(datum, np.int64)
        self.code, self.unique = np.asarray(code, np.int64), np.asarray(unique, bool)

    @property
    def kind(self) -> np.ndarray:
        return np.array(KINDS)[self.code]

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, which: Any) -> Events:
        """Rows by mask, slice or index array, or by the name of a kind: `events["slide"]`."""
        if isinstance(which, str):
            if which not in KINDS:
                raise KeyError(f"An event kind must be one of {', '.join(KINDS)}, got {which!r}.")
            which = self.code == KINDS.index(which)
        cols = (self.t, self.log_t, self.neuron, self.datum, self.code, self.unique)
        return Events(*(np.atleast_1d(c[which]) for c in cols))

    @property
    def wakes(self) -> np.ndarray:
        """Which rows say that a dead neuron could leave the boundary it died on from then on: `dead` with a datum, not
        unique. The run keeps it off, as descent does."""
        return (self.code == KINDS.index("dead")) & ~self.unique

    def counts(self) -> dict[str, int]:
        """The number of events of each kind that occurs."""
        found = np.bincount(self.code, minlength=len(KINDS))
        return {name: int(k) for name, k in zip(KINDS, found, strict=True) if k}

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a `pandas.DataFrame`, kinds by name."""
        import pandas as pd

        return pd.DataFrame({name: getattr(self, name) for name in COLUMNS})

    def __str__(self) -> str:
        """The number of events of each kind, and the first rows."""
        lines = [repr(self)]
        if len(self):
            lines.append(f"{'t':>14}  neuron  datum  kind")
        columns = (self.t, self.log_t, self.neuron, self.datum, self.kind, self.unique)
        for t, log_t, j, i, kind, unique in zip(*(c[:SHOWN] for c in columns)):
            when = f"{t:.8g}" if np.isfinite(t) else f"e^{log_t:.8g}"
            lines.append(f"{when:>14}  {j:>6}  {i if i >= 0 else '':>5}  {kind}{'' if unique else ', not unique'}")
        if len(self) > SHOWN:
            lines.append(f"... {len(self) - SHOWN} more: `.to_pandas()` has all")
        return "\n".join(lines)

    def __repr__(self) -> str:
        parts = ", ".join(f"{k} {name}" for name, k in self.counts().items())
        return f"Events({len(self)}: {parts})" if len(self) else "Events(none)"

    @classmethod
    def from_surfaces(cls, rows: np.ndarray, times: Times, pack: Any, kept: np.ndarray) -> Events:
        """From the kernels' rows (clock, neuron, surface, kind, unique): one row per datum of each surface."""
        surface = rows[:, 2].astype(np.int64)
        if len(pack.surf) == len(pack.e):  # every datum has a surface of its own, and they are in order
            on_data, local = surface >= 0, np.maximum(surface, 0)
        else:
            order = np.argsort(pack.surf, kind="stable")
            starts = np.searchsorted(pack.surf[order], np.arange(len(pack.e) + 1))
            size = np.where(surface >= 0, starts[surface + 1] - starts[surface], 1)
            within = np.arange(np.sum(size)) - np.repeat(np.cumsum(size) - size, size)
            rows, surface = np.repeat(rows, size, axis=0), np.repeat(surface, size)
            on_data = surface >= 0
            local = order[np.where(on_data, starts[surface] + within, 0)]
        code = rows[:, 3].astype(np.int64)
        far = on_data & (pack.alpha[local] < 0) if len(pack.alpha) else on_data
        code = np.where(far, MIRROR[code], code)
        datum = np.where(on_data, kept[local] if len(kept) else -1, -1)
        t, log_t = times(rows[:, 0])
        return cls(t, log_t, rows[:, 1], datum, code, rows[:, 4] > 0.5)
