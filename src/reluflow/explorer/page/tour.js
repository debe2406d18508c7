// Two minutes from the first turn of a neuron to the limit of vanishing scale.

import { $, el } from "./dom.js";
import { changed } from "./api.js";
import { refresh } from "./fields.js";
import { enlarge } from "./cards.js";
import { stop } from "./player.js";
import { on, store, tell } from "./store.js";

const at = (kind, which, share) => () => {
  const found = store.phases.filter((p) => p.kind === kind)[which], { run } = store;
  if (!found) return null;
  const from = run.pos(store.clock, run.indexOfLog(found.log_start)), to = run.pos(store.clock, run.indexOfLog(found.log_end));
  return from + share * (to - from);
};

const STEPS = [
  {
    view: "neurons", title: "Sixty neurons, two points", from: () => 0, to: () => 0, seconds: 12,
    text: "Each dot is a neuron: where it points, how large it is, red when its output weight is positive. All start tiny. "
      + "Nothing is fitted yet.",
  },
  {
    view: "neurons", title: "Align", from: () => 0, to: at("alignment", 0, 0.55), seconds: 22,
    text: "Watch them turn. Neurons that see a point of their sign swing to a gold direction; the others lose every point "
      + "and die. The loss does not move.",
  },
  {
    view: "loss", title: "Grow", from: at("alignment", 0, 0.9), to: at("growth", 0, 1), seconds: 18,
    text: "The directions are chosen, now the fastest group grows, all at once, and fits its point. This is where the loss "
      + "falls for the first time.",
  },
  {
    view: "loss", title: "Saddle", from: at("plateau", 0, 0), to: at("plateau", 0, 1), seconds: 16,
    text: "Then nothing seems to happen. The network sits at a saddle: one point fitted, the other waiting for a group that "
      + "is still too small to be seen.",
  },
  {
    view: "learned", title: "The second group", from: at("growth", 1, 0), to: at("growth", 1, 1), seconds: 16,
    text: "It was growing all along. When it becomes visible the loss falls again, and the function bends to the second point.",
  },
  {
    view: "size", title: "Converge", from: at("convergence", 0, 0), to: () => 1, seconds: 14,
    text: "The loss goes to zero, and the weights end with the smallest norm of all networks that fit: gold is the minimum.",
  },
  {
    view: "circle", title: "From e⁻¹⁰⁰⁰⁰⁰", scale: -100000, from: () => 0, to: () => 1, seconds: 22,
    text: "The scale is now e to the minus one hundred thousand. The same story, with saddles that last longer than anything "
      + "else. Drag λ and see.",
  },
];

let step = -1, began = 0, paused = false;

export function setup(choose) {
  $("tour").addEventListener("click", () => start(choose));
  on("phases", () => { if (step >= 0 && !began) begin(); });
}

export function start(choose) {
  store.clock = "event";
  tell("clock");
  choose("two_points");
  go(0);
}

export function end() {
  step = -1;
  $("guide").hidden = true;
  for (const node of document.querySelectorAll(".spot")) node.classList.remove("spot");
}

function go(next) {
  if (next >= STEPS.length || next < 0) { end(); return; }
  step = next; began = 0; paused = false;
  stop(); enlarge(null);
  const now = STEPS[step], box = $("guide");
  for (const node of document.querySelectorAll(".spot")) node.classList.remove("spot");
  const card = $(now.view);
  card.classList.add("spot");
  card.scrollIntoView({ block: "nearest" });
  box.hidden = false;
  const button = (text, does, more = {}) => el("button", { type: "button", onclick: does, ...more }, text);
  const next1 = button(step + 1 < STEPS.length ? "Next" : "Done", () => go(step + 1), { id: "tour-next" });
  box.replaceChildren(
    el("div", { class: "bar" }, el("i")), el("h4", {}, now.title), el("p", {}, now.text),
    el("div", { class: "row" }, button("Back", () => go(step - 1), { disabled: step === 0 }),
      el("span", {}, `${step + 1} of ${STEPS.length}`), el("span", {}, next1, " ", button("Leave", end, { id: "tour-end" }))),
  );
  if (now.scale && store.experiment.init.log_scale !== now.scale) {
    store.experiment.init.log_scale = now.scale;
    refresh();
    changed(false);
  } else if (store.phases.length) begin();
}

function begin() {
  began = performance.now();
}

// Moves the story on; called with every picture.
export function tick(time) {
  if (step < 0 || !began || paused || !store.run) return;
  const now = STEPS[step], share = Math.min(1, (time - began) / (1e3 * now.seconds));
  const from = now.from() ?? 0, to = now.to() ?? 1, moved = Math.min(1, share / 0.85);
  store.index = store.run.index(store.clock, from + (to - from) * moved);
  tell("index");
  const bar = $("guide").querySelector(".bar i");
  if (bar) bar.style.width = `${100 * share}%`;
  if (share >= 1) { if (step + 1 < STEPS.length) go(step + 1); else paused = true; }
}

export const touring = () => step >= 0;
export const length = STEPS.reduce((a, s) => a + s.seconds, 0);
