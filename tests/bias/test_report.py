"""One table, one figure."""

import json

import numpy as np
import pytest

import reluflow as rf


@pytest.fixture(scope="module")
def five():
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(60, 2, log_scale=float(np.log(1e-4 / np.sqrt(60)))))
    return rf.bias.report(rf.solve(problem))


def test_five_points_are_five_percent_above_the_minimum_norm(five):
    assert five.squared_norm == pytest.approx(17.3008, abs=1e-4)
    assert five.gap == pytest.approx(0.8928, abs=2e-4)
    assert five.ok
    text = str(five)
    for part in ("minimum norm", "16.4079539", "gap", "kernel", "early direction 0", "strict saddle", "holds"):
        assert part in text


def test_the_report_is_plain_json_and_a_figure_of_four_panels(five):
    back = json.loads(json.dumps(five.to_dict(), allow_nan=False))
    assert back["min_norm"]["value"] == pytest.approx(16.40795, abs=1e-5)
    assert [s["kind"] for s in back["saddles"]] == ["strict saddle", "strict saddle", "minimum"]
    figure = five.figure()
    assert [ax.get_title(loc="left") for ax in figure.axes] == [
        "Loss and saddles",
        "Squared norm",
        "Functions",
        "Early directions",
    ]
    figure.canvas.draw()


def test_the_weak_duality_claim_notices_a_norm_that_is_too_small(five):
    from reluflow.bias.report import _claims

    honest = _claims(five.sol, five.squared_norm, five.min_norm, None, None)
    cheated = _claims(five.sol, 0.9 * five.squared_norm, five.min_norm, None, None)
    assert [c.verdict for c in honest] == ["holds"]
    assert [c.verdict for c in cheated] == ["violated"]


def test_a_classification_run_is_put_beside_the_maximum_margin():
    problem = rf.Problem(rf.data.toy_plane(), rf.init.balanced(60, 2, log_scale=-14.0, seed=0), loss="exponential")
    found = rf.bias.report(rf.solve(problem, log_t1=230.0))
    assert found.min_norm is None
    assert found.max_margin.path.gap[-1] < 0.01
    assert [c.verdict for c in found.claims] == ["holds"]
    assert "margin / |theta|^2, optimum" in str(found)
    json.dumps(found.to_dict(), allow_nan=False)
    found.figure()


def test_parts_that_do_not_apply_are_notes_in_sentences():
    data = rf.Data([[1.0, 2.0], [1.0, 2.0], [0.5, -1.0]], [1.0, 2.0, 0.3])
    init = rf.init.gaussian(6, 2, log_scale=-2.0, seed=0)
    found = rf.bias.report(rf.solve(rf.Problem(data, init), t1=20.0))
    assert found.min_norm is None
    assert all(d.neurons == () for d in found.extremal.directions)
    assert any("minimum norm: No network can fit rows 0 and 1" in n for n in found.notes)
    assert any("Early directions are computed only for balanced neurons" in n for n in found.notes)
    assert any("the gap means little" in n for n in found.notes)
    found.figure()
    with pytest.raises(TypeError, match=r"`rf.bias.report` needs a Solution of rf.solve, got Data"):
        rf.bias.report(data)
