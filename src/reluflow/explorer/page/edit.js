// Data by hand: add, drag, delete, label; and from a CSV file.

import { changed, note } from "./api.js";
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
  if (data.x.length >= store.most.n) { note(`The explorer takes ${store.most.n} points.`); return; }
  if (store.mode === "line") { data.x.push([x, 1]); data.y.push(tailed() ? Math.sign(y) || 1 : y); }
  else { data.x.push([x, y]); data.y.push(store.tool === "-1" ? -1 : 1); }
  own();
  changed(false);
}

function remove(i) {
  const data = points();
  if (data.x.length < 2) { note("One point must stay."); return; }
  data.x.splice(i, 1); data.y.splice(i, 1);
  store.datum = -1;
  own();
  changed(false);
}

export function relabel(px, py) {
  const { datum } = learned.pick(px, py);
  if (datum < 0 || store.mode === "space") return;
  const data = points();
  data.y[datum] = -data.y[datum];
  own();
  changed(false);
}

export function clearData() {
  const e = store.experiment;
  const size = tailed() ? 1 : 0.5;
  e.data = store.mode === "plane"
    ? { kind: "arrays", x: [[1, 0.5], [-1, 0.6]], y: [1, -1] }
    : { kind: "arrays", x: [[-1, 1], [1, 1]], y: [size, -size] };
  own();
  changed(false);
}

function own() {
  if (store.preset !== null) { store.preset = null; tell("controls"); }
}

// Columns of numbers, the last the label; a header is skipped; one column of x gets a bias.
export function readCsv(text) {
  const rows = text.split(/\r?\n/).map((l) => l.trim()).filter(Boolean).map((l) => l.split(/[,;\t]/).map(Number));
  if (rows.length && rows[0].some(Number.isNaN)) rows.shift();
  const width = rows[0]?.length ?? 0;
  if (width < 2 || rows.some((r) => r.length !== width || r.some((v) => !Number.isFinite(v)))) {
    note("A CSV file wants rows of numbers, the label last.");
    return;
  }
  if (rows.length > store.most.n || width - 1 > store.most.d) {
    note(`The explorer takes ${store.most.n} rows of ${store.most.d} columns.`);
    return;
  }
  const e = store.experiment;
  e.data = { kind: "arrays", x: rows.map((r) => (width === 2 ? [r[0], 1] : r.slice(0, -1))), y: rows.map((r) => r.at(-1)) };
  if (e.data.y.some((v) => Math.abs(v) !== 1)) e.problem.loss = "square";
  store.preset = null;
  tell("controls");
  changed(false);
}

// Columns x0.., y with all digits, as `rf.data.from_csv` reads them.
export function csvText(run) {
  const { x, y } = exportable(run), head = [...x[0].map((_, k) => `x${k}`), "y"].join(",");
  return `${head}\n${x.map((row, i) => [...row, y[i]].join(",")).join("\n")}\n`;
}

export const current = () => copy(store.experiment.data);
