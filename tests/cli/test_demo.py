"""The demo: its prediction is the handbook's, its numbers agree with it, its page stands alone."""

import json
import re

import numpy as np
import pytest
from support.command import reluflow

import reluflow as rf
from reluflow.cli._prediction import predict


@pytest.mark.parametrize(("scale", "plus", "minus"), [(1e-20, 39.35440, 79.88257), (1e-60, 121.73419, 244.64215)])
def test_the_prediction_gives_the_known_times(scale, plus, minus):
    # Two points, seed 0: computed independently by an event-driven integrator at rtol 1e-10.
    data = rf.data.two_points()
    theory = predict(data, rf.init.balanced(60, 2, log_scale=np.log(scale), seed=0), np.log(scale))
    assert len(theory.crossings) == 32
    assert theory.crossings[-1][0] == pytest.approx(3.8603, abs=5e-5)
    assert [c.neurons for c in theory.classes] == [18, 18]
    assert [c.half for c in theory.classes] == pytest.approx([plus, minus], abs=1e-5)
    assert theory.squared_norm == pytest.approx(2 * (1 / np.sqrt(5) + 1 / np.sqrt(1.25)), rel=1e-14)
    assert theory.loss(np.array([0.0, 0.5 * (plus + minus), 2 * minus])) == pytest.approx([0.5, 0.25, 0.0], abs=1e-6)


def test_the_prediction_notices_another_start():
    data = rf.data.two_points()
    first, second = (predict(data, rf.init.balanced(60, 2, seed=s), -40.0) for s in (0, 1))
    assert abs(first.classes[0].half - second.classes[0].half) > 1e-3


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    import contextlib
    import io

    out, said = tmp_path_factory.mktemp("demo"), io.StringIO()
    with contextlib.redirect_stdout(said):
        assert reluflow("demo", "--json", "--out", out) == 0
    return out, json.loads(said.getvalue())


def test_measured_agrees_with_theory(demo):
    facts = demo[1]["facts"]
    assert len(facts) == 9
    for fact in facts:
        assert fact["measured"] == pytest.approx(fact["predicted"], rel=1e-9, abs=1e-7), fact["what"]


def test_the_page_stands_alone(demo):
    out = demo[0]
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "{{" not in page
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!data:)|url\(|@import|fetch\(|XMLHttp""", page)
    film = json.loads(re.search(r'id="film">(.*?)</script>', page, re.S)[1])
    assert len({len(film[k]) for k in ("t", "loss", "theory", "angle", "reach", "size", "f")}) == 1
    np.testing.assert_allclose(film["loss"], film["theory"], atol=1e-4)
    assert (out / "figure.png").read_bytes()[:4] == b"\x89PNG"
    assert rf.Experiment.from_toml(out / "two_points.toml")["init.log_scale"] == -100_000.0
    assert len(page) < 3_000_000


def test_the_demo_says_its_table(tmp_path, capsys):
    assert reluflow("demo", "--log-scale=-14", "--out", tmp_path / "demo") == 0
    said = capsys.readouterr().out
    for word in ("alignment", "theory", "squared norm of weights", "2.6832816", "figure.png", "index.html"):
        assert word in said
    assert all(len(line) <= 80 for line in said.split("\n") if "/" not in line and "points" not in line)


def test_the_film_plays_in_a_browser(demo):
    playwright = pytest.importorskip("playwright.sync_api")
    import shutil

    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium")
    quiet = ["--no-sandbox", "--disable-background-networking", "--disable-component-update"]
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=quiet)
        page = browser.new_page(viewport={"width": 390, "height": 900})
        wrong, asked = [], []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto((demo[0] / "index.html").as_uri())
        page.wait_for_function("at > 5")
        assert page.inner_text("#play") == "Pause"
        page.evaluate("play(false); show(last)")
        assert "t = 178,8" in page.inner_text("#when")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        browser.close()
    assert wrong == []
    assert len(asked) == 1
