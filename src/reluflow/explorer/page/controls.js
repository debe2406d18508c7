// The side panel: every quantity with its symbol, its value and one line on what it does.

import { $, el, segments } from "./dom.js";
import { changed, note, overlay } from "./api.js";
import { g } from "./format.js";
import { copy, on, store, tell } from "./store.js";
import { clearData, exportable, readCsv } from "./edit.js";

const LOSSES = [["square", "square  ½(f − y)²"], ["logistic", "logistic  log(1 + e^−yf)"], ["logistic2", "logistic, doubled"], ["exponential", "exponential  e^−yf"]];
const DEEP = 1e5;
const toScale = (s) => 1 - (DEEP + 1) ** s, fromScale = (v) => Math.log(1 - v) / Math.log(DEEP + 1);
let refreshers = [];

export function build() {
  refreshers = [];
  const side = $("side"), preset = store.presets.find((p) => p.name === store.preset);
  side.replaceChildren(el("h2", {}, "Data"), el("p", { class: "lead" }, preset?.text ?? "Your own points."), ...dataPart(preset));
  if (store.recorded) {
    side.append(el("p", { class: "lead" }, "This run was recorded and is only played back. Choose another preset to change things."), el("div", { id: "status" }));
    status();
    return;
  }
  side.append(el("h2", {}, "Network"), ...networkPart(), el("h2", {}, "Training"), ...trainingPart(), el("div", { id: "status" }));
  refresh();
  status();
}

export const refresh = () => refreshers.forEach((r) => r());

function dataPart(preset) {
  const parts = [];
  if (store.recorded) return parts;
  const e = store.experiment;
  if (store.mode !== "space") {
    const tools = store.mode === "plane" ? [["move", "move", "Drag points"], ["+1", "+1", "Click to add a point of class +1"], ["-1", "−1", "Click to add a point of class −1"], ["delete", "delete", "Click a point to take it away"]] : [["move", "move", "Drag points"], ["add", "add", "Click to add a point"], ["delete", "delete", "Click a point to take it away"]];
    const bar = el("div", { class: "row", id: "tools" });
    const fill = () => bar.replaceChildren(segments(tools, store.tool, (v) => { store.tool = v; fill(); tell("tool"); }));
    refreshers.push(fill);
    parts.push(bar);
  }
  if (preset?.slider === "delta" && e.data.kind === "two_angles") parts.push(slider("μ", "angle", "sin δ of the two points: how nearly orthogonal they are", { get: () => Math.sin(e.data.delta), set: (v) => { e.data.delta = Math.asin(Math.max(0, Math.min(0.99, v))); }, to: (s) => 10 ** (-4 + 4 * s) * 0.9, from: (v) => (Math.log10(Math.max(v, 1e-4) / 0.9) + 4) / 4, id: "mu" }));
  if ("seed" in e.data && e.data.kind !== "arrays") parts.push(slider("", "data seed", "another draw of the points", { get: () => e.data.seed ?? 0, set: (v) => { e.data.seed = Math.round(v); }, to: (s) => Math.round(s * 50), from: (v) => v / 50, id: "data-seed" }));
  parts.push(el("div", { class: "row" }, el("button", { type: "button", id: "load-csv", onclick: () => $("csv").click() }, "Load CSV"), el("button", { type: "button", onclick: clearData, hidden: store.mode === "space" }, "Start over")));
  $("csv").onchange = async () => { const [file] = $("csv").files; if (file) readCsv(await file.text()); $("csv").value = ""; };
  return parts;
}

function networkPart() {
  const { init, problem } = store.experiment;
  return [
    slider("λ", "scale", "all weights start at this size; smaller means longer alignment, cleaner saddles", { get: () => init.log_scale, set: (v) => { init.log_scale = clampScale(v); }, to: toScale, from: fromScale, show: (v) => `e^${g(v)}`, read: (t) => Number(t.replace(/^e\^/, "")), id: "scale", round: (v) => (v > -100 ? Math.round(v * 100) / 100 : Math.round(v)) }),
    slider("m", "width", "number of neurons", { get: () => init.width, set: (v) => { init.width = Math.max(1, Math.min(store.most.width, Math.round(v))); }, to: (s) => Math.round(1000 ** s), from: (v) => Math.log(v) / Math.log(1000), id: "width" }),
    slider("", "seed", "another draw of the initial weights", { get: () => init.seed ?? 0, set: (v) => { init.seed = Math.max(0, Math.round(v)); }, to: (s) => Math.round(s * 50), from: (v) => v / 50, id: "seed" }),
    choice("", "start", "balanced: |a| = ‖w‖ for every neuron, for ever", () => (init.kind === "gaussian" ? "gaussian" : "balanced"), (v) => { init.kind = v; }, [["balanced", "balanced"], ["gaussian", "unbalanced"]], () => problem.train === "first"),
    choice("", "layers", "which weights move", () => problem.train, (v) => { problem.train = v; init.kind = v === "first" ? "fixed_output" : "balanced"; init.log_scale = clampScale(init.log_scale); }, [["both", "both layers"], ["first", "first only"]]),
    slider("α", "slope", "s(z) = αz below 0: 0 is ReLU, 1 is linear", { get: () => problem.activation?.slope ?? 0, set: (v) => { const a = Math.max(0, Math.min(1, v)); if (a > 0) problem.activation = { kind: "leaky_relu", slope: a }; else delete problem.activation; }, to: (s) => Math.round(s * 100) / 100, from: (v) => v, id: "slope" }),
  ];
}

const clampScale = (v) => Math.max(store.experiment.problem.train === "first" ? -700 : -DEEP, Math.min(2, v));

