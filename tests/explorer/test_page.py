"""The page in a real Chromium, with every name but its own server's unresolvable."""

import io
import json
import re
import subprocess
import sys

import numpy as np
import pytest

import reluflow as rf
from reluflow.claim import YES, met
from reluflow.losses import TABLE


def canvas_point(page, name, share_x, share_y):
    box = page.locator(f"#{name} canvas").bounding_box()
    return box["x"] + share_x * box["width"], box["y"] + share_y * box["height"]


def datum_at(watched, i):
    """Where point i is on the screen."""
    x, y = watched.page.evaluate(
        "async (i) => { const { box } = await import('/page/views/learned.js'), { run, mode } = reluflow.store;"
        " return mode === 'line' ? [box.px(run.x[2 * i]), box.py(run.y[i])]"
        " : [box.px(run.xy[2 * i]), box.py(run.xy[2 * i + 1])]; }",
        i,
    )
    box = watched.page.locator("#learned canvas").bounding_box()
    return box["x"] + x, box["y"] + y


def download(page, what):
    page.click("#export")
    with page.expect_download(timeout=60_000) as info:
        page.click(f"#export-{what}")
    with open(info.value.path(), "rb") as file:
        return file.read()


def colours_of(page, name):
    """How many different colours a view shows: a blank canvas has one."""
    return page.evaluate(
        "(n) => { const c = document.querySelector(`#${n} canvas`), d = c.getContext('2d')"
        ".getImageData(0, 0, c.width, c.height).data, s = new Set();"
        " for (let k = 0; k < d.length; k += 4) s.add((d[k] << 16) | (d[k + 1] << 8) | d[k + 2]); return s.size; }",
        name,
    )


def test_the_page_loads_with_the_network_cut_and_asks_only_its_own_server(watched, address):
    visible = lambda: watched.page.evaluate(
        "() => [...document.querySelectorAll('.card')].filter((c) => !c.hidden).map((c) => c.id)"
    )
    assert visible() == ["neurons", "learned", "loss"]  # three large views first
    watched.page.click("#more")
    assert {"circle", "norms", "raster", "size", "rank", "theorems"} < set(visible())
    watched.page.evaluate("() => document.querySelector('#size').scrollIntoView()")
    for name in ("neurons", "learned", "circle", "loss", "norms", "raster", "size", "rank"):
        watched.page.evaluate("(n) => document.getElementById(n).scrollIntoView()", name)
        watched.page.wait_for_timeout(100)
        assert colours_of(watched.page, name) > 8, name
    for about in ("neurons", "loss", "raster"):
        watched.page.click(f'[data-about="{about}"]')
        assert len(watched.page.text_content(f"#{about}-about")) > 80
    assert {url.split("/page/")[0].split("/api/")[0].rstrip("/") for url in watched.asked} == {address.rstrip("/")}
    assert watched.complaints == []


def test_points_are_added_dragged_relabelled_and_deleted_by_hand(watched):
    page = watched.page
    before = watched.store("run.n")
    page.click('#tools [data-value="add"]')
    page.mouse.click(*canvas_point(page, "learned", 0.5, 0.3))
    page.wait_for_function(f"() => reluflow.store.run.n === {before + 1}")
    page.click('#tools [data-value="move"]')
    watched.drawn()
    was = watched.store("experiment.data.x[0][0]"), watched.store("experiment.data.y[0]")
    x, y = datum_at(watched, 0)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y - 25, steps=6)
    page.mouse.up()
    watched.drawn()
    now = watched.store("experiment.data.x[0][0]"), watched.store("experiment.data.y[0]")
    assert now[0] > was[0] and now[1] > was[1]
    assert list(watched.page.evaluate("() => [...reluflow.store.run.y]")) == watched.store("experiment.data.y")
    page.mouse.dblclick(*datum_at(watched, 0))
    watched.drawn()
    assert watched.store("experiment.data.y[0]") == -now[1]
    page.click('#tools [data-value="delete"]')
    page.mouse.click(*datum_at(watched, before))
    page.wait_for_function(f"() => reluflow.store.run.n === {before}")
    assert watched.complaints == []


def test_the_scale_slider_reaches_e_to_the_minus_100000(watched):
    page = watched.page
    handle = page.locator("#c-scale")
    box = handle.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] + 10, box["y"] + box["height"] / 2, steps=12)
    page.mouse.up()
    watched.drawn()
    assert watched.store("experiment.init.log_scale") == -100000
    assert page.input_value("#v-scale") == "e^-100000"
    watched.seek(0.0)
    assert page.text_content('[data-key="loss"]') == "0.5"
    assert page.text_content('[data-key="largest"]').startswith("e^-")
    assert watched.complaints == []


