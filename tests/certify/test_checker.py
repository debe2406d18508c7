"""The independent checker: it confirms what was proved, and refuses what was changed."""

import copy
import json
from fractions import Fraction
from pathlib import Path

import pytest
from tests.certify.draws import named, two_points

import reluflow as rf

pytest.importorskip("flint")

from flint import ctx

from reluflow import certify_check
from reluflow.certify.exact import rational, words
from reluflow.certify_check import Flow, Wrong, check, kernel_limit, rival


@pytest.fixture(scope="module")
def finite():
    """A23 up to t = 1: on, slide, slide, on, and outputs."""
    return rf.certify(named("A23"), t1=1, digits=30).content


@pytest.fixture(scope="module")
def endless():
    """Two points at e^-7, for all time."""
    return rf.certify(two_points(-7.0), digits=30).content


def changed(content, change) -> dict:
    out = copy.deepcopy(content)
    change(out)
    return out


def refused(content) -> str:
    with pytest.raises(Wrong) as error:
        check(content)
    return str(error.value)


def test_certificates_are_confirmed_as_they_come_and_after_a_round_trip(finite, endless):
    assert check(finite)[-1].startswith("outputs, loss and norm")
    assert check(json.loads(json.dumps(endless)))[-1].startswith("convergence")


def swap(c):
    first, second = c["windows"][1:3]
    first["changes"], second["changes"] = second["changes"], first["changes"]


def drop(c):
    del c["windows"][1]


def cut(c):
    c["windows"] = c["windows"][:2]


def cross_instead_of_slide(c):
    c["windows"][1]["changes"][0][2] = "01"


def shift(c):
    width = Fraction(c["windows"][2]["end"]) - Fraction(c["windows"][2]["start"])
    for end in ("start", "end"):
        c["windows"][2][end] = str(Fraction(c["windows"][2][end]) + 3 * width)


def add(c):
    c["windows"].append({"start": "0.9", "end": "0.91", "changes": [[0, 0, "10"]]})


@pytest.mark.parametrize("change", [swap, drop, cut, cross_instead_of_slide, shift, add], ids=lambda f: f.__name__)
def test_events_out_of_order_missing_invented_or_of_another_kind_are_refused(finite, change):
    refused(changed(finite, change))


def last_digit(text: str) -> str:
    """A decimal with its last digit changed by one."""
    return text[:-1] + ("1" if text[-1] == "0" else str(int(text[-1]) - 1))


@pytest.mark.parametrize("field", ["x", "y", "w", "log_scale"])
def test_a_problem_with_one_last_digit_changed_is_refused(finite, field):
    def change(c):
        p = c["problem"]
        if field == "log_scale":
            p[field] = p[field] + ".0000000000000001"
        elif field == "y":
            p[field][1] = last_digit(p[field][1])
        else:
            p[field][2][0] = last_digit(p[field][2][0])

    refused(changed(finite, change))


def test_a_limit_with_any_number_changed_is_refused(endless):
    def norm(c):
        lo, hi = map(Fraction, c["limit"]["norm2"])
        c["limit"]["norm2"] = [str(lo), str(lo + (hi - lo) / 2)]

    def loss(c):
        c["limit"]["loss"] = "0.24"

    def alive(c):
        c["limit"]["alive"] = [0, 1]

    def early(c):  # before the last event
        c["limit"]["t"], c["windows"] = "2.3", c["windows"][:1]

    for change in (norm, loss, alive, early):
        refused(changed(endless, change))


def test_outputs_that_exclude_the_true_value_are_refused(finite):
    def change(c):
        lo, hi = map(Fraction, c["end"]["outputs"][1])
        c["end"]["outputs"][1] = [str(hi), str(hi + (hi - lo))]

    assert "output" in refused(changed(finite, change))


@pytest.mark.parametrize("part", ["problem", "windows", "digits"])
def test_a_certificate_with_a_part_cut_off_is_refused(finite, part):
    assert "incomplete" in refused(changed(finite, lambda c: c.pop(part)))


SHIPPED = sorted((Path(rf.__file__).parent / "certify" / "theorems").glob("*.json"))


