// The learned function: a curve with its kinks on a line, decision regions in the plane, fitted values in more dimensions.

import { Box, colours, fade, groupColour, groupDash, groupOfLabel, rgb, signColour, type } from "../pad.js";
import { store } from "../store.js";
import { isStatic } from "../backend.js";
import { g } from "../format.js";
import { logTime } from "./neurons.js";

export const id = "learned";
export const title = () => (store.mode === "plane" ? "Decision regions" : store.mode === "line" ? "Learned function" : "Fit of each point");
export const hint = () => {
  if (store.mode === "space") return "f(xᵢ) against yᵢ";
  if (store.recorded || !store.served || isStatic()) return store.run?.k ? "the largest output"
    : store.mode === "plane" ? "red f > 0, blue f < 0" : "ticks mark kinks";
  if (store.tool !== "move") return store.tool === "delete" ? "click a point to delete it" : "click to place a point";
  return store.mode === "plane" ? "drag points, double-click relabels" : "drag points; ticks mark kinks";
};
export const fits = (run) => run.kind !== "single";
export const about = () => (store.run?.k
  ? ["The class whose output is the largest, in the plane: darker where it leads by more, and without colour where no output leads by "
    + "1e−3. Lines from the centre are the neurons, in the colour of the class that they raise most; discs with a number are the data.",
    store.run.classes.map((name, c) => [`class${c}`, `class ${name}`])]
  : store.mode === "plane"
  ? ["The sign of f(x) in the plane: red where it is positive, blue where negative, darker where larger. Lines from the centre"
    + " are the neurons; discs with + and − are the data.", LEGEND.plane]
  : store.mode === "line"
    ? ["The function the network computes now (black), and the data. f is piecewise linear: every neuron has one kink, marked "
      + "by a tick at the bottom, taller for larger neurons. The view is as tall as f becomes during the run.", LEGEND.line]
    : ["The output f(xᵢ) at every data point (bar) and its label yᵢ (line).", []]);
const LEGEND = {
  line: [["curve", "f, the learned function"], ["dash", "the same for descent"], ["datum", "a data point"], ["plus", "kink, a > 0"],
    ["minus", "kink, a < 0"]],
  plane: [["plus", "f > 0, neurons with a > 0"], ["minus", "f < 0, neurons with a < 0"]],
};
export let box = null; // the coordinates of the last drawing, for editing
let kinks = [], held = null;

const sigma = (z, slope) => (z > 0 ? z : slope * z);

// f at many places: neurons that cannot be seen beside the largest are left out once for all of them.
export function network(run, now) {
  let most = 0;
  for (let j = 0; j < run.m; j++) most = Math.max(most, Math.abs(now.size[j]));
  const wx = [], wy = [], out = [], { slope } = run;
  for (let j = 0; j < run.m; j++) {
    if (Math.abs(now.size[j]) <= 1e-9 * most) continue;
    wx.push(now.ux[j]); wy.push(now.uy[j]); out.push(now.size[j]);
  }
  return (x, y) => {
    let f = 0;
    for (let j = 0; j < out.length; j++) f += out[j] * sigma(wx[j] * x + wy[j] * y, slope);
    return f;
  };
}

// The outputs of all classes at one place, into `to`.
export function scores(run, now) {
  const { k, slope } = run, which = [...Array(run.m).keys()];
  const most = Math.max(...which.map((j) => Math.abs(now.size[j]))), kept = which.filter((j) => Math.abs(now.size[j]) > 1e-9 * most);
  return (x, y, to) => {
    to.fill(0);
    for (const j of kept) {
      const u = now.size[j] * sigma(now.ux[j] * x + now.uy[j] * y, slope);
      for (let c = 0; c < k; c++) to[c] += u * now.head[j * k + c];
    }
  };
}

// The class with the largest output at a place, and by how much it leads.
function leader(f) {
  let best = 0, second = -Infinity;
  for (let c = 1; c < f.length; c++) {
    if (f[c] > f[best]) { second = f[best]; best = c; } else second = Math.max(second, f[c]);
  }
  return [best, f[best] - second];
}

