// The single neuron: its magnitude above, its angle to the target below.

import { Box, colours, type } from "../pad.js";
import { g } from "../format.js";
import { store } from "../store.js";
import { key, moment, place, still } from "./curves.js";

export const id = "single", title = "Magnitude and angle";
export const hint = () => {
  const { run } = store;
  if (run?.kind !== "single") return "";
  const k = run.near(store.index);
  return `‖w‖ = ${g(Math.exp(run.log_w[k]), 4)}, angle to w* = ${g((180 * run.theta[k]) / Math.PI, 4)}°`;
};
export const fits = (run) => run.kind === "single";
export const about = () => [
  "Above, the norm of w relative to that of the target: 1 is right. Below, the angle between w and w*: 0 is right. The angle "
  + "only falls; the norm may first overshoot or dip, depending on where it starts.",
  [["curve", "the neuron"], ["theory", "the target"]]];

function boxes(sheet) {
  const { run } = store, left = type.size * 3.6, right = type.size * 1.2, mid = sheet.h * 0.52;
  let top = 1;
  for (const v of run.log_w) top = Math.max(top, Math.exp(v));
  return [
    new Box(sheet, { left, right, top: type.size * 0.9, bottom: sheet.h - mid + type.size * 0.9, x: [0, 1], y: [0, 1.12 * top] }),
    new Box(sheet, { left, right, top: mid + type.size * 1.5, bottom: type.size * 2.1, x: [0, 1], y: [0, 185] }),
  ];
}

const size = (k) => Math.exp(store.run.log_w[k]), degrees = (k) => (180 * store.run.theta[k]) / Math.PI;

export function draw(sheet) {
  sheet.layer("single", key(), (s) => {
    const [norm, angle] = boxes(s);
    still(s, norm, [[size, colours.ink, 2.4]]);
    s.line(norm.left, norm.py(1), norm.right, norm.py(1), colours.theory, 1.6, [6, 4]);
    still(s, angle, [[degrees, colours.ink, 2.4]], () => angle.axisY((v) => `${v}°`, 3));
    const beside = type.size * 0.6; // of the line that marks the present moment at the start
    s.text("‖w‖", norm.left + beside, norm.top, { base: "top", colour: colours.ink, math: true });
    s.text("angle to w*", angle.left + beside, angle.top, { base: "top", colour: colours.ink });
  });
  const [norm, angle] = boxes(sheet);
  moment(sheet, norm, size);
  moment(sheet, angle, degrees);
}

export const seek = (x, sheet) => place(x, boxes(sheet)[0]);
