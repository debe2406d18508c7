"""CSV and NPZ: nothing lost on the way, and one sentence for what cannot be read."""

import pickle
import zipfile

import numpy as np
import pytest

import reluflow as rf
import reluflow.data as rfd
from reluflow.data import Data

# Subnormal, largest, negative zero, a third, and the neighbours of 1.
AWKWARD = [5e-324, 1.7976931348623157e308, -0.0, 1 / 3, np.nextafter(1, 2), np.nextafter(1, 0)]


@pytest.mark.parametrize("kind", ["csv", "npz"])
def test_float64_numbers_survive_the_round_trip_bit_for_bit(kind, tmp_path):
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [np.reshape(AWKWARD, (2, 3)), rng.normal(size=(50, 3)) * 10.0 ** rng.integers(-300, 300, (50, 3))]
    )
    data = Data(x, rng.normal(size=52), name="awkward")
    path = tmp_path / f"awkward.{kind}"
    getattr(data, f"to_{kind}")(path)
    back = getattr(rfd, f"from_{kind}")(path)
    assert back.x.tobytes() == data.x.tobytes() and back.y.tobytes() == data.y.tobytes()
    assert back.name == "awkward"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]  # nothing left beside it


def write(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "points.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("text", "label", "x", "y"),
    [
        ("1,2,3\n4,5,6\n", None, [[1, 2], [4, 5]], [3, 6]),
        ("a,y,b\n1,2,3\n4,5,6\n", None, [[1, 3], [4, 6]], [2, 5]),
        ("a,y,b\n1,2,3\n4,5,6\n", "a", [[2, 3], [5, 6]], [1, 4]),
        ("a,b,c\r\n1,2,3\r\n", None, [[1, 2]], [3]),
        ("1,2,3\n", 0, [[2, 3]], [1]),
        ("1,2,3\n", -2, [[1, 3]], [2]),
        ("# made by hand\n\n 1 , 2 \n,\n# more\n3,4", None, [[1], [3]], [2, 4]),
        ("\ufeffx,y\n1e3,-2.5E-1\n", None, [[1000]], [-0.25]),
    ],
)
def test_headers_labels_comments_and_blank_lines(tmp_path, text, label, x, y):
    data = rfd.from_csv(write(tmp_path, text), label=label)
    np.testing.assert_array_equal(data.x, x)
    np.testing.assert_array_equal(data.y, y)


def test_another_delimiter(tmp_path):
    assert rfd.from_csv(write(tmp_path, "1;2\n3;4\n"), delimiter=";").y.tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    ("text", "label", "message"),
    [
        (
            "x,y\n1,2\n3\n",
            None,
            r"Every line of `.*` must have 2 cells, got 1 on line 3: repair that line \(cells end at ','\)",
        ),
        ("1,2\n\n3,4,5\n", None, r"must have 2 cells, got 3 on line 3"),
        (
            "x,y\n1,2\n3,four\n",
            None,
            r"must be a finite number, got 'four' on line 3, column 2: repair or drop that line",
        ),
        ("1,2\n3,nan\n", None, r"must be a finite number, got 'nan' on line 2, column 2"),
        ("1,2\ninf,3\n", None, r"must be a finite number, got 'inf' on line 2, column 1"),
        ("1,2\n1_0,3\n", None, r"must be a finite number, got '1_0' on line 2, column 1"),
        ("1,2\n3,\n", None, r"must be a finite number, got '' on line 2, column 2"),
        (
            "1;2\n3;4\n",
            None,
            r"must have at least two columns, a row and its label, got one on line 1: .*, try `delimiter=\";\"`",
        ),
        ("a;b;y\n1,5;2;3\n", None, r"got one on line 1: cells end at ',', try `delimiter=\";\"`\."),
        ("1,5;2;3\n", None, r"got '5;2;3' beside '1' in column 1 of line 1: .*, or try `delimiter=\";\"`\."),
        ("y,a,y\n1,2,3\n", None, r"must have one column called y, got 2: .*, as in `label=2`\."),
        ("x,y\n1,2\na,3\n", None, r"got 'a' on line 3, column 1: .*; only labels may be words"),
        ("x,y\n", None, r"must hold at least one line of numbers, got none: one row per line"),
        ("", None, r"must hold at least one line of numbers, got none"),
        ("a,b\n1,2\n", "y", r"`label` must name one column of `.*`, got 'y' with columns a, b: or give its number\."),
        ("1,2\n", "y", r"`label` must name one column of `.*`, got 'y' with no header"),
        ("1,2\n", 2, r"`label` must be below the 2 columns of `.*`, got 2: count from 0, -1 is the last\."),
        ("1,2\n", -3, r"`label` must be a whole number >= -2, got -3: a column name, or a number counted from 0\."),
    ],
)
def test_a_malformed_csv_is_refused_with_its_line(tmp_path, text, label, message):
    with pytest.raises(ValueError, match=message):
        rfd.from_csv(write(tmp_path, text), label=label)


