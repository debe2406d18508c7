// Starting: what to show first, what the buttons do, and one picture for every frame of the screen.

import { $, el } from "./dom.js";
import { abandon, beside, changed, check, found, idle, latest, note, overlay, show } from "./api.js";
import { begin, digits, fetchRun, isStatic, put, stored } from "./backend.js";
import * as cards from "./cards.js";
import * as controls from "./controls.js";
import * as exporting from "./export.js";
import * as guide from "./guide.js";
import * as past from "./history.js";
import * as keys from "./keys.js";
import { Run } from "./run.js";
import { readTheme } from "./pad.js";
import * as player from "./player.js";
import { decode, link, restore } from "./share.js";
import { copy, on, store, tell } from "./store.js";

let dirty = true, last = 0, wanted = 0;
const redraw = () => { dirty = true; };

function setTheme(theme) {
  store.theme = theme;
  document.documentElement.dataset.theme = theme;
  readTheme();
  redraw();
  tell("theme");
}

function setLarge(large) {
  store.large = large;
  document.documentElement.toggleAttribute("data-large", large);
  readTheme();
  for (const c of cards.cards) if (c.pad) c.pad.stale = true;
  redraw();
}

function presetBar() {
  const chip = ({ name, title, text }) => el("button", {
    type: "button", title: text, "data-preset": name, "aria-pressed": String(name === store.preset), onclick: () => { guide.end();
      choose(name); },
  }, title);
  const bar = $("presets"), focused = document.activeElement?.dataset?.preset;
  bar.replaceChildren(...store.presets.map(chip));
  if (focused) bar.querySelector(`[data-preset="${focused}"]`)?.focus();
  const on = bar.querySelector('[aria-pressed="true"]');
  if (on) bar.scrollLeft = on.offsetLeft - bar.offsetLeft - (bar.clientWidth - on.offsetWidth) / 2;
  edges();
}

// On a narrow screen the presets scroll: they fade out where there are more.
function edges() {
  const bar = $("presets"), rest = bar.scrollWidth - bar.clientWidth - bar.scrollLeft;
  bar.classList.toggle("before", bar.scrollLeft > 1);
  bar.classList.toggle("after", rest > 1);
}

// A preset, as it stands.
export function choose(name) {
  const preset = store.presets.find((p) => p.name === name);
  if (!preset) return;
  player.stop();
  store.preset = name; store.recorded = Boolean(preset.recorded); store.mode = preset.mode; store.tool = "move"; store.zoom = null;
  Object.assign(store, { index: 0, over: null, beside: null, phases: [], norm: {}, reports: [], known: null, logLoss: null });
  if (!store.recorded) store.run = null;
  if (preset.recorded) recorded(`page/${name}.rfx`);
  else { store.experiment = copy(preset.experiment); changed(false); }
  tell("controls");
  tell("reports");
}

async function recorded(path) {
  abandon();
  const mine = latest();
  try {
    const run = await fetchRun(path);
    if (mine !== latest()) return; // something else was chosen meanwhile
    store.run = null;
    take(run);
  } catch (error) {
    if (mine === latest()) note(error.message);
  }
}

// A run that brings its findings along.
function take(run) {
  store.recorded = true;
  Object.assign(store, { reports: [], known: null, checking: false, checked: true, over: null, beside: null });
  show(run);
  stored(run, found);
  if (run.weights && !store.images) digits().then((images) => { store.images = images; tell("draw"); });
  tell("reports");
  tell("controls");
}

const actions = {
  theme: () => setTheme(store.theme === "dark" ? "light" : "dark"),
  projector: () => setLarge(!store.large),
  share: async () => {
    if (!store.addressed) { note("This run is inside a notebook and has no address: save the page with `rf.show(sol).html`."); return; }
    const text = link();
    history.replaceState(null, "", text);
    let where = "copied";
    try { await navigator.clipboard.writeText(text); } catch { where = "in the address bar"; }
    note(store.served ? `The link is ${where}: it holds everything on this page.`
      : `The link is ${where}: it opens this file at this moment and in these views.`);
  },
  overlay: () => { if (store.recorded || !store.live) return; store.overlay = !store.overlay; controls.refresh(); overlay(); },
  scale: (way) => {
    if (store.recorded || !store.live || !store.experiment?.init || isStatic()) return;
    const { init } = store.experiment, low = controls.deepest();
    const { log_scale } = init, to = way > 0 ? Math.min(1.25 * log_scale, log_scale - 1) : Math.max(log_scale / 1.25, log_scale + 1);
    init.log_scale = Math.max(low, Math.min(0, Number((Math.abs(log_scale) < 5 ? log_scale - way : to).toPrecision(6))));
    controls.refresh();
    changed(true);
  },
  stories: () => guide.choose(),
  endStory: () => guide.end(),
  undo: () => past.undo(),
  redo: () => past.redo(),
  closeSheet: () => { const open = document.body.classList.contains("drawn"); drawer(false); return open; },
};

