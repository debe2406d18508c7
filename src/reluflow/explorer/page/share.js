// The whole state as text for the address: experiment, moment, clock and view.

import { copy, store } from "./store.js";

export function state() {
  const { run } = store, plain = store.recorded || !store.experiment;
  return {
    v: 1, e: plain ? undefined : copy(store.experiment), p: store.preset ?? undefined, c: store.clock,
    i: run ? Number(run.pos(store.clock, store.index).toPrecision(8)) : 0,
    f: store.focus ?? undefined, o: store.overlay || undefined, s: store.step, b: store.other ?? undefined,
    l: store.logLoss ?? undefined, r: store.radius === "log" ? undefined : store.radius, t: store.theme,
    m: store.more || undefined, z: store.zoom ?? undefined,
  };
}

export function encode(of = state()) {
  const bytes = new TextEncoder().encode(JSON.stringify(of));
  let text = "";
  for (const b of bytes) text += String.fromCharCode(b);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

export function decode(hash) {
  const found = /^#s=([A-Za-z0-9_-]+)$/.exec(hash);
  if (!found) return null;
  try {
    const bytes = Uint8Array.from(atob(found[1].replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const state = JSON.parse(new TextDecoder().decode(bytes));
    return state?.v === 1 && typeof state === "object" ? state : null;
  } catch {
    return null;
  }
}

const table = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const finite = (...values) => values.every((v) => typeof v === "number" && Number.isFinite(v));

// Whether an experiment has the parts that the controls read; whether it can be solved is for the server to say.
export function complete(e) {
  if (!table(e)) return false;
  if (table(e.single)) return finite(e.single.layers, e.single.log_norm, e.single.phi);
  return ["data", "init", "problem", "method"].every((k) => table(e[k])) && typeof e.data.kind === "string"
    && finite(e.init.log_scale, e.init.width) && typeof e.problem.loss === "string"
    && (e.method.kind === "flow" || (e.method.kind === "descent" && finite(e.method.step)))
    && (e.solve === undefined || table(e.solve));
}

// What a link says, put where it belongs. Returns the moment, or null with the state untouched when the link is damaged.
export function restore(state) {
  const recorded = store.presets.some((p) => p.name === state.p && p.recorded);
  if (state.e !== undefined && !complete(state.e)) return null;
  if (state.e === undefined && !recorded && store.presets.length) return null;
  if (state.e) store.experiment = state.e.single ? copy(state.e) : { solve: {}, ...copy(state.e) };
  store.preset = store.presets.some((p) => p.name === state.p) ? state.p : null;
  if (["event", "linear", "log"].includes(state.c)) store.clock = state.c;
  store.focus = typeof state.f === "string" ? state.f : null;
  if (finite(state.s) && state.s > 0) store.step = state.s;
  store.other = finite(state.b) ? state.b : null;
  store.logLoss = typeof state.l === "boolean" ? state.l : null;
  store.radius = state.r === "plain" ? "plain" : "log";
  if (state.t === "light" || state.t === "dark") store.theme = state.t;
  store.more = state.m === true;
  const z = state.z;
  store.zoom = table(z) && [z.x, z.y].every((r) => Array.isArray(r) && finite(...r) && r.length === 2 && r[1] > r[0]) ? z : null;
  store.overlay = state.o === true;
  return finite(state.i) ? Math.max(0, Math.min(1, state.i)) : 0;
}

export function link() {
  return `${location.href.split("#")[0]}#s=${encode()}`;
}
