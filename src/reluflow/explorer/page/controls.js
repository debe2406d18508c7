// The side panel: every quantity of the experiment.

import { beside, changed, note, overlay, refuse } from "./api.js";
import { isStatic } from "./backend.js";
import { $, el, prose, segments } from "./dom.js";
import { classCount, clearData, exportable, readCsv, several } from "./edit.js";
import { choice, field, forget, number, onRefresh, refresh, slider } from "./fields.js";
import { g } from "./format.js";
import { choose as stories, start, telling } from "./guide.js";
import { on, store, tell } from "./store.js";
import { STORIES } from "./stories.js";

export { refresh };

// The losses of the library, by the names they have there, with their formulas.
const formula = (text) => text.replaceAll("(1/2)", "½").replaceAll("^2", "²").replaceAll("-", "−");
const lossText = ({ name, text }) => `${name}  ${formula(text)}`;
const TOOLS = {
  plane: [
    ["move", "move", "Drag points"], ["+1", "+1", "Click to add a point of class +1"],
    ["-1", "−1", "Click to add a point of class −1"], ["delete", "delete", "Click a point to delete it"],
  ],
  line: [["move", "move", "Drag points"], ["add", "add", "Click to add a point"], ["delete", "delete", "Click a point to delete it"]],
};
// With several outputs a tool for every class.
const tools = () => (store.mode !== "plane" || !several() ? TOOLS[store.mode] : [TOOLS.plane[0],
  ...[...Array(classCount()).keys()].map((c) => [String(c), String(c), `Click to add a point of class ${c}`]), TOOLS.plane.at(-1)]);
const DEEP = 1e5, SEVERAL_DEEP = 300, SEEDS = 50, WIDEST = 1000;
const clamp = (v, lo, hi) => Math.max(lo, Math.min(hi, v));

export function build() {
  forget();
  const side = $("side"), preset = store.presets.find((p) => p.name === store.preset);
  const lead = preset?.text ?? (store.served ? "Your own points." : "A finished run, as `rf.show` drew it.");
  side.replaceChildren(el("h2", {}, "Data"), el("p", { class: "lead" }, ...prose(lead)));
  if (!telling()) side.append(story(preset));
  if (store.recorded || !store.live) {
    if (preset?.recorded) side.append(el("p", { class: "lead" }, "This run was recorded and is played back. Choose another preset to "
        + "change things."));
    side.append(el("div", { id: "status" }));
  } else if (store.experiment?.single) {
    side.append(el("h2", {}, "Neuron"), ...singlePart(), el("div", { id: "status" }));
    refresh();
  } else {
    side.append(...dataPart(preset), el("h2", {}, "Network"), ...networkPart(), el("h2", {}, "Training"), ...trainingPart(),
      el("div", { id: "status" }));
    if (isStatic()) side.append(el("p", { class: "lead" }, ...prose("This is a copy without a server: sliders move between the runs it "
      + "holds. `reluflow explore` computes any, and lets you drag points.")));
    refresh();
  }
  status();
}

function story(preset) {
  const id = preset?.story ?? "own";
  return el("div", { class: "row" },
    el("button", { type: "button", class: "main", id: "tell", onclick: () => start(id) }, id === "own" ? "Tell me what happens"
      : STORIES.find((s) => s.id === id).preset === preset.name ? "Tell me its story" : "Tell me a story like it"),
    el("button", { type: "button", onclick: stories }, "All stories"));
}

function singlePart() {
  const { single } = store.experiment;
  return [
    choice("layers", "one layer: f = σ(⟨w, x⟩); each further layer multiplies by a trained number", [[1, "1"], [2, "2"], [3, "3"]],
      () => single.layers, (v) => { single.layers = v; }, { path: "single.layers" }),
    slider("v", "norm of w", "at the start; the target has norm 1", {
      id: "norm", path: "single.log_norm", get: () => single.log_norm, set: (v) => { single.log_norm = clamp(v, -100, 3); },
        to: (s) => 2 - 12 * (1 - s),
      from: (v) => 1 - (2 - v) / 12, show: (v) => `e^${g(v)}`, read: (t) => Number(t.replace(/^e\^/, "")),
        round: (v) => Math.round(v * 20) / 20,
    }),
    slider("φ", "angle", "π minus the angle to w* at the start: at π the neuron is aligned", {
      id: "phi", path: "single.phi", get: () => single.phi, set: (v) => { single.phi = clamp(v, 0.01, 3.14); }, to: (s) => 0.01 + 3.13 * s,
      from: (v) => (v - 0.01) / 3.13, round: (v) => Math.round(v * 100) / 100,
    }),
  ];
}

