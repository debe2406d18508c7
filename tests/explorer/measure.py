"""Frame times and latencies in a real Chromium: `python tests/explorer/measure.py`.

Frame time: what drawing every view of one moment costs (all cards, of which 1440 x 1180 shows the first rows), and the
time between two pictures while playing. Latency: from a slider's input event to the picture of the new run in the three
first views, one slider step at a time, 50 for each preset.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
from playwright.sync_api import sync_playwright

CHROMIUM = os.environ.get("RELUFLOW_CHROMIUM", "/usr/bin/chromium")
DRAW = """async (count) => {
  const cards = await import('/page/cards.js'), player = await import('/page/player.js'), { store } = reluflow;
  for (let k = 0; k < count; k++) {
    store.index = store.run.index(store.clock, (k + 0.5) / count);
    cards.drawAll(); player.drawStrip(); player.readout();
    for (const c of cards.cards) if (!c.node.hidden) c.pad?.ctx?.getImageData(0, 0, 1, 1);
  }
}"""
FRAMES = """async (count) => {
  const cards = await import('/page/cards.js'), player = await import('/page/player.js'), { store } = reluflow;
  const draw = [];
  for (let k = 0; k < count; k++) {
    store.index = store.run.index(store.clock, (k + 0.5) / count);
    const began = performance.now();
    cards.drawAll(); player.drawStrip(); player.readout();
    cards.cards[0].pad.ctx.getImageData(0, 0, 1, 1);
    draw.push(performance.now() - began);
  }
  store.index = 0; store.playing = true; store.speed = 1;
  const gaps = [];
  let last = await new Promise(requestAnimationFrame);
  for (let k = 0; k < count; k++) {
    const now = await new Promise(requestAnimationFrame);
    gaps.push(now - last); last = now;
  }
  store.playing = false;
  return [draw, gaps];
}"""
LATENCY = """async ([id, values]) => {
  const slider = document.getElementById(id), found = [], server = [], cpu = [];
  for (const v of values) {
    await new Promise((done) => setTimeout(done, 30));
    const before = painted.number, key = reluflow.store.run;
    const began = performance.now();
    slider.value = v; slider.dispatchEvent(new Event('input'));
    while (!(painted.number > before && reluflow.store.run !== key)) await new Promise(requestAnimationFrame);
    found.push(painted.time - began);
    server.push(1e3 * reluflow.store.run.spent); cpu.push(1e3 * reluflow.store.run.cpu);
  }
  return [found, server, cpu];
}"""


def start():
    command = [sys.executable, "-m", "reluflow", "explore", "--no-open", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    return process, re.search(r"http://\S+/", process.stdout.readline())[0]


def ready(page):
    page.wait_for_function(
        "() => reluflow.store.run && !reluflow.store.run.draft && reluflow.idle() && !reluflow.store.checking",
        timeout=60_000,
    )


def told(ms) -> str:
    low, high = np.quantile(ms, [0.25, 0.95])
    return f"median {np.median(ms):.1f} ms (best {min(ms):.1f}, quarter {low:.1f}, 95% {high:.1f}, worst {max(ms):.1f})"


def processor_seconds(browser) -> float:
    """Of all processes of the browser: what drawing costs whoever else is using the machine."""
    session = browser.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return sum(p["cpuTime"] for p in found)


def main():
    print("load average", os.getloadavg(), "on", os.cpu_count(), "cores", flush=True)
    process, address = start()
    try:
        with sync_playwright() as play:
            browser = play.chromium.launch(
                executable_path=CHROMIUM, args=["--disable-background-networking", "--no-sandbox"]
            )
            page = browser.new_page(viewport={"width": 1440, "height": 1180})
            page.goto(address)
            ready(page)
            page.click("#more")
            for width in (60, 1000):
                page.fill("#v-width", str(width))
                page.press("#v-width", "Enter")
                page.wait_for_function(f"() => reluflow.store.run.m === {width}", timeout=60_000)
                ready(page)
                page.evaluate(FRAMES, 20)
                before = processor_seconds(browser)
                page.evaluate(DRAW, 200)
                each = 1e3 * (processor_seconds(browser) - before) / 200
                print(f"{width} neurons: {each:.1f} ms of processor time for a picture of all views", flush=True)
                draw, gaps = page.evaluate(FRAMES, 240)
                rate = f"{1e3 / np.mean(gaps):.0f} a second"
                print(f"{width} neurons: drawing {told(draw)}; between pictures {told(gaps)}, {rate}", flush=True)
            page.click("#more")
            for preset in ("two_points", "five_points", "toy_plane", "two_angles", "orthogonal", "random"):
                page.click(f'[data-preset="{preset}"]')
                ready(page)
                values = np.linspace(0.15, 0.85, 50).tolist()
                took, server, cpu = page.evaluate(LATENCY, ["c-scale", values])
                print(f"{preset}: slider to picture {told(took)}", flush=True)
                print(f"    of it the server {told(server)}, of processor time {told(cpu)}", flush=True)
            browser.close()
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
