// MNIST: the weights of neurons as images, and the digits the outputs are shown for (where MNIST is on this machine).

import { colours, rgb, type } from "../pad.js";
import { store } from "../store.js";

export const id = "images", title = "Neurons as images", wide = true;
export const hint = () => "weights of the largest neurons: red counts for 0, blue for 1";
export const fits = (run) => Boolean(run.weights);
export const about = () => [
  "The weights of a neuron, laid out as the image they are multiplied with: red pixels add to its input, blue ones subtract. "
  + "Early they are noise; aligned, they are the difference of the two class means. The digits below are some of the data, with"
  + " the output f(x) at this moment.", [["plus", "positive"], ["minus", "negative"]]];

const SHOWN = 10;
const tiles = new Map();

function tile(key, side, value) {
  const kept = tiles.get(key);
  if (kept) return kept;
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = side;
  const pixels = new ImageData(side, side);
  for (let p = 0; p < side * side; p++) { const c = value(p); for (let q = 0; q < 3; q++) pixels.data[4 * p + q] = c[q]; pixels.data[4 * p
    + 3] = 255; }
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  if (tiles.size > 2000) tiles.clear();
  tiles.set(key, canvas);
  return canvas;
}

const mixed = (from, to, share) => from.map((v, c) => v + (to[c] - v) * share);

export function draw(sheet) {
  const { run } = store, { weights, weight_frames: moments, m } = run, side = run.weight_side, size = side * side;
  if (!weights) return;
  const frame = run.near(store.index);
  let k = 0;
  while (k + 1 < moments.length && moments[k + 1] <= frame) k++;
  const order = [...Array(m).keys()].sort((a, b) => run.log_w[(run.F - 1) * m + b] - run.log_w[(run.F - 1) * m + a]);
  const pick = [...order.filter((j) => run.sign[(run.F - 1) * m + j] > 0).slice(0, SHOWN / 2),
    ...order.filter((j) => run.sign[(run.F - 1) * m + j] < 0).slice(0, SHOWN / 2)];
  const [plus, minus, card] = [colours.plus, colours.minus, colours.card].map(rgb), digits = store.images;
  // As many columns as make the images largest.
  const columns = sheet.w > 1.8 * sheet.h ? SHOWN : SHOWN / 2, rows = (digits ? 2 : 1) * (SHOWN / columns);
  const gap = type.size * 0.5, label = type.size * 1.4;
  const wide = Math.min((sheet.w - 2 * type.size - gap * (columns - 1)) / columns, (sheet.h - type.size) / rows - label - gap);
  const left = (sheet.w - columns * wide - (columns - 1) * gap) / 2;
  const at = (q, row) => [left + (q % columns) * (wide + gap), type.size * 0.6 + (row + Math.floor(q / columns)) * (wide + label + gap)];
  sheet.ctx.imageSmoothingEnabled = false;
  pick.forEach((j, q) => {
    const [x, y] = at(q, 0), base = (k * m + j) * size;
    const image = tile(`w${run.key},${k},${j},${colours.key}`, side, (p) => {
      const v = weights[base + p] / 127;
      return mixed(card, v > 0 ? plus : minus, Math.min(1, Math.abs(v)));
    });
    sheet.ctx.drawImage(image, x, y, wide, wide);
    if (store.hover === j) {
      sheet.ctx.strokeStyle = colours.ink; sheet.ctx.lineWidth = 2;
      sheet.ctx.strokeRect(x, y, wide, wide);
    }
    const sign = `a ${run.sign[frame * m + j] > 0 ? ">" : "<"} 0`;
    sheet.text(wide > 7.5 * type.size ? `neuron ${j}, ${sign}` : sign, x + wide / 2, y + wide + label * 0.75,
      { align: "center", scale: 0.8 });
  });
  if (!digits) return;
  const n = run.n, few = [...Array(SHOWN / 2).keys(), ...[...Array(SHOWN / 2).keys()].map((q) => n / 2 + q)];
  few.forEach((i, q) => {
    const [x, y] = at(q, SHOWN / columns), f = run.outputs[frame * n + i];
    const image = tile(`d${i},${colours.key}`, digits.side, (p) =>
      mixed(card, rgb(colours.ink), digits.images[i * digits.side ** 2 + p] / 255));
    sheet.ctx.drawImage(image, x, y, wide, wide);
    sheet.text(`f = ${f.toFixed(2).replace(/^-(?=0\.00$)/, "")}`, x + wide / 2, y + wide + label * 0.75, { align: "center", scale: 0.8 });
  });
}