export function draw(sheet) {
  if (store.mode === "line") line(sheet);
  else if (store.mode === "plane") plane(sheet);
  else space(sheet);
}

// While a point is dragged the frame of reference must not move under it.
export function hold(on) {
  held = on && box ? { x: box.x, y: box.y } : null;
}

function limits(values, share) {
  let lo = Math.min(...values), hi = Math.max(...values);
  const pad = (hi - lo || 1) * share;
  return [lo - pad, hi + pad];
}

// The part of the plane that holds the data and all that f does above them during the run: as tall as six times the spread
// of the labels at most, since from a large scale f may start far away.
const TALLEST = 6, MOMENTS = 48, PLACES = 96;
function fitted(run) {
  if (run.fitted) return run.fitted;
  const x = limits([...Array(run.n).keys()].map((i) => run.x[2 * i]), 0.25), [low, high] = limits([...run.y, 0], 0.3);
  let lo = low, hi = high;
  for (let k = 0; k <= MOMENTS; k++) {
    const f = network(run, run.at(run.index("event", k / MOMENTS)));
    for (let q = 0; q <= PLACES; q++) {
      const v = f(x[0] + ((x[1] - x[0]) * q) / PLACES, 1), pad = 0.06 * (high - low);
      if (v - pad < lo) lo = v - pad;
      if (v + pad > hi) hi = v + pad;
    }
  }
  const most = TALLEST * (high - low), mid = (low + high) / 2;
  return (run.fitted = { x, y: [Math.max(lo, mid - most / 2), Math.min(hi, mid + most / 2)] });
}

// What is shown: the same as before while a point is dragged, what was zoomed to, or everything.
function extent(run, whole) {
  return held ?? store.zoom ?? whole(run);
}

export function zoom(factor, px, py) {
  if (!box || store.mode === "space") return;
  const at = [px === undefined ? (box.x[0] + box.x[1]) / 2 : box.vx(px), py === undefined ? (box.y[0] + box.y[1]) / 2 : box.vy(py)];
  const scaled = ([lo, hi], c) => [c + (lo - c) * factor, c + (hi - c) * factor];
  const x = scaled(box.x, at[0]), y = scaled(box.y, at[1]), wide = x[1] - x[0];
  if (wide > 1e-6 && wide < 1e6) store.zoom = { x, y };
}

export function pan(dx, dy) {
  if (!box || store.mode === "space") return;
  const sx = ((box.x[1] - box.x[0]) / (box.right - box.left)) * dx, sy = ((box.y[1] - box.y[0]) / (box.bottom - box.top)) * dy;
  store.zoom = { x: box.x.map((v) => v - sx), y: box.y.map((v) => v + sy) };
}

function line(sheet) {
  const { run } = store, { ctx } = sheet;
  const { x, y } = extent(run, fitted), now = run.at(store.index);
  const px = [...Array(run.n).keys()].map((i) => run.x[2 * i]);
  box = new Box(sheet, { left: type.size * 3.2, right: type.size, top: type.size * 0.8, bottom: type.size * 2.1, x, y });
  sheet.layer("axes", `${colours.key}${x}${y}`, (s) => {
    const b = new Box(s, { left: type.size * 3.2, right: type.size, top: type.size * 0.8, bottom: type.size * 2.1, x, y });
    b.axisY(); b.axisX();
    s.line(b.left, b.py(0), b.right, b.py(0), colours.faint, 1);
  });
  ctx.save();
  ctx.beginPath(); ctx.rect(box.left, box.top - 4, box.right - box.left, box.bottom - box.top + 4); ctx.clip();
  if (store.over) curve(sheet, store.over, store.over.at(store.over.indexOfLog(logTime(run))), colours.soft, 1.6, [5, 4]);
  curve(sheet, run, now, colours.ink, 2.6, []);
  ticksOfKinks(sheet, run, now);
  ctx.restore();
  beyond(sheet, run, now);
  points(sheet, (i) => [box.px(px[i]), box.py(run.y[i])], () => colours.ink);
}

