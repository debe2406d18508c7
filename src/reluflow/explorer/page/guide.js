// Telling a story: one step at a time, with pause, and back to where one was at the end.

import { $, el } from "./dom.js";
import { changed, overlay, beside } from "./api.js";
import { isStatic, put } from "./backend.js";
import { refresh } from "./fields.js";
import { fromLog, g } from "./format.js";
import * as past from "./history.js";
import { seek, stop } from "./player.js";
import { STORIES, own } from "./stories.js";
import { copy, on, store, tell } from "./store.js";

let story = null, step = -1, began = 0, elapsed = 0, paused = false, waiting = false, before = null, load = null;
const still = matchMedia("(prefers-reduced-motion: reduce)");

export function setup(choose) {
  load = choose;
  on("phases run reports over", () => { if (step >= 0 && waiting && ready()) begin(); });
  on("run index clock controls", task);
}

export const telling = () => (step >= 0 ? { story: story.id, step, title: story.steps[step].title, ready: !waiting, over: elapsed >= 1 }
  : null);
export const titles = () => STORIES.filter((s) => store.presets.some((p) => p.name === s.preset));

// The list of stories, in a dialog.
export function choose() {
  const box = $("stories"), list = titles();
  const button = (s) => el("button", { type: "button", class: "story", "data-story": s.id, onclick: () => { box.close(); start(s.id); } },
    el("b", {}, s.title), el("small", {}, s.paper));
  const mine = store.phases.length || !list.length ? [button({ id: "own", title: "The run on the screen", paper: "Told from its own "
      + "phases" })] : [];
  box.replaceChildren(el("h2", { id: "stories-title" }, "Stories"), el("div", { class: "stack" }, ...list.map(button), ...mine),
    el("form", { method: "dialog", class: "row" }, el("button", {}, "Close")));
  // In a site built by `make site` the article lies beside the explorer.
  if (isStatic()) fetch("../article.html", { method: "HEAD" }).then((reply) => {
    if (reply.ok) box.querySelector(".stack").after(el("p", {}, el("a", { href: "../article.html" }, "Read all of them as an article")));
  }).catch(() => {});
  box.showModal();
}

export function start(id, at = 0) {
  const wanted = id === "own" ? own(store.phases, said) : STORIES.find((s) => s.id === id);
  if (!wanted) return;
  if (step < 0) past.enter();
  if (step < 0) before = copy({ experiment: store.experiment, preset: store.preset, recorded: store.recorded, mode: store.mode,
    clock: store.clock,
    overlay: store.overlay, other: store.other, step: store.step, more: store.more, index: store.index });
  story = wanted;
  store.clock = "event"; store.focus = null; store.zoom = null;
  tell("clock");
  go(at);
  tell("controls"); // which do not offer the story that is being told
}

function said(p) {
  const t = (log) => (log <= -1e300 ? "0" : log < 700 ? g(Math.exp(log), 4) : `e^${g(log, 4)}`);
  return { from: t(p.log_start), to: t(p.log_end), loss: fromLog(p.log_loss, 3) };
}

// Leaves the story; what was on the page before it comes back.
export function end() {
  if (step < 0) return;
  const was = before, recorded = store.recorded;
  step = -1; story = null; before = null;
  store.group = null; store.step_views = null;
  document.body.classList.remove("telling", "trying");
  if ($("guide").contains(document.activeElement)) $("tour").focus({ preventScroll: true });
  $("guide").hidden = true;
  stop();
  past.leave();
  if (was && JSON.stringify([was.experiment, was.preset, was.overlay, was.other]) !== JSON.stringify([store.experiment, store.preset,
    store.overlay, store.other])) {
    const { index, ...rest } = was;
    Object.assign(store, rest);
    if (was.recorded) load(was.preset, true);
    else { store.recorded = false; if (recorded) store.run = null; tell("controls"); changed(false); }
    store.index = Math.min(index, (store.run?.F ?? 1) - 1);
  }
  tell("controls"); tell("clock"); tell("more");
}

export function go(next) {
  if (!story || next >= story.steps.length || next < 0) { end(); return; }
  step = next; began = 0; elapsed = 0; paused = still.matches; waiting = true;
  stop();
  const now = story.steps[step];
  store.group = null;
  store.step_views = now.views;
  store.clock = now.clock ?? "event";
  document.body.classList.add("telling");
  document.body.classList.toggle("trying", now.to === null); // then the reader moves through time
  past.step();
  tell("clock");
  panel(now);
  prepare(now);
  tell("more");
  if (ready()) begin();
}