def test_scrubbing_playing_and_the_three_clocks_move_every_view(watched):
    page = watched.page
    seen = set()
    for pos in (0.1, 0.5, 0.9):
        watched.seek(pos)
        seen.add((page.text_content('[data-key="t"]'), page.text_content('[data-key="loss"]')))
    assert len(seen) == 3
    watched.seek(0.0)
    page.keyboard.press("Space")
    page.wait_for_function("() => reluflow.store.index > 3")
    page.keyboard.press("Space")
    stopped = watched.store("index")
    assert not watched.store("playing")
    for clock in ("linear", "log", "event"):
        page.click(f'#clock [data-value="{clock}"]')
        assert watched.store("clock") == clock
        assert watched.store("index") == stopped  # another clock, the same moment
    page.keyboard.press("End")
    page.wait_for_function("() => reluflow.store.index === reluflow.store.run.F - 1")
    assert watched.complaints == []


def test_pointing_at_a_neuron_lights_it_up_everywhere(watched):
    page = watched.page
    watched.seek(0.3)
    page.click("#more")
    page.locator("#circle").scroll_into_view_if_needed()
    page.wait_for_timeout(200)
    box = page.locator("#circle canvas").bounding_box()
    for angle in np.linspace(0, 2 * np.pi, 80):
        r = 0.85 * (0.5 * min(box["width"], box["height"]) - 26) - 6
        page.mouse.move(
            box["x"] + box["width"] / 2 + r * np.cos(angle), box["y"] + box["height"] / 2 + r * np.sin(angle)
        )
        if watched.store("hover") >= 0:
            break
    assert watched.store("hover") >= 0
    assert f"neuron {watched.store('hover')}" in page.text_content("#tip")
    assert watched.complaints == []


def test_every_view_can_be_enlarged_by_click_and_by_key(watched):
    page = watched.page
    names = ("neurons", "learned", "loss", "circle", "norms", "raster", "size", "rank", "theorems")
    for k, name in enumerate(names, start=1):
        page.keyboard.press(str(k))
        assert page.locator(f"#{name}").is_visible() and page.locator(".card:visible").count() == 1
        page.keyboard.press("Escape")
    page.click('[data-enlarge="loss"]')
    assert page.locator(".card:visible").count() == 1
    page.click('[data-action="loss"]')
    assert watched.store("logLoss") is True
    assert watched.complaints == []


def test_a_link_brings_back_everything(watched, chromium):
    page = watched.page
    page.click('[data-preset="two_angles"]')
    watched.drawn()
    page.fill("#v-mu", "0.02")
    page.press("#v-mu", "Enter")
    page.fill("#v-seed", "7")
    page.press("#v-seed", "Enter")
    watched.drawn()
    page.click('#clock [data-value="log"]')
    watched.seek(0.4)
    page.keyboard.press("t")
    page.keyboard.press("3")
    page.click("#share")
    page.wait_for_function("() => location.hash.startsWith('#s=')")
    wanted = {k: watched.store(k) for k in ("experiment", "clock", "focus", "theme", "preset")}
    numbers = [page.text_content(f'[data-key="{k}"]') for k in ("t", "loss", "norm", "largest")]
    other = chromium.new_context(viewport={"width": 1440, "height": 900})
    try:
        again = type(watched)(other.new_page())
        again.page.goto(page.url)
        again.drawn()
        assert {k: again.store(k) for k in wanted} == wanted
        assert [again.page.text_content(f'[data-key="{k}"]') for k in ("t", "loss", "norm", "largest")] == numbers
        assert again.complaints == []
    finally:
        other.close()


def test_pictures_are_exported_as_png_svg_and_gif(watched):
    from xml.etree import ElementTree

    from PIL import Image

    page = watched.page
    watched.seek(0.55)
    png = Image.open(io.BytesIO(download(page, "png"))).convert("RGB")
    assert png.width > 1000 and len(png.getcolors(10**7)) > 100
    svg = ElementTree.fromstring(download(page, "svg"))
    texts = {t.text for t in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert {"Neurons", "Loss", "Learned function"} <= texts and any(t and t.startswith("t = ") for t in texts)
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}path"))) > 40
    page.keyboard.press("1")  # one view alone keeps the film short
    gif = Image.open(io.BytesIO(download(page, "gif")))
    assert gif.n_frames == 72 and "loop" not in gif.info  # played once
    frames = []
    for k in (0, 40, 71):
        gif.seek(k)
        frames.append(np.asarray(gif.convert("RGB")).astype(int))
    assert np.abs(frames[0] - frames[1]).max() > 60 and np.abs(frames[1] - frames[2]).max() > 60
    assert watched.complaints == []


