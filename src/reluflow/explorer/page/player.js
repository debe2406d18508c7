// Time: one slider, three clocks, play and speed; and the numbers of the moment.

import { $, el, fillSegments } from "./dom.js";
import { fromLog, g } from "./format.js";
import { Pad, colours, type } from "./pad.js";
import { on, store, tell } from "./store.js";
import { PHASE, edges } from "./views/loss.js";

const CLOCKS = [["event", "events", "Equal steps show equal change"], ["linear", "linear", "t itself"], ["log", "log", "log t"]];
const SPEEDS = [0.25, 0.5, 1, 2, 4], WHOLE = 14; // seconds for a run at speed 1
let strip = null;
const cells = {};

export function setup() {
  strip = new Pad($("strip"));
  const slider = $("time");
  slider.addEventListener("input", () => { stop(); seek(Number(slider.value)); });
  $("play").addEventListener("click", toggle);
  $("speed").append(...SPEEDS.map((s) => el("option", { value: s, selected: s === 1 }, `${s}×`)));
  $("speed").addEventListener("change", () => { store.speed = Number($("speed").value); });
  clocks();
  for (const [key, text] of [["t", "time t"], ["loss", "loss"], ["norm", "‖θ‖²"], ["largest", "largest ‖w‖"]]) {
    cells[key] = el("dd", { "data-key": key });
    $("readout").append(el("div", {}, el("dt", {}, text), cells[key]));
  }
  on("run index clock", () => {
    slider.value = store.run ? store.run.pos(store.clock, store.index) : 0;
    if (store.run) slider.setAttribute("aria-valuetext", spoken());
  });
  on("play", () => {
    $("play").textContent = store.playing ? "❚❚" : "▶";
    $("play").setAttribute("aria-label", store.playing ? "Pause" : "Play");
  });
  on("clock", clocks);
}

function spoken() {
  const { run } = store, k = run.near(store.index), log = run.log_t[k];
  const phase = store.phases.find((p) => p.log_start <= log && log <= p.log_end);
  return `time ${log < 700 ? g(run.t[k], 4) : `e^${g(log, 4)}`}${phase ? `, ${phase.kind}` : ""}, loss ${fromLog(run.log_loss[k], 3)}`;
}

function clocks() {
  fillSegments($("clock"), CLOCKS, store.clock, (value) => { store.clock = value; tell("clock"); tell("index"); });
}

export function seek(pos) {
  if (!store.run) return;
  store.index = store.run.index(store.clock, Math.max(0, Math.min(1, pos)));
  tell("index");
}

export function stepBy(frames) {
  if (!store.run) return;
  stop();
  store.index = Math.max(0, Math.min(store.run.F - 1, Math.round(store.index) + frames));
  tell("index");
}

export function toggle() {
  if (store.playing) return stop();
  if (store.run && store.run.pos(store.clock, store.index) > 0.999) store.index = 0;
  store.playing = true;
  tell("play");
}

export function stop() {
  if (!store.playing) return;
  store.playing = false;
  until = 1;
  tell("play");
}

let until = 1;
export function advance(seconds) {
  if (!store.playing || !store.run) return;
  const pos = Math.min(until, store.run.pos(store.clock, store.index) + (seconds * store.speed) / WHOLE);
  seek(pos);
  if (pos >= until) stop();
}

// Plays on to a share of the clock and stops there.
export function playTo(pos) {
  until = pos;
  store.playing = true;
  tell("play");
}

// Numbers are those of a frame the run really has: never interpolated.
export function readout() {
  const { run } = store, k = run.near(store.index);
  let top = -1.7e308;
  for (let j = 0; j < run.m; j++) top = Math.max(top, run.log_w[k * run.m + j]);
  set("t", run.log_t[k] < 700 ? g(run.t[k]) : `e^${g(run.log_t[k])}`);
  set("loss", fromLog(run.log_loss[k]));
  set("norm", run.norm2[k] > 1e-300 && run.norm2[k] < 3e38 ? g(run.norm2[k]) : fromLog(logNorm(run, k)));
  set("largest", fromLog(top));
  const box = $("readout");
  box.dataset.frame = k; box.dataset.t = run.t[k]; box.dataset.logT = run.log_t[k];
  box.classList.toggle("draft", run.draft || store.pending);
}

// log ‖θ‖² where ‖θ‖² itself leaves the range of float64.
function logNorm(run, k) {
  let top = -1.7e308, sum = 0;
  const each = (visit) => { for (let p = k * run.m; p < (k + 1) * run.m; p++) { visit(2 * run.log_w[p]); visit(2 * run.log_a[p]); } };
  each((v) => { top = Math.max(top, v); });
  each((v) => { sum += Math.exp(v - top); });
  return top + Math.log(sum);
}

function set(key, text) {
  if (cells[key].textContent !== text) cells[key].textContent = text;
}

export function drawStrip() {
  const sheet = strip.begin();
  if (!sheet) return;
  const { run } = store, { ctx, w, h } = sheet;
  ctx.fillStyle = colours.wash;
  ctx.fillRect(0, h - 8, w, 5);
  for (const p of edges(run, store.clock)) {
    const [name, tint] = PHASE[p.kind], x = p.from * w, wide = (p.to - p.from) * w;
    ctx.fillStyle = tint();
    ctx.fillRect(x, 0, Math.max(1, wide - 1), h);
    if (wide > type.size * name.length * 0.62) sheet.text(name, x + wide / 2, h / 2,
      { align: "center", base: "middle", colour: colours.ink, scale: 0.86 });
  }
}
