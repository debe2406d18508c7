// The views as cards: a title, a canvas, a button to enlarge; pointing at a neuron lights it up everywhere.

import { $, el } from "./dom.js";
import { down, drag, relabel, up } from "./edit.js";
import { fromLog, g } from "./format.js";
import { Pad, Sheet } from "./pad.js";
import { seek, stop } from "./player.js";
import { on, store, tell } from "./store.js";
import * as circle from "./views/circle.js";
import * as learned from "./views/learned.js";
import * as loss from "./views/loss.js";
import * as neurons from "./views/neurons.js";
import * as norms from "./views/norms.js";
import * as raster from "./views/raster.js";
import * as size from "./views/size.js";
import * as theorems from "./views/theorems.js";

export const VIEWS = [neurons, learned, circle, loss, norms, raster, size, theorems];
export const cards = [];

export function setup() {
  for (const view of VIEWS) {
    const head = el("h3"), hint = el("small"), hold = el("div", { class: "hold" });
    const does = () => { view.action.does(); titles(); tell("draw"); };
    const act = view.action ? el("button", { type: "button", "data-action": view.id, onclick: does }) : null;
    const bigger = () => enlarge(store.focus === view.id ? null : view.id);
    const grow = el("button", { type: "button", title: "Enlarge or back", "aria-label": "Enlarge", "data-enlarge": view.id,
      onclick: bigger }, "⤢");
    const node = el("section", { class: `card${view.wide ? " wide" : ""}`, id: view.id }, el("header", {}, head, hint, act, grow), hold);
    const card = { view, node, head, hint, act, hold, name: () => (typeof view.title === "function" ? view.title() : view.title) };
    if (!view.dom) {
      const canvas = el("canvas", { role: "img" });
      hold.append(canvas);
      card.pad = new Pad(canvas);
      listen(card, canvas);
    }
    cards.push(card);
    $("views").append(node);
  }
  on("run phases over laws tool focus", titles);
  on("laws", () => theorems.fill(cards.find((c) => c.view === theorems).hold));
  on("focus", () => {
    $("views").classList.toggle("focused", store.focus !== null);
    for (const c of cards) { c.node.classList.toggle("focus", c.view.id === store.focus); if (c.pad) c.pad.stale = true; }
  });
}

export function enlarge(id) {
  store.focus = VIEWS.some((v) => v.id === id) ? id : null;
  tell("focus");
}

export function titles() {
  for (const c of cards) {
    c.head.textContent = c.name();
    c.hint.textContent = store.run ? c.view.hint() : "";
    c.hint.title = c.hint.textContent;
    if (c.act) c.act.textContent = c.view.action.text();
    if (c.pad) c.pad.canvas.setAttribute("aria-label", `${c.name()}: ${c.hint.textContent}`);
  }
  cards.find((c) => c.view === learned).node.classList.toggle("edit", store.mode !== "space" && !store.recorded && store.served);
}

export function drawAll() {
  for (const c of cards) {
    if (!c.pad?.seen) continue;
    const sheet = c.pad.begin();
    if (sheet) c.view.draw(sheet);
  }
}

function listen(card, canvas) {
  const { view } = card;
  let seeking = false, moving = false;
  const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const sheet = () => new Sheet(card.pad.ctx, card.pad.w, card.pad.h, card.pad);
  canvas.addEventListener("pointermove", (event) => {
    if (!store.run) return;
    const [x, y] = at(event);
    if (moving) { drag(x, y); return; }
    if (seeking) { seek(view.seek(x, sheet())); return; }
    const found = view.pick?.(x, y, sheet()) ?? { neuron: -1 };
    point(found.neuron ?? -1, found.datum ?? -1, event);
  });
  canvas.addEventListener("pointerleave", () => { if (!moving) point(-1, -1); });
  canvas.addEventListener("pointerdown", (event) => {
    if (!store.run) return;
    const [x, y] = at(event);
    if (view === learned && card.node.classList.contains("edit")) moving = down(x, y);
    else if (view.seek) { seeking = true; stop(); seek(view.seek(x, sheet())); }
    if (moving || seeking) canvas.setPointerCapture(event.pointerId);
  });
  const end = () => { if (moving) up(); moving = seeking = false; };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  if (view === learned) canvas.addEventListener("dblclick", (event) => {
    if (card.node.classList.contains("edit") && store.tool === "move") relabel(...at(event));
  });
}

function point(neuron, datum, event) {
  if (neuron !== store.hover || datum !== store.datum) { store.hover = neuron; store.datum = datum; tell("draw"); }
  const tip = $("tip");
  tip.hidden = neuron < 0 && datum < 0;
  if (tip.hidden) return;
  tip.replaceChildren(...(neuron >= 0 ? aboutNeuron(neuron) : aboutDatum(datum)));
  const right = event.clientX + 260 > innerWidth;
  tip.style.left = `${right ? event.clientX - 16 - tip.offsetWidth : event.clientX + 16}px`;
  tip.style.top = `${Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)}px`;
}

const table = (rows) => el("table", {}, ...rows.map(([a, b]) => el("tr", {}, el("td", {}, a), el("td", {}, b))));
const CONE = { "+": "S₊", "-": "S₋", dead: "dead cone", "": "none of the cones" };

function aboutNeuron(j) {
  const { run } = store, k = run.near(store.index), p = k * run.m + j, on = [], held = [];
  for (let i = 0; i < run.n; i++) {
    const bit = run.bits[p * run.n + i];
    if (bit === 1) on.push(i + 1); else if (bit === 2) held.push(i + 1);
  }
  const rows = [
    ["sign of a", run.sign[p] > 0 ? "+" : "−"], ["‖w‖", fromLog(run.log_w[p])],
    ["active on", on.length > 8 ? `${on.length} points` : on.join(", ") || "nothing"],
    ["in", CONE[run.cone(k, j)]], ["cosine", g(run.cosine[p], 4)],
  ];
  if (held.length) rows.push(["sliding on", held.join(", ")]);
  return [el("b", {}, `neuron ${j}`), table(rows)];
}

function aboutDatum(i) {
  const { run } = store, k = run.near(store.index), d = run.x.length / run.n, x = [...run.x.subarray(i * d, i * d + d)];
  const place = x.slice(0, run.bias ? 1 : 4).map((v) => g(v, 4)).join(", ");
  return [el("b", {}, `point ${i + 1}`), table([["x", place], ["y", g(run.y[i], 4)], ["f(x)", g(run.outputs[k * run.n + i], 6)]])];
}