def test_a_csv_that_is_not_text_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"must be a CSV file in UTF-8, got .*: save it as plain text\."):
        rfd.from_csv(write(tmp_path, "x,é\n1,2\n", encoding="latin-1"))


@pytest.mark.parametrize("read", [rfd.from_csv, rfd.from_npz])
def test_a_missing_file_is_named(read, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"File not found: .*gone "):
        read(tmp_path / "gone")


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"Folder not found: .*nowhere\. Create it"):
        rfd.two_points().to_csv(tmp_path / "nowhere" / "a.csv")


def test_integer_and_float32_arrays_are_read(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.ones((2, 2), np.float32), y=np.array([1, -1]))
    assert rfd.from_npz(tmp_path / "a.npz").y.tolist() == [1.0, -1.0]


def test_an_npz_without_labels_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.ones((2, 2)), z=np.ones(2))
    with pytest.raises(
        ValueError, match=r"must hold arrays `x` and `y`, got x, z: write them with `np.savez\(path, x=x,"
    ):
        rfd.from_npz(tmp_path / "a.npz")


def test_complex_numbers_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.ones((2, 2), complex), y=np.ones(2))
    with pytest.raises(
        ValueError, match=r"`x` in `.*` must be an array of real numbers, got complex128: save floats\."
    ):
        rfd.from_npz(tmp_path / "a.npz")


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("unpickled",))


def test_python_objects_are_never_unpickled(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.array([[Bomb()]], dtype=object), y=np.ones(1))
    with pytest.raises(
        ValueError, match=r"must be a complete array of plain numbers, got Python objects: save float arrays\."
    ):
        rfd.from_npz(tmp_path / "a.npz")
    (tmp_path / "b.npz").write_bytes(pickle.dumps(1))
    with pytest.raises(ValueError, match=r"is not a complete NPZ file: write one"):
        rfd.from_npz(tmp_path / "b.npz")


def test_a_damaged_npz_is_refused(tmp_path):
    rfd.two_points().to_npz(tmp_path / "a.npz")
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[content.index(b"\x93NUMPY") + 130] ^= 0xFF  # inside the numbers of x: the archive's own sum no longer fits
    (tmp_path / "a.npz").write_bytes(content)
    assert zipfile.is_zipfile(tmp_path / "a.npz")
    with pytest.raises(ValueError, match=r"must be a complete array of plain numbers, got damage: write it again"):
        rfd.from_npz(tmp_path / "a.npz")


def test_names_of_columns_come_with_the_data_and_go_where_they_go(tmp_path):
    (tmp_path / "named.csv").write_text('"length, cm",y,width\n1,5,2\n3,6,4\n', encoding="utf-8")
    data = rf.data.from_csv(tmp_path / "named.csv")
    assert data.columns == ("length, cm", "width") and data.y.tolist() == [5.0, 6.0]
    assert data.with_bias().centred().subset([0]).columns == ("length, cm", "width", "constant")
    data.to_csv(tmp_path / "again.csv")
    again = rf.data.from_csv(tmp_path / "again.csv")
    assert again.columns == data.columns and again == data
    sol = rf.solve(rf.Problem(data, rf.init.balanced(3, 2)), t1=0.1)
    assert rf.load(sol.save(tmp_path / "run")).problem.data.columns == data.columns
    plain = rf.solve(rf.Problem(rf.Data(data.x, data.y, name="named"), rf.init.balanced(3, 2)), t1=0.1)
    assert plain.key == sol.key  # names determine nothing
    with pytest.raises(ValueError, match="`columns` must name the 2 columns of `x`, got 1 names"):
        rf.Data(data.x, data.y, columns=["a"])


def test_words_as_labels_are_shown_with_their_numbers(tmp_path):
    data = rfd.from_csv(write(tmp_path, "a,b,y\n1,2,dog\n3,4,cat\n"))
    assert repr(data).endswith("n=2, d=2, classes: cat = 0, dog = 1)") and "cat = 0, dog = 1" in str(data.describe())


def test_a_decimal_comma_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"got '1,5' on line 2, column 1: write decimals with a point\."):
        rfd.from_csv(write(tmp_path, "a;b;y\n1,5;2;3\n"), delimiter=";")