function drawer(open) {
  document.body.classList.toggle("drawn", open);
  $("drawer").setAttribute("aria-expanded", String(open));
}

function picture(time) {
  const seconds = Math.min(0.1, (time - last) / 1e3);
  last = time;
  player.advance(seconds);
  guide.tick(time);
  if (dirty && store.run) {
    dirty = false;
    cards.drawAll();
    player.drawStrip();
    player.readout();
    globalThis.painted = { number: (globalThis.painted?.number ?? 0) + 1, time: performance.now(), key: store.run.key,
      draft: store.run.draft };
  }
  requestAnimationFrame(picture);
}

function listen() {
  on("run index clock phases over focus draw tool more zoom only", redraw);
  on("run", () => { if (wanted !== null) { store.index = store.run.index(store.clock, wanted); wanted = null; tell("index"); } });
  on("controls", () => { presetBar(); controls.build(); cards.titles(); });
  // The views show the last run as before: only what is said about it changes.
  on("pending", () => { document.body.classList.toggle("pending", store.pending); if (store.run) player.readout(); });
  let mode = null;
  on("run", () => { if (mode !== store.mode) { mode = store.mode; if (store.tool !== "move") store.tool = "move"; controls.build(); } });
  on("history", () => { const can = past.can(); $("undo").disabled = !can.undo; $("redo").disabled = !can.redo; });
  $("theme").addEventListener("click", actions.theme);
  $("projector").addEventListener("click", actions.projector);
  $("share").addEventListener("click", actions.share);
  $("undo").addEventListener("click", actions.undo);
  $("redo").addEventListener("click", actions.redo);
  $("tour").addEventListener("click", actions.stories);
  $("drawer").addEventListener("click", () => drawer(!document.body.classList.contains("drawn")));
  $("presets").addEventListener("scroll", edges);
  $("presets").addEventListener("wheel", (event) => {
    if (event.deltaX || event.shiftKey || event.currentTarget.scrollWidth <= event.currentTarget.clientWidth) return;
    event.currentTarget.scrollLeft += event.deltaY;
    event.preventDefault();
  }, { passive: false });
  addEventListener("resize", edges);
  addEventListener("resize", () => { for (const c of cards.cards) if (c.pad) c.pad.stale = true; redraw(); });
  new ResizeObserver(redraw).observe($("views"));
  new IntersectionObserver(redraw).observe($("views"));
  $("views").addEventListener("scroll", redraw);
  addEventListener("scroll", redraw);
  document.fonts?.ready.then(redraw);
  addEventListener("hashchange", () => { const state = decode(location.hash); if (state) open(state); });
}

// Opens a state from a link; false when it is damaged.
function open(state) {
  guide.end();
  const at = restore(state);
  if (at === null) return false;
  wanted = at;
  setTheme(store.theme);
  const preset = store.presets.find((p) => p.name === store.preset);
  if (preset?.recorded) { choose(preset.name); wanted = at; return true; }
  store.recorded = false;
  store.mode = preset?.mode ?? store.mode;
  tell("controls"); tell("clock"); tell("more");
  cards.enlarge(store.focus);
  changed(false);
  return true;
}

