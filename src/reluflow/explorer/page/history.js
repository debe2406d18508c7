// Nothing is lost: every change goes into the address and into the browser's storage, and can be undone.

import { changed, note } from "./api.js";
import { encode, state } from "./share.js";
import { copy, on, store, tell } from "./store.js";

const PLACE = "reluflow-explorer", LONGEST = 30_000, WAIT = 250, DEEPEST = 100;
let past = [], future = [], now = null, timer = 0, travelling = false;
let own = null; // in a story: what was before it

const snapshot = () => JSON.stringify({ experiment: store.experiment, preset: store.preset, mode: store.mode });

export function setup() {
  on("accepted", () => {
    const next = snapshot();
    if (now !== null && next !== now && !travelling) {
      past.push(now);
      if (past.length > DEEPEST) past.shift();
      future = [];
    }
    now = next;
    travelling = false;
    tell("history");
  });
  on("run accepted index clock focus over draw more zoom theme", later);
  addEventListener("pagehide", save);
}

// A story shows its own experiments: what is undone in one are the reader's changes to the step on the screen.
export function enter() { save(); own = { now, future, floor: past.length }; future = []; tell("history"); }

export function step() { past.length = own.floor; future = []; tell("history"); }

// The next experiment that is accepted is not a change of the reader's.
export function quiet() { travelling = true; }

export function leave() {
  past.length = own.floor;
  ({ now, future } = own);
  own = null;
  travelling = false; // a step whose run never came
  tell("history");
}

export const can = () => ({ undo: past.length > (own?.floor ?? 0), redo: future.length > 0 });

export function undo() { travel(past, future); }
export function redo() { travel(future, past); }

function travel(from, to) {
  if (from.length <= (from === past && own ? own.floor : 0) || !store.live) return;
  to.push(now);
  now = from.pop();
  travelling = true;
  Object.assign(store, JSON.parse(now), { recorded: false, tool: "move", zoom: null });
  tell("controls");
  tell("history");
  changed(false);
}

function later() {
  clearTimeout(timer);
  timer = setTimeout(save, WAIT);
}

// During a story the reader's own experiment stays in the address and in the storage.
function save() {
  clearTimeout(timer);
  if (!store.run || store.pending || store.run.draft || store.only || !store.keeps || own) return;
  const text = encode(state());
  if (text.length < LONGEST) history.replaceState(null, "", `#s=${text}`);
  try { localStorage.setItem(PLACE, text); } catch { /* storage may be switched off */ }
}

// What was on the screen when the page was last left, for a visit without a link.
export function last() {
  try { return localStorage.getItem(PLACE); } catch { return null; }
}

export function offer(open) {
  const text = last();
  if (text) note("You were here before.", { text: "Continue where you stopped", does: () => open(text) });
}

export const experiment = () => copy(store.experiment);
