// Neurons in the plane: direction as it is, distance from the centre by the logarithm of the norm.

import { colours, fade, groupColour, groupLegend, powerText, signColour, type } from "../pad.js";
import { g } from "../format.js";
import { store } from "../store.js";

export const id = "neurons", title = "Neurons";
export const hint = () => {
  if (store.run?.kind === "single") return "w in the plane of w and w*, distance by log ‖w‖";
  if (store.run?.d > 2) return "projected on the plane of the class sums";
  return store.run?.bias ? "direction of (w, b), distance by log ‖w‖" : "direction of w, distance by log ‖w‖";
};
export const about = () => (store.run?.kind === "single"
  ? ["The neuron w as an arrow tip in the plane of w and the target w* (gold, to the right): its angle as it is, its distance "
    + "from the centre by the logarithm of its norm.", [["plus", "the neuron"], ["gold", "the target w*"]]]
  : ["Each mark is one neuron: the direction in which w points as it is, the distance from the centre by the logarithm of its "
    + "norm. A dashed line is the boundary at which a data point switches on or off; triangles outside are the data. "
    + (store.run?.k ? "Colour and shape say which class a neuron raises most. Extremal directions are known for one output only."
      : "Neurons are drawn to the gold lines, the extremal directions, while they are small."), legend()]);
export const legend = () => (store.run?.k ? [...groupLegend(store.run), ...LEGEND.slice(2).filter(([kind]) => kind !== "gold")] : LEGEND);
const LEGEND = [["plus", "a > 0"], ["minus", "a < 0"], ["dead", "dead: active on no point"], ["sliding", "sliding on a boundary"],
  ["gold", "extremal direction"], ["ghost", "descent at the same time"]];
const INNER = 0.3; // where the smallest neurons are: directions must show from the start
let xs = new Float32Array(0), ys = new Float32Array(0), r = 4;

export function radius(run, log) {
  if (store.radius === "log") return INNER + (1 - INNER) * Math.max(0, Math.min(1, (log - run.lowest) / (run.highest - run.lowest)));
  return INNER + (1 - INNER) * Math.exp(Math.min(0, log - run.highest));
}

// In a small card: no labels, and no room for them.
const tight = (sheet) => Math.min(sheet.w, sheet.h) < 9 * type.size;

export function draw(sheet) {
  const { run } = store;
  const { w, h, ctx } = sheet, cx = w / 2, cy = h / 2, R = Math.min(w, h) / 2 - type.size * (tight(sheet) ? 0.9 : 1.9);
  if (R < 8) return;
  sheet.layer("back", `${run.key}${run.seconds}${colours.key}${store.radius}${store.datum}${store.group === "aims"}`, (s) => back(s, run,
    cx, cy, R));
  const now = run.at(store.index), { m } = run;
  if (xs.length !== m) { xs = new Float32Array(m); ys = new Float32Array(m); }
  r = Math.max(2, Math.min(type.size * 0.4, R / Math.sqrt(m) / 2.6));
  const groups = [...Array(run.groups)].map(() => []), dead = [], held = [];
  for (let j = 0; j < m; j++) {
    const rho = R * radius(run, now.lw[j]);
    xs[j] = cx + rho * now.ux[j]; ys[j] = cy - rho * now.uy[j];
    (now.dead[j] ? dead : groups[now.group[j]]).push(j);
    if (now.slid[j]) held.push(j);
  }
  if (m <= 160) trails(sheet, run, cx, cy, R);
  ghosts(sheet, cx, cy, R);
  ctx.lineWidth = 1.2; ctx.strokeStyle = colours.dead; ctx.beginPath();
  for (const j of dead) { ctx.moveTo(xs[j] + r * 0.8, ys[j]); ctx.arc(xs[j], ys[j], r * 0.8, 0, 2 * Math.PI); }
  ctx.stroke();
  sheet.dots(xs, ys, r + 3, held, colours.gold);
  const member = group(run), strong = (list) => (member ? list.filter((j) => member(j)) : list);
  const all = (list, alpha) => {
    for (let c = run.groups - 1; c >= 0; c--) sheet.marks(xs, ys, r, list(groups[c]), fade(groupColour(run, c), alpha), c);
  };
  if (member) all((list) => list.filter((j) => !member(j)), 0.18);
  all(strong, 0.88);
  if (member) for (let j = 0; j < m; j++) if (member(j)) sheet.dot(xs[j], ys[j], r + 3, null, colours.ink, 1.4);
  if (store.hover >= 0) sheet.dot(xs[store.hover], ys[store.hover], r + 4, null, colours.ink, 2.5);
}

