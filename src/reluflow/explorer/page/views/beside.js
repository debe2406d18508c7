// Two runs of the same data side by side, from two scales: what they learn, and where their neurons are.

import { scaleText, ticks, short } from "../format.js";
import { Box, colours, fade, groupColour, groupLegend, type } from "../pad.js";
import { store } from "../store.js";
import { network } from "./learned.js";

export const id = "beside", title = "Two scales side by side", wide = true;
export const hint = () => (store.beside ? "the same data and seed; only the scale of the start differs" : "");
export const fits = () => store.beside !== null;
export const about = () => [
  "Left the run of the other views, right the same experiment from another scale, both at the same share of their own story. "
  + "Above what is learned, below the directions of the neurons: from a large scale they hardly move (lazy), from a small one "
  + "they gather (rich).", store.run?.k ? groupLegend(store.run) : [["curve", "f"], ["plus", "a > 0"], ["minus", "a < 0"]]];

export let box = null; // what both panels show of f

export function draw(sheet) {
  const { run, beside, experiment } = store;
  if (!beside) return;
  const share = run.pos("event", store.index), half = sheet.w / 2;
  box = run.bias ? extent(run) : null;
  const mine = run.at(store.index), theirs = beside.at(beside.index("event", share));
  if (box) for (const [r, now] of [[run, mine], [beside, theirs]]) reach(box.y, curve(r, now, box.x));
  panel(sheet, run, mine, 0, half, experiment?.init?.log_scale ?? NaN);
  panel(sheet, beside, theirs, half, half, beside.log_scale);
  sheet.line(half, type.size, half, sheet.h - type.size, colours.line, 1);
}

function panel(sheet, run, now, x0, w, log) {
  const tall = run.bias ? 0.56 * sheet.h : 0;
  const name = Math.abs(log) < 1e-9 ? "scale 1 (lazy)" : `scale ${scaleText(log)}${log > -1.5 ? " (lazy)" : " (rich)"}`;
  sheet.text(name, x0 + w / 2, type.size * 1.2, { align: "center", colour: colours.ink, weight: 620 });
  if (box) fit(sheet, run, now, x0, w, tall);
  neurons(sheet, run, now, x0 + w / 2, tall + (sheet.h - tall) / 2 + (run.bias ? 0 : type.size * 0.6),
    Math.min(w / 2, (sheet.h - tall) / 2) - type.size * 0.9);
}

function fit(sheet, run, now, x0, w, tall) {
  const { x, y: [lo, hi] } = box;
  const px = inputs(run), y = [lo - 0.06 * (hi - lo || 1), hi + 0.06 * (hi - lo || 1)];
  const b = new Box(sheet, { left: x0 + type.size * 2.6, right: sheet.w - x0 - w + type.size, top: type.size * 1.8,
    bottom: sheet.h - tall, x, y });
  for (const v of ticks(y[0], y[1], 5)) {
    sheet.line(b.left, b.py(v), b.right, b.py(v), colours.line, 1);
    sheet.text(short(v), b.left - 5, b.py(v), { align: "right", base: "middle", scale: 0.82 });
  }
  const values = curve(run, now, x);
  sheet.path(values.map((_, k) => b.px(place(x, k))), values.map((v) => b.py(v)), colours.ink, 2.4);
  for (let i = 0; i < run.n; i++) sheet.dot(b.px(px[i]), b.py(run.y[i]), type.size * 0.42, colours.ink, colours.card, 2);
}

const STEPS = 160;
const inputs = (run) => [...Array(run.n).keys()].map((i) => run.x[2 * i]);
const place = (x, k) => x[0] + ((x[1] - x[0]) * k) / STEPS;

function curve(run, now, x) {
  const f = network(run, now);
  return [...Array(STEPS + 1).keys()].map((k) => f(place(x, k), 1));
}

function reach(y, values) {
  for (const v of values) { y[0] = Math.min(y[0], v); y[1] = Math.max(y[1], v); }
}

// One range for both: the labels, how the first run ends, and all that is drawn now.
function extent(run) {
  const px = inputs(run), lo = Math.min(...px), hi = Math.max(...px), more = 0.25 * (hi - lo || 1);
  const x = [lo - more, hi + more], y = [Math.min(0, ...run.y), Math.max(0, ...run.y)];
  reach(y, curve(run, run.at(run.F - 1), x));
  return { x, y };
}

function neurons(sheet, run, now, cx, cy, R) {
  if (R < 20) return;
  sheet.dot(cx, cy, R, null, colours.line, 1);
  const xs = [], ys = [], groups = [...Array(run.groups)].map(() => []);
  const span = Math.max(1, run.highest - run.lowest);
  for (let j = 0; j < run.m; j++) {
    const rho = R * (0.3 + 0.7 * Math.max(0, Math.min(1, (now.lw[j] - run.lowest) / span)));
    xs.push(cx + rho * now.ux[j]); ys.push(cy - rho * now.uy[j]);
    if (!now.dead[j]) groups[now.group[j]].push(j);
  }
  const r = Math.max(2, type.size * 0.28);
  for (let c = run.groups - 1; c >= 0; c--) sheet.marks(xs, ys, r, groups[c], fade(groupColour(run, c), 0.85), c);
}
