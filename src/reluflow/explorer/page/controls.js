// The side panel: every quantity of the experiment.

import { changed, note, overlay } from "./api.js";
import { $, el, segments } from "./dom.js";
import { clearData, exportable, readCsv } from "./edit.js";
import { choice, field, forget, number, onRefresh, refresh, slider } from "./fields.js";
import { g } from "./format.js";
import { on, store, tell } from "./store.js";

export { refresh };

const LOSSES = [
  ["square", "square  ½(f − y)²"], ["logistic", "logistic  log(1 + e^−yf)"],
  ["logistic2", "logistic, doubled"], ["exponential", "exponential  e^−yf"],
];
const TOOLS = {
  plane: [
    ["move", "move", "Drag points"], ["+1", "+1", "Click to add a point of class +1"],
    ["-1", "−1", "Click to add a point of class −1"], ["delete", "delete", "Click a point to take it away"],
  ],
  line: [["move", "move", "Drag points"], ["add", "add", "Click to add a point"], ["delete", "delete", "Click a point to take it away"]],
};
const DEEP = 1e5, SEEDS = 50, WIDEST = 1000;
const clamp = (v, lo, hi) => Math.max(lo, Math.min(hi, v));

export function build() {
  forget();
  const side = $("side"), preset = store.presets.find((p) => p.name === store.preset);
  side.replaceChildren(el("h2", {}, "Data"), el("p", { class: "lead" }, preset?.text ?? "Your own points."), ...dataPart(preset));
  if (store.recorded) {
    const why = "This run was recorded and is only played back. Choose another preset to change things.";
    side.append(el("p", { class: "lead" }, why), el("div", { id: "status" }));
  } else {
    side.append(el("h2", {}, "Network"), ...networkPart(), el("h2", {}, "Training"), ...trainingPart(), el("div", { id: "status" }));
    refresh();
  }
  status();
}

function dataPart(preset) {
  const parts = [];
  if (store.recorded) return parts;
  const { data } = store.experiment;
  if (store.mode !== "space") {
    const bar = el("div", { class: "row", id: "tools" });
    onRefresh(() => bar.replaceChildren(segments(TOOLS[store.mode], store.tool, (v) => { store.tool = v; refresh(); tell("tool"); })));
    parts.push(bar);
  }
  if (preset?.slider === "delta" && data.kind === "two_angles") {
    parts.push(slider("μ", "angle", "sin δ of the two points: how nearly orthogonal they are", {
      id: "mu", get: () => Math.sin(data.delta), set: (v) => { data.delta = Math.asin(clamp(v, 0, 0.99)); },
      to: (s) => 0.9 * 10 ** (4 * s - 4), from: (v) => (Math.log10(Math.max(v, 1e-4) / 0.9) + 4) / 4,
    }));
  }
  if ("seed" in data && data.kind !== "arrays") parts.push(seed("data seed", "another draw of the points", "data-seed", data));
  parts.push(el("div", { class: "row" },
    el("button", { type: "button", id: "load-csv", onclick: () => $("csv").click() }, "Load CSV"),
    el("button", { type: "button", onclick: clearData, hidden: store.mode === "space" }, "Start over")));
  $("csv").onchange = async () => {
    const [file] = $("csv").files;
    if (file) readCsv(await file.text());
    $("csv").value = "";
  };
  return parts;
}

const seed = (name, text, id, table) => slider("", name, text, {
  id, get: () => table.seed ?? 0, set: (v) => { table.seed = Math.max(0, Math.round(v)); },
  to: (s) => Math.round(s * SEEDS), from: (v) => v / SEEDS,
});

