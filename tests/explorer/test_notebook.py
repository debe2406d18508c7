"""A run in a notebook: one document, no server."""

import re

import pytest

import reluflow as rf
from reluflow.explorer import show
from reluflow.explorer.serve import opening

LISTS = """addEventListener('DOMContentLoaded', () => {
  globalThis.listsMade = 0;
  new MutationObserver((all) => {
    const added = all.flatMap((change) => [...change.addedNodes]);
    listsMade += added.filter((node) => node.ariaLabel === 'List of theorems').length;
  }).observe(document.body, { childList: true, subtree: true });
})"""


def a_run():
    problem = rf.Problem(rf.data.two_points(), rf.init.balanced(20, 2, log_scale=-12.0, seed=1))
    return rf.solve(problem, rf.Flow(rtol=1e-8))


def test_a_shown_run_is_one_document_that_refers_to_nothing_outside():
    shown = show(a_run(), checks=False)
    assert "sandbox" in shown._repr_html_() and "srcdoc" in shown._repr_html_()
    assert not re.search(r'(src|href)="(?!#)(https?:|/)', shown.html.split('id="files"')[0])


def test_a_shown_run_plays_in_a_browser_without_a_server_with_its_own_story_norm_and_verdicts(chromium, tmp_path):
    problem = rf.Problem(rf.data.five_points(), rf.init.balanced(20, 2, log_scale=-12.0, seed=1))
    sol = rf.solve(problem, rf.Flow(rtol=1e-8))
    (tmp_path / "run.html").write_text(show(sol).html, encoding="utf-8")
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    try:
        page = context.new_page()
        complaints = []
        page.on("pageerror", lambda e: complaints.append(str(e)))
        page.add_init_script(LISTS)
        page.goto(f"file://{tmp_path}/run.html")
        page.wait_for_function("() => globalThis.reluflow?.store.run && globalThis.painted")
        page.keyboard.press("End")
        page.wait_for_function("() => reluflow.store.index === reluflow.store.run.F - 1")
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert page.text_content('[data-key="loss"]') == f"{sol.loss[-1]:.6g}"
        phases = sol.phases()
        assert page.evaluate("() => reluflow.store.phases.length") == len(phases)
        assert page.evaluate("() => reluflow.store.norm.least") == pytest.approx(rf.bias.min_norm(problem.data).value)
        reports = page.evaluate("() => reluflow.store.reports.filter((r) => r.claims)")
        for report in reports[:5]:
            assert [c["verdict"] for c in report["claims"]] == [c.verdict for c in rf.check(report["name"], sol).claims]
        assert len(reports) > 10
        # Made anew for every one of a hundred verdicts, the list kept the first picture waiting for a second.
        assert 1 <= page.evaluate("() => listsMade") <= 5
        # The story is that of this run.
        page.click("#tour")
        page.click('[data-story="own"]')
        titles, texts = [], []
        for _ in phases:
            titles.append(page.text_content("#guide h2"))
            texts.append(page.text_content("#guide .text"))
            page.click("#story-next")
        names = {"alignment": "Alignment", "growth": "Growth", "plateau": "Saddle", "convergence": "Convergence"}
        assert titles == [names[p.kind] for p in phases]
        assert f"{len(phases[1].neurons)} neurons grow" in texts[1]
        # A link to a file holds the moment: the run is in the file.
        page.evaluate(
            "() => { const e = document.getElementById('time'); e.value = 0.5; e.dispatchEvent(new Event('input')); }"
        )
        page.click("#share")
        page.wait_for_function("() => location.hash.startsWith('#s=')")
        index, address = page.evaluate("() => [reluflow.store.index, location.href]")
        page.goto("about:blank")
        page.goto(address)
        page.wait_for_function("() => globalThis.reluflow?.store.run && globalThis.painted")
        assert page.evaluate("() => reluflow.store.index") == pytest.approx(index, abs=1e-3)
        assert complaints == []
    finally:
        context.close()


def test_a_file_or_a_run_folder_opens_the_page(tmp_path):
    file = tmp_path / "points.toml"
    (tmp_path / "points.csv").write_text("x0,x1,y\n1,0.5,1\n-1,0.6,-1\n", encoding="utf-8")
    file.write_text(
        'format = 1\n[data]\nkind = "from_csv"\npath = "points.csv"\n[init]\nkind = "balanced"\nwidth = 9\n',
        encoding="utf-8",
    )
    tables, recorded = opening(file)
    # The file's own data are written out: the page cannot read files.
    assert tables["data"]["kind"] == "arrays" and tables["data"]["y"] == [1.0, -1.0] and recorded is None
    a_run().save(tmp_path / "run")
    tables, recorded = opening(tmp_path / "run")
    assert tables is None and recorded[:4] == b"RFX1"
