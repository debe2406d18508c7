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

export function draw(sheet) {
  const { run, beside, experiment } = store;
  if (!beside) return;
  const share = run.pos("event", store.index), half = sheet.w / 2;
  panel(sheet, run, run.at(store.index), 0, half, experiment?.init?.log_scale ?? NaN);
  panel(sheet, beside, beside.at(beside.index("event", share)), half, half, beside.log_scale);
  sheet.line(half, type.size, half, sheet.h - type.size, colours.line, 1);
}

function panel(sheet, run, now, x0, w, log) {
  const tall = run.bias ? 0.56 * sheet.h : 0;
  const name = Math.abs(log) < 1e-9 ? "scale 1 (lazy)" : `scale ${scaleText(log)}${log > -1.5 ? " (lazy)" : " (rich)"}`;
  sheet.text(name, x0 + w / 2, type.size * 1.2, { align: "center", colour: colours.ink, weight: 620 });
  if (run.bias) fit(sheet, run, now, x0, w, tall);
  neurons(sheet, run, now, x0 + w / 2, tall + (sheet.h - tall) / 2 + (run.bias ? 0 : type.size * 0.6),
    Math.min(w / 2, (sheet.h - tall) / 2) - type.size * 0.9);
}

function fit(sheet, run, now, x0, w, tall) {
  const xs = [], ys = [], px = [...Array(run.n).keys()].map((i) => run.x[2 * i]);
  const pad = (lo, hi, s) => [lo - s * (hi - lo || 1), hi + s * (hi - lo || 1)];
  const x = pad(Math.min(...px), Math.max(...px), 0.25), y = range(store.run, x);
  const b = new Box(sheet, { left: x0 + type.size * 2.6, right: sheet.w - x0 - w + type.size, top: type.size * 1.8,
    bottom: sheet.h - tall, x, y });
  for (const v of ticks(y[0], y[1], 3)) {
    sheet.line(b.left, b.py(v), b.right, b.py(v), colours.line, 1);
    sheet.text(short(v), b.left - 5, b.py(v), { align: "right", base: "middle", scale: 0.82 });
  }
  const f = network(run, now);
  for (let k = 0; k <= 160; k++) {
    const at = x[0] + ((x[1] - x[0]) * k) / 160;
    xs.push(b.px(at)); ys.push(Math.max(-1e4, Math.min(1e4, b.py(f(at, 1)))));
  }
  sheet.ctx.save();
  sheet.ctx.beginPath(); sheet.ctx.rect(b.left, b.top, b.right - b.left, b.bottom - b.top); sheet.ctx.clip();
  sheet.path(xs, ys, colours.ink, 2.4);
  sheet.ctx.restore();
  for (let i = 0; i < run.n; i++) sheet.dot(b.px(px[i]), b.py(run.y[i]), type.size * 0.42, colours.ink, colours.card, 2);
}

// One range for both, from the labels and what the first run draws.
function range(run, x) {
  let lo = Math.min(0, ...run.y), hi = Math.max(0, ...run.y);
  const f = network(run, run.at(run.F - 1)), spread = hi - lo || 1;
  for (let k = 0; k <= 60; k++) { const v = f(x[0] + ((x[1] - x[0]) * k) / 60, 1); lo = Math.min(lo, v); hi = Math.max(hi, v); }
  run.at(store.index);
  return [Math.max(lo, -4 * spread) - 0.08 * spread, Math.min(hi, 4 * spread) + 0.08 * spread];
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
