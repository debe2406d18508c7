"""The page for everybody: checked by axe, used by keyboard alone, told in words, on small screens."""

import pytest


def serious(page):
    """What axe finds serious or critical on a page as it stands."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found = axe.Axe().run(page).response["violations"]
    return [(v["id"], [n["target"] for n in v["nodes"]]) for v in found if v["impact"] in ("serious", "critical")]


@pytest.mark.parametrize("width", [1024, 1440, 1920])
def test_every_preset_is_in_sight_without_scrolling(chromium, address, width):
    context = chromium.new_context(viewport={"width": width, "height": 900})
    try:
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector("#presets button")
        bar = page.locator("#presets").bounding_box()
        chips = [page.locator("#presets button").nth(k).bounding_box() for k in range(10)]
        assert all(c["x"] + c["width"] <= bar["x"] + bar["width"] + 1 for c in chips)
        if width >= 1440:
            assert len({c["y"] for c in chips}) == 1
    finally:
        context.close()


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.exhaustive)])
def test_axe_finds_nothing_serious_on_any_part_of_the_page(chromium, address, theme):
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, color_scheme=theme)
    try:
        page = context.new_page()
        page.goto(address)
        page.wait_for_function("() => reluflow.store.known && !reluflow.store.checking", timeout=90_000)
        assert serious(page) == []
        page.click("#more")
        page.evaluate("() => document.querySelectorAll('#theorems details').forEach((d, k) => { d.open = k < 4; })")
        page.click('[data-about="neurons"]')
        page.click("#export")
        assert serious(page) == []
        page.keyboard.press("Escape")
        page.click("#help")
        assert serious(page) == []
        page.keyboard.press("Escape")
        page.click("#tour")
        page.click('[data-story="alignment"]')
        page.wait_for_function("() => reluflow.guide.telling()?.ready", timeout=60_000)
        assert serious(page) == []
        page.evaluate("() => reluflow.guide.end()")
        page.set_viewport_size({"width": 390, "height": 844})
        page.click("#drawer")
        assert serious(page) == []
    finally:
        context.close()


def test_points_neurons_and_menus_are_reached_by_keyboard_and_told_in_words(watched):
    page = watched.page
    page.locator("#points button").nth(0).focus()
    before = watched.store("run.x[0]"), watched.store("run.y[0]")
    assert page.evaluate("() => document.activeElement.textContent").startswith("point 1: x = -0.5, y = -1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    page.wait_for_function(f"() => reluflow.store.run.x[0] > {before[0]} && reluflow.store.run.y[0] > {before[1]}")
    watched.drawn()
    assert page.evaluate("() => document.activeElement.textContent").startswith("point 1")  # the focus stays
    page.keyboard.press("Enter")
    page.wait_for_function("() => reluflow.store.run.y[0] > 0")
    page.locator("#neuron").focus()
    page.keyboard.press("ArrowRight")
    assert watched.store("hover") == 0
    assert "neuron 0: sign of a" in page.get_attribute("#neuron", "aria-valuetext")
    assert page.get_attribute("#c-scale", "aria-valuetext") == "e^-14"
    watched.seek(0.5)
    assert page.get_attribute("#time", "aria-valuetext").startswith("time ")
    page.click("#export")
    page.keyboard.press("Escape")
    assert page.locator("#export-list").is_hidden()
    assert page.evaluate("() => document.activeElement.id") == "export"
    small = page.evaluate(
        """() => [...document.querySelectorAll('button:not(.mark), select, input[type="range"]:not(.reachable)')]
        .filter((b) => {
          const r = b.getBoundingClientRect();
          return r.width > 0 && (r.height < 16 || (b.tagName === 'BUTTON' && Math.min(r.width, r.height) < 24));
        }).map((b) => b.outerHTML.slice(0, 80))"""
    )
    assert small == []  # targets of 24 pixels
    assert watched.complaints == []


def test_on_a_phone_the_controls_leave_the_picture_in_sight(chromium, address):
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True, reduced_motion="reduce")
    try:
        page = context.new_page()
        page.goto(address)
        page.wait_for_function("() => reluflow.store.run && !reluflow.store.run.draft")
        page.click("#drawer")
        sheet, neurons = (page.locator(s).bounding_box() for s in ("#side", "#neurons"))
        assert sheet["y"] >= 0.5 * 844 and neurons["y"] + 0.8 * neurons["height"] < sheet["y"]
        page.keyboard.press("Escape")
        assert page.locator("#side").is_hidden()
        # With reduced motion a step of a story is shown at its end, without playing.
        page.click("#tour")
        page.click('[data-story="saddles"]')
        page.click("#story-next")
        page.wait_for_function("() => reluflow.guide.telling()?.step === 1 && reluflow.guide.telling().over")
        guide, first, last = (page.locator(s).bounding_box() for s in ("#guide", "#neurons", "#learned"))
        assert guide["y"] >= 0.5 * 844 and first["y"] < guide["y"]
        assert 0 <= guide["y"] - last["y"] - last["height"] < 40  # the views take all the room above the text
        page.click("#story-end")
        page.click('[data-preset="mnist"]')
        page.wait_for_function("() => reluflow.store.run?.key === 'mnist'")
        bar, chip = (page.locator(s).bounding_box() for s in ("#presets", '[data-preset="mnist"]'))
        assert bar["x"] - 1 <= chip["x"] and chip["x"] + chip["width"] <= bar["x"] + bar["width"] + 1
    finally:
        context.close()
