// Asking the server: while a slider moves one quick draft at a time, always the newest; at rest the whole thing.

import { Run } from "./run.js";
import { copy, store, tell } from "./store.js";

const page = Math.random().toString(36).slice(2, 12) + Math.random().toString(36).slice(2, 8);
let number = 0, running = null, waiting = false, rest = 0, due = false;
const REST = 400, PATIENCE = 600; // milliseconds

async function post(path, body, signal) {
  const reply = await fetch(path, { method: "POST", headers: { "content-type": "application/json" },
    body: JSON.stringify({ page, ...body }), signal });
  if (!reply.ok) throw new Error((await reply.json().catch(() => ({}))).error ?? `The server answered ${reply.status}.`);
  return reply;
}

export async function begin() {
  return (await fetch("/api/start")).json();
}

export async function fetchRun(path) {
  const reply = await fetch(path);
  if (!reply.ok) throw new Error("The recorded run is not there.");
  return new Run(await reply.arrayBuffer());
}

// The experiment has changed: `moving` while a hand is on it.
export function changed(moving = false) {
  if (!store.served || store.recorded) return;
  clearTimeout(rest);
  if (moving) {
    waiting = true;
    // A whole run that is no longer wanted makes way at once, a draft after a while.
    if (running && (!running.quick || performance.now() - running.began > PATIENCE)) { running.stop.abort(); running = null; }
    if (!running) draft();
    due = true;
    rest = setTimeout(settle, REST);
  } else whole();
}

// The hand rests: the whole run, once the draft that is on its way has been seen.
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
  if ((await solve(false)) && !waiting && !due) { judge(); overlay(); }
}

async function solve(quick) {
  const mine = (running = { stop: new AbortController(), began: performance.now(), number: ++number, quick });
  try {
    const reply = await post("/api/solve", { number: mine.number, draft: quick, experiment: store.experiment }, mine.stop.signal);
    if (!reply.headers.get("content-type").includes("octet-stream")) return false;
    const run = new Run(await reply.arrayBuffer());
    if (running !== mine) return false;
    show(run);
    return true;
  } catch (error) {
    if (error.name !== "AbortError" && running === mine) note(error.message);
    return false;
  } finally {
    if (running === mine) running = null;
  }
}

// Whatever is still on its way is about something that is no longer shown.
export function abandon() {
  number++;
  clearTimeout(rest);
  waiting = due = false;
  if (running) { running.stop.abort(); running = null; }
  store.judging = false;
}

// Whether nothing is being asked or about to be.
export const idle = () => !running && !waiting && !due;

// A new run takes the place of the old one at the same moment of its story.
export function show(run) {
  const was = store.run ? store.run.pos(store.clock, store.index) : 0;
  store.run = run;
  store.mode = run.mode;
  store.index = run.index(store.clock, was);
  if (store.hover >= run.m) store.hover = -1;
  if (!run.draft) { store.over = null; store.phases = []; store.norm = {}; }
  tell("run");
}

export async function judge() {
  const mine = number;
  store.judging = true; store.laws = []; store.known = null;
  tell("laws");
  try {
    const reply = await post("/api/judge", { number: mine, experiment: store.experiment });
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done || mine !== number) break;
      text += value;
      const lines = text.split("\n");
      text = lines.pop();
      for (const line of lines) found(JSON.parse(line));
    }
  } catch (error) {
    if (mine === number && error.name !== "AbortError") note(error.message);
  }
  if (mine === number) { store.judging = false; tell("laws"); }
}

function found(finding) {
  if (finding.phases) { store.phases = finding.phases; tell("phases"); }
  if (finding.norm) { store.norm = finding.norm; tell("phases"); }
  if (finding.known) { store.known = finding.known; tell("laws"); }
  if (finding.check) { store.laws.push(finding.check); tell("laws"); }
}

export async function overlay() {
  if (!store.overlay || store.recorded || store.experiment.method.kind !== "flow") {
    store.over = null;
    tell("over");
    return;
  }
  const mine = number;
  try {
    const reply = await post("/api/overlay", { number: mine, step: store.step, experiment: store.experiment });
    if (mine !== number || !reply.headers.get("content-type").includes("octet-stream")) return;
    const run = new Run(await reply.arrayBuffer());
    if (mine === number && store.overlay) { store.over = run; tell("over"); }
  } catch (error) {
    if (mine === number) note(error.message);
  }
}

export async function toml() {
  const reply = await post("/api/toml", { number, experiment: copy(store.experiment) });
  return (await reply.json()).toml;
}

let hiding = 0;
export function note(text) {
  const box = document.getElementById("note");
  box.textContent = text;
  box.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => { box.hidden = true; }, 5000);
}
