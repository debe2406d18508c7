// The stable rank of the weights over time, of all neurons and of either sign.

import { g } from "../format.js";
import { colours } from "../pad.js";
import { store } from "../store.js";
import { frame, key, moment, place, range, still } from "./curves.js";

export const id = "rank", title = "Stable rank", wide = false;
export const hint = () => {
  if (!store.run?.rank) return "";
  const k = store.run.near(store.index), at = (c) => g(store.run.rank[3 * k + c], 3);
  return `all neurons ${at(0)}; a > 0: ${at(1)}; a < 0: ${at(2)}`;
};
export const fits = (run) => Boolean(run.rank) && run.d > 1;
export const about = () => [
  "How many directions the weights really use: ‖W‖²_F / ‖W‖², the sum of squared singular values over the largest. At random "
  + "it is large; it falls to 1 when all neurons of a group point the same way.",
  [["curve", "all neurons"], ["plus", "neurons with a > 0"], ["minus", "neurons with a < 0, dashed"]]];

const box = (sheet) => frame(sheet, range(store.run.rank.filter((v) => v > 0), 0.8));

export function draw(sheet) {
  const { rank } = store.run;
  sheet.layer("rank", key(), (s) => {
    const b = box(s);
    still(s, b, [[(k) => rank[3 * k + 1] || NaN, colours.plus, 1.8], [(k) => rank[3 * k + 2] || NaN, colours.minus, 1.8, [6, 4]],
      [(k) => rank[3 * k], colours.ink, 2.4]]);
    s.line(b.left, b.py(1), b.right, b.py(1), colours.theory, 1.2, [2, 4]);
  });
  moment(sheet, box(sheet), (k) => rank[3 * k]);
}

export const seek = (x, sheet) => place(x, box(sheet));