function dataPart(preset) {
  const parts = [];
  const { data } = store.experiment;
  if (store.mode !== "space" && !isStatic()) {
    const bar = el("div", { class: "row", id: "tools" });
    onRefresh(() => bar.replaceChildren(segments(tools(), store.tool, (v) => { store.tool = v; refresh(); tell("tool"); })));
    parts.push(bar);
  }
  if (preset?.slider === "delta" && data.kind === "two_angles") {
    parts.push(slider("δ", "angle", "by which the two points are closer than a right angle; μ = sin δ", {
      id: "mu", path: "data.delta", get: () => data.delta, set: (v) => { data.delta = clamp(v, 0, 1.43); },
      to: (s) => Number((1.4 * 10 ** (4 * s - 4)).toPrecision(3)), from: (v) => (Math.log10(Math.max(v, 1e-4) / 1.4) + 4) / 4,
    }));
  }
  if ("seed" in data && data.kind !== "arrays" && !isStatic()) parts.push(seed("data seed", "another draw of the points", "data-seed",
    data));
  if (isStatic()) return parts;
  parts.push(el("div", { class: "row" },
    el("button", { type: "button", id: "load-csv", onclick: () => $("csv").click() }, "Load CSV"),
    el("button", { type: "button", onclick: clearData, hidden: store.mode === "space" },
      several() ? "Three points only" : "Two points only")));
  $("csv").onchange = async () => {
    const [file] = $("csv").files;
    $("csv").value = "";
    try { if (file) await readCsv(await file.text(), file.name); } catch (error) { refuse(error.message); }
  };
  return parts;
}

const seed = (name, text, id, table) => slider("", name, text, {
  id, path: id === "seed" ? "init.seed" : "data.seed", get: () => table.seed ?? 0, set: (v) => { table.seed = Math.max(0, Math.round(v)); },
  to: (s) => Math.round(s * SEEDS), from: (v) => v / SEEDS, show: String,
});

// The smallest scale, as a logarithm.
export const deepest = () => (store.experiment.problem.train === "first" ? -700 : several() ? -SEVERAL_DEEP : -DEEP);

function networkPart() {
  const { init, problem } = store.experiment;
  const parts = [
    slider("λ", "scale", "all weights start at this size; smaller means longer alignment, cleaner saddles", {
      id: "scale", path: "init.log_scale", get: () => init.log_scale, set: (v) => { init.log_scale = clamp(v, deepest(), 2); },
      to: (s) => 1 - (DEEP + 1) ** s, from: (v) => Math.log(1 - Math.min(v, 0)) / Math.log(DEEP + 1),
      show: (v) => `e^${g(v)}`, read: (t) => Number(t.replace(/^e\^/, "")),
      round: (v) => (v > -100 ? Math.round(v * 100) / 100 : Math.round(v)),
    }),
    slider("m", "width", "number of neurons", {
      id: "width", path: "init.width", get: () => init.width, set: (v) => { init.width = clamp(Math.round(v), 1, store.most.width); },
      to: (s) => Math.round(WIDEST ** s), from: (v) => Math.log(v) / Math.log(WIDEST),
    }),
    seed("seed", "another draw of the initial weights", "seed", init),
    choice("start", "balanced: |a| = ‖w‖ for every neuron, for ever", [["balanced", "balanced"], ["gaussian", "unbalanced"]],
      () => (problem.train === "first" ? null : init.kind === "gaussian" ? "gaussian" : "balanced"), (v) => { init.kind = v; },
      { off: () => problem.train === "first", path: "init.kind" }),
    choice("layers", "which weights move", [["both", "both layers"], ["first", "first only"]], () => problem.train, (v) => {
      problem.train = v;
      init.kind = v === "first" ? "fixed_output" : "balanced";
      init.log_scale = Math.max(init.log_scale, deepest());
    }, { path: "problem.train" }),
    slider("α", "slope", "s(z) = αz below 0: 0 is ReLU, 1 is linear", {
      id: "slope", path: "problem.activation.slope", get: () => problem.activation?.slope ?? 0, to: (s) => Math.round(s * 100) / 100,
        from: (v) => v,
      set: (v) => { if (v > 0) problem.activation = { kind: "leaky_relu", slope: Math.min(1, v) }; else delete problem.activation; },
    }),
    slider("δ", "decay", "weight decay: every weight shrinks at this rate; 0 is none", {
      id: "decay", path: "problem.decay", get: () => problem.decay ?? 0, to: (s) => (s < 0.02 ? 0 : 10 ** (4 * (s - 1))),
      from: (v) => (v > 0 ? Math.max(0.02, 1 + Math.log10(v) / 4) : 0), round: (v) => Number(v.toPrecision(2)),
      set: (v) => { if (v > 0) problem.decay = Math.min(1, v); else delete problem.decay; },
    }),
  ];
  if (!several() || store.experiment.method.kind !== "flow") return parts;
  const out = ["layers", "decay"];
  return [...parts.filter((part) => !out.includes(part.dataset.name)), el("p", { class: "lead" },
    ...prose("With several outputs the exact flow trains both layers, without weight decay (descent has these), and the page starts it "
    + "from e^−300 or above (`rf.Flow` from any scale)."))];
}

