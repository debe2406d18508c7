// The activation raster: a row for every neuron and point, dark while active, gold while sliding.

import { Box, colours, groupColour, groupLegend, groupName, rgb, type } from "../pad.js";
import { store } from "../store.js";

export const id = "raster", title = "Activation raster";
export const hint = () => "a line per neuron and point";
export const fits = (run) => run.kind !== "single";
export const about = () => [
  "A row for every neuron and point, time to the right: filled while the neuron is active on the point, gold while it slides "
  + "along the point's boundary. "
  + (store.run?.k ? "Neurons are sorted by the class that they raise most at the end." : "Neurons with a > 0 are above those with a < 0."),
  [...(store.run?.k ? groupLegend(store.run) : [["plus", "active, a > 0"], ["minus", "active, a < 0"]]), ["gold", "sliding"]]];
let order = [], made = "";

const frame = (sheet) => new Box(sheet, { left: type.size * 3.4, right: type.size * 0.9, top: type.size * 0.4,
  bottom: type.size * 2.1, x: [0, 1], y: [store.run.m, 0] });

// Neurons by group, then by the points they end up active on.
function sorted(run) {
  const last = run.F - 1, code = (j) => {
    let key = String(run.group(last, j));
    for (let i = 0; i < run.n; i++) key += run.bits[(last * run.m + j) * run.n + i] ? "0" : "1";
    return key;
  };
  const keys = [...Array(run.m).keys()].map((j) => [code(j), j]);
  return keys.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] - b[1])).map(([, j]) => j);
}

export function draw(sheet) {
  const { run } = store, key = [run.key, run.seconds, run.F, store.clock, colours.key].join();
  if (made !== key) { order = sorted(run); made = key; }
  sheet.layer("bits", key, still);
  const b = frame(sheet), x = b.px(run.pos(store.clock, store.index));
  sheet.line(x, b.top, x, b.bottom, colours.gold, 1.6);
  if (store.hover >= 0) {
    const row = order.indexOf(store.hover), y = b.py(row), tall = Math.max(3, b.py(row + 1) - y);
    sheet.ctx.strokeStyle = colours.ink; sheet.ctx.lineWidth = 2; sheet.ctx.strokeRect(b.left, y - 0.5, b.right - b.left, tall + 1);
  }
}

function still(sheet) {
  const { run } = store, b = frame(sheet), { m, n } = run;
  const w = Math.max(1, Math.min(600, Math.round(b.right - b.left))), per = m * n <= 1200 ? n : 1, h = m * per;
  const image = document.createElement("canvas");
  image.width = w; image.height = h;
  const pixels = new ImageData(w, h), { data } = pixels;
  const [gold, card] = [colours.gold, colours.wash].map(rgb), tints = [...Array(run.groups).keys()].map((c) => rgb(groupColour(run, c)));
  for (let c = 0; c < w; c++) {
    const k = run.near(run.index(store.clock, (c + 0.5) / w));
    for (let row = 0; row < m; row++) {
      const j = order[row], to = tints[run.group(k, j)];
      for (let q = 0; q < per; q++) {
        let share = 0, slid = false;
        if (per > 1) { const bit = run.bits[(k * m + j) * n + q]; share = bit === 1 ? 1 : 0; slid = bit === 2; }
        else for (let i = 0; i < n; i++) { const bit = run.bits[(k * m + j) * n + i]; share += bit === 1 ? 1 / n : 0; slid ||= bit === 2; }
        const o = 4 * ((row * per + q) * w + c);
        for (let p = 0; p < 3; p++) data[o + p] = slid ? gold[p] : card[p] + (to[p] - card[p]) * share * 0.85;
        data[o + 3] = 255;
      }
    }
  }
  image.getContext("2d").putImageData(pixels, 0, 0);
  sheet.ctx.imageSmoothingEnabled = false;
  sheet.ctx.drawImage(image, b.left, b.top, b.right - b.left, b.bottom - b.top);
  if (m <= 80 && per > 1) for (let row = 1; row < m; row++) sheet.line(b.left, b.py(row), b.right, b.py(row), colours.card, 0.8);
  for (let c = 0, row = 0; c < run.groups; c++) {
    const many = order.filter((j) => run.group(run.F - 1, j) === c).length;
    if (many) sheet.text(groupName(run, c), b.left - 6, b.py(row + many / 2),
      { align: "right", base: "middle", colour: groupColour(run, c), scale: 0.82 });
    row += many;
  }
  b.axisTime(run, store.clock);
}

export function pick(x, y, sheet) {
  const b = frame(sheet);
  if (y < b.top || y > b.bottom || x < b.left) return { neuron: -1 };
  return { neuron: order[Math.max(0, Math.min(store.run.m - 1, Math.floor(b.vy(y))))] ?? -1 };
}

export function seek(x, sheet) {
  return Math.max(0, Math.min(1, frame(sheet).vx(x)));
}