function networkPart() {
  const { init, problem } = store.experiment;
  const deepest = () => (problem.train === "first" ? -700 : -DEEP);
  return [
    slider("λ", "scale", "all weights start at this size; smaller means longer alignment, cleaner saddles", {
      id: "scale", get: () => init.log_scale, set: (v) => { init.log_scale = clamp(v, deepest(), 2); },
      to: (s) => 1 - (DEEP + 1) ** s, from: (v) => Math.log(1 - Math.min(v, 0)) / Math.log(DEEP + 1),
      show: (v) => `e^${g(v)}`, read: (t) => Number(t.replace(/^e\^/, "")),
      round: (v) => (v > -100 ? Math.round(v * 100) / 100 : Math.round(v)),
    }),
    slider("m", "width", "number of neurons", {
      id: "width", get: () => init.width, set: (v) => { init.width = clamp(Math.round(v), 1, store.most.width); },
      to: (s) => Math.round(WIDEST ** s), from: (v) => Math.log(v) / Math.log(WIDEST),
    }),
    seed("seed", "another draw of the initial weights", "seed", init),
    choice("start", "balanced: |a| = ‖w‖ for every neuron, for ever", [["balanced", "balanced"], ["gaussian", "unbalanced"]],
      () => (init.kind === "gaussian" ? "gaussian" : "balanced"), (v) => { init.kind = v; }, { off: () => problem.train === "first" }),
    choice("layers", "which weights move", [["both", "both layers"], ["first", "first only"]], () => problem.train, (v) => {
      problem.train = v;
      init.kind = v === "first" ? "fixed_output" : "balanced";
      init.log_scale = Math.max(init.log_scale, deepest());
    }),
    slider("α", "slope", "s(z) = αz below 0: 0 is ReLU, 1 is linear", {
      id: "slope", get: () => problem.activation?.slope ?? 0, to: (s) => Math.round(s * 100) / 100, from: (v) => v,
      set: (v) => { if (v > 0) problem.activation = { kind: "leaky_relu", slope: Math.min(1, v) }; else delete problem.activation; },
    }),
  ];
}

function trainingPart() {
  const e = store.experiment, flow = e.method.kind === "flow";
  const picker = el("select", { id: "loss-kind" }, ...LOSSES.map(([value, text]) => el("option", { value }, text)));
  picker.addEventListener("change", () => { e.problem.loss = picker.value; fitLabels(); refresh(); changed(false); });
  onRefresh(() => { picker.value = e.problem.loss; });
  const parts = [
    field("L", "loss", "square for regression; the others want labels ±1 and push f to infinity", null, picker),
    choice("method", "the flow is exact at every scale; descent takes every step", [["flow", "gradient flow"], ["descent", "descent"]],
      () => e.method.kind, (v) => {
        e.method = v === "flow" ? { kind: "flow", rtol: 1e-8 } : { kind: "descent", step: store.step };
        build();
      }),
  ];
  if (flow) {
    parts.push(choice("overlay", "run descent beside the flow and see where they part", [["off", "flow alone"], ["on", "with descent"]],
      () => (store.overlay ? "on" : "off"), (v) => { store.overlay = v === "on"; overlay(); }, { quiet: true }));
  }
  parts.push(
    slider("η", "step", flow ? "of the descent laid over the flow" : "of the descent; iteration k is at t = kη", {
      id: "step", get: () => store.step, to: (s) => Number((10 ** (5 * s - 4)).toPrecision(2)), from: (v) => (Math.log10(v) + 4) / 5,
      set: (v) => { store.step = clamp(v, 1e-6, 100); if (!flow) e.method.step = store.step; },
      after: (moving) => { if (flow && !moving) overlay(); return flow; },
    }),
    number("T", "end time", "empty: until nothing moves, or long enough for the loss to fall", "end",
      () => e.solve.t1, (v) => { e.solve = v === null ? {} : { t1: v }; }),
  );
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

export function status() {
  const box = $("status"), { run } = store;
  if (!box || !run) return;
  const took = run.seconds < 1 ? `${(1e3 * run.seconds).toFixed(0)} ms` : `${run.seconds.toFixed(1)} s`;
  const work = `${run.steps.toLocaleString("en")} ${run.descent ? "iterations" : "steps"}`;
  const odd = run.non_unique ? `, ${run.non_unique} not unique` : "";
  const parts = [
    `${work} and ${run.events.toLocaleString("en")} events (${run.slides} slides${odd})${run.seconds ? ` in ${took}` : ""}.`,
    run.about ? `${run.about}.` : "", run.outcome.split(":")[0],
  ];
  box.textContent = parts.filter(Boolean).join(" ");
}

on("run", status);