// Where f leaves the view, say how far it goes.
function beyond(sheet, run, now) {
  const f = network(run, now);
  let low = Infinity, high = -Infinity;
  for (let q = 0; q <= PLACES; q++) { const v = f(box.x[0] + ((box.x[1] - box.x[0]) * q) / PLACES, 1); low = Math.min(low, v);
    high = Math.max(high, v); }
  const tall = box.y[1] - box.y[0], say = (text, at, base) => sheet.text(text, box.right - 4, at, { align: "right", base, scale: 0.86 });
  if (high > box.y[1] + 0.01 * tall) say(`↑ f reaches ${g(high, 3)}`, box.top, "top");
  if (low < box.y[0] - 0.01 * tall) say(`↓ f reaches ${g(low, 3)}`, box.bottom - 4, "bottom");
}

// A tick for every kink, taller and darker for larger neurons; drawn in eight strokes whatever the width.
function ticksOfKinks(sheet, run, now) {
  const { ctx } = sheet, shades = new Map();
  let most = 0;
  for (let j = 0; j < run.m; j++) most = Math.max(most, Math.abs(now.size[j]));
  kinks = [];
  for (let j = 0; j < run.m; j++) {
    const at = -now.uy[j] / now.ux[j];
    if (!(at > box.x[0] && at < box.x[1]) || now.dead[j]) continue;
    const share = most < 1e-12 ? 0.25 : Math.abs(now.size[j]) / most, shade = `${now.sign[j]},${Math.ceil(4 * share)}`;
    kinks.push([box.px(at), 6 + share * type.size * 1.6, j]);
    if (!shades.has(shade)) shades.set(shade, []);
    shades.get(shade).push(kinks.at(-1));
  }
  for (const [shade, marks] of shades) {
    const [sign, level] = shade.split(",").map(Number);
    ctx.strokeStyle = fade(signColour(sign), 0.35 + 0.15 * level);
    ctx.lineWidth = 1.8;
    ctx.beginPath();
    for (const [x, tall] of marks) { ctx.moveTo(x, box.bottom); ctx.lineTo(x, box.bottom - tall); }
    ctx.stroke();
  }
  const lit = kinks.find(([, , j]) => j === store.hover);
  if (lit) sheet.line(lit[0], box.bottom, lit[0], box.bottom - lit[1] - 4, colours.ink, 3);
}

function curve(sheet, run, now, colour, width, dash) {
  const count = Math.max(60, Math.min(400, Math.round((box.right - box.left) / 2)));
  const xs = new Float64Array(count), ys = new Float64Array(count), f = network(run, now);
  for (let k = 0; k < count; k++) {
    const x = box.x[0] + ((box.x[1] - box.x[0]) * k) / (count - 1);
    xs[k] = box.px(x);
    ys[k] = Math.max(-1e4, Math.min(1e4, box.py(f(x, 1))));
  }
  sheet.path(xs, ys, colour, width, dash);
}

function plane(sheet) {
  const { run } = store, now = run.at(store.index);
  const far = Math.max(1e-9, ...run.xy.map(Math.abs)) * 1.35, ratio = sheet.w / sheet.h;
  const wide = far * Math.max(1, ratio), high = far * Math.max(1, 1 / ratio);
  const { x, y } = extent(run, () => ({ x: [-wide, wide], y: [-high, high] }));
  box = new Box(sheet, { left: 0, right: 0, top: 0, bottom: 0, x, y });
  regions(sheet, run, now);
  sheet.line(box.px(0), 0, box.px(0), sheet.h, fade(colours.faint, 0.5), 1);
  sheet.line(0, box.py(0), sheet.w, box.py(0), fade(colours.faint, 0.5), 1);
  for (let j = 0; j < run.m && run.m <= 160; j++) {
    if (now.dead[j]) continue;
    const length = far * Math.min(1.2, 0.12 + 0.5 * Math.exp(now.lw[j]));
    const lit = store.hover === j, colour = lit ? colours.ink : fade(groupColour(run, now.group[j]), 0.8);
    const dash = run.k ? groupDash(now.group[j]) : now.sign[j] < 0 ? [4, 3] : []; // groups are told apart without colour
    sheet.line(box.px(0), box.py(0), box.px(now.ux[j] * length), box.py(now.uy[j] * length), colour, lit ? 3 : 1.4, dash);
  }
  points(sheet, (i) => [box.px(run.xy[2 * i]), box.py(run.xy[2 * i + 1])], (i) => groupColour(run, groupOfLabel(run, run.y[i])));
}