// The neurons that a story speaks of: by sign, dead, sliding, or those that grew in a phase of growth.
export function group(run) {
  if (!store.group) return null;
  const [kind, which] = store.group.split(":"), now = run.now;
  if (kind === "plus") return (j) => now.sign[j] > 0 && !now.dead[j];
  if (kind === "minus") return (j) => now.sign[j] < 0 && !now.dead[j];
  if (kind === "class") return (j) => now.group[j] === Number(which) && !now.dead[j];
  if (kind === "dead") return (j) => now.dead[j] === 1;
  if (kind === "sliding") return (j) => now.slid[j] > 0;
  if (kind === "grew") {
    const found = new Set(store.phases.filter((p) => p.kind === "growth")[Number(which) || 0]?.neurons ?? []);
    return found.size ? (j) => found.has(j) : null;
  }
  return null;
}

function back(sheet, run, cx, cy, R) {
  const { ctx } = sheet;
  for (let i = 0; i < run.n && run.d === 2 && run.n <= 24 && run.kind !== "single"; i++) {
    const x = run.xy[2 * i], y = run.xy[2 * i + 1], s = Math.hypot(x, y);
    if (!s) continue;
    const lit = store.datum === i;
    sheet.line(cx + (R * y) / s, cy + (R * x) / s, cx - (R * y) / s, cy - (R * x) / s, lit ? colours.ink : colours.line,
      lit ? 2 : 1, lit ? [] : [3, 4]);
  }
  const log = store.radius === "log", [ax, ay] = free(run), target = R * radius(run, 0); // where a norm of 1 is
  for (const share of [0, 0.5, 1]) {
    const rho = R * (INNER + (1 - INNER) * share);
    sheet.dot(cx, cy, rho, null, share === 1 ? colours.faint : colours.line, 1);
    const value = log ? run.lowest + (run.highest - run.lowest) * share : Math.exp(run.highest) * share;
    if (R < 60) continue;
    if (log) sheet.power("e", powerText(value), cx + rho * ax, cy - rho * ay, { align: "center", scale: 0.86, back: colours.card });
    else sheet.text(g(value, 3), cx + rho * ax, cy - rho * ay, { align: "center", base: "middle", scale: 0.86 });
  }
  for (const aim of run.aims) {
    const [x, y] = aim.direction, s = Math.hypot(x, y);
    if (s < 0.2) continue;
    const long = run.kind === "single" ? target : R;
    sheet.line(cx, cy, cx + (long * x) / s, cy - (long * y) / s, fade(colours.gold, store.group === "aims" ? 1 : 0.8),
      store.group === "aims" ? 4 : 1.6);
  }
  if (run.kind === "single") {
    sheet.dot(cx + target, cy, type.size * 0.3, colours.gold);
    sheet.text("w*", cx + target, cy - type.size * 0.7, { align: "center", colour: colours.theory, math: true, scale: 1.1 });
    return;
  }
  for (let i = 0; i < run.n; i++) {
    const x = run.xy[2 * i], y = run.xy[2 * i + 1], s = Math.hypot(x, y);
    if (!s || run.n > 60) continue;
    mark(ctx, cx + ((R + 7) * x) / s, cy - ((R + 7) * y) / s, Math.atan2(-y, x), run.k ? groupColour(run, run.y[i])
      : signColour(run.y[i]), run.k > 0 || run.y[i] > 0);
  }
  if (run.n <= 12 && !tight(sheet)) labels(sheet, run, cx, cy, R + type.size * 1.4);
}

// Where the labels of the circles hide the least: a direction near which no neuron ends, no extremal direction and no point is.
const PLACES = [-90, 90, -60, -120, 60, 120, -45, -135, 45, 135].map((a) => [Math.cos((a * Math.PI) / 180), Math.sin((a * Math.PI) / 180)]);

function free(run) {
  const last = 2 * (run.F - 1) * run.m;
  let best = PLACES[0], least = Infinity;
  for (const place of PLACES) {
    const near = (x, y, cosine) => x * place[0] + y * place[1] > cosine * Math.hypot(x, y);
    let count = 0;
    for (let j = 0; j < run.m; j++) if (near(run.dir[last + 2 * j], run.dir[last + 2 * j + 1], 0.92)) count++;
    for (const { direction: [x, y] } of run.aims) if (near(x, y, 0.97)) count += 10;
    for (let i = 0; run.d === 2 && i < run.n; i++) if (near(run.xy[2 * i], run.xy[2 * i + 1], 0.98)) count += 2;
    if (count < least) { least = count; best = place; }
  }
  return best;
}

