"""The papers: one folder each, one file per numbered result or figure.

`rf.papers["boursier2022"].figures["fig4"]` is a figure: `.compute()`, `.facts(ds)`, `.draw(ds)`, `.caption(ds)`;
`rf.papers["boursier2022"].reference` is the paper in BibTeX. Files of figures call `reluflow.papers.solve`, which is
`rf.solve` with progress shown to whoever waits for the figure.
"""

import sys
from types import ModuleType

from reluflow.papers._figures import solve


class _Papers(ModuleType):
    """The package itself, read as a mapping from papers' names to their figures."""

    def __getattr__(self, name):
        if name != "solve":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return solve

    def __getitem__(self, name):
        from reluflow.papers import _figures

        return _figures.paper(name)

    def __iter__(self):
        from reluflow.papers import _figures

        return iter(_figures.papers())

    def __len__(self):
        return len(list(iter(self)))

    def __contains__(self, name):
        return name in list(iter(self))


sys.modules[__name__].__class__ = _Papers