// f(r u) = r f(u): one turn of the circle gives the whole plane.
const TURN = 720;
let image = null, turn = null, key = "";

function regions(sheet, run, now) {
  const w = 160, h = Math.max(2, Math.round((160 * sheet.h) / sheet.w)), fingerprint = `${w}x${h}${box.x}${box.y}`;
  if (key !== fingerprint) {
    key = fingerprint;
    image = document.createElement("canvas");
    image.width = w; image.height = h;
    turn = { at: new Uint16Array(w * h), r: new Float32Array(w * h), data: new ImageData(w, h), f: new Float64Array(TURN + 1),
      class: new Uint8Array(TURN + 1) };
    for (let q = 0, p = 0; q < h; q++) for (let k = 0; k < w; k++, p++) {
      const x = box.x[0] + ((box.x[1] - box.x[0]) * (k + 0.5)) / w, y = box.y[1] - ((box.y[1] - box.y[0]) * (q + 0.5)) / h;
      const a = Math.atan2(y, x);
      turn.at[p] = Math.round(((a < 0 ? a + 2 * Math.PI : a) / (2 * Math.PI)) * TURN);
      turn.r[p] = Math.hypot(x, y);
    }
  }
  const label = around(run, now);
  const card = rgb(colours.card), tints = [...Array(run.groups).keys()].map((c) => rgb(groupColour(run, c))), { data } = turn.data;
  for (let p = 0, o = 0; p < turn.at.length; p++, o += 4) {
    const v = turn.f[turn.at[p]] * turn.r[p], to = tints[turn.class[turn.at[p]]], share = 0.5 * Math.tanh(1.2 * Math.abs(v));
    for (let c = 0; c < 3; c++) data[o + c] = card[c] + (to[c] - card[c]) * share;
    data[o + 3] = 255;
  }
  image.getContext("2d").putImageData(turn.data, 0, 0);
  sheet.ctx.imageSmoothingEnabled = true;
  sheet.ctx.drawImage(image, 0, 0, sheet.w, sheet.h);
  names(sheet, label);
}

// What a network says once around the circle, in turn.f (f, or by how much a class leads) and turn.class; and a name for each place,
// empty where nothing is decided.
function around(run, now) {
  const f = run.k ? scores(run, now) : network(run, now), each = new Float64Array(run.k);
  for (let k = 0; k <= TURN; k++) {
    const [x, y] = [Math.cos((2 * Math.PI * k) / TURN), Math.sin((2 * Math.PI * k) / TURN)];
    if (run.k) { f(x, y, each); [turn.class[k], turn.f[k]] = leader(each); } else {
      turn.f[k] = f(x, y);
      turn.class[k] = turn.f[k] > 0 ? 0 : 1;
    }
  }
  return (k) => (Math.abs(turn.f[k]) < 1e-3 ? "" : run.k ? `class ${run.classes[turn.class[k]]}` : turn.f[k] > 0 ? "f > 0" : "f < 0");
}

