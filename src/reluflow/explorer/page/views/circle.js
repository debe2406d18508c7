// The circle of directions: where each cone lies, where neurons are, and the extremal directions they go to.

import { colours, fade, groupColour, groupLegend, signColour, type } from "../pad.js";
import { store } from "../store.js";

export const id = "circle", title = "Circle of directions";
export const hint = () => (store.run?.k ? "extremal directions: one output only"
  : store.run?.d > 2 ? "counts in all dimensions" : "extremal directions in gold");
export const fits = (run) => run.kind !== "single";
export const about = () => (store.run?.k ? [
  "All directions at once. S with the name of a class is the cone of weights that are active exactly on the points of that class;"
  + " a neuron in the dead cone is active on no point and never moves again. Beads are neurons, and the numbers count them. "
  + "Extremal directions are known for one output only, and are not drawn.", [...groupLegend(store.run), ["dead", "dead"]]] : [
  "All directions at once. S₊ is the cone of weights that are active exactly on the points of class +1, S₋ the one for class "
  + "−1; a neuron in the dead cone is active on no point and never moves again. Beads are neurons, and the numbers count them.", [["plus",
  "a > 0"], ["minus", "a < 0"], ["dead", "dead"], ["gold", "extremal direction"]]]);
let xs = new Float32Array(0), ys = new Float32Array(0), r = 3;

// Arcs between the directions at which a point switches, with the cone each lies in.
export function arcs(run) {
  const cuts = [];
  for (let i = 0; i < run.n; i++) {
    const a = Math.atan2(run.xy[2 * i + 1], run.xy[2 * i]);
    if (run.xy[2 * i] || run.xy[2 * i + 1]) cuts.push(wrap(a + Math.PI / 2), wrap(a - Math.PI / 2));
  }
  cuts.sort((a, b) => a - b);
  const edges = cuts.filter((a, k) => k === 0 || a - cuts[k - 1] > 1e-9);
  return edges.map((from, k) => {
    const to = k + 1 < edges.length ? edges[k + 1] : edges[0] + 2 * Math.PI, mid = (from + to) / 2;
    return { from, to, cone: run.coneOf((i) => Math.cos(mid) * run.xy[2 * i] + Math.sin(mid) * run.xy[2 * i + 1] > 0) };
  });
}

const wrap = (a) => (a < 0 ? a + 2 * Math.PI : a >= 2 * Math.PI ? a - 2 * Math.PI : a);
const DOWN = "₀₁₂₃₄₅";
const tint = (run, cone) => (cone === "" ? colours.wash : cone === "dead" ? fade(colours.dead, 0.55)
  : fade(groupColour(run, cone), 0.5));
const label = (run, cone) => (cone === "" ? "" : cone === "dead" ? "dead"
  : run.k ? (/^[0-5]$/.test(run.classes[cone]) ? `S${DOWN[Number(run.classes[cone])]}` : run.classes[cone]) : cone === 0 ? "S₊" : "S₋");

export function draw(sheet) {
  const { run } = store, { w, h } = sheet;
  const cx = w / 2, cy = h / 2, R = Math.min(w / 2, h / 2) - type.size * 2.2, band = R * 0.15;
  if (R < 30) return;
  const { m } = run, now = run.at(store.index), frame = run.near(store.index);
  sheet.layer("back", `${run.key}${run.seconds}${colours.key}`, (s) => back(s, run, cx, cy, R, band));
  if (xs.length !== m) { xs = new Float32Array(m); ys = new Float32Array(m); }
  r = Math.max(1.6, Math.min(type.size * 0.32, R / Math.sqrt(m) / 3.4));
  // Beads on a string: those that would lie on each other stack inwards.
  const slots = new Map(), step = (2 * r) / (R - band), dead = [];
  const groups = [...Array(run.groups)].map(() => []);
  for (let j = 0; j < m; j++) {
    const a = Math.atan2(now.uy[j], now.ux[j]), slot = Math.round(a / step), depth = slots.get(slot) ?? 0;
    slots.set(slot, depth + 1);
    const rho = Math.max(R * 0.44, R - band - r - 3 - Math.min(depth, 14) * 1.7 * r);
    xs[j] = cx + rho * Math.cos(a); ys[j] = cy - rho * Math.sin(a);
    (now.dead[j] ? dead : groups[now.group[j]]).push(j);
  }
  sheet.dots(xs, ys, r, dead, fade(colours.dead, 0.8));
  for (let c = run.groups - 1; c >= 0; c--) sheet.marks(xs, ys, r, groups[c], groupColour(run, c), c);
  if (store.hover >= 0) sheet.dot(xs[store.hover], ys[store.hover], r + 4, null, colours.ink, 2.5);
  census(sheet, run, run.census(frame), cx, cy, R);
}

