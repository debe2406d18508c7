"""Stories: what they name is in the picture, small cards show theirs, and the reader's own work is kept."""

import pytest

COLOURS = """(id) => {
  const canvas = document.querySelector(`#${id} canvas`);
  const data = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  return new Set(data).size;
}"""
# The neurons that the marked words of a step light up, at most over eleven moments of the step.
LIT = """async ([story, step]) => {
  const { group } = await import('./page/views/neurons.js');
  const { STORIES } = await import('./page/stories.js');
  const { store, guide } = reluflow, text = STORIES.find((s) => s.id === story).steps[step].text, found = {};
  guide.finish();
  const last = store.index;
  for (const [, name] of text.matchAll(/\\[\\[([^|]+)\\|/g)) {
    if (name === 'aims') { found[name] = store.run.aims.length; continue; }
    found[name] = 0;
    for (let k = 0; k <= 10; k++) {
      store.index = last * k / 10; store.group = name; store.run.at(store.index);
      const member = group(store.run);
      if (member) found[name] = Math.max(found[name], [...Array(store.run.m).keys()].filter((j) => member(j)).length);
    }
  }
  store.group = null; store.index = last;
  return found;
}"""


def tell(page, story, step):
    page.evaluate("([id, step]) => reluflow.guide.start(id, step)", [story, step])
    page.wait_for_function("() => reluflow.guide.telling()?.ready", timeout=60_000)


def key(page, field, text):
    page.fill(field, text)
    page.press(field, "Enter")
    page.evaluate("() => document.activeElement.blur()")


@pytest.mark.parametrize(
    ("size", "query", "story"),
    [
        ((390, 844), "", ("saddles", 6)),
        ((320, 640), "", ("alignment", 0)),
        ((800, 420), "?embed=neurons,loss&preset=five_points&at=0.4", None),
        ((800, 420), "?embed=story&story=saddles&step=6", None),
        ((360, 300), "?embed=story&story=saddles&step=6", None),
    ],
)
def test_neurons_are_drawn_in_small_cards(chromium, address, size, query, story):
    context = chromium.new_context(viewport={"width": size[0], "height": size[1]})
    page = context.new_page()
    page.goto(address + query)
    page.wait_for_function("() => globalThis.reluflow?.store.run && reluflow.idle()", timeout=60_000)
    if story:
        tell(page, *story)
    page.wait_for_function("() => painted.key === reluflow.store.run.key && !painted.draft", timeout=60_000)
    page.wait_for_timeout(200)
    assert page.evaluate(COLOURS, "neurons") > 20
    context.close()


def test_words_that_are_marked_name_neurons_of_the_run(watched):
    page = watched.page
    marked = page.evaluate(
        "async () => (await import('./page/stories.js')).STORIES.flatMap((s) => s.steps.map((step, k) =>"
        " [s.id, k, step.text.includes('[[')])).filter((row) => row[2] && row[0] !== 'mnist')"
    )
    assert len(marked) > 8
    for story, step, _ in marked:
        tell(page, story, step)
        found = page.evaluate(LIT, [story, step])
        assert found, (story, step)
        assert min(found.values()) > 0, (story, step, found)
    assert watched.complaints == []


def test_undo_and_reload_in_a_story_keep_the_readers_own_experiment(watched):
    page = watched.page
    key(page, "#v-seed", "4")
    page.wait_for_function("() => reluflow.store.experiment.init.seed === 4")
    watched.drawn()
    tell(page, "sliding", 5)
    page.keyboard.press("Control+z")  # nothing of the reader's own has changed in the story
    page.wait_for_timeout(200)
    assert watched.store("preset") == "five_points" and page.is_disabled("#undo")
    key(page, "#v-width", "12")
    page.wait_for_function("() => reluflow.store.run.m === 12")
    watched.drawn()
    page.keyboard.press("Control+z")
    page.wait_for_function("() => reluflow.store.run.m !== 12")
    watched.drawn()
    assert watched.store("preset") == "five_points" and page.evaluate("() => reluflow.guide.telling().step") == 5
    page.wait_for_timeout(600)
    page.reload()
    watched.drawn()
    assert watched.store("preset") == "two_points" and watched.store("experiment.init.seed") == 4
    assert watched.complaints == []


def test_a_story_is_read_aloud_step_by_step_and_leaves_the_keyboard_where_it_began(watched):
    page = watched.page
    tell(page, "saddles", 0)
    assert (
        page.evaluate("() => document.activeElement.tagName + document.activeElement.closest('#guide')?.id")
        == "H2guide"
    )
    page.click("#story-next")
    page.wait_for_function("() => reluflow.guide.telling()?.step === 1")
    assert page.evaluate("() => document.activeElement.textContent") == "Align"
    page.focus("#story-end")
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "tour"


def test_typed_values_are_read_as_the_page_writes_them_and_never_changed_in_silence(watched):
    page = watched.page
    key(page, "#v-scale", "e^−30")  # with the minus sign of the stories
    page.wait_for_function("() => reluflow.store.experiment.init.log_scale === -30")
    key(page, "#v-scale", "abc")
    assert "must be a number" in page.text_content("#note") and page.is_visible("#note")
    key(page, "#v-scale", "")
    assert watched.store("experiment.init.log_scale") == -30 and page.input_value("#v-scale") == "e^-30"
    key(page, "#v-scale", "e^−31")
    page.wait_for_function("() => document.getElementById('note').hidden")  # it has been answered
    key(page, "#v-step", "-1")
    assert "cannot be -1 here" in page.text_content("#note")
    key(page, "#v-seed", "99999999999")
    assert page.input_value("#v-seed") == "99999999999"
    watched.drawn()
    assert watched.complaints == []


def test_a_step_waits_for_a_recorded_run_that_is_on_its_way(watched):
    page = watched.page
    held = []
    page.route("**/mnist.rfx", lambda route: held.append(route))
    page.evaluate("() => reluflow.guide.start('mnist', 2)")
    page.wait_for_timeout(300)
    assert held and not page.evaluate("() => reluflow.guide.telling().ready")
    held[0].continue_()
    page.wait_for_function("() => reluflow.guide.telling().ready && reluflow.store.run.weights")
    page.evaluate("() => reluflow.guide.finish()")
    assert watched.store("index") == watched.store("run.F") - 1
    assert watched.complaints == []


def test_what_was_left_before_it_arrived_changes_nothing(watched):
    page = watched.page
    held = []
    page.route("**/mnist.rfx", lambda route: held.append(route))
    page.click('[data-preset="mnist"]')
    page.wait_for_timeout(200)
    page.click('[data-preset="toy_plane"]')
    watched.drawn()
    held[0].continue_()
    page.wait_for_timeout(500)
    assert watched.store("preset") == "toy_plane" and not watched.store("recorded") and not watched.store("run.weights")
    # A story that is left, for another preset, while the run of its step is on its way: the preset can be undone.
    page.route("**/api/solve", lambda route: held.append(route))
    page.evaluate("() => reluflow.guide.start('saddles', 0)")
    page.wait_for_timeout(200)
    page.unroute("**/api/solve")
    page.click('[data-preset="five_points"]')
    page.wait_for_function("() => reluflow.store.preset === 'five_points'")
    watched.drawn()
    assert page.evaluate("() => reluflow.guide.telling()") is None and page.is_enabled("#undo")
    page.keyboard.press("Control+z")
    page.wait_for_function("() => reluflow.store.preset === 'toy_plane'")
    watched.drawn()
    assert watched.complaints == []