// A name in every region, so that it can be told without colour.
function names(sheet, label) {
  const R = 0.46 * Math.min(sheet.w, sheet.h), [cx, cy] = [box.px(0), box.py(0)];
  const values = [...Array(72).keys()].map((k) => label((k * TURN) / 72)), start = values.findIndex((v, k) => v !== values.at(k - 1));
  for (let k = Math.max(0, start), done = 0; done < 72;) {
    let size = 1;
    while (size < 72 - done && values[(k + size) % 72] === values[k % 72]) size++;
    if (values[k % 72] && size >= 4) {
      const a = (2 * Math.PI * (k + (size - 1) / 2)) / 72;
      sheet.text(values[k % 72], cx + R * Math.cos(a), cy - R * Math.sin(a),
        { align: "center", base: "middle", colour: colours.ink, scale: 0.86 });
    }
    k += size; done += size;
  }
}

function points(sheet, place, colour) {
  const { run } = store;
  for (let i = 0; i < run.n; i++) {
    const [x, y] = place(i), lit = store.datum === i, r = type.size * (lit ? 0.62 : 0.5) * (run.k ? 1.25 : 1);
    sheet.dot(x, y, r, colour(i), colours.card, 2.2);
    if (run.k) sheet.text(run.classes[run.y[i]], x, y, { align: "center", base: "middle", colour: colours.card, scale: 0.82, weight: 700 });
    else if (store.mode === "plane") cross(sheet, x, y, r * 0.5, run.y[i] > 0);
    if (run.n <= 12) sheet.text(String(i + 1), x + r + 3, y - r, { colour: colours.ink, scale: 0.85, weight: 600 });
  }
}

function cross(sheet, x, y, r, plus) {
  sheet.line(x - r, y, x + r, y, colours.card, 1.8);
  if (plus) sheet.line(x, y - r, x, y + r, colours.card, 1.8);
}

function space(sheet) {
  const { run } = store, frame = run.near(store.index), { n } = run, { ctx } = sheet;
  const f = run.outputs.subarray(frame * n, frame * n + n), y = limits([...run.y, 0, ...(run.tailed ? [...f] : [])], 0.25);
  box = new Box(sheet, { left: type.size * 3.2, right: type.size, top: type.size, bottom: type.size * 2.1, x: [0, n], y });
  box.axisY();
  sheet.line(box.left, box.py(0), box.right, box.py(0), colours.faint, 1);
  const wide = (box.right - box.left) / n, bar = Math.max(1, Math.min(wide * 0.5, type.size * 2));
  for (let i = 0; i < n; i++) {
    const x = box.px(i + 0.5), top = box.py(Math.max(y[0], Math.min(y[1], f[i])));
    ctx.fillStyle = fade(signColour(run.y[i]), 0.75);
    ctx.fillRect(x - bar / 2, Math.min(top, box.py(0)), bar, Math.abs(top - box.py(0)));
    if (!run.tailed) sheet.line(x - wide * 0.36, box.py(run.y[i]), x + wide * 0.36, box.py(run.y[i]), colours.ink, 2.4);
    if (n <= 24) sheet.text(String(i + 1), x, box.bottom + 6, { align: "center", base: "top" });
  }
  sheet.text(run.tailed ? "bars: f(xᵢ)" : "bars: f(xᵢ), lines: yᵢ", box.right, box.top - type.size * 0.2,
    { align: "right", base: "top", scale: 0.85 });
}

export function pick(x, y) {
  const { run } = store;
  for (let i = 0; i < run.n && store.mode !== "space" && box; i++) {
    const [px, py] = store.mode === "line" ? [box.px(run.x[2 * i]), box.py(run.y[i])] : [box.px(run.xy[2 * i]), box.py(run.xy[2 * i + 1])];
    if ((px - x) ** 2 + (py - y) ** 2 < (type.size * 0.95) ** 2) return { datum: i, neuron: -1 };
  }
  if (store.mode === "line" && box && y > box.bottom - type.size * 2.4) {
    let best = -1, near = 9;
    for (const [at, , j] of kinks) if (Math.abs(at - x) < near) { near = Math.abs(at - x); best = j; }
    return { neuron: best, datum: -1 };
  }
  return { neuron: -1, datum: -1 };
}
