// Editing the data: add, drag, delete, relabel points; read a CSV file.

import { changed, csv, note } from "./api.js";
import { copy, store, tell } from "./store.js";
import * as learned from "./views/learned.js";

// The points of a run as written-out data.
export function exportable(run) {
  const x = [];
  for (let i = 0; i < run.n; i++) x.push([...run.x.subarray(i * run.d, (i + 1) * run.d)]);
  return { kind: "arrays", x, y: [...run.y] };
}

function points() {
  const e = store.experiment;
  if (e.data.kind !== "arrays") e.data = exportable(store.run);
  return e.data;
}

// Digits a person could have meant: a hundredth of the visible range.
function nice(value, [lo, hi]) {
  const step = 10 ** Math.floor(Math.log10((hi - lo) / 200));
  return Number((Math.round(value / step) * step).toPrecision(12));
}

function place(px, py) {
  const { box } = learned, x = nice(box.vx(px), box.x), y = nice(box.vy(py), box.y);
  return [x, y];
}

const tailed = () => store.experiment.problem.loss !== "square";
export const several = () => store.experiment?.problem?.loss === "softmax"; // classes 0, 1, 2, ... in place of +1 and -1
export const classCount = () => Math.max(3, store.run?.k ?? 0);
let dragging = -1;

export function down(px, py) {
  const { datum } = learned.pick(px, py);
  if (store.tool === "delete") { if (datum >= 0) remove(datum); return false; }
  if (store.tool !== "move" && datum < 0) { add(px, py); return false; }
  if (datum < 0) return false;
  dragging = datum;
  learned.hold(true);
  return true;
}

export function drag(px, py) {
  if (dragging < 0) return;
  const data = points(), [x, y] = place(px, py);
  if (store.mode === "line") {
    data.x[dragging][0] = x;
    data.y[dragging] = tailed() ? Math.sign(y) || 1 : y;
  } else data.x[dragging] = [x, y];
  own();
  changed(true);
}

export function up() {
  if (dragging < 0) return;
  dragging = -1;
  learned.hold(false);
  changed(false);
}

function add(px, py) {
  const data = points(), [x, y] = place(px, py);
  if (data.x.length >= store.most.n) { note(`The explorer takes at most ${store.most.n} points.`); return; }
  if (store.mode === "line") { data.x.push([x, 1]); data.y.push(tailed() ? Math.sign(y) || 1 : y); }
  else { data.x.push([x, y]); data.y.push(several() ? Number(store.tool) : store.tool === "-1" ? -1 : 1); }
  own();
  changed(false);
}

function remove(i) {
  const data = points();
  if (data.x.length < 2) { note("The data must keep at least one point."); return; }
  data.x.splice(i, 1); data.y.splice(i, 1);
  store.datum = -1;
  own();
  changed(false);
}

export function relabel(px, py) {
  const { datum } = learned.pick(px, py);
  if (datum >= 0) relabelPoint(datum);
}

export function relabelPoint(i) {
  if (store.mode === "space") return;
  const data = points();
  data.y[i] = several() ? (data.y[i] + 1) % classCount() : -data.y[i];
  own();
  changed(false);
}

export const removePoint = remove;

// By keyboard: a hundredth of the view for each step.
export function movePoint(i, dx, dy) {
  const data = points(), { box } = learned, step = ([lo, hi]) => (hi - lo) / 100;
  const x = nice(data.x[i][0] + dx * step(box.x), box.x);
  if (store.mode === "line") {
    const y = data.y[i] + dy * step(box.y);
    data.x[i][0] = x;
    data.y[i] = tailed() ? (dy ? Math.sign(dy) : data.y[i]) : nice(y, box.y);
  } else data.x[i] = [x, nice(data.x[i][1] + dy * step(box.y), box.y)];
  own();
  changed(true);
}

export function clearData() {
  const e = store.experiment;
  const size = tailed() ? 1 : 0.5;
  if (several()) e.data = { kind: "arrays", x: [[0, 1], [-0.9, -0.5], [0.9, -0.5]], y: [0, 1, 2] };
  else e.data = store.mode === "plane"
    ? { kind: "arrays", x: [[1, 0.5], [-1, 0.6]], y: [1, -1] }
    : { kind: "arrays", x: [[-1, 1], [1, 1]], y: [size, -size] };
  own();
  changed(false);
}

function own() {
  if (store.preset !== null) { store.preset = null; tell("controls"); }
}

// A CSV file, as `rf.data.from_csv` reads it: the server does.
export async function readCsv(text, name) {
  const found = await csv(text, name);
  const e = store.experiment;
  e.data = { kind: "arrays", x: found.x, y: found.y };
  if (found.classes) e.problem.loss = "softmax";
  else if (several() || found.y.some((v) => Math.abs(v) !== 1)) e.problem.loss = "square";
  if (found.bias) note("The file has one column of inputs: a bias column of ones was added.");
  store.preset = null;
  store.zoom = null;
  tell("controls");
  changed(false);
}

// Columns x0.., y with all digits, as `rf.data.from_csv` reads them.
export function csvText(run) {
  const { x, y } = exportable(run), head = [...x[0].map((_, k) => `x${k}`), "y"].join(",");
  return `${head}\n${x.map((row, i) => [...row, y[i]].join(",")).join("\n")}\n`;
}

export const current = () => copy(store.experiment.data);
