// The kinds of controls: a slider with its value, a number, a choice; each with a symbol and one line of explanation.

import { changed } from "./api.js";
import { el, segments } from "./dom.js";
import { g } from "./format.js";

let refreshers = [];
export const forget = () => { refreshers = []; };
export const refresh = () => refreshers.forEach((again) => again());
export const onRefresh = (again) => refreshers.push(again);

export function field(sym, name, text, head, below, more = {}) {
  const title = [el("span", { class: "sym" }, sym), el("span", { class: "name" }, name), head];
  return el("div", { class: "field", ...more }, el("div", { class: "head" }, ...title.filter(Boolean)), below, el("p", {}, text));
}

const typedField = (name, id, placeholder = "") =>
  el("input", { type: "text", "aria-label": `${name}, value`, id: `v-${id}`, autocomplete: "off", placeholder });

// `to` takes the slider's place in [0, 1] to a value and `from` back; `after` may take over what a change does.
export function slider(sym, name, text, { get, set, to, from, id, show = (v) => g(v), read = Number, round = (v) => v, after = null }) {
  const range = el("input", { type: "range", min: 0, max: 1, step: "any", "aria-label": name, id: `c-${id}` });
  const typed = typedField(name, id);
  const put = (value, moving) => {
    if (!Number.isFinite(value)) { refresh(); return; }
    set(value);
    refresh();
    if (!after?.(moving)) changed(moving);
  };
  const held = () => round(to(Number(range.value)));
  range.addEventListener("input", () => put(held(), true));
  range.addEventListener("change", () => put(held(), false));
  typed.addEventListener("change", () => put(read(typed.value.trim()), false));
  onRefresh(() => {
    // The hand on the slider decides where it is, unless the value is another.
    const own = document.activeElement === range && Math.abs(held() - get()) <= 1e-9 * Math.abs(get());
    if (!own) range.value = Math.max(0, Math.min(1, from(get())));
    typed.value = show(get());
  });
  return field(sym, name, text, typed, range);
}

export function number(sym, name, text, id, get, set) {
  const typed = typedField(name, id, "auto");
  typed.addEventListener("change", () => {
    const value = typed.value.trim() === "" ? null : Number(typed.value);
    if (value === null || value > 0) { set(value); changed(false); }
    refresh();
  });
  onRefresh(() => { typed.value = get() === undefined ? "" : g(get()); });
  return field(sym, name, text, typed, null);
}

// `quiet`: the choice itself says what happens next; `off`: when it cannot be made.
export function choice(name, text, options, get, set, { off = null, quiet = false } = {}) {
  const place = el("div");
  onRefresh(() => {
    const bar = segments(options, get(), (value) => { set(value); refresh(); if (!quiet) changed(false); });
    if (off?.()) for (const button of bar.children) button.disabled = true;
    place.replaceChildren(bar);
  });
  return field("", name, text, null, place, { "data-choice": name });
}
