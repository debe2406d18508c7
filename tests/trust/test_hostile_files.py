"""Hostile files: whatever they hold, they are read right or refused in a sentence; nothing outside them is touched."""

import zipfile

import numpy as np
import pytest
from support.counted import all_calls
from trust import cases_npz
from trust.hostile import _judged, clean, fuzzed

import reluflow as rf
from reluflow.data import files
from reluflow.experiment import Experiment, ExperimentError

KINDS = {"toml": 250, "csv": 300, "npz": 300, "idx": 250}
TWO = '[data]\nkind = "two_points"\n[init]\nkind = "balanced"\nwidth = {}\n'


@pytest.mark.parametrize("kind", KINDS)
def test_spoiled_files_load_or_are_refused_in_a_sentence(kind):
    clean(fuzzed(kind, KINDS[kind], seed=0))


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_spoiled_files_load_or_are_refused_in_a_sentence(kind):
    found = fuzzed(kind, 10_000, seed=1, timeout=1800)
    print(found)
    clean(found)


def judged(call):
    try:
        call()
    except BaseException as error:
        return _judged(error)[0]
    return "loaded"


def test_the_fuzzer_tells_clean_refusals_from_others():
    def own(error):
        def call():
            raise error

        return call

    assert judged(lambda: rf.data.from_csv("nowhere.csv")) == "refused"
    assert judged(lambda: rf.data.two_points()) == "loaded"
    # The same sentence raised by anyone but the library, other errors, and sentences without a rule or with two lines.
    assert judged(own(ValueError("`x` must be finite, got nan: drop it."))) == "wrong"
    for error in (KeyError("x"), MemoryError(), RecursionError(), zipfile.BadZipFile("x"), RuntimeWarning("x")):
        assert judged(own(error)) == "wrong"
    assert judged(lambda: np.array([1.0]).reshape(3, 3)) == "wrong"


@pytest.mark.parametrize("bad", ["nan", "inf", "-inf"])
def test_a_number_that_is_not_finite_is_refused_where_the_file_is_read(bad):
    text = TWO.format(4) + f'[sweep.over]\n"init.log_scale" = [-2.0, {bad}]\n'
    with pytest.raises(
        ExperimentError, match=rf"line 7: `sweep\.over\.init\.log_scale` must hold finite numbers, got {bad}"
    ):
        Experiment.parse(text, name="a.toml")
    with pytest.raises(ExperimentError, match=r"must hold finite numbers"):
        Experiment(
            data={"kind": "two_points"}, init={"kind": "balanced", "width": 3}, sweep={"over": {"init.seed": [np.nan]}}
        )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TWO.format("10_000_000_000"), r"line 5: `init\.width` must take at most 268435456 numbers"),
        (TWO.format("9" * 5000), r"this must be TOML, got a number with too many digits"),
        (
            TWO.format("0x" + "f" * 5000),
            r"line 5: `init\.width` must hold numbers below 2\^256, got a whole number of 20000 bits",
        ),
        (
            TWO.format("1979-05-27"),
            r"line 5: `init\.width` must hold numbers, texts, lists or tables, got datetime\.date",
        ),
        (TWO.format("[" * 30 + "]" * 30), r"line 5: `init\.width` is nested more than 24 levels deep"),
        (TWO.format("[" * 5000 + "]" * 5000), r"this must be TOML, got lists or tables nested too deeply"),
        ("[" + "a." * 50 + "b]\n", r"is nested more than 24 levels deep"),
        ("[" + "a." * 5000 + "b]\n", r"a dotted key must have at most 100 parts"),
        ("a." * 100_000 + "b = 1\n", r"a dotted key must have at most 100 parts"),
        (
            '[data]\nkind = "nearly_orthogonal"\nn = 100000\nkappa = 0.1\n[init]\nkind = "balanced"\nwidth = 2\n',
            r"`data` must take at most",
        ),
        (TWO.format(3) + "[solve]\nsave = 3\nlimits = 4\n", r"`solve\.save` must be a table"),
        (TWO.format(3) + '[problem]\nactivation = "relo"\n', r"`problem\.activation\.kind` is not known, got 'relo'"),
    ],
)
def test_absurd_experiments_are_refused_at_once(text, said):
    def parse():
        with pytest.raises(ExperimentError, match=said):
            Experiment.parse(text, name="a.toml")

    assert all_calls(parse) < 2_000_000  # about a second's worth


def test_what_a_file_holds_cannot_control_a_terminal(tmp_path):
    with pytest.raises(ExperimentError) as caught:
        Experiment.parse(TWO.format(3) + '"\\u001b[31m" = 1\n"a\\nb" = 2\n')
    assert len(caught.value.mistakes) == 2 and all(s.isprintable() for s in caught.value.mistakes)
    (tmp_path / "a.csv").write_text("\x1b[31mx,y\n1,2\n")
    with pytest.raises(ValueError, match=r"columns \\x1b\[31mx, y") as told:
        rf.data.from_csv(tmp_path / "a.csv", label="z")
    assert str(told.value).isprintable()


def test_tables_of_no_file_make_nothing_be_read(tmp_path):
    (tmp_path / "points.csv").write_text("1,2\nx,y\n")
    tables = {"data": {"kind": "from_csv", "path": "points.csv"}, "init": {"kind": "balanced", "width": 0}}
    with pytest.raises(ExperimentError) as caught:
        Experiment.from_dict(tables, folder=tmp_path)
    assert "width" in str(caught.value) and "points.csv" not in str(caught.value)


def test_a_bomb_is_refused_before_it_unpacks(tmp_path):
    path = tmp_path / "bomb.npz"
    path.write_bytes(cases_npz.bomb(600, "(600, 131072)"))
    assert path.stat().st_size < 2**20
    with pytest.raises(ValueError, match=rf"must unpack to at most {files.UNPACKED} bytes, got 6291\d+"):
        rf.data.from_npz(path)


def test_a_header_that_promises_more_than_the_member_holds_is_refused(tmp_path):
    huge = cases_npz.headed("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }\n")
    (tmp_path / "a.npz").write_bytes(cases_npz.archive([("x.npy", huge), ("y.npy", cases_npz.npy(cases_npz.Y))]))
    with pytest.raises(ValueError, match=r"`x` in .* must be a complete array of plain numbers, got damage"):
        rf.data.from_npz(tmp_path / "a.npz")