// The experiment of a step: the preset with all that the steps so far have set.
function prepare(now) {
  if (!story.preset) return;
  const preset = store.presets.find((p) => p.name === story.preset);
  if (preset.recorded) {
    if (store.preset === preset.name) return;
    store.run = null; // the step begins with the run that is on its way
    load(preset.name, true);
    return;
  }
  const wanted = copy(preset.experiment);
  for (const s of story.steps.slice(0, step + 1)) for (const [path, value] of Object.entries(s.set ?? {})) put(wanted, path, value);
  const other = story.other ?? null, over = now.overlay !== undefined;
  const same = store.preset === preset.name && JSON.stringify(store.experiment) === JSON.stringify(wanted) && !store.recorded;
  store.other = other; store.overlay = over;
  if (over) store.step = now.overlay;
  if (same && store.run && !store.run.draft) { overlay(); beside(); refresh(); return; }
  Object.assign(store, { experiment: wanted, preset: preset.name, recorded: false, mode: preset.mode, run: null, over: null, beside: null,
    index: 0, phases: [] });
  tell("controls");
  past.quiet();
  changed(false);
}

// Whether everything that the step shows is there: the run, its phases, and a second run where there is one.
function ready() {
  const { run, phases } = store, now = story?.steps[step];
  if (!run || run.draft || store.pending || !now) return false;
  const needs = [now.from, now.to].some(Array.isArray);
  if (needs && !phases.length && store.checking) return false;
  if (now.overlay !== undefined && !store.over && store.overlay) return false;
  return !(story.other !== undefined && !store.beside && store.other !== null);
}

function begin() {
  waiting = false;
  began = 0;
  elapsed = 0;
  const now = story.steps[step];
  if (now.to === null) { elapsed = 1; show(); return; }
  if (still.matches || now.seconds < 3) { elapsed = 1; seek(place(now.to, 1)); }
  else seek(place(now.from, 0));
  show();
}

function place(where, otherwise) {
  if (!Array.isArray(where)) return where ?? otherwise;
  const [kind, which, share] = where, found = store.phases.filter((p) => p.kind === kind)[which], { run } = store;
  if (!found) return otherwise;
  const from = run.pos("event", run.indexOfLog(found.log_start)), to = run.pos("event", run.indexOfLog(found.log_end));
  return from + share * (to - from);
}

// Moves a step on; called with the time of every picture. In a frame of another page these times may lie seconds behind
// performance.now(), so that they are compared with each other alone; 0 stands for the next picture.
export function tick(time) {
  if (step < 0 || waiting || paused || elapsed >= 1 || !store.run) return;
  const now = story.steps[step], from = place(now.from, 0), to = place(now.to, 1);
  elapsed = Math.min(1, elapsed + Math.max(0, Math.min(0.1, (time - (began || time)) / 1e3)) / now.seconds);
  began = time;
  store.index = store.run.index("event", from + (to - from) * elapsed);
  tell("index");
  show();
}

function toggle() {
  if (elapsed >= 1) { begin(); paused = false; return; }
  paused = !paused;
  began = 0;
  show();
}

// Words in [[group|...]] mark the neurons they speak of.
function marked(text) {
  return text.split(/(\[\[[^\]]+\]\])/).map((part) => {
    const found = /^\[\[([^|]+)\|([^\]]+)\]\]$/.exec(part);
    if (!found) return part;
    const set = (value) => () => { store.group = value; tell("draw"); };
    return el("button", { type: "button", class: "mark", "data-group": found[1], onpointerenter: set(found[1]), onpointerleave: set(null),
      onfocus: set(found[1]), onblur: set(null), onclick: set(found[1]) }, found[2]);
  });
}

function panel(now) {
  const box = $("guide"), button = (text, does, more = {}) => el("button", { type: "button", onclick: does, ...more }, text);
  const last = step + 1 === story.steps.length;
  box.hidden = false;
  box.replaceChildren(...[
    el("div", { class: "bar", "aria-hidden": "true" }, el("i")),
    el("p", { class: "from" }, `${story.title} · ${step + 1} of ${story.steps.length}`),
    el("h2", { tabIndex: -1 }, now.title), el("p", { class: "text" }, ...marked(now.text)),
    now.aim ? el("p", { class: "aim", id: "aim", role: "status" }) : null,
    el("div", { class: "row" }, button("Back", () => go(step - 1), { disabled: step === 0, id: "story-back" }),
      now.to === null ? null : button("Pause", toggle, { id: "story-pause" }),
      button(last ? "Done" : "Next", () => go(step + 1), { id: "story-next", class: "main" }), button("Leave", end, { id: "story-end" })),
  ].filter(Boolean));
  if (!document.body.classList.contains("embed")) box.querySelector("h2").focus({ preventScroll: true }); // which is read aloud
  task();
}

function show() {
  const bar = $("guide").querySelector(".bar i"), button = $("story-pause");
  if (bar) bar.style.width = `${100 * elapsed}%`;
  if (button) button.textContent = elapsed >= 1 ? "Again" : paused ? "Go on" : "Pause";
}

function task() {
  const now = step >= 0 ? story.steps[step] : null, box = $("aim");
  if (!now?.aim || !box) return;
  const done = now.done(store), text = done ? `✓ Done: ${now.aim}. What do you see?` : `To do: ${now.aim}.`;
  if (box.textContent !== text) box.textContent = text;
  box.classList.toggle("done", done);
}

// To the end of the step at once.
export function finish() {
  if (step < 0 || waiting) return;
  const now = story.steps[step];
  elapsed = 1;
  if (now.to !== null) seek(place(now.to, 1));
  show();
}
