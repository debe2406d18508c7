// From changes to pictures: while a slider moves one quick draft at a time, always the newest; at rest the whole run.

import * as backend from "./backend.js";
import { prose } from "./dom.js";
import { copy, on, store, tell } from "./store.js";

let number = 0, running = null, waiting = false, rest = 0, due = false;
let accepted = null; // the last state whose run was shown: what a refused change goes back to
const REST = 400, PATIENCE = 600; // milliseconds

const snapshot = () => copy({ experiment: store.experiment, preset: store.preset, mode: store.mode });

// The experiment has changed; `moving` while a slider or a point is being dragged.
export function changed(moving = false) {
  if (!store.live || store.recorded) return;
  clearTimeout(rest);
  // Once for all changes until the whole run is there: every input of a slider comes here.
  if (!store.pending) { store.pending = true; tell("pending"); }
  if (moving && !backend.isStatic()) {
    waiting = true;
    // A whole run that is no longer wanted is cancelled at once, a draft after a while.
    if (running && (!running.quick || performance.now() - running.began > PATIENCE)) { running.stop.abort(); running = null; }
    if (!running) draft();
    due = true;
    rest = setTimeout(settle, REST);
  } else whole();
}

// After the last change: the whole run, once the draft that is on its way has been drawn.
function settle() {
  if (running?.quick) rest = setTimeout(settle, 50);
  else whole();
}

async function draft() {
  while (waiting && !running) {
    waiting = false;
    await solve(true);
  }
}

async function whole() {
  waiting = due = false;
  if (running) { running.stop.abort(); running = null; }
  if ((await solve(false)) && !waiting && !due) { check(); overlay(); beside(); }
}

async function solve(quick) {
  const mine = (running = { stop: new AbortController(), began: performance.now(), number: ++number, quick });
  const asked = snapshot();
  try {
    const run = await backend.solve(mine.number, quick, asked.experiment, mine.stop.signal);
    if (!run || running !== mine) return false;
    if (!quick) accepted = asked;
    show(run);
    if (!quick) tell("accepted");
    return true;
  } catch (error) {
    if (error.name !== "AbortError" && running === mine) refused(error, quick);
    return false;
  } finally {
    if (running === mine) running = null;
  }
}

// A change that cannot be solved: say why, and go back to the experiment whose run is on the screen.
function refused(error, quick) {
  if (quick && error.refused) { refuse(error.message); return; }
  waiting = due = false;
  clearTimeout(rest);
  if (accepted && store.run) {
    Object.assign(store, copy(accepted));
    store.pending = false;
    if (store.run.draft) whole(); // a request of its own, which takes nothing back of what is said next
    else check();
    refuse(`${error.message} The run shown is still the one before this change.`);
    tell("pending");
    tell("controls");
  } else if (store.presets.length && store.preset !== store.presets[0].name) {
    note(`${error.message} The first preset is shown instead.`);
    Object.assign(store, { experiment: copy(store.presets[0].experiment), preset: store.presets[0].name, mode: store.presets[0].mode });
    tell("controls");
    setTimeout(() => changed(false));
  } else note(error.message);
}

// Changes with every request for a run: whether what was asked for is still wanted.
export const latest = () => number;

// Cancels whatever is still on its way: it is about something that is no longer shown.
export function abandon() {
  number++;
  clearTimeout(rest);
  waiting = due = false;
  if (running) { running.stop.abort(); running = null; }
  store.checking = store.pending = false;
}

// Whether no request is on its way or about to be sent.
export const idle = () => !running && !waiting && !due;

// A new run takes the place of the old one at the same moment of its story.
export function show(run) {
  const was = store.run ? store.run.pos(store.clock, store.index) : 0;
  store.run = run;
  store.mode = run.mode;
  store.index = run.index(store.clock, was);
  if (store.hover >= run.m) store.hover = -1;
  if (store.datum >= run.n) store.datum = -1;
  // Phases and saddles belong to one run; those of another would be drawn in the wrong places.
  store.phases = [];
  store.norm = { ...store.norm, stale: true };
  if (!run.draft) { store.over = null; store.norm = {}; store.pending = false; tell("pending"); }
  tell("run");
}

export async function check() {
  const mine = number, { run } = store;
  Object.assign(store, { checking: true, checked: false, reports: [], known: null, failed: null });
  tell("reports");
  try {
    await backend.checks(mine, copy(store.experiment), run, (finding) => {
      if (mine !== number) return false;
      found(finding);
      return true;
    });
  } catch (error) {
    if (mine === number && error.name !== "AbortError") store.failed = error.message;
  }
  if (mine === number) { store.checking = false; tell("reports"); }
}

export function found(finding) {
  if (finding.phases) store.phases = finding.phases;
  if (finding.norm) store.norm = finding.norm;
  if (finding.phases || finding.norm) tell("phases");
  if (finding.known) store.known = finding.known;
  if (finding.check) store.reports.push(finding.check);
  if (finding.checks) store.reports.push(...finding.checks);
  if (finding.failed) store.failed = finding.failed;
  if (finding.done) store.checked = true;
  if (finding.known || finding.check || finding.checks || finding.failed || finding.done) tell("reports");
}

export async function overlay() {
  if (!store.overlay || store.recorded || store.experiment?.method?.kind !== "flow") {
    store.over = null;
    tell("over");
    return;
  }
  const mine = number;
  try {
    const run = await backend.overlay(mine, store.step, store.experiment);
    if (run && mine === number && store.overlay) { store.over = run; tell("over"); }
  } catch (error) {
    if (mine === number) { store.overlay = false; note(error.message); tell("over"); }
  }
}

// The same experiment from another scale, `store.other`.
export async function beside() {
  if (store.other === null || store.recorded || !store.experiment?.init) {
    if (store.beside) { store.beside = null; tell("over"); }
    return;
  }
  const mine = number;
  try {
    const run = await backend.beside(mine, store.other, store.experiment);
    if (run && mine === number) { store.beside = run; tell("over"); }
  } catch (error) {
    if (mine === number) { store.other = null; note(error.message); tell("over"); }
  }
}

export const toml = () => backend.toml(number);
export const csv = (text, name) => backend.csv(number, text, name);

// What was refused, until something else is accepted.
export function refuse(text) {
  note(text);
  document.getElementById("note").dataset.refused = number;
}
on("accepted", () => { const box = document.getElementById("note"); if (Number(box.dataset.refused) < number) box.hidden = true; });

let hiding = 0;
export function note(text, action = null) {
  const box = document.getElementById("note");
  delete box.dataset.refused;
  box.replaceChildren(...prose(text));
  if (action) {
    const button = document.createElement("button");
    button.textContent = action.text;
    button.addEventListener("click", () => { box.hidden = true; action.does(); });
    box.append(" ", button);
  }
  box.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => { box.hidden = true; }, action ? 12_000 : 7000);
}