function trainingPart() {
  const e = store.experiment, flow = e.method.kind === "flow";
  const picker = el("select", { id: "loss-kind", "aria-label": "Loss" },
    ...store.losses.map((row) => el("option", { value: row.name }, lossText(row))));
  picker.addEventListener("change", () => { e.problem.loss = picker.value; fitLabels(); build(); changed(false); });
  onRefresh(() => { picker.value = e.problem.loss; });
  const parts = [
    field("L", "loss", "square for regression; softmax for classes 0, 1, 2, …; the others need labels ±1. Of all but square f grows "
      + "without bound", null, picker),
    choice("method", "the flow is exact at every scale; descent takes every step", [["flow", "gradient flow"], ["descent", "descent"]],
      () => e.method.kind, (v) => {
        e.method = v === "flow" ? { kind: "flow", rtol: 1e-8 } : { kind: "descent", step: store.step };
        build();
      }, { path: "method.kind" }),
  ];
  if (isStatic()) picker.disabled = true;
  if (flow) {
    parts.push(choice("overlay", "descent with step η at the same times: hollow squares and dashed lines", [["off", "flow alone"], ["on",
      "with descent"]],
      () => (store.overlay ? "on" : "off"), (v) => { store.overlay = v === "on"; overlay(); }, { quiet: true }));
    parts.push(choice("compare", "the same experiment from scale 1 (lazy) beside this one", [["off", "one scale"], ["on", "with scale 1"]],
      () => (store.other === null ? "off" : "on"), (v) => { store.other = v === "on" ? 0 : null; beside(); }, { quiet: true }));
  }
  parts.push(
    slider("η", "step", flow ? "of the descent laid over the flow" : "of the descent; iteration k is at t = kη", {
      id: "step", path: isStatic() ? "method.step" : undefined, get: () => (flow ? store.step : e.method.step),
        to: (s) => Number((10 ** (5 * s - 4)).toPrecision(2)), from: (v) => (Math.log10(v) + 4) / 5,
      set: (v) => { store.step = clamp(v, 1e-6, 100); if (!flow) e.method.step = store.step; },
      after: (moving) => { if (flow && !moving) overlay(); return flow; },
    }),
    number("T", "end time", "empty: until the flow converges, or long enough for the loss to fall", "end",
      () => e.solve?.t1, (v) => { e.solve = v === null ? {} : { t1: v }; }, "solve.t1"),
  );
  return parts;
}

// Losses of signs want labels +1 and -1, softmax classes 0, 1, 2, ...
function fitLabels() {
  const e = store.experiment, { run } = store;
  const { labels } = store.losses.find((row) => row.name === e.problem.loss);
  if (!run || (run.k > 0) === (labels === "classes")) {
    if (labels !== "signs" || !run || [...run.y].every((v) => Math.abs(v) === 1)) return;
  }
  e.data = exportable(run);
  if (labels === "classes") {
    e.data.y = e.data.y.map((v) => (v >= 0 ? 0 : 1));
    note("Labels were made classes: 0 for positive ones, 1 for the others.");
  } else if (run.k) {
    e.data.y = e.data.y.map((v) => (v === 0 ? 1 : -1));
    note("Class 0 became +1 and all others −1: this loss is for one output.");
  } else {
    e.data.y = e.data.y.map((v) => (v >= 0 ? 1 : -1));
    note("Labels were rounded to ±1: this loss needs signs.");
  }
  if (labels === "classes") Object.assign(e.init, { log_scale: Math.max(e.init.log_scale, -SEVERAL_DEEP), kind: "balanced" });
}

export function status() {
  const box = $("status"), { run } = store;
  if (!box || !run) return;
  const took = run.seconds < 1 ? `${(1e3 * run.seconds).toFixed(0)} ms` : `${run.seconds.toFixed(1)} s`;
  const work = `${run.steps.toLocaleString("en")} ${run.descent ? "iterations" : "steps"}`;
  const odd = run.non_unique ? `, ${run.non_unique} not unique` : "";
  if (run.kind === "single") { box.textContent = `${work}. ${run.outcome.split(":")[0]}`; return; }
  const parts = [
    `${work} and ${run.events.toLocaleString("en")} events (${run.slides} slides${odd})${run.seconds ? ` in ${took}` : ""}.`,
    run.about ? `${run.about}.` : "", run.outcome.split(":")[0],
  ];
  box.textContent = parts.filter(Boolean).join(" ");
}

on("run", status);
