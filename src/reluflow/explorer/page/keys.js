// The keyboard.

import { $, el } from "./dom.js";
import { closeAbout, enlarge, VIEWS, visible } from "./cards.js";
import { closing } from "./export.js";
import { seek, stepBy, stop, toggle } from "./player.js";
import { store, tell } from "./store.js";
import { zoom } from "./views/learned.js";

const TABLE = [
  ["space", "play or pause"], ["← →", "one frame back or forward; with shift ten"], ["home, end", "start and end"],
  ["1 … 9", "enlarge a view; esc goes back"], ["m", "more or fewer views"], ["c", "next clock: events, linear, log"],
  ["[ ]", "smaller or larger scale"], ["+ − 0", "zoom the learned function; everything"],
  ["d", "descent over the flow"], ["ctrl z, ctrl y", "undo, redo"], ["s", "copy a link"], ["t", "light or dark"], ["p", "projector"],
  ["g", "stories"], ["tab", "reaches every control, data point and neuron; arrows move them"], ["?", "this list"],
];

export function setup(actions) {
  const box = $("keys");
  const rows = TABLE.map(([key, text]) => el("tr", {}, el("td", {}, el("kbd", {}, key)), el("td", {}, text)));
  box.append(el("h2", { id: "keys-title" }, "Keys"), el("table", {}, ...rows), el("form", { method: "dialog", class: "row" }, el("button",
    {}, "Close")));
  $("help").addEventListener("click", () => box.showModal());
  document.addEventListener("keydown", (event) => {
    const { target, key } = event;
    if (document.querySelector("dialog[open]")) return;
    if ((event.ctrlKey || event.metaKey) && (key === "z" || key === "y") && !target.matches('input[type="text"]')) {
      event.preventDefault();
      if (key === "y" || event.shiftKey) actions.redo(); else actions.undo();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (key === "Escape") { if (!closing() && !closeAbout() && !actions.closeSheet()) { actions.endStory(); enlarge(null); } return; }
    if (target.matches('input[type="text"], select, textarea')) return;
    const ranged = target.matches('input[type="range"]'), pressed = target.matches("button, summary, a");
    const hit = () => event.preventDefault();
    if (key === " " && !pressed) { hit(); toggle(); }
    else if (key.startsWith("Arrow") && (ranged || target.closest(".scroll")) && target.id !== "time") return;
    else if (key === "ArrowLeft" || key === "ArrowRight") { hit(); stepBy((key === "ArrowLeft" ? -1 : 1) * (event.shiftKey ? 10 : 1)); }
    else if ((key === "Home" || key === "End") && (!ranged || target.id === "time")) { hit(); stop(); seek(key === "Home" ? 0 : 1); }
    else if (/^[1-9]$/.test(key)) nth(Number(key) - 1);
    else if (key === "c") { store.clock = { event: "linear", linear: "log", log: "event" }[store.clock]; tell("clock"); tell("index"); }
    else if (key === "[" || key === "]") actions.scale(key === "[" ? 1 : -1);
    else if (key === "+" || key === "=" || key === "-") { zoom(key === "-" ? 1 / 0.7 : 0.7); tell("zoom"); tell("draw"); }
    else if (key === "0") { store.zoom = null; tell("zoom"); tell("draw"); }
    else if (key === "m") { store.more = !store.more; tell("more"); }
    else if (key === "?") box.showModal();
    else actions[{ d: "overlay", s: "share", t: "theme", p: "projector", g: "stories" }[key]]?.();
  });
}

// The n-th of the views that fit this run, whether shown now or not.
function nth(k) {
  if (store.focus) { const was = store.focus; enlarge(null); if (list()[k]?.id === was) return; }
  if (list()[k]) enlarge(list()[k].id);
}

const list = () => VIEWS.filter((v) => store.run && (!v.fits || v.fits(store.run)) && (visible(v) || !store.only));