def test_the_kernel_theorem_needs_its_numbers():
    content = shipped("not_minimum_norm")  # its data make two blocks: 0 and 2, and 1 alone
    with ctx.workdps(70):
        flow = Flow(content["problem"])
        for window in content["windows"]:
            flow.go(Fraction(window["start"]))
            flow.window(Fraction(window["end"]), window["changes"])
        flow.go(Fraction(content["limit"]["t"]))
        assert kernel_limit(flow, content["limit"])
        for key, value in (("kappa", "2"), ("eta", "0"), ("rate", "9"), ("outputs", ["0.5", "-0.5", "1.1"])):
            with pytest.raises(Wrong):
                kernel_limit(flow, {**content["limit"], key: value})
        slow, fast = content["limit"]["blocks"]
        too_slow = words(rational(slow["kappa"]) * rational("0.99"))  # then block 1 might outlive the other
        for wrong in (
            [{**slow, "gamma": "0.0000001"}, fast],
            [{**slow, "level": "9"}, fast],
            [{**slow, "kappa": "3"}, fast],
            [slow, {**fast, "kappa": too_slow}],
            [{**slow, "C": [row[::-1] for row in slow["C"]]}, fast],
            [slow, {**fast, "C": [["1"]]}],
            [slow],
        ):
            with pytest.raises(Wrong):
                kernel_limit(flow, {**content["limit"], "blocks": wrong})


def shipped(name: str) -> dict:
    return json.loads(next(p for p in SHIPPED if p.stem == name).read_text(encoding="utf-8"))


def test_a_network_that_does_not_fit_or_is_larger_is_no_rival():
    content = shipped("not_minimum_norm")
    flow = Flow(content["problem"])
    assert rival(flow, content)

    def worse(c):
        c["rival"]["v"][1][1] = "0.3"

    def doubled(c):
        c["rival"]["s"] = [2 * s for s in c["rival"]["s"]]

    def larger(c):
        c["limit"]["norm2"] = ["3.4", "3.5"]

    for change in (worse, doubled, larger):
        with pytest.raises(Wrong):
            rival(flow, changed(content, change))


LONG = ("five_points",)  # 20 s of processor time


@pytest.mark.parametrize(
    "path", [pytest.param(p, marks=[pytest.mark.exhaustive] * (p.stem in LONG), id=p.stem) for p in SHIPPED]
)
def test_a_shipped_theorem_is_confirmed(path):
    found = rf.Certificate.load(path)
    assert len(found.check()) > len(found.content["windows"])


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_a_shipped_theorem_stands_on_its_page(path):
    found = rf.Certificate.load(path)
    page = (Path(__file__).parents[2] / "docs" / "theorems.md").read_text(encoding="utf-8")
    assert f"<!-- {path.stem} -->\n```text\n{found}\n```\n" in page


def test_the_parts_of_a_theorem_are_lettered_without_a_gap():
    from reluflow.certify.words import theorem

    five = rf.Certificate.load(next(p for p in SHIPPED if p.stem == "five_points"))
    letters = lambda content: [line[1] for line in theorem(content, []).split("\n") if line[:1] == "("]
    assert letters(five.content) == list("abcdef")
    limit = {k: v for k, v in five.content["limit"].items() if k != "rate"}
    assert letters({**five.content, "limit": limit}) == list("abcde")


def test_five_theorems_are_shipped():
    names = ["every_small_scale", "five_points", "not_minimum_norm", "positive_loss", "two_points_e30"]
    assert [p.stem for p in SHIPPED] == names
    five = rf.Certificate.load(next(p for p in SHIPPED if p.stem == "five_points"))
    assert five.norm2[0] < 17.2950496085 < five.norm2[1]  # the engine's, at smaller scales
    assert rival(Flow(five.content["problem"]), five.content)


def test_the_checker_uses_nothing_else_of_the_package():
    source = Path(certify_check.__file__).read_text(encoding="utf-8")
    used = [line for line in source.splitlines() if line.lstrip().startswith(("import", "from"))]
    assert not [line for line in used if "reluflow" in line or "numpy" in line]
