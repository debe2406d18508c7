"""Screenshots of every preset, of a step of every story and of more: `python tests/explorer/gallery.py` writes
docs/gallery/explorer."""

from __future__ import annotations

import sys
from pathlib import Path

from measure import CHROMIUM, start
from playwright.sync_api import sync_playwright

OUT = Path(__file__).parents[2] / "docs" / "gallery" / "explorer"
SCREEN = (1600, 1000)
# name: preset, screen, moment on the clock of events, keys to press, changes by hand
SHOTS = {
    "two_points": ("two_points", SCREEN, 0.60, "", {}),
    "five_points": ("five_points", SCREEN, 0.62, "", {}),
    "toy_plane": ("toy_plane", SCREEN, 0.70, "", {}),
    "three_classes": ("three_classes", SCREEN, 0.84, "", {}),
    "two_angles": ("two_angles", SCREEN, 0.30, "", {}),
    "orthogonal": ("orthogonal", SCREEN, 0.66, "", {}),
    "random": ("random", SCREEN, 0.62, "", {}),
    "nearly_orthogonal": ("nearly_orthogonal", SCREEN, 0.6, "", {}),
    "single": ("single", SCREEN, 0.4, "", {}),
    "more": ("toy_plane", (1600, 1500), 0.70, "m", {}),
    "mnist": ("mnist", SCREEN, 0.60, "", {}),
    "scale_100000": ("two_points", SCREEN, 0.50, "", {"#v-scale": "-100000"}),
    "descent_over_flow": ("five_points", SCREEN, 0.75, "d", {"#v-step": "0.05"}),
    "theorems": ("two_points", SCREEN, 0.70, "9", {"#v-scale": "-20000"}),
    "dark": ("toy_plane", SCREEN, 0.55, "t", {}),
    "projector": ("five_points", (1920, 1080), 0.50, "p", {}),
    "phone": ("two_points", (390, 844), 0.60, "", {}),
    "story_alignment": ("two_points", SCREEN, None, "", {}),
    "story_saddles": ("two_points", SCREEN, None, "", {}),
    "story_sliding": ("two_points", SCREEN, None, "", {}),
    "story_classes": ("two_points", SCREEN, None, "", {}),
    "story_regimes": ("two_points", SCREEN, None, "", {}),
    "story_scales": ("two_points", SCREEN, None, "", {}),
    "story_rank": ("two_points", SCREEN, None, "", {}),
    "story_single": ("two_points", SCREEN, None, "", {}),
    "story_mnist": ("two_points", SCREEN, None, "", {}),
}


def shoot(page, address: str, name: str) -> None:
    preset, (width, height), moment, keys, changes = SHOTS[name]
    page.set_viewport_size({"width": width, "height": height})
    page.goto(address)
    page.wait_for_function("() => reluflow.store.run")
    if preset != "two_points":
        page.click(f'[data-preset="{preset}"]')
    for field, value in changes.items():
        page.fill(field, value)
        page.press(field, "Enter")
        page.evaluate("() => document.activeElement.blur()")
    page.mouse.move(5, height - 5)
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_timeout(300)
    page.wait_for_function(
        "() => { const s = reluflow.store; return s.run && !s.run.draft && reluflow.idle() && (s.recorded ||"
        " (!s.checking && (s.known || s.run.kind === 'single'))) && (!s.overlay || s.over); }",
        timeout=120_000,
    )
    if moment is not None:
        page.locator("#time").evaluate("(e, v) => { e.value = v; e.dispatchEvent(new Event('input')); }", moment)
    if preset == "mnist":  # digits are shown where MNIST is on this machine, with RELUFLOW_DATA
        page.wait_for_function("() => reluflow.store.images")
    if name == "theorems":
        page.locator("#theorems details").first.evaluate("(e) => { e.open = true; }")
    if name.startswith("story_"):
        page.evaluate("(id) => reluflow.guide.start(id, 2)", name.removeprefix("story_"))
        page.wait_for_function("() => reluflow.guide.telling()?.ready", timeout=60_000)
        page.wait_for_function("() => reluflow.store.phases.length || !reluflow.store.checking", timeout=60_000)
        page.evaluate("() => reluflow.guide.finish()")
    if name == "story_mnist":
        page.wait_for_function("() => reluflow.store.images")
    page.wait_for_timeout(400)
    page.screenshot(path=OUT / f"{name}.png")


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    process, address = start()
    try:
        with sync_playwright() as play:
            browser = play.chromium.launch(
                executable_path=CHROMIUM, args=["--disable-background-networking", "--no-sandbox"]
            )
            for name in sys.argv[1:] or SHOTS:
                page = browser.new_page()
                shoot(page, address, name)
                page.close()
            browser.close()
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