def test_the_gif_shows_what_the_canvas_shows(watched):
    from PIL import Image

    # Few colours and hard edges: a palette of 256 can hold them, so the decoded film must match to 8 levels a channel.
    page = watched.page
    raw, wanted = page.evaluate(
        "async () => { const { encodeGif } = await import('/page/gif.js'); const frames = [];"
        " for (let f = 0; f < 3; f++) { const c = document.createElement('canvas'); c.width = 61; c.height = 47;"
        " const x = c.getContext('2d'); for (let k = 0; k < 40; k++) { x.fillStyle = `rgb(${(k * 37 + f * 50) % 256}"
        " ${(k * 91) % 256} ${(k * 53) % 256})`; x.fillRect((k * 17) % 61, (k * 29 + f) % 47, 19, 13); }"
        " frames.push(x.getImageData(0, 0, 61, 47)); }"
        " return [[...encodeGif(frames, 5)], frames.map((f) => [...f.data])]; }"
    )
    gif = Image.open(io.BytesIO(bytes(raw)))
    assert (gif.width, gif.height, gif.n_frames) == (61, 47, 3)
    for k, flat in enumerate(wanted):
        gif.seek(k)
        true = np.array(flat).reshape(47, 61, 4)
        opaque = true[..., 3] == 255
        got = np.asarray(gif.convert("RGB")).astype(int)
        assert np.abs(got - true[..., :3])[opaque].max() <= 8


def test_the_data_are_exported_as_csv_and_loaded_again(watched, tmp_path):
    page = watched.page
    page.click('[data-preset="five_points"]')
    watched.drawn()
    path = tmp_path / "points.csv"
    path.write_bytes(download(page, "csv"))
    assert rf.data.from_csv(path) == rf.data.five_points()
    page.click('[data-preset="two_points"]')
    watched.drawn()
    page.set_input_files("#csv", str(path))
    page.wait_for_function("() => reluflow.store.run.n === 5")
    watched.drawn()
    assert watched.store("experiment.data.y") == rf.data.five_points().y.tolist()
    assert watched.complaints == []


def side(claim, value):
    """One side of a claim as the page writes it."""
    return f"{'e^' if claim.log else ''}{value:.6g}" if np.isfinite(value) else str(value)


def text_of_log(log):
    return f"{np.exp(log):.6g}" if -690 < log < 690 else f"e^{log:.6g}"


@pytest.mark.parametrize(
    ("preset", "scale"),
    [
        ("two_points", "-100000"),
        pytest.param("toy_plane", None, marks=pytest.mark.exhaustive),
        pytest.param("two_points", None, marks=pytest.mark.exhaustive),
        pytest.param("five_points", None, marks=pytest.mark.exhaustive),
    ],
)
def test_numbers_shown_are_those_of_the_exported_experiment(watched, tmp_path, preset, scale):
    page = watched.page
    page.click(f'[data-preset="{preset}"]')
    watched.drawn()
    if scale is not None:
        page.fill("#v-scale", scale)
        page.press("#v-scale", "Enter")
    watched.settled()
    file = tmp_path / "shown.toml"
    file.write_bytes(download(page, "toml"))
    sol = rf.Experiment.from_toml(file).run()
    for pos in (0.05, 0.33, 0.5, 0.71, 1.0):
        watched.seek(pos)
        at = page.locator("#readout")
        t = float(at.get_attribute("data-t"))
        params = sol.at(t)
        log_w, log_a = params.log_scales
        each = log_w + np.log(np.linalg.norm(params.w, axis=1)), log_a + np.log(np.abs(params.a))
        log_norm = np.logaddexp.reduce(2 * np.concatenate(each))
        shown = {k: page.text_content(f'[data-key="{k}"]') for k in ("t", "loss", "norm", "largest")}
        assert shown == {
            "t": f"{t:.6g}",
            "loss": f"{sol.loss_at(t):.6g}",
            "norm": text_of_log(log_norm),
            "largest": text_of_log(np.max(each[0])),
        }
    laws = page.evaluate("() => reluflow.store.reports.filter((l) => l.claims)")
    assert laws
    page.click("#more")
    page.evaluate("() => document.querySelectorAll('#theorems details').forEach((d) => { d.open = true; })")
    for law in laws[:4]:
        report = rf.check(law["name"], sol)
        rows = page.locator(f'#theorems [data-name="{law["name"]}"] tr:not(.sub)')
        failing = [h for h in report.hypotheses if not h.ok]
        hypotheses = [*failing, *(h for h in report.hypotheses if h.ok)]
        claims = [*hypotheses, *report.claims]
        verdicts = [*(met(h) for h in hypotheses), *(c.verdict for c in report.claims)]
        assert rows.count() == len(claims)
        for k, claim in enumerate(claims):
            cells = rows.nth(k).locator("td").all_text_contents()
            assert cells[3] == verdicts[k]
            both = f"{side(claim, claim.measured)} {claim.relation} {side(claim, claim.bound)}"
            if claim.text.endswith(YES):  # a question has no margin
                both = "yes" if claim.measured else "no"
            assert cells[1] == both
            assert cells[2] == ("" if claim.text.endswith(YES) else f"{claim.margin:.3g}")
    assert watched.complaints == []


