// Drawing: a canvas that knows its size and sharpness, layers that are drawn once, colours of the theme, axes.

import { g, short, ticks } from "./format.js";

const NAMES = ["paper", "card", "ink", "soft", "faint", "line", "wash", "plus", "minus", "theory", "gold", "dead", "good",
  "class0", "class1", "class2", "class3", "class4", "class5"];
export const colours = {};
export const type = { size: 12, family: "sans-serif", math: "serif" };

export function readTheme() {
  const style = getComputedStyle(document.documentElement);
  for (const name of NAMES) colours[name] = style.getPropertyValue(`--${name}`).trim();
  type.size = parseFloat(style.fontSize) * 0.86;
  type.family = style.getPropertyValue("--font").trim();
  type.math = style.getPropertyValue("--math").trim();
  colours.key = `${colours.paper}${type.size}`;
}

export const signColour = (s) => (s >= 0 ? colours.plus : colours.minus);

// Neurons and points fall into groups: a > 0 and a < 0, or with several outputs the classes. Each has a colour, a shape and a
// dash, so that groups are told apart without colour.
const DASHES = [[], [5, 3], [1.5, 3], [9, 3], [9, 3, 2, 3], [2, 5]];
export const groupColour = (run, c) => (run.k ? colours[`class${c}`] : c === 0 ? colours.plus : colours.minus);
export const groupDash = (c) => DASHES[c];
export const groupOfLabel = (run, y) => (run.k ? y : y >= 0 ? 0 : 1);
export const groupName = (run, c) => (run.k ? `class ${run.classes[c]}` : c === 0 ? "a > 0" : "a < 0");
export const groupLegend = (run) => run.classes.map((name, c) => [`class${c}`, `raises class ${name} most`]);

export class Pad {
  constructor(canvas) {
    this.canvas = canvas;
    this.layers = new Map();
    this.seen = true;
    new ResizeObserver(() => { this.stale = true; this.onseen?.(); }).observe(canvas);
    new IntersectionObserver((entries) => {
      const was = this.seen;
      this.seen = entries.at(-1).isIntersecting;
      if (this.seen && !was) this.onseen?.();
    }).observe(canvas);
    this.stale = true;
  }

  // A frame to draw on, cleared; null where there is nothing to see.
  begin() {
    if (this.stale) {
      const box = this.canvas.getBoundingClientRect();
      this.ratio = Math.min(3, globalThis.devicePixelRatio || 1);
      this.w = Math.round(box.width); this.h = Math.round(box.height);
      this.canvas.width = this.w * this.ratio; this.canvas.height = this.h * this.ratio;
      this.ctx = this.canvas.getContext("2d");
      this.layers.clear();
      this.stale = false;
    }
    if (this.w < 20 || this.h < 20) return null;
    this.ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.ctx.clearRect(0, 0, this.w, this.h);
    return new Sheet(this.ctx, this.w, this.h, this);
  }
}

// What a view draws on: a context with CSS pixels, whether it ends on a screen, in a PNG or in an SVG.
export class Sheet {
  constructor(ctx, w, h, pad = null) {
    Object.assign(this, { ctx, w, h, pad });
    ctx.lineJoin = "round";
    ctx.lineCap = "round";
  }

  // What does not change from frame to frame is drawn once for each key.
  layer(name, key, draw) {
    if (!this.pad) return draw(this);
    const { layers, ratio } = this.pad;
    let kept = layers.get(name);
    if (kept?.key !== key) {
      const canvas = kept?.canvas ?? document.createElement("canvas");
      canvas.width = this.w * ratio; canvas.height = this.h * ratio;
      const ctx = canvas.getContext("2d");
      ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
      draw(new Sheet(ctx, this.w, this.h));
      layers.set(name, (kept = { key, canvas }));
    }
    this.ctx.drawImage(kept.canvas, 0, 0, this.w, this.h);
  }

  font(scale = 1, weight = 400, family = type.family, style = "normal") {
    this.ctx.font = `${style} ${weight} ${(type.size * scale).toFixed(1)}px ${family}`;
  }

  text(text, x, y, { colour = colours.soft, align = "left", base = "alphabetic", scale = 0.92, weight = 400, math = false } = {}) {
    this.font(scale, weight, math ? type.math : type.family, math ? "italic" : "normal");
    this.ctx.fillStyle = colour;
    this.ctx.textAlign = align;
    this.ctx.textBaseline = base;
    this.ctx.fillText(text, x, y);
  }

