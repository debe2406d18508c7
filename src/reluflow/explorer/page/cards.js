// The views as cards: title, legend, explanation, canvas; pointing at a neuron or a point marks it in every view.

import { isStatic } from "./backend.js";
import { $, el } from "./dom.js";
import { down, drag, movePoint, relabelPoint, removePoint, relabel, up } from "./edit.js";
import { fromLog, g } from "./format.js";
import { Pad, Sheet } from "./pad.js";
import { seek, stop } from "./player.js";
import { on, store, tell } from "./store.js";
import * as beside from "./views/beside.js";
import * as circle from "./views/circle.js";
import * as images from "./views/images.js";
import * as learned from "./views/learned.js";
import * as loss from "./views/loss.js";
import * as margins from "./views/margins.js";
import * as neurons from "./views/neurons.js";
import * as norms from "./views/norms.js";
import * as rank from "./views/rank.js";
import * as raster from "./views/raster.js";
import * as single from "./views/single.js";
import * as size from "./views/size.js";
import * as theorems from "./views/theorems.js";

export const VIEWS = [neurons, learned, single, images, beside, loss, circle, norms, raster, size, rank, margins, theorems];
export const cards = [];
const card = (view) => cards.find((c) => c.view === view);

export function setup() {
  for (const view of VIEWS) {
    const head = el("h3", { id: `${view.id}-title` }), hint = el("small"), hold = el("div", { class: "hold" });
    const does = () => { view.action.does(); titles(); tell("draw"); };
    const act = view.action ? el("button", { type: "button", "data-action": view.id, onclick: does }) : null;
    const bigger = () => enlarge(store.focus === view.id ? null : view.id);
    const grow = el("button", { type: "button", class: "icon", title: "Enlarge, or back to all views", "data-enlarge": view.id,
      onclick: bigger }, "⤢");
    const about = el("div", { class: "about", hidden: true, id: `${view.id}-about` });
    const ask = el("button", { type: "button", class: "icon", title: "What am I seeing?", "aria-expanded": "false",
      "aria-controls": `${view.id}-about`, "data-about": view.id }, "?");
    const legend = el("div", { class: "legend" });
    const node = el("section", { class: "card", id: view.id, "aria-labelledby": `${view.id}-title` },
      el("header", {}, head, hint, act, ask, grow), about, hold, legend);
    const made = { view, node, head, hint, act, grow, ask, about, legend, hold,
      name: () => (typeof view.title === "function" ? view.title() : view.title) };
    ask.addEventListener("click", () => explain(made));
    if (!view.dom) {
      const canvas = el("canvas", { role: "img" });
      hold.append(canvas);
      made.pad = new Pad(canvas);
      made.pad.onseen = () => tell("draw");
      listen(made, canvas);
    }
    cards.push(made);
    $("views").append(node);
  }
  zoomButtons(card(learned));
  pointList(card(learned));
  neuronSlider(card(neurons));
  on("run phases over reports tool focus pending controls", titles);
  on("run over more focus only controls", arrange);
  on("index", hints);
  // Verdicts come one after the other: the list is made once for all that came since the last picture.
  let due = false;
  on("reports", () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => { due = false; theorems.fill(card(theorems).hold); $("verdicts").textContent = theorems.line(); });
  });
  on("run", () => { if (!$("tip").hidden && where) point(store.hover, store.datum, where); });
  $("more").addEventListener("click", () => { store.more = !store.more; tell("more"); });
  $("verdicts").addEventListener("click", () => { store.more = true; tell("more");
    card(theorems).node.scrollIntoView({ block: "center" }); });
}

// Which views are shown: those of an embedded page or of a step of a story, else three large ones, or all.
export function visible(view) {
  const { run } = store;
  if (!run || (view.fits && !view.fits(run))) return false;
  if (store.focus) return view.id === store.focus;
  if (store.only) return store.only.includes(view.id);
  if (store.step_views) return store.step_views.includes(view.id);
  return store.more || main(run).includes(view.id);
}

function main(run) {
  const second = run.kind === "single" ? "single" : run.weights ? "images" : store.beside ? "beside"
    : run.mode === "space" && run.descent ? "rank" : "learned";
  return ["neurons", second, "loss"];
}

