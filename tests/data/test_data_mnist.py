"""MNIST: the original files and nothing else. The real ones are used where `RELUFLOW_DATA` says they are."""

import gzip
import hashlib
import os
import struct

import numpy as np
import pytest

import reluflow.data as rfd
from reluflow.data import digits

REAL = os.environ.get("RELUFLOW_DATA", "")
real = pytest.mark.skipif(
    not os.path.isdir(os.path.join(REAL, "mnist")) or not REAL,
    reason="set RELUFLOW_DATA to the folder that holds mnist/",
)

# The counts of 0..9 that come with the files.
COUNTS = {
    "train": [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
    "test": [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
}


def pack(array):
    return struct.pack(f">{1 + array.ndim}I", 0x800 + array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Forty training and twenty test images, random pixels, in files of the right form; returns their folder."""
    rng = np.random.default_rng(0)
    monkeypatch.setenv("RELUFLOW_DATA", str(tmp_path))
    folder = tmp_path / "mnist"
    folder.mkdir()
    table = {}
    for split, n in (("train", 40), ("test", 20)):
        images = rng.integers(0, 256, (n, 28, 28), dtype=np.uint8)
        files = []
        for file, array in zip(digits.FILES[split], (images, (np.arange(n) % 10).astype(np.uint8)), strict=True):
            content = pack(array)
            files.append(file._replace(shape=array.shape, sha256=hashlib.sha256(content).hexdigest()))
            (folder / f"{file.name}.gz").write_bytes(gzip.compress(content))
        table[split] = tuple(files)
    monkeypatch.setattr(digits, "FILES", table)
    return folder


IMAGES = "train-images-idx3-ubyte"


@real
@pytest.mark.parametrize("split", ["train", "test"])
def test_the_real_files_have_their_published_counts(split):
    images, found = rfd.mnist_arrays(split)
    assert np.bincount(found).tolist() == COUNTS[split]
    assert images.shape == (sum(COUNTS[split]), 28, 28) and images.dtype == np.uint8 and not images.flags.writeable
    mean = {"train": 0.130660, "test": 0.132515}[split]
    assert images.mean() / 255 == pytest.approx(mean, abs=1e-6)
    first = {"train": [5, 0, 4, 1, 9], "test": [7, 2, 1, 0, 4]}[split]
    assert found[:5].tolist() == first


@real
def test_zero_against_one_has_12665_training_rows():
    digits._read.cache_clear()
    data = rfd.mnist(pair=(0, 1))
    assert (data.n, data.d) == (12665, 784)
    assert (np.sum(data.y > 0), np.sum(data.y < 0)) == (5923, 6742)  # the first digit of the pair is +1
    assert data.x.min() == 0.0 and data.x.max() == 1.0


@real
@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("pair", [(0, 1), (3, 8), (1, 7)])
def test_the_mean_pull_of_a_centred_pair_is_the_weighted_distance_of_the_class_means(pair, split):
    data = rfd.mnist(pair=pair, split=split, centre=True)
    pull = np.linalg.norm(data.x[data.y > 0].sum(axis=0)) / data.n
    images, found = rfd.mnist_arrays(split)
    plus, minus = (images[found == digit].reshape(-1, 784).mean(axis=0) / 255 for digit in pair)
    share = np.mean(data.y > 0)
    assert pull == pytest.approx(share * (1 - share) * np.linalg.norm(plus - minus), rel=1e-12)


@real
@pytest.mark.parametrize(
    ("pair", "pull", "negative"), [((0, 1), 1.91, 0.066), ((3, 8), 0.95, 0.34), ((1, 7), 1.34, 0.20)]
)
def test_the_handbooks_mnist_numbers_are_those_of_the_test_set(pair, pull, negative):
    # early_alignment.md, section 4. The training set has 1.88, 0.91 and 1.34: quote these for runs on it.
    about = rfd.mnist(pair=pair, split="test", centre=True).describe()
    assert about.pull_plus == pytest.approx(pull, abs=5e-3)
    assert about.negative_pairs == pytest.approx(negative, abs=5e-3)
    if pair == (0, 1):
        assert about.mu == pytest.approx(-0.60, abs=5e-3)


@real
def test_parity_has_29492_even_digits():
    data = rfd.mnist(parity=True, size=600, seed=1)
    assert (data.n, np.sum(data.y > 0)) == (600, 300)
    assert np.sum(rfd.mnist_arrays()[1] % 2 == 0) == sum(COUNTS["train"][::2]) == 29492


def test_digits_all_labels_by_the_digit(small):
    data = rfd.mnist(digits="all")
    assert data.y.tolist() == [float(k % 10) for k in range(40)]
    assert rfd.mnist(digits=[3, 5]).y.tolist() == [0, 1] * 4


def test_a_pair_may_be_two_lists(small):
    low = rfd.mnist(pair=([0, 1, 2, 3, 4], [5, 6, 7, 8, 9]))
    assert low.y.tolist() == [1.0] * 5 + [-1.0] * 5 + [1.0] * 5 + [-1.0] * 5 + low.y.tolist()[20:]
    even = rfd.mnist(parity=True)
    assert even.y.tolist() == [1.0, -1.0] * 20
    assert even == rfd.mnist(pair=([0, 2, 4, 6, 8], [1, 3, 5, 7, 9]))


def test_none_of_the_three_is_zero_against_one(small):
    assert rfd.mnist() == rfd.mnist(pair=(0, 1)) and rfd.mnist().name == "mnist 0/1, train"
    assert rfd.mnist(pair=(1, 0)) == rfd.mnist().flipped()


def test_pixels_are_the_bytes_over_255(small):
    images, found = rfd.mnist_arrays("test")
    data = rfd.mnist(pair=(3, 8), split="test")
    np.testing.assert_array_equal(data.x, images[(found == 3) | (found == 8)].reshape(-1, 784) / 255)


def test_a_test_set_is_centred_by_the_training_images_of_its_digits(small):
    mean = rfd.mnist(pair=(2, 4)).x.mean(axis=0)
    plain, centred = (rfd.mnist(pair=(2, 4), split="test", centre=c) for c in (False, "train"))
    np.testing.assert_allclose(centred.x, plain.x - mean, atol=1e-15)
    np.testing.assert_allclose(rfd.mnist(pair=(2, 4), split="test", centre=True).x.mean(axis=0), 0.0, atol=1e-15)


def test_a_size_is_shared_equally_drawn_by_seed_and_keeps_the_files_order(small):
    data = rfd.mnist(parity=True, size=9, seed=3)
    assert (np.sum(data.y < 0), np.sum(data.y > 0)) == (5, 4)
    assert data == rfd.mnist(parity=True, size=9, seed=3) != rfd.mnist(parity=True, size=9, seed=4)
    whole = rfd.mnist(parity=True)
    places = [int(np.flatnonzero((whole.x == row).all(axis=1))[0]) for row in data.x]
    assert places == sorted(places)


def test_unpacked_files_are_read_too(small):
    packed = rfd.mnist()
    content = gzip.decompress((small / f"{IMAGES}.gz").read_bytes())
    (small / f"{IMAGES}.gz").unlink()
    (small / IMAGES).write_bytes(content)
    assert rfd.mnist() == packed


def test_a_folder_can_be_named(small, monkeypatch):
    monkeypatch.delenv("RELUFLOW_DATA")
    assert rfd.mnist(folder=str(small)).n == 8


def test_files_are_read_once_and_again_when_they_change(small):
    first, _ = rfd.mnist_arrays()
    assert rfd.mnist_arrays()[0] is first
    (small / f"{IMAGES}.gz").write_bytes(b"something else")
    with pytest.raises(ValueError, match="damaged"):
        rfd.mnist_arrays()


def test_without_the_variable_a_sentence_says_how_to_get_the_files(monkeypatch):
    monkeypatch.delenv("RELUFLOW_DATA", raising=False)
    message = r"^MNIST not found: `RELUFLOW_DATA` is not set. Set it, and get the four original files"
    with pytest.raises(FileNotFoundError, match=message):
        rfd.mnist()


def test_an_absent_file_is_named(small):
    (small / f"{IMAGES}.gz").unlink()
    with pytest.raises(FileNotFoundError, match=rf"MNIST file not found: .*/{IMAGES}.gz. To install it, get the four"):
        rfd.mnist()


def flip_a_pixel(content):
    return content[:500] + bytes([content[500] ^ 1]) + content[501:]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda packed: packed[: len(packed) // 2],
            r"must be the original MNIST file, got a damaged one \(.*\): get the",
        ),
        (lambda packed: b"not gzip at all", r"must be the original MNIST file, got a damaged one \(Not a gzipped file"),
        (
            lambda packed: packed[:-8] + b"\0" * 8,
            r"must be the original MNIST file, got a damaged one \(CRC check failed",
        ),
        (flip_a_pixel, r"must be the original MNIST file, got a damaged one|must have the checksum"),
        (
            lambda packed: gzip.compress(flip_a_pixel(gzip.decompress(packed))),
            r"must have the checksum [0-9a-f]{12}\.\.\., got [0-9a-f]{12}\.\.\.: get the four original files",
        ),
        (lambda packed: gzip.compress(gzip.decompress(packed)[:-1]), r"must hold 31376 bytes, got 31375: get the four"),
        (lambda packed: gzip.compress(bytes(50_000_000)), r"must hold 31376 bytes, got more: get the four original"),
        (lambda packed: b"", r"must hold 31376 bytes, got 0: get the four|damaged"),
    ],
)
def test_a_corrupted_file_is_refused_with_a_sentence(small, spoil, message):
    path = small / f"{IMAGES}.gz"
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(ValueError, match=message) as caught:
        rfd.mnist()
    assert "`reluflow data get mnist`" in str(caught.value) and "\n" not in str(caught.value)


def test_no_more_than_the_right_length_is_ever_unpacked(small, monkeypatch):
    path = small / f"{IMAGES}.gz"
    path.write_bytes(gzip.compress(bytes(50_000_000)))
    taken = []
    plain = gzip.GzipFile.read
    monkeypatch.setattr(gzip.GzipFile, "read", lambda self, size=-1: taken.append(size) or plain(self, size))
    with pytest.raises(ValueError, match="got more"):
        rfd.mnist()
    assert taken == [31377]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        (dict(pair=(0, 1), parity=True), r"Only one of `pair`, `parity`, `digits` must be given, got pair and parity"),
        (dict(pair=(0, 0)), r"`pair` must be two different sides, got 0 on both: as in `pair=\(0, 1\)`\."),
        (dict(pair=(0, 1, 2)), r"`pair` must be two digits, or two lists of digits, got \(0, 1, 2\)"),
        (dict(pair=(0, 10)), r"`pair` must hold digits 0 to 9, got 10"),
        (dict(pair=([], 1)), r"`pair` must hold digits 0 to 9, got none"),
        (dict(pair="01"), r"`pair` must be two digits, or two lists of digits, got '01'"),
        (dict(digits="al"), r"`digits` must be one of 'all', got 'al': did you mean `all`\?"),
        (dict(split="tain"), r"`split` must be one of 'train', 'test', got 'tain': did you mean `train`\?"),
        (dict(centre="test"), r'`centre` must be True, False or "train", got \'test\': '),
        (dict(size=10), r"`size` asks for 5 rows of label -1, which has only 4: use at most 8"),
        (dict(size=0), r"`size` must be a whole number >= 1, got 0: the number of rows to keep\."),
    ],
)
def test_misuse_is_one_sentence(small, kwargs, message):
    with pytest.raises(ValueError, match=message):
        rfd.mnist(**kwargs)
