"""Every check of Kou et al. is shown something it must reject."""

import dataclasses

import numpy as np
import pytest

import reluflow as rf
from reluflow.papers.kou2023 import _standard as standard

from .mutants import Tampered


def tampered(sol, change):
    """A copy of a run whose weights at the frames are change(w), w being (frames, width, dim)."""
    frames = sol.recording.frames
    y = frames.y.copy()
    q = sol.replay.split(y)[0].copy()
    y[:, : q[0].size] = change(q).reshape(len(y), -1)
    return rf.Solution(dataclasses.replace(sol.recording, frames=frames._replace(y=y)), sol.replay)


def moved(factor, frames=slice(-1, None), neurons=slice(None)):
    """Weights that went `factor` times as far from the start."""

    def change(w):
        out = w.copy()
        out[frames, neurons] = w[:1, neurons] + factor * (w[frames, neurons] - w[:1, neurons])
        return out

    return change


def nudge(size):
    def change(w):
        out = w.copy()
        out[-1, 3, 0] += size
        return out

    return change


LEAKY, RELU = "leaky", "relu"
plus = slice(0, 10)  # fixed_output: the first half has sign +1

TAMPERED = [
    ("lemma5_2", "short", nudge(1e-6)),
    ("lemma5_4", LEAKY, moved(1e-3, neurons=plus)),
    ("lemma5_4", LEAKY, moved(1e-2, neurons=[0])),
    ("lemma5_5", RELU, moved(10.0)),
    ("lemma5_5", RELU, moved(0.05)),
    ("lemma5_5", RELU, moved(0.01, neurons=slice(0, 20))),
    ("lemma5_6", LEAKY, moved(-1.0, neurons=[4])),
    ("lemma5_7", LEAKY, moved(1.0 + 1e-6, neurons=[4])),
    ("lemma5_8", RELU, moved(-1.0)),
    ("lemma_b3", LEAKY, moved(3.0)),
    ("lemma_b3", LEAKY, moved(0.1)),
    ("lemma_c1", LEAKY, moved(1.1, neurons=[4])),
    ("lemma_c3", LEAKY, moved(2.0, neurons=[4])),
    ("lemma_d2", LEAKY, moved(0.5)),
    ("lemma_e2", RELU, moved(20.0)),
    ("lemma_f2", RELU, moved(1.01)),
    ("lemma_f3", RELU, moved(1.5, neurons=[0, 1])),
    ("lemma_g1", RELU, moved(0.05)),
    ("limits", LEAKY, moved(1.001)),
    ("limits", RELU, moved(1.001)),
    ("theorem4_1", LEAKY, moved(0.5)),
    ("theorem4_3", RELU, moved(0.05)),
]


@pytest.mark.parametrize("name, subject, change", TAMPERED)
def test_weights_that_were_tampered_with_are_noticed(name, subject, change):
    sol = standard.descent(standard.problem(0.0, 0.5), 60) if subject == "short" else standard.SUBJECTS[subject]()
    assert rf.check(f"kou2023.{name}", tampered(sol, moved(1.0))).ok
    assert not rf.check(f"kou2023.{name}", tampered(sol, change)).ok


def test_a_pattern_that_does_not_settle_is_noticed():
    sol = standard.descent(standard.problem(0.5, 0.05), 3000)  # kappa ten times the slope
    for name in ("lemma5_6", "theorem4_1"):
        report = rf.check(f"kou2023.{name}", sol)
        assert not report.applies
        assert not report.ok


@pytest.mark.parametrize("seed", [1, 5])
def test_units_switched_off_at_large_kappa_break_lemma_5_8(seed):
    report = rf.check("kou2023.lemma5_8", standard.descent(standard.problem(2.0, 0.0, m=20, seed=seed), 300))
    assert report.claims[0].verdict == "violated"
    assert not report.applies


def test_steps_far_beyond_the_assumption_break_lemma_e2():
    report = rf.check("kou2023.lemma_e2", standard.descent(standard.relu(0.0), 300, h=10.0))
    assert report.claims[0].verdict == "violated"
    assert not report.applies


def test_relu_runs_break_the_leaky_results_that_can_be_stated_for_them():
    relu = standard.SUBJECTS["relu flow"]()
    for name in ("lemma5_7", "lemma_c3"):
        report = rf.check(f"kou2023.{name}", relu)
        assert not report.ok and not report.applies


