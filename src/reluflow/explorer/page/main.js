// Starting: what to show first, what the buttons do, and one picture for every frame of the screen.

import { $, el } from "./dom.js";
import { abandon, begin, changed, fetchRun, idle, judge, note, overlay, show } from "./api.js";
import * as cards from "./cards.js";
import * as controls from "./controls.js";
import * as exporting from "./export.js";
import * as keys from "./keys.js";
import { Run } from "./run.js";
import { readTheme } from "./pad.js";
import * as player from "./player.js";
import { decode, link, restore } from "./share.js";
import { copy, on, store, tell } from "./store.js";
import * as tour from "./tour.js";

let dirty = true, last = 0, wanted = 0;
const redraw = () => { dirty = true; };

function setTheme(theme) {
  store.theme = theme;
  document.documentElement.dataset.theme = theme;
  readTheme();
  redraw();
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
    type: "button", title: text, "data-preset": name, "aria-pressed": String(name === store.preset), onclick: () => choose(name),
  }, title);
  $("presets").replaceChildren(...store.presets.map(chip));
}

// A preset, as it stands.
export function choose(name) {
  const preset = store.presets.find((p) => p.name === name);
  if (!preset) return;
  tour.end();
  player.stop();
  store.preset = name; store.recorded = Boolean(preset.recorded); store.mode = preset.mode; store.tool = "move";
  Object.assign(store, { index: 0, over: null, phases: [], norm: {}, laws: [], known: null, logLoss: null });
  if (!store.recorded) store.run = null;
  if (preset.recorded) recorded(`/page/${name}.rfx`);
  else { store.experiment = copy(preset.experiment); changed(false); }
  tell("controls");
  tell("laws");
}

async function recorded(path) {
  abandon();
  try {
    const run = await fetchRun(path);
    store.run = null;
    take(run);
  } catch (error) {
    note(error.message);
  }
}

function take(run) {
  store.recorded = true;
  show(run);
  store.phases = run.phases ?? [];
  store.judging = false;
  tell("phases");
  tell("laws");
  tell("controls");
}

const actions = {
  theme: () => setTheme(store.theme === "dark" ? "light" : "dark"),
  projector: () => setLarge(!store.large),
  share: async () => {
    const text = link();
    history.replaceState(null, "", text);
    let where = "copied";
    try { await navigator.clipboard.writeText(text); } catch { where = "in the address bar"; }
    note(`The link is ${where}: it holds all of this.`);
  },
  overlay: () => { if (store.recorded) return; store.overlay = !store.overlay; controls.refresh(); overlay(); },
  scale: (way) => {
    if (store.recorded || !store.experiment) return;
    const { init, problem } = store.experiment, low = problem.train === "first" ? -700 : -1e5;
    const { log_scale } = init, to = way > 0 ? Math.min(1.25 * log_scale, log_scale - 1) : Math.max(log_scale / 1.25, log_scale + 1);
    init.log_scale = Math.max(low, Math.min(0, Number((Math.abs(log_scale) < 5 ? log_scale - way : to).toPrecision(6))));
    controls.refresh();
    changed(true);
  },
  tour: () => { if (store.served) tour.start(choose); },
  tourEnd: () => tour.end(),
};

function picture(time) {
  const seconds = Math.min(0.1, (time - last) / 1e3);
  last = time;
  player.advance(seconds);
  tour.tick(time);
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

function wire() {
  on("run index clock phases over focus draw tool", redraw);
  on("run", () => { if (wanted !== null) { store.index = store.run.index(store.clock, wanted); wanted = null; tell("index"); } });
  on("controls", () => { presetBar(); controls.build(); cards.titles(); });
  let mode = null;
  on("run", () => { if (mode !== store.mode) { mode = store.mode; if (store.tool !== "move") store.tool = "move"; controls.build(); } });
  $("theme").addEventListener("click", actions.theme);
  $("projector").addEventListener("click", actions.projector);
  $("share").addEventListener("click", actions.share);
  $("drawer").addEventListener("click", () => document.body.classList.toggle("drawn"));
  addEventListener("resize", redraw);
  new ResizeObserver(redraw).observe($("views"));
  new IntersectionObserver(redraw).observe($("views"));
  $("views").addEventListener("scroll", redraw);
  addEventListener("scroll", redraw);
  addEventListener("hashchange", () => { const state = decode(location.hash); if (state) open(state); });
}

function open(state) {
  wanted = restore(state);
  setTheme(store.theme);
  const preset = store.presets.find((p) => p.name === store.preset);
  if (preset?.recorded) { const pos = wanted; choose(preset.name); wanted = pos; return; }
  store.recorded = false;
  store.mode = preset?.mode ?? store.mode;
  tell("controls");
  cards.enlarge(store.focus);
  changed(false);
}

async function main() {
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  cards.setup(); player.setup(); exporting.setup(); keys.setup(actions); tour.setup(choose); wire();
  requestAnimationFrame(picture);
  const inside = globalThis.reluflowRun; // a notebook brings its run along
  if (inside) {
    store.served = false; store.presets = []; store.experiment = null;
    take(new Run(inside));
    document.body.classList.add("inside");
    return;
  }
  const start = await begin();
  store.presets = start.presets; store.most = start.most;
  const state = decode(location.hash);
  store.experiment = copy(start.start ?? start.presets[0].experiment);
  store.preset = start.start ? null : start.presets[0].name;
  if (state) { open(state); return; }
  wanted = 0;
  if (start.opened) { 
    await recorded("/api/opened");
    store.recorded = start.start === null;
    if (!store.recorded) judge();
    tell("controls");
    return;
  }
  tell("controls");
  changed(false);
}

globalThis.reluflow = { store, actions, idle };
main().catch((error) => note(error.message));
