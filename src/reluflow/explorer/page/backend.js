// Where runs come from: the server that sent the page, the files of a static copy, or the document itself in a notebook.

import { Run } from "./run.js";
import { copy, store } from "./store.js";

const page = Math.random().toString(36).slice(2, 12) + Math.random().toString(36).slice(2, 8);
export const isStatic = () => document.documentElement.dataset.static !== undefined;
let manifest = null;

async function post(path, body, signal) {
  const reply = await fetch(path, { method: "POST", headers: { "content-type": "application/json" },
    body: JSON.stringify({ page, ...body }), signal });
  if (!reply.ok) {
    const error = new Error((await reply.json().catch(() => ({}))).error ?? `The server answered ${reply.status}.`);
    error.refused = reply.status === 422;
    throw error;
  }
  return reply;
}

// What the page needs to know first.
export async function begin() {
  if (!isStatic()) return (await fetch("api/start")).json();
  manifest = await (await fetch("runs/manifest.json")).json();
  return { ...manifest.start, opened: false, start: null };
}

export async function fetchRun(path, signal) {
  const reply = await fetch(path, { signal });
  if (!reply.ok) throw new Error(`File not found: ${path}.`);
  let buffer = await reply.arrayBuffer();
  const first = new Uint8Array(buffer, 0, 2);
  if (first[0] === 0x1f && first[1] === 0x8b) {
    const stream = new Blob([buffer]).stream().pipeThrough(new DecompressionStream("gzip"));
    buffer = await new Response(stream).arrayBuffer();
  }
  return new Run(buffer);
}

// The run of an experiment; null when a newer request has replaced this one.
export async function solve(number, draft, experiment, signal) {
  if (isStatic()) return kept(experiment, signal);
  return answer(await post("api/solve", { number, draft, experiment }, signal));
}

export async function overlay(number, step, experiment) {
  if (isStatic()) {
    const found = entry(experiment);
    store.step = manifest.overlay[store.preset] ?? store.step;
    if (!found?.overlay) throw new Error("This copy of the page has no descent for these settings: use `reluflow explore`.");
    return fetchRun(`runs/${found.overlay}`);
  }
  return answer(await post("api/overlay", { number, step, experiment }));
}

export async function beside(number, log_scale, experiment) {
  if (!isStatic()) return answer(await post("api/beside", { number, log_scale, experiment }));
  const other = copy(experiment);
  other.init.log_scale = log_scale;
  const run = await kept(other);
  run.log_scale = log_scale;
  return run;
}

async function answer(reply) {
  if (!reply.headers.get("content-type").includes("octet-stream")) return null;
  return new Run(await reply.arrayBuffer());
}

// Findings about an experiment, one after the other; `take` returns false to stop.
export async function checks(number, experiment, run, take) {
  if (isStatic() || !experiment || experiment.single) { stored(run, take); return; }
  const reply = await post("api/checks", { number, experiment });
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const lines = text.split("\n");
    text = lines.pop();
    for (const line of lines) if (!take(JSON.parse(line))) { reader.cancel(); return; }
  }
}

// Findings that came with the run itself: all at once, since the list of theorems is made anew for each.
export function stored(run, take) {
  take({ phases: run.phases ?? [], norm: run.norm ?? {}, known: run.known, checks: run.known ? run.reports : [], done: true });
}

export async function toml(number) {
  const reply = await post("api/toml", { number, experiment: copy(store.experiment) });
  return (await reply.json()).toml;
}

export async function csv(number, text, name) {
  return (await post("api/csv", { number, text, name })).json();
}

// Images of digits; null where MNIST was not on the machine.
export async function digits() {
  if (isStatic() && !manifest.digits) return null;
  try {
    const reply = await fetch(isStatic() ? "runs/digits.rfx" : "api/digits");
    return reply.status === 200 ? new Run(await reply.arrayBuffer(), true) : null;
  } catch {
    return null;
  }
}

// The static copy -----------------------------------------------------------------------------------------------------

// Values of an experiment that differ between the runs of one preset, by dotted path.
const get = (tables, path) => path.split(".").reduce((at, key) => at?.[key], tables);

export function put(tables, path, value) {
  const keys = path.split("."), last = keys.pop();
  let at = tables;
  for (const key of keys) at = at[key] ??= {};
  if (value === null || value === undefined) delete at[last]; else at[last] = value;
}

const same = (a, b) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
const rows = () => manifest?.presets[store.preset] ?? [];

function entry(experiment) {
  return rows().find((row) => Object.entries(row.set).every(([path, value]) => same(get(experiment, path), value)));
}

async function kept(experiment, signal) {
  const found = entry(experiment);
  if (!found) {
    const error = new Error("This copy of the page has no run for these settings: `reluflow explore` computes any.");
    error.refused = true;
    throw error;
  }
  return fetchRun(`runs/${found.file}`, signal);
}

// The values that a control may take in a static copy while all others stay; null with a server, where any is possible.
export function available(path) {
  if (!isStatic()) return null;
  const fits = rows().filter((row) => path in row.set && Object.entries(row.set).every(([other, value]) =>
    other === path || same(get(store.experiment, other), value)));
  const found = fits.map((row) => row.set[path]);
  return found.filter((v, k) => found.findIndex((u) => same(u, v)) === k);
}
