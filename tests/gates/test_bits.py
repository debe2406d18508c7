"""The bit-for-bit gate itself (`make gate` runs it): it notices one bit, and says how far apart two runs are."""

import json

import numpy as np

import reluflow as rf
from gates import bits


def run(rtol=1e-6):
    return bits.solved(bits.two(-3.0, 4), rf.Flow(rtol=rtol), 5.0)


def test_a_digest_is_of_every_bit_shape_and_kind():
    a = np.array([1.0, 2.0])
    same = bits.digest([a])
    assert same == bits.digest([a.copy()])
    for other in (np.nextafter(a, 3.0), a[:, None], a.astype(np.float32), a[::-1], -a):
        assert bits.digest([other]) != same
    assert bits.digest([np.array([-0.0])]) != bits.digest([np.array([0.0])])


def test_a_run_has_its_own_bits_again_and_another_tolerance_has_others():
    one, again, other = run(), run(), run(1.000001e-6)
    for key in one:
        assert bits.digest(one[key]) == bits.digest(again[key])
    assert bits.digest(one["frames"]) != bits.digest(other["frames"])
    assert bits.apart(bits.summary(one), bits.summary(again)) == "no plain number kept of it"
    assert "outputs by at most" in bits.apart(bits.summary(one), bits.summary(other))


def test_one_ulp_is_called_one_ulp():
    one = bits.summary(run())
    moved = one | {"outputs": [*one["outputs"][:-1], float(np.nextafter(one["outputs"][-1], np.inf))]}
    assert "1 of" in bits.apart(moved, one) and "(1 ulp)" in bits.apart(moved, one)


def test_a_problem_whose_bits_never_come_back_is_told(monkeypatch):
    monkeypatch.setitem(bits.CASES, "probe", run)
    stored = bits.measured("probe")
    assert bits.compared("probe", stored) == (True, "")
    monkeypatch.setitem(bits.CASES, "probe", lambda: run(1e-7))
    same, line = bits.compared("probe", stored)
    assert not same and "probe: frames" in line


def test_what_is_stored_is_what_is_asked():
    for rows in json.loads(bits.STORED.read_text()).values():
        assert set(bits.CASES) - set(rows) <= {"solve_many on a processor, JAX"} and not set(rows) - set(bits.CASES)
