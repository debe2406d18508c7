// The stable rank of the weights over time, of all neurons and of either sign.

import { g } from "../format.js";
import { colours, groupColour, groupDash, groupLegend, groupName } from "../pad.js";
import { store } from "../store.js";
import { frame, key, moment, place, range, still } from "./curves.js";

export const id = "rank", title = "Stable rank", wide = false;
export const hint = () => {
  if (!store.run?.rank) return "";
  const { run } = store, k = run.near(store.index), at = (c) => g(run.rank[(1 + run.groups) * k + c], 3);
  return [`all neurons ${at(0)}`, ...[...Array(run.groups).keys()].map((c) => `${groupName(run, c)}: ${at(1 + c)}`)].join("; ");
};
export const fits = (run) => Boolean(run.rank) && run.d > 1;
export const about = () => [
  "How many directions the weights really use: ‖W‖²_F / ‖W‖², the sum of squared singular values over the largest. At random "
  + "it is large; it falls to 1 when all neurons of a group point the same way.",
  [["curve", "all neurons"], ...(store.run?.k ? groupLegend(store.run)
    : [["plus", "neurons with a > 0"], ["minus", "neurons with a < 0, dashed"]])]];

const box = (sheet) => frame(sheet, range(store.run.rank.filter((v) => v > 0), 0.8));

export function draw(sheet) {
  const { run } = store, { rank } = run, width = 1 + run.groups;
  sheet.layer("rank", key(), (s) => {
    const b = box(s), dash = (c) => (run.k ? groupDash(c) : c ? [6, 4] : []);
    const lines = [...Array(run.groups).keys()].map((c) => [(k) => rank[width * k + 1 + c] || NaN, groupColour(run, c), 1.8, dash(c)]);
    still(s, b, [...lines, [(k) => rank[width * k], colours.ink, 2.4]]);
    s.line(b.left, b.py(1), b.right, b.py(1), colours.theory, 1.2, [2, 4]);
  });
  moment(sheet, box(sheet), (k) => rank[width * k]);
}

export const seek = (x, sheet) => place(x, box(sheet));
