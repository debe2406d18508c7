// The theorem panel: every result about such a run as a sentence, those that apply first, with their numbers below.

import { el } from "../dom.js";
import { g } from "../format.js";
import { check } from "../api.js";
import { store } from "../store.js";

export const id = "theorems", title = "Theorems", dom = true, wide = true;
export const fits = (run) => run.kind !== "single";
const SEVERAL = "The theorems of the papers are about networks with one output: none is checked on a run with classes.";
export const about = () => (store.run?.k ? [SEVERAL, []] : [
  "Every theorem of the four papers that is about such a run, checked on it. A theorem applies when all its hypotheses hold "
  + "here; its claims are measured in any case. Open a row for the numbers: measured, bound and margin.", []]);
const PAPERS = {
  boursier2022: ["Boursier, Pillaud-Vivien, Flammarion 2022", "https://arxiv.org/abs/2206.00939"],
  min2024: ["Min, Mallada, Vidal 2024", "https://arxiv.org/abs/2307.12851"],
  kou2023: ["Kou, Chen, Gu 2023", "https://arxiv.org/abs/2310.18935"],
  lee2023: ["Lee, Sim, Ye 2023", "https://arxiv.org/abs/2209.13394"],
  extra: ["found with reluflow", null],
};
const SHORT = { boursier2022: "Boursier et al.", min2024: "Min et al.", kou2023: "Kou et al.", lee2023: "Lee et al.", extra: "reluflow" };
const KIND = {
  holds: "holds", "holds within slack": "holds", violated: "violated", unmeasured: "unknown", unfinished: "unknown",
  "consistent so far": "apart", "constant fitted": "apart",
};
const ORDER = ["violated", "holds", "consistent so far", "constant fitted", "unfinished", "unmeasured", "not met", "does not apply"];
const open = new Set();

export const hint = () => {
  if (store.checking) return store.known ? `${store.reports.length} of ${store.known.length} checked, still computing…` : "computing…";
  if (store.failed) return store.failed;
  return store.run?.k ? "about one output, none applies here" : summary();
};

function summary() {
  const count = new Map();
  for (const r of store.reports) if (r.claims) { const [, word] = verdict(r); count.set(word, (count.get(word) ?? 0) + 1); }
  const words = { violated: "violated", holds: "hold", "holds within slack": "hold within slack", "does not apply": "do not apply" };
  return [...count].sort((a, b) => ORDER.indexOf(a[0]) - ORDER.indexOf(b[0])).map(([word, k]) => `${k} ${words[word] ?? word}`).join(", ");
}

// What the panel says in one line, for the bar below the views.
export const line = () => (store.recorded && !store.known ? "" : store.checking ? `Theorems: ${hint()}` : summary()
  ? `Theorems: ${summary()}` : "");

export function verdict(report) {
  const all = report.claims.map((c) => c.verdict);
  if (!report.applies) return ["unknown", "does not apply"];
  if (all.includes("violated")) return /\.assumption/.test(report.name) ? ["unknown", "not met"] : ["violated", "violated"];
  if (all.every((v) => KIND[v] === "unknown")) return ["unknown", all.includes("unfinished") ? "unfinished" : "unmeasured"];
  if (all.some((v) => KIND[v] === "holds")) return ["holds", all.includes("holds within slack") ? "holds within slack" : "holds"];
  return ["apart", all.find((v) => KIND[v] === "apart") ?? "unmeasured"];
}

export function fill(hold) {
  const shown = store.reports.filter((r) => r.claims).sort((a, b) => ORDER.indexOf(verdict(a)[1].replace(" within slack", ""))
    - ORDER.indexOf(verdict(b)[1].replace(" within slack", "")));
  const parts = shown.map(entry);
  if (store.checking || !store.checked) {
    const text = store.checking ? hint() : (store.failed ?? "The checks did not finish.");
    const again = store.checking || store.recorded ? null : el("button", { type: "button", onclick: check }, "Go on");
    parts.unshift(el("p", { class: "empty", role: "status" }, text, " ", again));
  } else if (!parts.length) {
    const text = store.run?.k ? SEVERAL : store.recorded ? "A recorded run is not checked."
      : store.known === null ? "In this copy of the page only the runs of the first seed are checked."
        : "No theorem is about a run like this.";
    parts.push(el("p", { class: "empty" }, text));
  }
  parts.push(...folded("unfinished", "not finished", store.reports.filter((r) => r.unfinished), (r) => r.unfinished));
  parts.push(...folded("missing", "not about a run like this", store.reports.filter((r) => r.missing), (r) => r.missing));
  const top = hold.firstChild?.scrollTop ?? 0;
  hold.replaceChildren(el("div", { class: "scroll", tabIndex: 0, role: "group", "aria-label": "List of theorems" }, ...parts));
  hold.firstChild.scrollTop = top;
}

