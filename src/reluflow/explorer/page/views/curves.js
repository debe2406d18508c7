// What views of quantities over time share: a frame, curves drawn once, and a mark at the present moment.

import { Box, colours, type } from "../pad.js";
import { store } from "../store.js";

export const frame = (sheet, y, left = 3.6) => new Box(sheet, { left: type.size * left, right: type.size * 1.2, top: type.size * 0.9,
  bottom: type.size * 2.1, x: [0, 1], y });

// Curves [values(k), colour, width, dash] of one box, with axes.
export function still(sheet, b, curves, axis = () => b.axisY()) {
  const { run, clock } = store;
  axis();
  b.axisTime(run, clock);
  for (const [value, colour, width = 2.2, dash = []] of curves) {
    const xs = [], ys = [];
    for (let k = 0; k < run.F; k++) {
      const v = value(k);
      if (!Number.isFinite(v)) continue;
      xs.push(b.px(run.clocks[clock][k]));
      ys.push(b.py(Math.max(b.y[0], Math.min(b.y[1], v))));
    }
    sheet.path(xs, ys, colour, width, dash);
  }
}

// The line and the dot stand at the frame whose numbers are shown.
export function moment(sheet, b, value = null) {
  const { run, clock, index } = store, k = run.near(index), x = b.px(run.pos(clock, k));
  sheet.line(x, b.top, x, b.bottom, colours.gold, 1.6);
  if (value === null) return;
  const y = Math.max(b.y[0], Math.min(b.y[1], value(k)));
  sheet.dot(x, b.py(y), type.size * 0.42, colours.gold, colours.card, 2);
}

export const key = (...more) => [store.run.key, store.run.seconds, store.run.F, store.clock, colours.key, ...more].join();
export const place = (x, b) => Math.max(0, Math.min(1, b.vx(x)));

export function range(values, least = null) {
  let lo = Infinity, hi = -Infinity;
  for (const v of values) if (Number.isFinite(v)) { lo = Math.min(lo, v); hi = Math.max(hi, v); }
  if (!(hi > lo)) { lo -= 0.5; hi += 0.5; }
  const pad = 0.08 * (hi - lo);
  return [least ?? lo - pad, hi + pad];
}