function trainingPart() {
  const e = store.experiment, { problem } = e;
  const picker = el("select", { id: "loss-kind", onchange: () => { problem.loss = picker.value; fitLabels(); changedAll(); } }, ...LOSSES.map(([v, t]) => el("option", { value: v }, t)));
  refreshers.push(() => { picker.value = problem.loss; });
  const parts = [
    el("div", { class: "field" }, el("div", { class: "head" }, el("span", { class: "sym" }, "L"), el("span", { class: "name" }, "loss")), picker, el("p", {}, "square for regression; the others want labels ±1 and push f to infinity")),
    choice("", "method", "the flow is exact at every scale; descent takes every step", () => e.method.kind, (v) => { e.method = v === "flow" ? { kind: "flow", rtol: 1e-8 } : { kind: "descent", step: store.step }; rebuild(); }, [["flow", "gradient flow"], ["descent", "descent"]]),
    slider("η", "step", e.method.kind === "flow" ? "of the descent laid over the flow" : "of the descent; iteration k is at t = kη", { get: () => store.step, set: (v) => { store.step = Math.max(1e-6, Math.min(100, v)); if (e.method.kind === "descent") e.method.step = store.step; }, to: (s) => Number((10 ** (-4 + 5 * s)).toPrecision(2)), from: (v) => (Math.log10(v) + 4) / 5, id: "step", after: (moving) => { if (e.method.kind === "flow") { if (!moving) overlay(); return true; } return false; } }),
    number("T", "end time", "empty: until nothing moves, or long enough for the loss to fall", () => e.solve.t1, (v) => { e.solve = v === null ? {} : { t1: v }; }),
  ];
  if (e.method.kind === "flow") parts.splice(2, 0, choice("", "overlay", "run descent beside the flow and see where they part", () => (store.overlay ? "on" : "off"), (v) => { store.overlay = v === "on"; overlay(); }, [["off", "flow alone"], ["on", "lay descent over it"]], null, true));
  return parts;
}

// Losses with a tail want labels of size 1.
function fitLabels() {
  const e = store.experiment, { run } = store;
  if (e.problem.loss === "square" || !run || [...run.y].every((v) => Math.abs(v) === 1)) return;
  e.data = exportable(run);
  e.data.y = e.data.y.map((v) => (v >= 0 ? 1 : -1));
  note("Labels were rounded to ±1, as this loss wants.");
}

const changedAll = () => { refresh(); changed(false); };
const rebuild = () => { build(); tell("controls"); };

function slider(sym, name, text, { get, set, to, from, show = (v) => g(v), read = Number, id, round = (v) => v, after = null }) {
  const range = el("input", { type: "range", min: 0, max: 1, step: "any", "aria-label": name, id: `c-${id}` });
  const typed = el("input", { type: "text", "aria-label": `${name}, value`, id: `v-${id}`, autocomplete: "off" });
  const put = (value, moving) => {
    if (!Number.isFinite(value)) { refresh(); return; }
    set(value);
    refresh();
    if (!after?.(moving)) changed(moving);
  };
  range.addEventListener("input", () => put(round(to(Number(range.value))), true));
  range.addEventListener("change", () => put(round(to(Number(range.value))), false));
  typed.addEventListener("change", () => put(read(typed.value.trim()), false));
  refreshers.push(() => {
    if (document.activeElement !== range || Math.abs(round(to(Number(range.value))) - get()) > 1e-9 * Math.abs(get())) range.value = Math.max(0, Math.min(1, from(get())));
    typed.value = show(get());
  });
  return el("div", { class: "field" }, el("div", { class: "head" }, el("span", { class: "sym" }, sym), el("span", { class: "name" }, name), typed), range, el("p", {}, text));
}

function number(sym, name, text, get, set) {
  const typed = el("input", { type: "text", "aria-label": name, id: "v-end", placeholder: "auto", autocomplete: "off" });
  typed.addEventListener("change", () => {
    const value = typed.value.trim() === "" ? null : Number(typed.value);
    if (value === null || value > 0) { set(value); changed(false); }
    refresh();
  });
  refreshers.push(() => { typed.value = get() === undefined ? "" : g(get()); });
  return el("div", { class: "field" }, el("div", { class: "head" }, el("span", { class: "sym" }, sym), el("span", { class: "name" }, name), typed), el("p", {}, text));
}

function choice(sym, name, text, get, set, options, off = null, quiet = false) {
  const place = el("div");
  const fill = () => {
    const bar = segments(options, get(), (v) => { set(v); refresh(); if (!quiet) changed(false); });
    if (off?.()) for (const b of bar.children) b.disabled = true;
    place.replaceChildren(bar);
  };
  refreshers.push(fill);
  return el("div", { class: "field", "data-choice": name }, el("div", { class: "head" }, el("span", { class: "sym" }, sym), el("span", { class: "name" }, name)), place, el("p", {}, text));
}

export function status() {
  const box = $("status"), { run } = store;
  if (!box || !run) return;
  const took = run.seconds < 1 ? `${(1e3 * run.seconds).toFixed(0)} ms` : `${run.seconds.toFixed(1)} s`;
  const odd = run.non_unique ? `, ${run.non_unique} not unique` : "";
  box.textContent = `${run.steps.toLocaleString("en")} ${run.descent ? "iterations" : "steps"} and ${run.events} events (${run.slides} slides${odd})${run.seconds ? ` in ${took}` : ""}. ${run.about ? `${run.about}. ` : ""}${run.outcome.split(":")[0]}`;
}

on("run", status);
export const snapshot = () => copy(store.experiment);