let arranged = "";
function arrange() {
  const shown = VIEWS.filter(visible), first = shown.slice(0, shown.length < 4 ? 2 : 0);
  const count = shown.length;
  const rest = VIEWS.filter((v) => store.run && (!v.fits || v.fits(store.run)) && !main(store.run).includes(v.id));
  // Another run in the same views: nothing moves, and canvases keep their size.
  const now = JSON.stringify([shown.map((v) => v.id), cards.map((c) => c.name()), rest.length, store.more, store.focus, store.only,
    store.step_views]);
  if (now === arranged) return;
  arranged = now;
  $("views").dataset.count = count > 3 ? "many" : String(count);
  for (const c of cards) {
    const is = shown.includes(c.view);
    c.node.hidden = !is;
    c.node.classList.toggle("half", first.includes(c.view));
    c.node.classList.toggle("wide", is && count < 4 && !first.includes(c.view));
    if (c.pad) c.pad.stale = true;
    c.grow.setAttribute("aria-pressed", String(store.focus === c.view.id));
    c.grow.setAttribute("aria-label", `${store.focus === c.view.id ? "Back from" : "Enlarge"} ${c.name()}`);
  }
  $("views").classList.toggle("focused", store.focus !== null);
  $("more").textContent = store.more ? "Fewer views" : `More views (${rest.length})`;
  $("more").setAttribute("aria-expanded", String(store.more));
  $("more").hidden = rest.length === 0;
  $("below").hidden = Boolean(store.only || store.focus || store.step_views);
  titles();
}

export function enlarge(id) {
  store.focus = VIEWS.some((v) => v.id === id) ? id : null;
  tell("focus");
}

const swatch = (kind) => el("i", { class: `swatch ${kind}`, "aria-hidden": "true" });
const items = (list) => list.map(([kind, text]) => el("span", {}, swatch(kind), text));

function explain(c) {
  const show = c.about.hidden, [text, list] = c.view.about();
  c.about.hidden = !show;
  c.ask.setAttribute("aria-expanded", String(show));
  if (show) c.about.replaceChildren(el("p", {}, text), el("div", { class: "legend" }, ...items(list)));
}

export function closeAbout() {
  const open = cards.filter((c) => !c.about.hidden);
  for (const c of open) { c.about.hidden = true; c.ask.setAttribute("aria-expanded", "false"); }
  return open.length > 0;
}

export function titles() {
  for (const c of cards) {
    if (c.node.hidden) continue;
    c.head.textContent = c.name();
    if (c.act) c.act.textContent = c.view.action.text();
    c.ask.setAttribute("aria-label", `What am I seeing in ${c.name()}?`);
    c.node.classList.toggle("stale", store.pending && (c.view === theorems || Boolean(store.run?.draft)));
  }
  hints();
  const editable = store.mode !== "space" && store.mode !== "single" && !store.recorded && store.served && !isStatic() && !store.only;
  card(learned).node.classList.toggle("edit", editable);
  card(neurons).legend.replaceChildren(...items(shortLegend()));
  if (!$("points").hidden || editable) fillPoints(editable);
}

function shortLegend() {
  const { run } = store;
  if (!run || run.kind === "single") return [];
  const found = neurons.legend().filter(([kind]) => kind !== "ghost" && kind !== "sliding");
  if (run.slides) found.push(["sliding", "sliding on a boundary"]);
  if (store.over) found.push(["ghost", `descent, step ${g(store.over.step, 3)}`]);
  return found.filter(([kind]) => kind !== "gold" || run.aims.length);
}

function hints() {
  for (const c of cards) {
    if (c.node.hidden || !store.run) continue;
    const text = c.view.hint();
    if (c.hint.textContent !== text) { c.hint.textContent = text; c.hint.title = text; }
    if (c.pad) c.pad.canvas.setAttribute("aria-label", `${c.name()}: ${text}`);
  }
}

export function drawAll() {
  for (const c of cards) {
    if (c.node.hidden || !c.pad?.seen) continue;
    const sheet = c.pad.begin();
    if (sheet) c.view.draw(sheet);
  }
}

// Zooming the learned function ------------------------------------------------------------------------------------------