function folded(name, text, entries, why) {
  if (!entries.length) return [];
  const head = el("summary", {}, el("span", { class: "what" }, `${entries.length} ${text}`));
  const rows = entries.map((m) => el("tr", {}, el("td", {}, m.name), el("td", {}, why(m))));
  return [unfolding(name, head, el("table", {}, ...rows))];
}

function entry(report) {
  const [kind, word] = verdict(report), [paper, result] = report.name.split("."), [authors, href] = PAPERS[paper] ?? [paper, null];
  const head = el("summary", {}, el("span", { class: `tag ${kind}` }, word), el("span", { class: "what" }, sentence(report, result, word)));
  const rows = [];
  const failing = report.hypotheses.filter((h) => !met(h)), holding = report.hypotheses.filter(met);
  for (const [name, claims] of [["hypotheses", [...failing, ...holding]], ["claims", report.claims]]) {
    if (!claims.length) continue;
    const num = (text) => el("td", { class: "num" }, text);
    rows.push(el("tr", { class: "sub" }, el("td", {}, name), num("measured"), num("margin"), el("td")),
      ...claims.map((c) => claim(c, name === "hypotheses" && c.verdict === "violated" ? "not met" : c.verdict)));
  }
  const source = el("p", { class: "source" }, `${nice(result)}, `,
    href ? el("a", { href, target: "_blank", rel: "noreferrer" }, authors) : authors, `. In Python: rf.check("${report.name}", sol)`);
  return unfolding(report.name, head, el("div", {}, source, el("table", {}, ...rows)));
}

const met = (h) => KIND[h.verdict] === "holds";

// The verdict as a sentence; where a theorem does not apply, the hypothesis that fails comes first.
export function sentence(report, result, word) {
  const name = `${nice(result)} (${SHORT[report.name.split(".")[0]] ?? "extra"})`, about = plain(report.title);
  if (word === "does not apply") {
    const h = report.hypotheses.find((x) => !met(x));
    const value = h.verdict === "unmeasured" ? "could not be measured" : asks(h) ? (h.measured ? "yes" : "no")
      : `is ${num(h.measured, h.log)}, needs ${h.relation} ${num(h.bound, h.log)}`;
    return `${name} does not apply: ${said(h)}${asks(h) ? ":" : ""} ${value}. (${about})`;
  }
  if (word === "violated" || word === "not met") {
    const c = report.claims.find((x) => x.verdict === "violated");
    const value = asks(c) ? `: ${c.measured ? "yes" : "no"}` : ` is ${num(c.measured, c.log)}, not ${c.relation} ${num(c.bound, c.log)}`;
    return `${name} is ${word}: ${said(c)}${value}. (${about})`;
  }
  return `${name}: ${about}.`;
}

function unfolding(name, head, inside) {
  const keep = (event) => (event.currentTarget.open ? open.add(name) : open.delete(name));
  return el("details", { class: "law", open: open.has(name), ontoggle: keep, "data-name": name }, head, inside);
}

const plain = (title) => title.replace(/^.*?\][,:]?\s*/, "").replace(/\.$/, "");
const nice = (result) => {
  const text = result.replaceAll("_", " ").replace(/([a-z])(\d)/g, "$1 $2");
  return (text[0].toUpperCase() + text.slice(1)).replace(/ [a-z]$/, (letter) => letter.toUpperCase());
};
const num = (v, log) => (typeof v !== "number" ? String(v) : log ? `e^${g(v, 6)}` : g(v, 6));

// A claim that is a question: its sides are 1 or 0, yes or no.
const YES = " (1: yes)";
const asks = (c) => c.text.endsWith(YES) && typeof c.measured === "number";
const said = (c) => (c.text.endsWith(YES) ? c.text.slice(0, -YES.length) : c.text);

function claim(c, word) {
  const margin = asks(c) ? "" : typeof c.margin === "number" ? g(c.margin, 3) : String(c.margin);
  const both = asks(c) ? (c.measured ? "yes" : "no") : `${num(c.measured, c.log)} ${c.relation} ${num(c.bound, c.log)}`;
  return el("tr", { title: c.note ?? "" }, el("td", {}, said(c)),
    el("td", { class: "num" }, both),
    el("td", { class: "num" }, margin), el("td", { class: KIND[word] ?? "unknown" }, word));
}