function back(sheet, run, cx, cy, R, band) {
  const { ctx } = sheet;
  const parts = run.d === 2 ? arcs(run) : [{ from: 0, to: 2 * Math.PI, cone: "" }];
  for (const { from, to, cone } of parts) {
    ctx.fillStyle = tint(run, cone);
    ctx.beginPath();
    ctx.arc(cx, cy, R, -from, -to, true);
    ctx.arc(cx, cy, R - band, -to, -from, false);
    ctx.closePath();
    ctx.fill();
    if (run.d === 2) {
      const [c, s] = [Math.cos(from), Math.sin(from)];
      sheet.line(cx + (R - band) * c, cy - (R - band) * s, cx + R * c, cy - R * s, colours.card, 2);
    }
    if (label(run, cone)) {
      const mid = (from + to) / 2, far = R + type.size * 0.95;
      const align = Math.abs(Math.cos(mid)) < 0.3 ? "center" : Math.cos(mid) > 0 ? "left" : "right";
      const colour = cone === "dead" ? colours.soft : groupColour(run, cone);
      sheet.text(label(run, cone), cx + far * Math.cos(mid), cy - far * Math.sin(mid), { align, base: "middle", colour, weight: 600 });
    }
  }
  for (const aim of run.aims) {
    const [x, y] = aim.direction, s = Math.hypot(x, y);
    if (s < 0.2) continue;
    const px = cx + ((R - band / 2) * x) / s, py = cy - ((R - band / 2) * y) / s, q = band * 0.42;
    ctx.fillStyle = colours.gold; ctx.strokeStyle = signColour(aim.sign); ctx.lineWidth = 1.8;
    ctx.beginPath();
    ctx.moveTo(px + q, py); ctx.lineTo(px, py + q); ctx.lineTo(px - q, py); ctx.lineTo(px, py - q);
    ctx.closePath(); ctx.fill(); ctx.stroke();
  }
}

function census(sheet, run, count, cx, cy, R) {
  const rows = [...Array(run.groups).keys()].map((c) => [c, `in ${label(run, c)}`, groupColour(run, c)]);
  rows.push(["dead", "dead", colours.soft], ["", "elsewhere", colours.soft]);
  if (count.slid) rows.push(["slid", "sliding", colours.theory]);
  const gap = Math.min(type.size * 1.3, (R * 0.66) / rows.length), top = cy - ((rows.length - 1) * gap) / 2;
  rows.forEach(([key, text, colour], k) => {
    sheet.text(String(count[key]), cx - type.size * 0.35, top + k * gap,
      { align: "right", base: "middle", colour, weight: 650, scale: 0.98 });
    sheet.text(text, cx, top + k * gap, { base: "middle", colour, scale: 0.88 });
  });
}

export function pick(x, y) {
  let best = -1, near = 144;
  for (let j = 0; j < xs.length; j++) {
    const far = (xs[j] - x) ** 2 + (ys[j] - y) ** 2;
    if (far < near) { near = far; best = j; }
  }
  return { neuron: best };
}
