// The squared norm of all weights, beside the least that fits the data.

import { Box, colours, fade, type } from "../pad.js";
import { g } from "../format.js";
import { store } from "../store.js";

export const id = "size", title = "Norm against minimum norm";
export const hint = () => (store.norm.stale ? "computing the minimum norm…"
  : typeof store.norm.least === "number" ? "gold: the minimum norm that fits" : "‖θ‖² of all weights");

export const fits = (run) => run.kind !== "single" && !run.tailed;
export const about = () => [
  "The sum of squares of all weights, and the smallest value that any network fitting the data can have (rf.bias.min_norm). "
  + "From small scales the run often ends there.", [["curve", "‖θ‖²"], ["theory", "minimum norm"]]];

function frame(sheet) {
  const top = Math.max(store.run.norm2_top, store.norm.least ?? 0) * 1.18 || 1;
  return new Box(sheet, { left: type.size * 3.4, right: type.size * 1.2, top: type.size * 0.8, bottom: type.size * 2.1,
    x: [0, 1], y: [0, top] });
}

export function draw(sheet) {
  const { run, norm } = store;
  sheet.layer("curve", [run.key, run.seconds, run.F, store.clock, norm.least, norm.final, norm.stale, colours.key].join(), still);
  const b = frame(sheet), k = run.near(store.index), x = b.px(run.pos(store.clock, store.index));
  sheet.line(x, b.top, x, b.bottom, colours.gold, 1.6);
  sheet.dot(b.px(run.pos(store.clock, k)), b.py(run.norm2[k]), type.size * 0.42, colours.gold, colours.card, 2);
}

function still(sheet) {
  const { run, norm, clock } = store, b = frame(sheet), xs = [], ys = [];
  b.axisY();
  b.axisTime(run, clock);
  if (typeof norm.least === "number" && !norm.stale) {
    const y = b.py(norm.least);
    sheet.line(b.left, y, b.right, y, colours.theory, 2, [7, 5]);
    sheet.text(`minimum norm ${g(norm.least, 6)}`, b.left + 8, y - 6, { colour: colours.theory, weight: 600 });
  }
  for (let k = 0; k < run.F; k++) { xs.push(b.px(run.clocks[clock][k])); ys.push(b.py(Math.min(run.norm2[k], 2 * b.y[1]))); }
  sheet.ctx.fillStyle = fade(colours.ink, 0.07);
  sheet.ctx.beginPath();
  sheet.ctx.moveTo(xs[0], b.py(0));
  for (let k = 0; k < xs.length; k++) sheet.ctx.lineTo(xs[k], ys[k]);
  sheet.ctx.lineTo(xs.at(-1), b.py(0));
  sheet.ctx.closePath();
  sheet.ctx.fill();
  sheet.path(xs, ys, colours.ink, 2.2);
  if (typeof norm.final === "number" && !norm.stale) {
    const y = typeof norm.least === "number" && !norm.stale ? b.py(norm.least) + type.size * 1.3 : b.top + type.size;
    sheet.text(`at the end ${g(norm.final, 6)}`, b.left + 8, y, { colour: colours.ink, weight: 600 });
  }
}

export function seek(x, sheet) {
  return Math.max(0, Math.min(1, frame(sheet).vx(x)));
}