// Points in one direction share a label.
function labels(sheet, run, cx, cy, R) {
  const groups = [];
  for (let i = 0; i < run.n; i++) {
    const x = run.xy[2 * i], y = run.xy[2 * i + 1], s = Math.hypot(x, y);
    if (!s) continue;
    const near = groups.find((k) => Math.hypot(k.x - x / s, k.y - y / s) * R < type.size * 0.8);
    if (near) near.names.push(i + 1); else groups.push({ x: x / s, y: y / s, names: [i + 1] });
  }
  for (const { x, y, names } of groups) {
    const align = x > 0.5 ? "left" : x < -0.5 ? "right" : "center";
    sheet.text(names.join(" "), cx + R * x - 4 * Math.sign(x) * (Math.abs(x) > 0.5 ? 1 : 0), cy - R * y,
      { align, base: "middle", colour: colours.ink, scale: 0.88 });
  }
}

// A triangle for a data point, filled for a positive label and for classes.
function mark(ctx, x, y, angle, colour, full) {
  ctx.fillStyle = ctx.strokeStyle = colour; ctx.lineWidth = 1.6;
  ctx.beginPath();
  for (let k = 0; k < 3; k++) {
    const a = angle + Math.PI + (k * 2 * Math.PI) / 3;
    k ? ctx.lineTo(x + 5 * Math.cos(a), y + 5 * Math.sin(a)) : ctx.moveTo(x + 5 * Math.cos(a), y + 5 * Math.sin(a));
  }
  ctx.closePath();
  if (full) ctx.fill(); else ctx.stroke();
}

// The last stretch of every path.
function trails(sheet, run, cx, cy, R) {
  const { ctx } = sheet, { m } = run, from = run.index("event", Math.max(0, run.pos("event", store.index) - 0.05));
  const first = Math.ceil(from), last = Math.floor(store.index);
  if (last <= first) return;
  for (let c = 0; c < run.groups; c++) {
    ctx.strokeStyle = fade(groupColour(run, c), 0.28);
    ctx.lineWidth = Math.max(1, r * 0.5);
    ctx.beginPath();
    for (let j = 0; j < m; j++) {
      if (run.now.group[j] !== c || run.now.dead[j]) continue;
      for (let k = first; k <= last; k++) {
        const p = k * m + j, rho = R * radius(run, run.log_w[p]);
        const x = cx + rho * run.dir[2 * p], y = cy - rho * run.dir[2 * p + 1];
        k === first ? ctx.moveTo(x, y) : ctx.lineTo(x, y);
      }
      ctx.lineTo(xs[j], ys[j]);
    }
    ctx.stroke();
  }
}

// Descent at the same time, as hollow squares.
function ghosts(sheet, cx, cy, R) {
  const { run, over } = store;
  if (!over || over.m !== run.m) return;
  const now = over.at(over.indexOfLog(logTime(run))), { ctx } = sheet;
  for (let c = 0; c < run.groups; c++) {
    ctx.strokeStyle = groupColour(run, c); ctx.lineWidth = 1.2;
    ctx.beginPath();
    for (let j = 0; j < over.m; j++) {
      if (now.group[j] !== c || now.dead[j]) continue;
      const rho = R * radius(run, now.lw[j]);
      ctx.rect(cx + rho * now.ux[j] - r - 1.5, cy - rho * now.uy[j] - r - 1.5, 2 * r + 3, 2 * r + 3);
    }
    ctx.stroke();
  }
}

export function logTime(run) {
  const k = Math.floor(store.index), u = store.index - k, next = Math.min(k + 1, run.F - 1);
  if (k === 0 && u < 1) return u <= 0 ? -1.7e308 : run.log_t[next] + Math.log(u);
  return run.log_t[k] * (1 - u) + run.log_t[next] * u;
}

export function pick(x, y) {
  let best = -1, near = Math.max(12, 2.5 * r) ** 2;
  for (let j = 0; j < xs.length; j++) {
    const far = (xs[j] - x) ** 2 + (ys[j] - y) ** 2;
    if (far < near) { near = far; best = j; }
  }
  return { neuron: best };
}
