// Log norms and cosines of every neuron over time.

import { Box, colours, fade, groupColour, groupDash, groupLegend, type } from "../pad.js";
import { store } from "../store.js";

export const id = "norms", wide = true;
export const title = () => (store.run?.k ? "Norms and alignment" : "Norms and cosines");
export const hint = () => (store.run?.k ? "log ‖w‖, and alignment with the top singular pair"
  : "log ‖w‖, and cosine with the nearest extremal direction");
export const fits = (run) => run.kind !== "single";
export const about = () => (store.run?.k ? [
  "Above: the logarithm of the norm of every neuron; a straight line is growth at a constant rate. Below: ⟨a, Mw⟩ over the largest "
  + "singular value of M, the matrix that drives the neuron (w' = Mᵀa, a' = Mw); 1 is aligned. With several outputs it takes the place"
  + " of the cosine with an extremal direction.", groupLegend(store.run)] : [
  "Above: the logarithm of the norm of every neuron; a straight line is growth at a constant rate. Below: the cosine of the "
  + "angle with the nearest extremal direction; 1 is aligned.", [["plus", "a > 0"], ["minus", "a < 0, dashed"]]]);
const LINES = 150; // drawn of many neurons; the one pointed at always is

function boxes(sheet) {
  const { run } = store, left = type.size * 4.8, right = type.size * 1.2, mid = sheet.h * 0.53;
  const span = run.highest - run.lowest, y = [run.lowest - 0.05 * span, run.highest + 0.05 * span];
  return [
    new Box(sheet, { left, right, top: type.size * 0.7, bottom: sheet.h - mid + type.size * 0.4, x: [0, 1], y }),
    new Box(sheet, { left, right, top: mid + type.size * 0.6, bottom: type.size * 2.1, x: [0, 1], y: [-1.08, 1.08] }),
  ];
}

export function draw(sheet) {
  const { run } = store;
  sheet.layer("lines", [run.key, run.seconds, run.F, store.clock, colours.key].join(), still);
  const pair = boxes(sheet), x = pair[0].px(run.pos(store.clock, store.index));
  if (store.hover >= 0) strand(sheet, run, pair, store.hover, colours.ink, 2.6, 1);
  for (const b of pair) sheet.line(x, b.top, x, b.bottom, colours.gold, 1.6);
}

function still(sheet) {
  const { run } = store, pair = boxes(sheet);
  pair[0].axisPowers();
  pair[1].axisY(undefined, 2);
  pair[1].axisTime(run, store.clock);
  const stride = Math.max(1, Math.ceil(run.m / LINES));
  for (let j = 0; j < run.m; j += stride) strand(sheet, run, pair, j,
    fade(groupColour(run, groupOf(run, j)), Math.max(0.25, Math.min(0.6, 20 / run.m))), 1.1, 1);
}

// One colour for a whole line: the group at the start with one output (it does not change), at the end with classes.
const groupOf = (run, j) => run.group(run.k ? run.F - 1 : 0, j);

function strand(sheet, run, [norm, cosine], j, colour, width) {
  const { ctx } = sheet, pos = run.clocks[store.clock];
  ctx.strokeStyle = colour; ctx.lineWidth = width;
  ctx.setLineDash(groupDash(groupOf(run, j)));
  for (const [b, values] of [[norm, run.log_w], [cosine, run.cosine]]) {
    ctx.beginPath();
    let last = -10;
    for (let k = 0; k < run.F; k++) {
      const x = b.px(pos[k]);
      if (x - last < 0.7 && k < run.F - 1) continue;
      last = x;
      const y = b.py(Math.max(b.y[0], values[k * run.m + j]));
      k ? ctx.lineTo(x, y) : ctx.moveTo(x, y);
    }
    ctx.stroke();
  }
  ctx.setLineDash([]);
}

export function pick(x, y, sheet) {
  const { run } = store, pair = boxes(sheet), pos = run.index(store.clock, Math.max(0, Math.min(1, pair[0].vx(x)))), k = run.near(pos);
  const [b, values] = y < pair[1].top - 6 ? [pair[0], run.log_w] : [pair[1], run.cosine];
  let best = -1, near = 8;
  for (let j = 0; j < run.m; j++) {
    const far = Math.abs(b.py(values[k * run.m + j]) - y);
    if (far < near) { near = far; best = j; }
  }
  return { neuron: best };
}

export function seek(x, sheet) {
  return Math.max(0, Math.min(1, boxes(sheet)[0].vx(x)));
}
