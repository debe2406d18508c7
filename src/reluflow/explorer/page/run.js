// A run as the server sends it: frames of every neuron, and the three ways in which time may run.

const KINDS = { f8: Float64Array, f4: Float32Array, u1: Uint8Array, i1: Int8Array, i2: Int16Array, i4: Int32Array };

export class Run {
  // `plain`: arrays only, such as images.
  constructor(buffer, plain = false) {
    const bytes = new Uint8Array(buffer);
    if (String.fromCharCode(...bytes.subarray(0, 4)) !== "RFX1") throw new Error("This file is not a run of the explorer.");
    const size = new DataView(buffer).getUint32(4, true);
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + size)));
    Object.assign(this, header);
    for (const { name, dtype, shape, offset, unit } of header.arrays) {
      const count = shape.reduce((a, b) => a * b, 1), values = new KINDS[dtype](buffer, 8 + size + offset, count);
      this[name] = unit ? Float32Array.from(values, (v) => v * unit) : values;
    }
    if (plain) return;
    this.log_a ??= this.log_w;
    this.F = header.frames;
    this.classes ??= [];
    this.k = this.classes.length; // 0 with one output
    this.groups = this.k || 2;
    this.mode = this.kind === "single" ? "single" : this.bias ? "line" : this.d === 2 ? "plane" : "space";
    this.clocks = { event: this.event, linear: this.linear(), log: this.logarithmic() };
    this.now = {
      ux: new Float64Array(this.m), uy: new Float64Array(this.m), lw: new Float64Array(this.m), la: new Float64Array(this.m),
      size: new Float64Array(this.m), sign: new Int8Array(this.m), dead: new Uint8Array(this.m), slid: new Uint8Array(this.m), k: -1, u: -1,
      group: new Uint8Array(this.m), head: new Float64Array(this.m * this.k), // of a: its group, and its direction in R^k
    };
    this.ranges();
  }

  linear() {
    const end = this.t[this.F - 1] || 1;
    return this.t.map((t) => Math.min(1, t / end));
  }

  logarithmic() {
    const last = this.log_t[this.F - 1];
    const first = Math.max(this.log_t[Math.min(1, this.F - 1)], last - 60);
    const span = last - first || 1;
    // The first frame is at t = 0; a twentieth of the axis belongs to everything before the first tick.
    return this.log_t.map((v, k) => (k === 0 ? 0 : 0.05 + 0.95 * Math.max(0, Math.min(1, (v - first) / span))));
  }

  ranges() {
    let lo = Infinity, hi = -Infinity;
    for (const v of this.log_w) if (v > -1e30) { if (v < lo) lo = v; if (v > hi) hi = v; }
    this.lowest = lo; this.highest = Math.max(hi, lo + 1);
    let low = Infinity, high = -Infinity;
    for (const v of this.log_loss) if (v > -1e300) { if (v < low) low = v; if (v > high) high = v; }
    this.log_loss_low = low; this.log_loss_high = high;
    let top = 0;
    for (const v of this.norm2) if (v < 1e300 && v > top) top = v;
    this.norm2_top = top;
    this.loss_top = Math.exp(Math.min(high, 700));
  }

  // Position on a clock to a frame index with a fraction, and back.
  index(mode, pos) {
    return invert(this.clocks[mode], pos);
  }

  pos(mode, index) {
    const k = Math.min(Math.floor(index), this.F - 1), next = Math.min(k + 1, this.F - 1), u = index - k;
    return this.clocks[mode][k] * (1 - u) + this.clocks[mode][next] * u;
  }

  indexOfLog(log) {
    if (log <= -1e300) return 0;
    return invert(this.log_t, log, 1);
  }

  // The state at a frame index: between frames, directions turn and logarithms move evenly.
  at(index) {
    const now = this.now, { m, n, F } = this;
    const k = Math.max(0, Math.min(Math.floor(index), F - 1)), next = Math.min(k + 1, F - 1), u = Math.min(1, Math.max(0, index - k));
    if (now.k === k && now.u === u) return now;
    now.k = k; now.u = u;
    const near = u < 0.5 ? k : next;
    for (let j = 0; j < m; j++) {
      const p = k * m + j, q = next * m + j;
      let x = this.dir[2 * p] * (1 - u) + this.dir[2 * q] * u, y = this.dir[2 * p + 1] * (1 - u) + this.dir[2 * q + 1] * u;
      if (this.d <= 2) { const s = Math.hypot(x, y) || 1; x /= s; y /= s; }
      now.ux[j] = x; now.uy[j] = y;
      now.lw[j] = this.log_w[p] * (1 - u) + this.log_w[q] * u;
      now.la[j] = this.log_a[p] * (1 - u) + this.log_a[q] * u;
      now.sign[j] = this.sign[near * m + j];
      now.size[j] = now.sign[j] * Math.exp(now.lw[j] + now.la[j]);
      let on = 0, slid = 0;
      for (let i = 0, at = (near * m + j) * n; i < n; i++, at++) { const b = this.bits[at]; if (b === 1) on++; else if (b === 2) slid++; }
      now.dead[j] = on + slid === 0 && this.slope === 0 ? 1 : 0;
      now.slid[j] = slid;
      now.group[j] = this.group(near, j);
      if (this.k) this.turnHead(now, j, p, q, u);
    }
    return now;
  }

  // The group of a neuron at a frame: a > 0 or a < 0; with classes the one whose output it raises most.
  group(frame, j) {
    const at = frame * this.m + j;
    if (!this.k) return this.sign[at] > 0 ? 0 : 1;
    let best = 0;
    for (let c = 1; c < this.k; c++) if (this.head[at * this.k + c] > this.head[at * this.k + best]) best = c;
    return best;
  }

  turnHead(now, j, p, q, u) {
    const { k, head } = this;
    let size = 0;
    for (let c = 0; c < k; c++) {
      const v = head[p * k + c] * (1 - u) + head[q * k + c] * u;
      now.head[j * k + c] = v;
      size += v * v;
    }
    for (let c = 0; c < k; c++) now.head[j * k + c] /= Math.sqrt(size) || 1;
  }

  near(index) {
    return Math.max(0, Math.min(this.F - 1, Math.round(index)));
  }

  // Where a neuron's pattern of active points puts it: the group whose points are exactly those, "dead" or "".
  cone(frame, j) {
    const at = (frame * this.m + j) * this.n;
    return this.coneOf((i) => this.bits[at + i] === 1);
  }

  coneOf(active) {
    let group = null, none = true;
    for (let i = 0; i < this.n; i++) {
      if (!active(i)) continue;
      const mine = this.k ? this.y[i] : this.y[i] > 0 ? 0 : this.y[i] < 0 ? 1 : -1;
      if (none) group = mine; else if (group !== mine) group = null;
      none = false;
    }
    if (none) return "dead";
    if (group === null || group < 0) return "";
    for (let i = 0; i < this.n; i++) {
      const mine = this.k ? this.y[i] === group : group === 0 ? this.y[i] > 0 : this.y[i] < 0;
      if (mine && !active(i)) return "";
    }
    return group;
  }

  census(frame) {
    const found = { dead: 0, "": 0, slid: 0 };
    for (let c = 0; c < this.groups; c++) found[c] = 0;
    for (let j = 0; j < this.m; j++) {
      found[this.cone(frame, j)]++;
      for (let i = 0, at = (frame * this.m + j) * this.n; i < this.n; i++, at++) if (this.bits[at] === 2) { found.slid++; break; }
    }
    return found;
  }
}

function invert(values, wanted, from = 0) {
  let lo = from, hi = values.length - 1;
  if (hi <= lo || wanted <= values[lo]) return wanted <= values[lo] && from ? 0 : lo;
  if (wanted >= values[hi]) return hi;
  while (hi - lo > 1) {
    const mid = (lo + hi) >> 1;
    if (values[mid] <= wanted) lo = mid; else hi = mid;
  }
  const span = values[hi] - values[lo];
  return lo + (span > 0 ? (wanted - values[lo]) / span : 0);
}
