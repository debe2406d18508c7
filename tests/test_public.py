"""What `import reluflow` offers: every name and every signature, held against the list in `gates/public.txt`.

The list is a contract: adding a line is a decision, changing or removing one a breach that users must read about in the
changelog. `python tests/test_public.py` writes it anew.
"""

import enum
import inspect
from pathlib import Path
from types import ModuleType

import pytest

import reluflow as rf

LIST = Path(__file__).parent / "gates" / "public.txt"


def lines() -> list[str]:
    """One line for every public name, in alphabetical order, with its arguments and their defaults."""
    found: list[str] = []
    for name in sorted(rf.__all__, key=str.lower):
        found += describe(name, getattr(rf, name))
    return found


def describe(name: str, value) -> list[str]:
    if isinstance(value, ModuleType):
        inside = sorted(public(value), key=str.lower)
        return [f"module {name}", *(line for n in inside for line in describe(f"{name}.{n}", getattr(value, n)))]
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        return [f"class {name}", *(f"{name}.{member}" for member in value.__members__), *members(name, value)]
    if inspect.isclass(value):
        return [f"class {name}{arguments(value)}", *members(name, value)]
    return [f"{name}{arguments(value)}" if callable(value) else name]


def public(module: ModuleType) -> list[str]:
    """`__all__`, or what the module itself defines."""
    own = [n for n, v in vars(module).items() if n[0] != "_" and getattr(v, "__module__", "") == module.__name__]
    return getattr(module, "__all__", own)


def members(name: str, cls: type) -> list[str]:
    """Public methods and properties, those of our own base classes included; fields are in the constructor already."""
    found = {}
    for base in reversed([b for b in cls.__mro__ if b.__module__.startswith("reluflow")]):
        found |= {n: v for n, v in vars(base).items() if n[0] != "_"}
    text = []
    for n, value in sorted(found.items()):
        if isinstance(value, (staticmethod, classmethod)) or inspect.isfunction(value):
            text.append(f"{name}.{n}{arguments(getattr(cls, n))}")
        elif isinstance(value, property) or hasattr(value, "func"):  # a cached one has `func`
            text.append(f"{name}.{n}")
    return text


def arguments(call) -> str:
    """The signature without types: what a caller can break on."""
    signature = inspect.signature(call)
    plain = [p.replace(annotation=p.empty) for n, p in signature.parameters.items() if n != "self"]
    return str(signature.replace(parameters=plain, return_annotation=signature.empty))


def test_every_public_name_is_there():
    for name in rf.__all__:
        assert getattr(rf, name) is not None
    assert dir(rf) == sorted(rf.__all__)


def test_the_public_names_and_signatures_are_those_listed():
    assert lines() == LIST.read_text().splitlines(), "if it is meant: `python tests/test_public.py`, and say it"


def test_the_list_shows_a_changed_default_a_new_argument_and_a_new_method():
    def before(x, *, rtol=1e-8): ...
    def after(x, *, rtol=1e-6): ...
    def wider(x, y=None, *, rtol=1e-8): ...

    class Small:
        def get(self): ...

    class More(Small):
        def put(self, x): ...

    Small.__module__ = More.__module__ = "reluflow.made_up"
    assert describe("f", before) == ["f(x, *, rtol=1e-08)"]
    assert describe("f", after) != describe("f", before) != describe("f", wider)
    assert describe("C", More) == ["class C()", "C.get()", "C.put(x)"]
    assert describe("C", Small) == ["class C()", "C.get()"]


def test_no_line_holds_an_address():
    assert not [line for line in lines() if " at 0x" in line]


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'reluflow' has no attribute 'sovle': did you mean `solve`"):
        rf.sovle  # noqa: B018
    with pytest.raises(AttributeError, match=r"module 'reluflow.bias' has no attribute 'margin'"):
        rf.bias.margin  # noqa: B018
    with pytest.raises(AttributeError, match=r"module 'reluflow.data' has no attribute 'twopoints': did you mean `two"):
        rf.data.twopoints()
    assert not hasattr(rf, "qqq") and not hasattr(rf, "_dat")


def test_importing_a_file_does_not_hide_the_function_of_its_name():
    import reluflow.bias.min_norm
    import reluflow.solve  # noqa: F401

    assert callable(rf.solve) and callable(rf.bias.min_norm)
    assert not isinstance(rf.solve, ModuleType) and not isinstance(rf.bias.min_norm, ModuleType)


if __name__ == "__main__":
    LIST.write_text("\n".join(lines()) + "\n")
