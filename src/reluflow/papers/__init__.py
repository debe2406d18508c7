"""The papers: one folder each, one file per numbered result or figure.

`rf.papers["boursier2022"].figures["fig4"]` is a figure: `.compute()`, `.facts(ds)`, `.draw(ds)`, `.caption(ds)`.
"""

import sys
from types import ModuleType


class _Papers(ModuleType):
    """The package itself, read as a mapping from papers' names to their figures."""

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
