"""Packages whose public names are imported when first used, so that importing the package costs nothing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Collection, Mapping
from types import ModuleType


def lazily(package: str, names: Mapping[str, str], modules: Collection[str] = ()) -> None:
    """Makes `package` give the `names` that live in the files named, and its own `modules`, when they are asked for.

    A file may be called like what it defines: importing `reluflow.solve` does not put the module where `rf.solve`, the
    function, is looked for.
    """

    class Package(ModuleType):
        def __getattr__(self, name):
            if name in modules:
                return importlib.import_module(f"{package}.{name}")
            if name not in names:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            value = getattr(importlib.import_module(f"{package}.{names[name]}"), name)
            setattr(self, name, value)
            return value

        def __setattr__(self, name, value):
            if not (name in names and isinstance(value, ModuleType)):
                super().__setattr__(name, value)

        def __dir__(self):
            return sorted(self.__all__)

    sys.modules[package].__class__ = Package