// ?embed=neurons,loss shows these views alone; preset, scale, seed, at, story and step say what is in them.
function embedded(query) {
  const views = query.get("embed");
  if (views === null) return false;
  if (views === "story") return figure(query);
  store.only = views.split(",").filter((id) => cards.VIEWS.some((v) => v.id === id));
  if (!store.only.length) store.only = ["neurons", "learned"];
  document.body.classList.add("embed");
  if (query.get("theme")) setTheme(query.get("theme") === "dark" ? "dark" : "light");
  if (["event", "linear", "log"].includes(query.get("clock"))) store.clock = query.get("clock");
  const preset = store.presets.find((p) => p.name === query.get("preset")) ?? store.presets[0];
  if (preset.recorded) { choose(preset.name); return true; }
  store.experiment = copy(preset.experiment); store.preset = preset.name; store.mode = preset.mode;
  for (const [name, path] of [["scale", "init.log_scale"], ["seed", "init.seed"], ["slope", "problem.activation.slope"], ["layers",
    "single.layers"],
    ["norm", "single.log_norm"], ["phi", "single.phi"]]) {
    if (query.has(name) && Number.isFinite(Number(query.get(name)))) put(store.experiment, path, Number(query.get(name)));
  }
  if (query.has("beside")) store.other = Number(query.get("beside"));
  if (query.has("descent")) { store.overlay = true; store.step = Number(query.get("descent")); }
  wanted = Math.max(0, Math.min(1, Number(query.get("at") ?? 0) || 0));
  tell("only"); tell("controls"); tell("clock");
  changed(false);
  // An embedded figure plays when it comes into sight, once.
  if (query.has("play")) {
    const to = Number(query.get("play")) || 1;
    let done = false;
    new IntersectionObserver((entries) => {
      if (done || !entries.at(-1).isIntersecting || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
      done = true;
      player.playTo(to);
    }, { threshold: 0.6 }).observe($("views"));
  }
  return true;
}

// ?embed=story&story=saddles&step=2 is a figure of an article: one step of a story, without its text. The page around it sends
// {reluflow: {story, step}} to go on.
function figure(query) {
  document.body.classList.add("embed");
  setTheme(query.get("theme") === "dark" ? "dark" : "light");
  const go = (story, step) => { if (guide.titles().some((s) => s.id === story)) guide.start(story, Math.max(0, Number(step) || 0)); };
  addEventListener("message", ({ source, data }) => {
    if (source === parent && data?.reluflow) go(data.reluflow.story, data.reluflow.step);
  });
  store.preset = null;
  go(query.get("story"), query.get("step"));
  return true;
}

async function main() {
  const query = new URLSearchParams(location.search);
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  cards.setup(); player.setup(); exporting.setup(); keys.setup(actions); guide.setup(choose); past.setup(); listen();
  tell("history");
  requestAnimationFrame(picture);
  store.addressed = !["about:", "data:"].includes(location.protocol) && location.origin !== "null" || location.protocol === "file:";
  const inside = globalThis.reluflowRun; // a notebook brings its run along
  if (inside) {
    Object.assign(store, { served: false, live: false, presets: [], experiment: null });
    document.body.classList.add("inside");
    $("share").hidden = !store.addressed;
    const state = decode(location.hash);
    take(new Run(inside));
    if (state) { wanted = restore(state); setTheme(store.theme); seekWanted(); }
    tell("clock"); tell("more");
    store.keeps = store.addressed;
    return;
  }
  const start = await begin();
  store.presets = start.presets; store.most = start.most; store.losses = start.losses;
  if (embedded(query)) return;
  store.keeps = true;
  const story = query.get("story");
  store.experiment = copy(start.start ?? start.presets[0].experiment);
  store.preset = start.start ? null : start.presets[0].name;
  const linked = location.hash.startsWith("#s="), state = decode(location.hash);
  if (state && open(state)) return;
  if (linked) note("This link is damaged: the first preset is shown instead.");
  wanted = 0;
  if (start.opened) {
    await recorded("api/opened");
    store.recorded = start.start === null;
    if (!store.recorded) check();
    tell("controls");
    return;
  }
  tell("controls");
  changed(false);
  if (story) { on("accepted", once(() => guide.start(story, Number(query.get("step")) || 0))); return; }
  past.offer((text) => { const before = decode(`#s=${text}`); if (before) open(before); });
}

const once = (what) => { let done = false; return () => { if (!done) { done = true; what(); } }; };

function seekWanted() {
  if (wanted !== null && store.run) { store.index = store.run.index(store.clock, wanted); wanted = null; tell("index"); }
}

globalThis.reluflow = { store, actions, idle, guide, choose, beside };
main().catch((error) => note(error.message));
