"""A real server in a process of its own, and a real Chromium with the network cut."""

import os
import re
import subprocess
import sys

import pytest

CHROMIUM = os.environ.get("RELUFLOW_CHROMIUM", "/usr/bin/chromium")


@pytest.fixture(scope="session")
def server():
    """(address, process) of `reluflow explore`."""
    command = [sys.executable, "-m", "reluflow", "explore", "--no-open", "--port", "0"]
    env = {**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "200"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env) as process:
        line = process.stdout.readline()
        found = re.search(r"http://\S+/", line)
        assert found, line + process.stdout.read()
        yield found[0], process
        process.terminate()
        process.wait(20)
        process.stdout.close()


@pytest.fixture(scope="session")
def address(server):
    return server[0]


@pytest.fixture(scope="session")
def chromium():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not os.path.exists(CHROMIUM):
        pytest.skip(f"no Chromium at {CHROMIUM}; set RELUFLOW_CHROMIUM")
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=CHROMIUM,
            args=[
                "--disable-background-networking",
                "--no-sandbox",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            ],
        )
        yield browser
        browser.close()


class Watched:
    """A page, what it complained about, and what it asked for."""

    def __init__(self, page):
        self.page, self.complaints, self.asked = page, [], []
        page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: self.complaints.append(str(e)))
        page.on("request", lambda r: self.asked.append(r.url))

    def settled(self, timeout=40_000):
        """Waits for a whole run, drawn, with its theorems judged."""
        self.drawn(timeout)
        self.page.wait_for_function(
            "() => { const s = reluflow.store; return s.recorded || (!(s.checking ?? s.judging) && s.known); }",
            timeout=timeout,
        )

    def drawn(self, timeout=40_000):
        """Waits for a whole run of the experiment as it stands."""
        self.page.wait_for_function(
            "() => { const { run } = reluflow.store;"
            " return run && !run.draft && reluflow.idle() && globalThis.painted?.key === run.key && !painted.draft; }",
            timeout=timeout,
        )

    def seek(self, pos):
        self.page.locator("#time").evaluate(
            "(e, v) => { e.value = v; e.dispatchEvent(new Event('input')); }", float(pos)
        )
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def store(self, what):
        return self.page.evaluate(f"() => reluflow.store.{what}")


@pytest.fixture
def watched(chromium, address):
    """The page, loaded and settled on its first preset."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    found = Watched(context.new_page())
    found.page.goto(address)
    found.drawn()
    yield found
    context.close()
