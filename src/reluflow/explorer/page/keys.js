// The keyboard.

import { $, el } from "./dom.js";
import { VIEWS, enlarge } from "./cards.js";
import { seek, stepBy, stop, toggle } from "./player.js";
import { store, tell } from "./store.js";

const TABLE = [
  ["space", "play or pause"], ["← →", "one frame back or forth; with shift ten"], ["home, end", "start and end"],
  ["1 … 8", "enlarge a view; esc back"], ["c", "next clock: events, linear, log"], ["[ ]", "smaller or larger scale"],
  ["d", "lay descent over the flow"], ["s", "copy a link"], ["t", "light or dark"], ["p", "projector"],
  ["g", "guided tour"], ["?", "this list"],
];

export function setup(actions) {
  const box = $("keys");
  const rows = TABLE.map(([key, text]) => el("tr", {}, el("td", {}, el("kbd", {}, key)), el("td", {}, text)));
  box.append(el("h2", {}, "Keys"), el("table", {}, ...rows), el("form", { method: "dialog", class: "row" }, el("button", {}, "Close")));
  $("help").addEventListener("click", () => box.showModal());
  document.addEventListener("keydown", (event) => {
    const { target, key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || box.open) return;
    if (target.matches('input[type="text"], select, textarea')) return;
    const ranged = target.matches('input[type="range"]'), pressed = target.matches("button, summary");
    const hit = () => event.preventDefault();
    if (key === " " && !pressed) { hit(); toggle(); }
    else if (key.startsWith("Arrow") && ranged && target.id !== "time") return;
    else if (key === "ArrowLeft" || key === "ArrowRight") { hit(); stepBy((key === "ArrowLeft" ? -1 : 1) * (event.shiftKey ? 10 : 1)); }
    else if ((key === "Home" || key === "End") && (!ranged || target.id === "time")) { hit(); stop(); seek(key === "Home" ? 0 : 1); }
    else if (/^[1-8]$/.test(key)) enlarge(store.focus === VIEWS[key - 1].id ? null : VIEWS[key - 1].id);
    else if (key === "Escape") { actions.tourEnd(); enlarge(null); }
    else if (key === "c") { store.clock = { event: "linear", linear: "log", log: "event" }[store.clock]; tell("clock"); tell("index"); }
    else if (key === "[" || key === "]") actions.scale(key === "[" ? 1 : -1);
    else if (key === "?") box.showModal();
    else actions[{ d: "overlay", s: "share", t: "theme", p: "projector", g: "tour" }[key]]?.();
  });
}