  // base to the power of up, middle of the line at y.
  power(base, up, x, y, { align = "left", colour = colours.soft, scale = 0.92, back = null } = {}) {
    const one = type.size * scale, up1 = one * 0.8, text = up.replace("-", "−");
    const wide = base.length * one * 0.62 + text.length * up1 * 0.62;
    const from = align === "right" ? x - wide : align === "center" ? x - wide / 2 : x;
    if (back) { this.ctx.fillStyle = back; this.ctx.fillRect(from - 2, y - one * 0.62, wide + 4, one * 1.24); }
    this.text(base, from, y + one * 0.12, { base: "middle", colour, scale });
    this.text(text, from + base.length * one * 0.64, y - one * 0.3, { base: "middle", colour, scale: scale * 0.8 });
  }

  line(x1, y1, x2, y2, colour = colours.line, width = 1, dash = []) {
    const { ctx } = this;
    ctx.strokeStyle = colour; ctx.lineWidth = width; ctx.setLineDash(dash);
    ctx.beginPath(); ctx.moveTo(x1, y1); ctx.lineTo(x2, y2); ctx.stroke();
    ctx.setLineDash([]);
  }

  path(xs, ys, colour, width = 1.5, dash = []) {
    const { ctx } = this;
    ctx.strokeStyle = colour; ctx.lineWidth = width; ctx.setLineDash(dash);
    ctx.beginPath();
    for (let k = 0; k < xs.length; k++) k ? ctx.lineTo(xs[k], ys[k]) : ctx.moveTo(xs[k], ys[k]);
    ctx.stroke();
    ctx.setLineDash([]);
  }

  dot(x, y, r, fill, stroke = null, width = 1.5) {
    const { ctx } = this;
    ctx.beginPath(); ctx.arc(x, y, r, 0, 2 * Math.PI);
    if (fill) { ctx.fillStyle = fill; ctx.fill(); }
    if (stroke) { ctx.strokeStyle = stroke; ctx.lineWidth = width; ctx.stroke(); }
  }

  // The same as diamonds: the sign that must be told apart from dots without colour.
  diamonds(xs, ys, r, which, fill) {
    const { ctx } = this, q = 1.3 * r;
    ctx.fillStyle = fill;
    ctx.beginPath();
    for (const j of which) {
      ctx.moveTo(xs[j] + q, ys[j]); ctx.lineTo(xs[j], ys[j] + q); ctx.lineTo(xs[j] - q, ys[j]); ctx.lineTo(xs[j], ys[j] - q);
      ctx.closePath();
    }
    ctx.fill();
  }

  // Marks of a group: dots, diamonds, then triangles, squares, pentagons, hexagons.
  marks(xs, ys, r, which, fill, group) {
    if (group === 0) { this.dots(xs, ys, r, which, fill); return; }
    if (group === 1) { this.diamonds(xs, ys, r, which, fill); return; }
    const { ctx } = this, sides = group + 1, q = 1.35 * r, from = sides === 4 ? Math.PI / 4 : -Math.PI / 2;
    ctx.fillStyle = fill;
    ctx.beginPath();
    for (const j of which) {
      for (let k = 0; k < sides; k++) {
        const a = from + (2 * Math.PI * k) / sides, x = xs[j] + q * Math.cos(a), y = ys[j] + q * Math.sin(a);
        k ? ctx.lineTo(x, y) : ctx.moveTo(x, y);
      }
      ctx.closePath();
    }
    ctx.fill();
  }

  // Many dots of one colour in one go.
  dots(xs, ys, r, which, fill) {
    const { ctx } = this;
    ctx.fillStyle = fill;
    ctx.beginPath();
    for (const j of which) { ctx.moveTo(xs[j] + r, ys[j]); ctx.arc(xs[j], ys[j], r, 0, 2 * Math.PI); }
    ctx.fill();
  }
}

export const fade = (colour, alpha) => {
  const hex = colour.replace("#", "");
  const [r, g, b] = [0, 2, 4].map((k) => parseInt(hex.slice(k, k + 2), 16));
  return `rgba(${r}, ${g}, ${b}, ${alpha})`;
};

export const rgb = (colour) => [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));

