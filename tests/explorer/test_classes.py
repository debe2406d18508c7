"""Three classes on the page: what is sent is the run's, regions are those of the largest output, and what is made for
one output says so."""

import base64
import re

import numpy as np
import pytest

import reluflow as rf
from reluflow.explorer import encoding, frames, request, worker
from reluflow.explorer.presets import PRESETS
from reluflow.explorer.static import SEVERAL, settings

PRESET = next(p for p in PRESETS if p["name"] == "three_classes")


@pytest.fixture(scope="module")
def sol():
    return request.experiment(PRESET["experiment"]).run()


@pytest.fixture(scope="module")
def sent(sol):
    return encoding.decode(encoding.encode(*frames.picture(sol)))


def test_the_preset_learns_one_class_after_another(sol):
    t = [phase.end for phase in sol.phases() if phase.kind == "growth"]
    assert len(t) == 3 and sol.stats.slides > 0 and sol.stats.regimes["undetermined"] == 0
    losses = rf.observe.class_losses(sol, t=[0.0, *t]).values
    learnt = losses[1:] < 0.1 * losses[0]
    assert learnt.tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_frames_hold_the_outputs_and_output_weights_of_every_class(sol, sent):
    header, arrays = sent
    assert header["classes"] == ["0", "1", "2"] and arrays["outputs"].shape == (header["frames"], 10, 3)
    for k in np.linspace(0, header["frames"] - 1, 7).astype(int):
        params = sol.at(arrays["t"][k])
        np.testing.assert_allclose(arrays["outputs"][k], sol.outputs_at(arrays["t"][k]), rtol=1e-12, atol=1e-300)
        unit = params.a / np.linalg.norm(params.a, axis=1)[:, None]
        np.testing.assert_allclose(arrays["head"][k], unit, atol=1e-6)  # sent as float32


def test_alignment_and_margins_are_those_of_the_library(sol):
    states = frames.States(sol.frames)
    free = ~np.any(states.bits == frames.SLIDING, axis=-1)
    known = rf.observe.pair_alignment(sol).values
    seen = free & ~np.isnan(known)
    assert np.count_nonzero(seen) > 1000
    np.testing.assert_allclose(frames.pair_alignment(states, sol.problem)[seen], known[seen], atol=1e-6)
    least = np.min(frames.margins(states, sol.problem), axis=1)
    np.testing.assert_allclose(least, rf.observe.normalised_margin(sol).values, atol=1e-6)


def test_no_theorem_is_checked_and_the_largest_margin_is_a_bound(sol):
    assert list(worker.checks(sol, lambda: False)) == [{"known": []}]
    found = worker.norms(sol)
    assert 0.0 < float(rf.observe.normalised_margin(sol)[-1]) <= found["margin"]


def test_a_copy_without_a_server_holds_scales_that_several_outputs_can_have():
    scales = {row["init.log_scale"] for row in settings(PRESET)}
    assert scales == {PRESET["experiment"]["init"]["log_scale"], *SEVERAL}


def test_a_notebook_shows_classes_in_the_plane(sol):
    header, arrays = encoding.decode(
        base64.b64decode(re.search(r'id="run">([^<]+)<', rf.show(sol, checks=False).html)[1])
    )
    assert header["classes"] == ["0", "1", "2"] and "head" in arrays


# In a browser ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def page(watched):
    watched.page.click('[data-preset="three_classes"]')
    watched.drawn()
    return watched


def colour_at(page, x, y):
    """The colour of the decision regions at a point of the plane."""
    return page.page.evaluate(
        "async ([x, y]) => { const { box } = await import('/page/views/learned.js');"
        " const c = document.querySelector('#learned canvas'), s = c.width / c.getBoundingClientRect().width;"
        " return [...c.getContext('2d').getImageData(s * box.px(x), s * box.py(y), 1, 1).data].slice(0, 3); }",
        [x, y],
    )


def test_regions_have_the_colour_of_the_largest_output(page, sol):
    page.seek(1.0)
    # Where an output leads by much a region is half its colour, half the paper.
    wanted = page.page.evaluate(
        "async () => { const { rgb, colours } = await import('/page/pad.js'), card = rgb(colours.card);"
        " return [0, 1, 2].map((c) => rgb(colours[`class${c}`]).map((v, k) => (v + card[k]) / 2)); }"
    )
    angles = np.deg2rad([75.0, 105.0, 195.0, 215.0, 335.0, 322.0])  # away from the discs of the data
    for x in 0.6 * np.column_stack([np.cos(angles), np.sin(angles)]):
        seen = np.array(colour_at(page, *x), float)
        assert np.argmin(np.linalg.norm(np.array(wanted) - seen, axis=1)) == sol.classify(x[None])[0]


def test_what_is_made_for_one_output_says_so(page):
    page.settled()
    page.page.click("#more")
    assert "about networks with one output" in page.page.inner_text("#theorems")
    assert "extremal directions: one output only" in page.page.inner_text("#circle")
    assert "trains both layers, without weight decay" in page.page.inner_text("#side")
    assert page.page.locator('[data-name="decay"], [data-name="layers"]').count() == 0
    assert not page.complaints


def test_points_change_class_and_come_back_to_two_signs(page):
    page.page.locator("#points button").nth(9).focus()
    page.page.keyboard.press("Enter")
    page.drawn()
    assert page.store("experiment.data.y") == [0, 0, 0, 0, 0, 1, 1, 1, 2, 0]
    page.page.select_option("#loss-kind", "logistic")
    page.drawn()
    assert page.store("experiment.data.y") == [1, 1, 1, 1, 1, -1, -1, -1, -1, 1] and page.store("run.k") == 0
    page.page.select_option("#loss-kind", "softmax")
    page.drawn()
    assert page.store("run.k") == 2 and not page.complaints