@pytest.mark.exhaustive
def test_the_exported_experiment_is_what_reluflow_run_reproduces(watched, tmp_path):
    page = watched.page
    page.fill("#v-scale", "-300")
    page.press("#v-scale", "Enter")
    watched.drawn()
    watched.seek(1.0)
    (tmp_path / "my.toml").write_bytes(download(page, "toml"))
    command = [sys.executable, "-m", "reluflow", "run", "my.toml", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert f"{found['loss_end']:.6g}" == page.text_content('[data-key="loss"]')
    assert found["steps"] == watched.store("run.steps")


@pytest.mark.parametrize("size", [(390, 844), (1920, 1080), (320, 256)])
def test_nothing_spills_over_the_screen_of_a_phone_a_projector_or_at_400_percent(chromium, address, size):
    context = chromium.new_context(viewport={"width": size[0], "height": size[1]})
    try:
        page = context.new_page()
        page.goto(address)
        page.wait_for_function("() => reluflow.store.run && !reluflow.store.run.draft")
        if size[0] == 1920:
            page.keyboard.press("p")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= size[0]
        assert page.locator("#neurons canvas").is_visible() and page.locator("#play").is_visible()
        assert page.locator("#play").bounding_box()["x"] >= 0
    finally:
        context.close()


def test_a_recorded_run_keeps_its_own_phases_and_no_verdicts_of_another(watched):
    page = watched.page
    page.click('[data-preset="five_points"]')
    page.wait_for_function("() => reluflow.store.run?.n === 5")
    page.click('[data-preset="mnist"]')  # while theorems about the five points are still being judged
    page.wait_for_function("() => reluflow.store.run.key === 'mnist'")
    page.wait_for_timeout(3000)
    assert watched.store("reports") == [] and watched.store("norm") == {}
    assert watched.store("phases") == watched.store("run.phases")
    assert watched.complaints == []


def test_every_control_has_a_line_of_explanation(watched):
    fields = watched.page.locator("#side .field")
    assert fields.count() >= 10
    for k in range(fields.count()):
        assert len(fields.nth(k).locator("p").text_content()) > 10


def test_controls_change_what_is_solved(watched):
    page = watched.page
    page.fill("#v-width", "24")
    page.press("#v-width", "Enter")
    page.wait_for_function("() => reluflow.store.run.m === 24")
    page.locator('[data-choice="start"] [data-value="gaussian"]').click()
    page.wait_for_function("() => reluflow.store.run.balanced === false")
    page.locator('[data-choice="layers"] [data-value="first"]').click()
    page.wait_for_function("() => reluflow.store.experiment.init.kind === 'fixed_output'")
    watched.drawn()
    page.fill("#v-slope", "0.2")
    page.press("#v-slope", "Enter")
    page.wait_for_function("() => reluflow.store.run.slope === 0.2")
    page.fill("#v-decay", "0.1")
    page.press("#v-decay", "Enter")
    page.wait_for_function("() => reluflow.store.run.decay === 0.1")
    page.locator('[data-choice="method"] [data-value="descent"]').click()
    page.wait_for_function("() => reluflow.store.run.descent === true")
    offered = page.evaluate("() => [...document.getElementById('loss-kind').options].map((o) => o.value)")
    assert offered == list(TABLE)
    page.select_option("#loss-kind", "logistic")
    page.wait_for_function("() => reluflow.store.run.loss === 'logistic'")
    assert re.search(r"\d+ iterations", page.text_content("#status").replace(",", ""))
    assert watched.complaints == []