// A rectangle of data coordinates in a sheet, with its axes.
export class Box {
  constructor(sheet, { left, right, top, bottom, x, y }) {
    Object.assign(this, { sheet, left, top, x, y, right: sheet.w - right, bottom: sheet.h - bottom });
  }
  px = (v) => this.left + ((v - this.x[0]) / (this.x[1] - this.x[0])) * (this.right - this.left);
  py = (v) => this.bottom - ((v - this.y[0]) / (this.y[1] - this.y[0])) * (this.bottom - this.top);
  vx = (p) => this.x[0] + ((p - this.left) / (this.right - this.left)) * (this.x[1] - this.x[0]);
  vy = (p) => this.y[0] + ((this.bottom - p) / (this.bottom - this.top)) * (this.y[1] - this.y[0]);

  axisY(label = (v) => short(v), count = 4) {
    const { sheet } = this;
    for (const v of ticks(this.y[0], this.y[1], count)) {
      const y = this.py(v);
      sheet.line(this.left, y, this.right, y, colours.line, 1);
      sheet.text(label(v), this.left - 7, y, { align: "right", base: "middle" });
    }
  }

  // Powers of ten, for an axis of natural logarithms.
  axisDecades(most = 5) {
    const low = this.y[0] / Math.LN10, high = this.y[1] / Math.LN10, step = Math.max(1, Math.ceil((high - low) / most));
    for (let d = Math.ceil(low / step) * step; d <= high; d += step) {
      const y = this.py(d * Math.LN10);
      this.sheet.line(this.left, y, this.right, y, colours.line, 1);
      if (Math.abs(d) < 3) this.sheet.text(short(10 ** d), this.left - 7, y, { align: "right", base: "middle" });
      else this.sheet.power("10", String(d), this.left - 7, y, { align: "right" });
    }
  }

  // Natural logarithms as powers of e.
  axisPowers(count = 4) {
    for (const v of ticks(this.y[0], this.y[1], count)) {
      const y = this.py(v);
      this.sheet.line(this.left, y, this.right, y, colours.line, 1);
      this.sheet.power("e", powerText(v), this.left - 7, y, { align: "right" });
    }
  }

  axisX(count = 5, label = (v) => short(v)) {
    const { sheet } = this;
    for (const v of ticks(this.x[0], this.x[1], count)) {
      const x = this.px(v);
      sheet.line(x, this.bottom, x, this.bottom + 4, colours.faint, 1);
      sheet.text(label(v), x, this.bottom + 7, { align: "center", base: "top" });
    }
    sheet.line(this.left, this.bottom, this.right, this.bottom, colours.faint, 1);
  }

  // Time on the x axis, as the clock runs.
  axisTime(run, clock) {
    const { sheet } = this;
    sheet.line(this.left, this.bottom, this.right, this.bottom, colours.faint, 1);
    const room = Math.max(2, Math.floor((this.right - this.left) / (type.size * 7)));
    let last = -1e9;
    for (const [pos, text] of timeTicks(run, clock, room)) {
      const x = this.px(pos);
      const half = text.length * type.size * 0.27;
      if (x - half < last + 8) continue;
      last = x + half;
      sheet.line(x, this.bottom, x, this.bottom + 4, colours.faint, 1);
      sheet.text(text, Math.min(x, sheet.w - half - 3), this.bottom + 7, { align: "center", base: "top" });
    }
  }
}

export const powerText = (v) => (Math.abs(v) < 1e-9 ? "0" : String(Number(v.toPrecision(3))));

function timeTicks(run, clock, room) {
  const end = run.t[run.F - 1];
  if (clock === "linear") return ticks(0, end, room).map((t) => [t / end, short(t)]);
  const found = [[0, "0"]];
  if (clock === "log") {
    const low = run.log_t[run.index("log", 0.0501) | 0] / Math.LN10, high = run.log_t[run.F - 1] / Math.LN10;
    const step = Math.max(1, Math.ceil((high - low) / Math.max(1, room - 1)));
    for (let d = Math.ceil(low); d <= high + 1e-9; d += step) {
      const pos = run.pos("log", run.indexOfLog(d * Math.LN10));
      if (pos > 0.051) found.push([pos, Math.abs(d) < 4 ? short(10 ** d) : `1e${d}`]);
    }
    return found;
  }
  for (let k = 1; k <= room; k++) {
    const index = run.index("event", k / room), log = run.log_t[run.near(index)];
    found.push([run.pos("event", run.near(index)), log < 700 ? short(Number(Math.exp(log).toPrecision(3))) : `e^${short(log)}`]);
  }
  return found;
}
