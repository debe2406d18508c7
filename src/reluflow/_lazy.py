"""Lazy public names of a package: imported at first use, so that importing the package is fast."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Collection, Mapping
from types import ModuleType


def by_file(**names: str) -> dict[str, str]:
    """Names and the files they are in, from the names of each file."""
    return {name: file for file, of_file in names.items() for name in of_file.split()}


def near(name: str, known: list[str]) -> str:
    """The nearest known name as a question; empty where there is none, and for names that Python itself asks for."""
    import difflib

    found = [] if name.startswith("_") else difflib.get_close_matches(name, known, n=1)
    return f": did you mean `{found[0]}`?" if found else ""


def lazily(package: str, names: Mapping[str, str], modules: Collection[str] = ()) -> None:
    """Lets `package` import its `names` (from the files given) and its own `modules` at first use.

    A file may have the name of what it defines: importing `reluflow.solve` does not replace `rf.solve`, the function,
    by the module.
    """

    class Package(ModuleType):
        def __getattr__(self, name):
            if name in modules:
                return importlib.import_module(f"{package}.{name}")
            if name not in names:
                raise AttributeError(f"module {package!r} has no attribute {name!r}{near(name, [*modules, *names])}")
            value = getattr(importlib.import_module(f"{package}.{names[name]}"), name)
            setattr(self, name, value)
            return value

        def __setattr__(self, name, value):
            if not (name in names and isinstance(value, ModuleType)):
                super().__setattr__(name, value)

        def __dir__(self):
            return sorted(self.__all__)

    sys.modules[package].__class__ = Package
