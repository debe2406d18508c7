// The loss with its phases and saddles, and descent beside the flow.

import { Box, colours, fade, type } from "../pad.js";
import { fromLog, short } from "../format.js";
import { store } from "../store.js";

export const id = "loss", title = "Loss", wide = true;
export const hint = () => {
  if (!store.over) return "phases shaded, saddles dotted";
  if (store.over.parted === null) return "descent (dashed) stays with the flow";
  return `descent (dashed) parts from the flow at t = ${short(store.over.parted)}`;
};
export const about = () => [
  "The training loss over time, with the phases of learning: the neurons align while the loss does not move, a group grows "
  + "and the loss falls, the network stays at a saddle (plateau), and at last converges. The time axis is the one chosen below:"
  + " by default equal steps show equal change.", [["curve", "loss of the run"], ["dash", "loss of descent"], ["gold", "now"]]];
export const action = { text: () => (isLog() ? "linear" : "log"), does: () => { store.logLoss = !isLog(); } };

export const PHASE = {
  alignment: ["align", () => fade(colours.gold, 0.16)], growth: ["grow", () => fade(colours.plus, 0.13)],
  plateau: ["saddle", () => fade(colours.faint, 0.2)], convergence: ["converge", () => fade(colours.good, 0.15)],
};

const isLog = () => store.logLoss ?? false;

export function edges(run, clock) {
  return store.phases.map((p) => ({ ...p, from: run.pos(clock, run.indexOfLog(p.log_start)),
    to: run.pos(clock, run.indexOfLog(p.log_end)) }));
}

function frame(sheet) {
  const { run } = store, log = isLog();
  const top = run.log_loss_high, low = Math.max(run.log_loss_low, top - 46);
  const y = log ? [low - 0.04 * (top - low) - 0.05, top + 0.06 * (top - low) + 0.05] : [0, run.loss_top * 1.08];
  return new Box(sheet, { left: type.size * 4, right: type.size * 1.2, top: type.size * 2, bottom: type.size * 2.1, x: [0, 1], y });
}

const level = (log) => (isLog() ? log : Math.exp(log));

export function draw(sheet) {
  const { run } = store;
  const key = [run.key, run.seconds, run.F, store.clock, store.phases.length, store.over?.key, store.over?.step, isLog(),
    colours.key].join();
  sheet.layer("curve", key, (s) => still(s));
  const b = frame(sheet), k = run.near(store.index), x = b.px(run.pos(store.clock, k));
  sheet.line(x, b.top, x, b.bottom, colours.gold, 1.6);
  const y = b.py(Math.max(b.y[0], level(run.log_loss[k])));
  sheet.dot(x, y, type.size * 0.42, colours.gold, colours.card, 2);
}

function still(sheet) {
  const { run, over, clock } = store, b = frame(sheet), log = isLog();
  for (const p of edges(run, clock)) {
    const [name, tint] = PHASE[p.kind], x = b.px(p.from), wide = b.px(p.to) - x;
    sheet.ctx.fillStyle = tint();
    sheet.ctx.fillRect(x, b.top, wide, b.bottom - b.top);
    if (wide > type.size * name.length * 0.62) sheet.text(name, x + wide / 2, b.top - type.size * 0.45,
      { align: "center", colour: colours.ink, weight: 550, scale: 0.9 });
    if (p.from > 0) sheet.line(x, b.top, x, b.bottom, fade(colours.faint, 0.45), 1); // told apart without colour, too
  }
  if (log) b.axisDecades(); else b.axisY();
  b.axisTime(run, clock);
  for (const p of edges(run, clock)) {
    if (p.kind !== "plateau") continue;
    const y = b.py(level(p.log_loss));
    sheet.line(b.left, y, b.right, y, colours.theory, 1.2, [1, 4]);
    sheet.text(fromLog(p.log_loss, 4), b.right - 2, y - 4, { align: "right", colour: colours.theory, scale: 0.86 });
  }
  if (over) {
    const xs = [], ys = [];
    for (let k = 0; k < over.F; k++) {
      xs.push(b.px(run.pos(clock, run.indexOfLog(over.log_t[k]))));
      ys.push(Math.max(-50, b.py(Math.max(b.y[0], level(over.log_loss[k])))));
    }
    sheet.path(xs, ys, colours.soft, 2, [6, 4]);
    if (over.parted !== null && over.parted > 0) {
      const x = b.px(run.pos(clock, run.indexOfLog(Math.log(over.parted))));
      sheet.line(x, b.top, x, b.bottom, colours.plus, 1.4, [2, 3]);
      const left = x > b.right - type.size * 8; // no room to the right of the line
      sheet.text("outputs part here", left ? x - 4 : x + 4, b.top + 3, { align: left ? "right" : "left", base: "top",
        colour: colours.plus, scale: 0.86 });
    }
  }
  const xs = [], ys = [];
  for (let k = 0; k < run.F; k++) {
    xs.push(b.px(run.clocks[clock][k]));
    ys.push(b.py(Math.max(b.y[0], level(run.log_loss[k]))));
  }
  sheet.path(xs, ys, colours.ink, 2.4);
}

export function seek(x, sheet) {
  const b = frame(sheet);
  return Math.max(0, Math.min(1, b.vx(x)));
}
