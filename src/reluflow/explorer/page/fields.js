// The kinds of controls: a slider with its value, a number, a choice; each with a symbol and one line of explanation.

import { changed, note, refuse } from "./api.js";
import { available } from "./backend.js";
import { el, segments } from "./dom.js";
import { g } from "./format.js";

let refreshers = [];
export const forget = () => { refreshers = []; };
export const refresh = () => refreshers.forEach((again) => again());
export const onRefresh = (again) => refreshers.push(again);

export function field(sym, name, text, head, below, more = {}) {
  const title = [el("span", { class: "sym", "aria-hidden": "true" }, sym), el("span", { class: "name" }, name), head];
  const above = el("div", { class: "head" }, ...title.filter(Boolean));
  return el("div", { class: "field", "data-name": name, ...more }, above, below, el("p", {}, text));
}

// As it was meant: with any minus sign.
const plain = (text) => text.trim().replaceAll("−", "-");

const typedField = (name, id, placeholder = "") =>
  el("input", { type: "text", "aria-label": `${name}, value`, id: `v-${id}`, autocomplete: "off", placeholder });

// `to` takes the slider's place in [0, 1] to a value and `from` back; `after` may take over what a change does. `path` is the
// place of the value in the experiment: a static copy of the page offers the values it has runs for.
export function slider(sym, name, text, { get, set, to, from, id, path, show = (v) => g(v), read = Number, round = (v) => v,
  after = null }) {
  const range = el("input", { type: "range", min: 0, max: 1, step: "any", "aria-label": name, id: `c-${id}` });
  const typed = typedField(name, id);
  const kept = () => (path ? available(path)?.map((v) => v ?? 0).sort((a, b) => from(a) - from(b)) ?? null : null);
  const put = (value, moving) => {
    if (!Number.isFinite(value)) { refuse(`${name} must be a number.`); refresh(); return; }
    set(value);
    refresh();
    if (!after?.(moving)) changed(moving);
  };
  const held = () => { const list = kept(); return list ? list[Number(range.value)] : round(to(Number(range.value))); };
  range.addEventListener("input", () => put(held(), true));
  range.addEventListener("change", () => put(held(), false));
  typed.addEventListener("change", () => {
    const list = kept(), text = plain(typed.value);
    if (text === "") { refresh(); return; }
    const wanted = read(text);
    put(list && Number.isFinite(wanted) ? list.reduce((a, b) => (Math.abs(from(b) - from(wanted)) < Math.abs(from(a) - from(wanted)) ? b
      : a)) : wanted, false);
    if (Number.isFinite(wanted) && Math.abs(get() - wanted) > 1e-9 * Math.abs(wanted)) note(`${name} cannot be ${text} here: it is `
      + `${show(get())} now.`);
  });
  onRefresh(() => {
    const list = kept();
    if (list) {
      Object.assign(range, { max: Math.max(0, list.length - 1), step: 1 });
      range.value = list.findIndex((v) => Math.abs(from(v) - from(get())) < 1e-9);
      range.disabled = typed.disabled = list.length < 2;
    } else {
      // A slider that is being dragged stays where it is, unless its value was changed elsewhere.
      const own = document.activeElement === range && Math.abs(held() - get()) <= 1e-9 * Math.abs(get());
      if (!own) range.value = Math.max(0, Math.min(1, from(get())));
    }
    typed.value = show(get());
    range.setAttribute("aria-valuetext", show(get()));
  });
  return field(sym, name, text, typed, range);
}

export function number(sym, name, text, id, get, set, path = null) {
  const typed = typedField(name, id, "auto");
  typed.disabled = Boolean(path && available(path));
  typed.addEventListener("change", () => {
    const text = plain(typed.value), value = text === "" ? null : Number(text);
    if (value === null || value > 0) { set(value); changed(false); } else refuse(`${name} must be a positive number.`);
    refresh();
  });
  onRefresh(() => { typed.value = get() === undefined ? "" : g(get()); });
  return field(sym, name, text, typed, null);
}

// `quiet`: the choice itself says what happens next; `off`: when it cannot be made.
export function choice(name, text, options, get, set, { off = null, quiet = false, path = null } = {}) {
  const place = el("div");
  onRefresh(() => {
    const bar = segments(options, get(), (value) => { set(value); refresh(); if (!quiet) changed(false); }, name), list = path
      ? available(path) : null;
    for (const button of bar.children) {
      const mine = options.find(([value]) => String(value) === button.dataset.value)[0];
      if (off?.() || (list && mine !== get() && !list.includes(mine))) button.disabled = true;
    }
    place.replaceChildren(bar);
  });
  return field("", name, text, null, place, { "data-choice": name });
}