function zoomButtons(c) {
  const does = (what) => () => { what(); tell("zoom"); tell("draw"); };
  const button = (text, label, what) => el("button", { type: "button", class: "icon", title: label, "aria-label": label,
    onclick: does(what),
    "data-zoom": text }, text);
  const bar = el("div", { class: "zoom" }, button("+", "Zoom in", () => learned.zoom(0.7)), button("−", "Zoom out",
    () => learned.zoom(1 / 0.7)),
    button("⌂", "Show everything", () => { store.zoom = null; }));
  c.node.querySelector("header").insertBefore(bar, c.act ?? c.ask); // over the picture it would cover points
  c.zoomBar = bar;
  on("run zoom", () => { bar.hidden = store.mode === "space"; });
}

// Points and neurons by keyboard ----------------------------------------------------------------------------------------

function pointList(c) {
  c.hold.append(el("div", { id: "points", class: "reachable", role: "group", "aria-label": "Data points: arrows move, Enter relabels, "
      + "Delete removes" }));
}

function fillPoints(editable) {
  const box = $("points"), { run } = store, n = editable && run ? run.n : 0;
  box.hidden = n === 0;
  while (box.children.length > n) box.lastChild.remove();
  while (box.children.length < n) {
    const i = box.children.length;
    box.append(el("button", { type: "button", onfocus: () => { store.datum = i; tell("draw"); }, onblur: () => { store.datum = -1;
      tell("draw"); },
      onkeydown: (event) => pointKey(event, i) }));
  }
  for (let i = 0; i < n; i++) box.children[i].textContent = spoken(i);
}

function spoken(i) {
  const { run } = store;
  const at = run.mode === "line" ? `x = ${g(run.x[2 * i], 4)}, y = ${g(run.y[i], 4)}`
    : `x = (${g(run.x[2 * i], 4)}, ${g(run.x[2 * i + 1], 4)}), class ${run.k ? run.classes[run.y[i]] : run.y[i] > 0 ? "+1" : "−1"}`;
  return `point ${i + 1}: ${at}`;
}

