// The whole state in the address: experiment, moment, clock and view.

import { copy, store } from "./store.js";

export function encode() {
  const { run } = store;
  const state = {
    v: 1, e: store.recorded ? undefined : copy(store.experiment), p: store.preset ?? undefined, c: store.clock,
    i: run ? Number(run.pos(store.clock, store.index).toPrecision(8)) : 0,
    f: store.focus ?? undefined, o: store.overlay || undefined, s: store.step,
    l: store.logLoss ?? undefined, r: store.radius === "log" ? undefined : store.radius, t: store.theme,
  };
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
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

// What a link says, put where it belongs; anything odd is left alone, and the server checks the experiment.
export function restore(state) {
  const tables = (value) => value && typeof value === "object" &&
    ["data", "init", "problem", "method"].every((k) => value[k] && typeof value[k] === "object");
  if (tables(state.e)) { store.experiment = { solve: {}, ...copy(state.e) }; store.preset = typeof state.p === "string" ? state.p : null; }
  else if (store.presets.some((p) => p.name === state.p && p.recorded)) store.preset = state.p;
  if (["event", "linear", "log"].includes(state.c)) store.clock = state.c;
  if (typeof state.f === "string") store.focus = state.f;
  if (typeof state.s === "number" && state.s > 0) store.step = state.s;
  if (typeof state.l === "boolean") store.logLoss = state.l;
  if (state.r === "plain") store.radius = "plain";
  if (state.t === "light" || state.t === "dark") store.theme = state.t;
  store.overlay = state.o === true;
  return typeof state.i === "number" ? Math.max(0, Math.min(1, state.i)) : 0;
}

export function link() {
  return `${location.origin}${location.pathname}#s=${encode()}`;
}
