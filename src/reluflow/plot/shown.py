"""Figures that a notebook shows as they are, without pyplot."""

import io

from matplotlib.figure import Figure


class Picture(Figure):
    """A matplotlib Figure with an image of itself for notebooks."""

    def _repr_png_(self) -> bytes:
        out = io.BytesIO()
        self.savefig(out, format="png", dpi=100)
        return out.getvalue()