function pointKey(event, i) {
  const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
  if (way) movePoint(i, way[0] * (event.shiftKey ? 10 : 1), way[1] * (event.shiftKey ? 10 : 1));
  else if (event.key === "Enter") relabelPoint(i);
  else if (event.key === "Delete" || event.key === "Backspace") removePoint(i);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function neuronSlider(c) {
  const slider = el("input", { type: "range", class: "reachable", min: -1, step: 1, value: -1, id: "neuron",
    "aria-label": "Neuron to mark" });
  slider.addEventListener("input", () => {
    store.hover = Number(slider.value);
    slider.setAttribute("aria-valuetext", store.hover < 0 ? "none" : describe(store.hover));
    tell("draw");
  });
  slider.addEventListener("blur", () => { store.hover = -1; slider.value = -1; tell("draw"); });
  slider.setAttribute("aria-valuetext", "none");
  c.hold.append(slider);
  on("run", () => { slider.max = store.run.m - 1; });
}

function describe(j) {
  return `neuron ${j}: ${aboutRows(j).map(([a, b]) => `${a} ${b}`).join(", ")}`;
}

// Pointing --------------------------------------------------------------------------------------------------------------

function listen(made, canvas) {
  const { view } = made;
  let seeking = false, moving = false, panning = null;
  const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const sheet = () => new Sheet(made.pad.ctx, made.pad.w, made.pad.h, made.pad);
  const editable = () => view === learned && made.node.classList.contains("edit");
  canvas.addEventListener("pointermove", (event) => {
    if (!store.run) return;
    const [x, y] = at(event);
    if (moving) { drag(x, y); return; }
    if (panning) { learned.pan(x - panning[0], y - panning[1]); panning = [x, y]; tell("zoom"); tell("draw"); return; }
    if (seeking) { seek(view.seek(x, sheet())); return; }
    const found = view.pick?.(x, y, sheet()) ?? { neuron: -1 };
    point(found.neuron ?? -1, found.datum ?? -1, event);
  });
  canvas.addEventListener("pointerleave", () => { if (!moving) point(-1, -1); });
  canvas.addEventListener("pointerdown", (event) => {
    if (!store.run) return;
    const [x, y] = at(event);
    if (editable()) moving = down(x, y);
    if (!moving && view === learned && store.zoom && store.tool === "move") panning = [x, y];
    else if (!moving && view.seek) { seeking = true; stop(); seek(view.seek(x, sheet())); }
    if (moving || seeking || panning) canvas.setPointerCapture(event.pointerId);
  });
  const end = () => { if (moving) up(); moving = seeking = false; panning = null; };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  if (view !== learned) return;
  canvas.addEventListener("dblclick", (event) => { if (editable() && store.tool === "move") relabel(...at(event)); });
  canvas.addEventListener("wheel", (event) => {
    if (store.mode === "space" || !(event.ctrlKey || event.shiftKey || store.focus === "learned")) return; // else the page scrolls
    event.preventDefault();
    learned.zoom(Math.exp(Math.max(-0.4, Math.min(0.4, (event.deltaY || event.deltaX) / 400))), ...at(event));
    tell("zoom"); tell("draw");
  }, { passive: false });
}

let where = null;
function point(neuron, datum, event) {
  if (neuron !== store.hover || datum !== store.datum) { store.hover = neuron; store.datum = datum; tell("draw"); }
  const tip = $("tip");
  tip.hidden = neuron < 0 && datum < 0;
  if (tip.hidden) { where = null; return; }
  where = { clientX: event.clientX, clientY: event.clientY };
  tip.classList.toggle("draft", Boolean(store.run.draft));
  tip.replaceChildren(...(neuron >= 0 ? [el("b", {}, `neuron ${neuron}`), table(aboutRows(neuron))] : aboutDatum(datum)));
  const right = event.clientX + 260 > innerWidth;
  tip.style.left = `${right ? event.clientX - 16 - tip.offsetWidth : event.clientX + 16}px`;
  tip.style.top = `${Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)}px`;
}

const table = (rows) => el("table", {}, ...rows.map(([a, b]) => el("tr", {}, el("td", {}, a), el("td", {}, b))));
const CONE = { 0: "S₊ (active on class +1 only)", 1: "S₋ (active on class −1 only)", dead: "the dead cone", "": "neither cone" };
const inCone = (run, cone) => (!run.k || cone === "dead" ? CONE[cone] : cone === "" ? "no cone of a class"
  : `the cone of class ${run.classes[cone]} (active on it only)`);

function aboutRows(j) {
  const { run } = store, k = run.near(store.index), p = k * run.m + j, on = [], held = [];
  for (let i = 0; i < run.n; i++) {
    const bit = run.bits[p * run.n + i];
    if (bit === 1) on.push(i + 1); else if (bit === 2) held.push(i + 1);
  }
  const head = [...run.head?.subarray(p * run.k, p * run.k + run.k) ?? []].map((v) => g(v, 3)).join(", ");
  const rows = [run.k ? ["a / ‖a‖", `(${head})`] : ["sign of a", run.sign[p] > 0 ? "+" : "−"], ["‖w‖", fromLog(run.log_w[p])]];
  if (run.kind === "single") return [...rows, ["angle to w*", `${g((180 * run.theta[k]) / Math.PI, 4)}°`]];
  rows.push(["active on", on.length > 8 ? `${on.length} points` : on.length ? `point ${on.join(", ")}` : "no point"], ["in",
    inCone(run, run.cone(k, j))],
    [run.k ? "alignment" : "cosine", g(run.cosine[p], 4)]);
  if (held.length) rows.push(["sliding on", held.join(", ")]);
  return rows;
}

function outputs(run, k, i) {
  const at = k * run.n + i;
  if (!run.k) return g(run.outputs[at], 6);
  return `(${[...run.outputs.subarray(at * run.k, (at + 1) * run.k)].map((v) => g(v, 4)).join(", ")})`;
}

function aboutDatum(i) {
  const { run } = store, k = run.near(store.index), d = run.x.length / run.n, x = [...run.x.subarray(i * d, i * d + d)];
  const place = x.slice(0, run.bias ? 1 : 4).map((v) => g(v, 4)).join(", ");
  return [el("b", {}, `point ${i + 1}`), table([["x", place],
    run.k ? ["class", run.classes[run.y[i]]] : ["y", g(run.y[i], 4)], ["f(x)", outputs(run, k, i)]])];
}