def test_data_that_are_not_orthogonal_break_lemmas_f2_and_f3():
    for name in ("lemma_f2", "lemma_f3"):
        report = rf.check(f"kou2023.{name}", standard.SUBJECTS["relu flow, kappa = 0.03"]())
        assert not report.ok and not report.applies


def test_neurons_with_one_datum_each_have_a_stable_rank_that_lemma_f1_and_theorem_4_3_exclude():
    n = 12
    w = 0.05 * (2 * np.eye(n) - 1)
    init = rf.Params(np.vstack([w, w]), np.r_[np.ones(n), -np.ones(n)] / (2 * n))
    data = rf.Data(np.eye(n), np.where(np.arange(n) % 2 == 0, 1.0, -1.0))
    of = rf.Problem(data, init, loss="logistic", activation=rf.ReLU(at_zero=1.0), train="first")
    sol = rf.solve(of, rf.Flow(rtol=1e-8), log_t1=60.0)
    for name in ("lemma_f1", "theorem4_3"):
        report = rf.check(f"kou2023.{name}", sol)
        assert any("SR" in c.text for c in report.violated)  # n/2 = 6
        assert not report.applies


def test_data_of_norms_1_to_10_keep_lemma_5_5_and_the_limits_wait_for_the_tail():
    data = rf.data.orthogonal(np.linspace(1.0, 10.0, 8), np.where(np.arange(8) % 2 == 0, 1.0, -1.0))
    made = (rf.init.fixed_output(40, 8, log_scale=-6.0, seed=seed) for seed in range(1000))
    relu = dict(loss="logistic", activation=rf.ReLU(at_zero=1.0), train="first")
    of = next(p for p in (rf.Problem(data, init, **relu) for init in made) if standard.started(p))
    sol = rf.solve(of, rf.Flow(rtol=1e-8), log_t1=9.0)
    report = rf.check("kou2023.lemma5_5", sol)
    assert report.ok and report.claims[0].measured < 1 / 14
    limits = rf.check("kou2023.limits", sol)
    assert not limits.applies and any("in their tail" in h.text for h in limits.hypotheses if not h.ok)


def test_a_singular_kernel_is_a_hypothesis_that_fails():
    data = rf.Data(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0]))
    init = rf.Params(np.array([[-1.0, -1.0], [-1.0, -1.0]]), np.array([0.5, -0.5]), log_scale=-3.0)
    of = rf.Problem(data, init, loss="logistic", activation=rf.ReLU(at_zero=1.0), train="first")
    report = rf.check("kou2023.limits", rf.solve(of, rf.Flow(rtol=1e-8), log_t1=20.0))
    assert not report.applies and {c.verdict for c in report.claims} == {"unmeasured"}


def test_a_flow_that_loses_too_slowly_is_noticed_by_the_short_proof_s_rate():
    sol = standard.SUBJECTS["relu flow, kappa = 0.03"]()
    assert rf.check("kou2023.relu_rate", sol).ok
    slow = Tampered(sol, clock=lambda clock: 0.5 * clock)
    assert rf.check("kou2023.relu_rate", slow).violated


def test_a_network_that_settles_is_not_said_to_switch_for_ever():
    report = rf.check("kou2023.switching", standard.SUBJECTS["leaky, kappa = 0.02"]())
    assert report.claims[0].verdict == "violated"
    assert not report.applies
    report = rf.check("kou2023.switching", standard.SUBJECTS["leaky flow, kappa = 0.02"]())
    assert report.claims[0].verdict == "violated"


def test_a_datum_no_unit_sees_keeps_its_margin_from_growing():
    report = rf.check("kou2023.width", standard.SUBJECTS["relu problem"](), widths=(1, 32))
    assert not report.ok and not report.applies


@pytest.mark.parametrize(
    "name, options",
    [
        ("lemma5_3", dict(growth=1.5)),
        ("lemma5_3", dict(growth=0.5)),
        ("lemma_a1", dict(d=20, samples=200)),
        ("lemma_a2", dict(m=20, samples=200)),
        ("lemma_h3", dict(laws=("0 or 1",), shapes=((200, 200),), samples=60)),
        ("lemma_h4", dict(swapped=True)),
    ],
)
def test_broken_hypotheses_break_the_auxiliary_lemmas(name, options):
    assert not rf.check(f"kou2023.{name}", **options).ok


def test_lemma_a1_has_the_dimensions_the_handbook_gives():
    from reluflow.papers.kou2023.lemma_a1 import least_dim

    assert [least_dim(m, 0.1) for m in (50, 100, 1000)] == [112, 126, 172]
