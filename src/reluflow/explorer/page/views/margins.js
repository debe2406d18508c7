// Normalised margins of a classification run: y f(x) over the squared norm, for every point.

import { g } from "../format.js";
import { colours, fade, groupColour, groupDash, groupOfLabel } from "../pad.js";
import { store } from "../store.js";
import { frame, key, moment, place, range, still } from "./curves.js";

export const id = "margins", title = "Margins";
export const hint = () => {
  const { run, norm } = store;
  if (!run?.margin) return "";
  const now = g(least(run, run.near(store.index)), 4);
  return typeof norm.margin === "number" && !norm.stale
    ? `smallest ${now}; gold: largest possible ${g(norm.margin, 4)}` : `smallest ${now}`;
};
export const fits = (run) => Boolean(run.margin);
export const about = () => (store.run?.k ? [
  "The output of its own class less the largest other one, over the squared norm ‖θ‖², for every point, one thin line each, and the "
  + "smallest of them. Positive means classified correctly. The largest possible margin is a bound, exact for points in the plane.",
  [["curve", "smallest margin"], ...store.run.classes.map((name, c) => [`class${c}`, `points of class ${name}`]),
    ["theory", "largest possible"]]] : [
  "yᵢ f(xᵢ) over the squared norm ‖θ‖² (over ‖W‖ where only the first layer is trained) for every point, one thin line each, "
  + "and the smallest of them, which classification maximises in the long run, like 1/log t. Positive means classified "
  + "correctly.", [["curve", "smallest margin"], ["plus", "points of class +1"],
  ["minus", "points of class −1, dashed"], ["theory", "largest possible"]]]);

function least(run, k) {
  let low = Infinity;
  for (let i = 0; i < run.n; i++) low = Math.min(low, run.margin[k * run.n + i]);
  return low;
}

function box(sheet) {
  const { run, norm } = store, top = typeof norm.margin === "number" && !norm.stale ? [norm.margin] : [];
  return frame(sheet, range([...run.margin, 0, ...top]), 4.2);
}

export function draw(sheet) {
  const { run, norm } = store;
  sheet.layer("margins", key(norm.margin, norm.stale), (s) => {
    const b = box(s), lines = [];
    for (let i = 0; i < Math.min(run.n, 60); i++) {
      const c = groupOfLabel(run, run.y[i]);
      lines.push([(k) => run.margin[k * run.n + i], fade(groupColour(run, c), 0.5), 1.2, groupDash(c)]);
    }
    still(s, b, [...lines, [(k) => least(run, k), colours.ink, 2.4]]);
    if (typeof norm.margin === "number" && !norm.stale) {
      s.line(b.left, b.py(norm.margin), b.right, b.py(norm.margin), colours.theory, 2, [7, 5]);
    }
  });
  moment(sheet, box(sheet), (k) => least(run, k));
}

export const seek = (x, sheet) => place(x, box(sheet));
