"""The copy without a server: from a plain file server, with the network cut, every story works."""

import functools
import http.server
import threading

import pytest

from reluflow.explorer import encoding, static
from reluflow.explorer.presets import PRESETS, RECORDED


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def served():
    """Serves folders as any web server would; returns their addresses."""
    servers = []

    def serve(folder):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def walked(chromium, address, stories):
    """Goes through every step of the stories; returns (story, step, what was on the page)."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    found, failed, asked = [], [], []
    try:
        page = context.new_page()
        page.on("pageerror", lambda e: failed.append(str(e)))
        page.on("response", lambda r: failed.append(r.url) if r.status >= 400 else None)
        page.on("request", lambda r: asked.append(r.url))
        page.goto(address)
        page.wait_for_function("() => reluflow.store.run && globalThis.painted")
        for story, steps in page.evaluate("() => reluflow.guide.titles().map((s) => [s.id, s.steps.length])"):
            if stories is not None and story not in stories:
                continue
            page.evaluate("(id) => reluflow.guide.start(id)", story)
            for step in range(steps):
                page.wait_for_function(
                    f"() => {{ const t = reluflow.guide.telling(); return t?.step === {step} && t.ready; }}",
                    timeout=30_000,
                )
                page.evaluate("() => reluflow.guide.finish()")
                found.append((story, step, page.evaluate("() => reluflow.store.run.key")))
                page.evaluate("(k) => reluflow.guide.go(k)", step + 1)
        assert page.evaluate("() => reluflow.store.preset") == page.evaluate("() => reluflow.store.presets[0].name")
        # Sliders move between the runs that are there.
        before = page.evaluate("() => reluflow.store.experiment.init.log_scale")
        page.locator("#c-scale").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function(f"() => reluflow.store.run && reluflow.store.experiment.init.log_scale !== {before}")
        assert page.locator("#c-width").is_disabled()
        assert failed == [] and all(url.startswith((address, "blob:", "data:")) for url in asked)
    finally:
        context.close()
    return found


def test_a_small_copy_tells_its_stories_and_is_embedded_with_the_network_cut(chromium, served, tmp_path):
    folder = tmp_path / "copy"
    static.export(
        folder, presets=["two_points", "single"], scales=(0.0, -5.0, -50.0, -100000.0), seeds=(0,), checks=False
    )
    address = served(tmp_path) + "copy/"  # below the root, as on any shared host
    found = walked(chromium, address, {"saddles", "scales", "single"})
    assert len(found) == 7 + 5 + 6
    assert len({key for story, _, key in found if story == "scales"}) == 4
    context = chromium.new_context(viewport={"width": 800, "height": 420})
    try:
        page = context.new_page()
        page.goto(f"{address}?embed=neurons,loss&preset=two_points&scale=-5&at=0.5")
        page.wait_for_function("() => reluflow.store.run && globalThis.painted")
        assert page.locator(".card:visible").count() == 2 and page.locator(".top").is_hidden()
        assert page.evaluate("() => reluflow.store.experiment.init.log_scale") == -5
        assert page.evaluate("() => reluflow.store.run.pos('event', reluflow.store.index)") == pytest.approx(0.5)
        page.goto(f"{address}?embed=story&story=saddles&step=3")
        page.wait_for_function("() => reluflow.guide.telling()?.ready")
        assert page.locator("#guide").is_hidden() and page.locator("#loss").is_visible()
        page.evaluate("() => postMessage({ reluflow: { story: 'saddles', step: 5 } }, '*')")
        page.wait_for_function("() => reluflow.guide.telling()?.step === 5 && reluflow.guide.telling().ready")
        assert page.locator("#size").is_visible()
        # In a frame that is loaded late the times of pictures lie behind performance.now(): it must play at once.
        page.add_init_script(
            "{ const draw = requestAnimationFrame; requestAnimationFrame = (f) => draw((t) => f(t - 60000)); }"
        )
        page.goto(f"{address}?embed=story&story=single&step=1")
        page.wait_for_function("() => reluflow.guide.telling()?.ready && reluflow.store.index > 0", timeout=3000)
    finally:
        context.close()


def test_a_folder_that_holds_something_is_not_written_to(tmp_path):
    (tmp_path / "kept.txt").write_text("mine")
    with pytest.raises(ValueError, match="new or empty folder"):
        static.export(tmp_path)


def test_the_runs_of_a_copy_differ_in_what_its_sliders_move_and_start_with_the_presets_own():
    for preset in PRESETS:
        found = static.settings(preset)
        assert static.experiment_of(preset, found[0]) == preset["experiment"]
        assert len({str(sorted(s.items(), key=str)) for s in found}) == len(found)
        for setting in found:
            tables = static.experiment_of(preset, setting)
            assert all(static.lookup(tables, path) == value for path, value in setting.items())


def test_a_run_of_a_copy_carries_its_verdicts():
    tables = PRESETS[0]["experiment"] | {"init": PRESETS[0]["experiment"]["init"] | {"width": 8}}
    header, arrays = encoding.decode(static.run_of(tables))
    assert header["frames"] <= static.FRAMES and len(arrays["t"]) == header["frames"]
    assert [r["name"] for r in header["reports"]] == [k["name"] for k in header["known"]]
    assert header["norm"]["least"] == pytest.approx(2.6832815730)


@pytest.mark.exhaustive
def test_the_whole_copy_is_below_15_mb_and_tells_every_story(chromium, served, tmp_path):
    size = static.export(tmp_path / "copy")
    assert size < 15e6
    found = walked(chromium, served(tmp_path / "copy"), None)
    stories = {preset["story"] for preset in (*PRESETS, *RECORDED)} - {"own"} | {"regimes", "scales"}
    assert {story for story, _, _ in found} == stories and len(stories) == 9
