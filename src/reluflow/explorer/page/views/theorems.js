// The theorem panel: every result that is about this run, its verdict, and how far each claim is from failing.

import { el } from "../dom.js";
import { g } from "../format.js";
import { store } from "../store.js";

export const id = "theorems", title = "Theorems", dom = true;
export const hint = () => (store.judging ? "judging…" : summary());

function summary() {
  const count = {};
  for (const law of store.laws) if (law.claims) { const [, word] = verdict(law); count[word] = (count[word] ?? 0) + 1; }
  return Object.entries(count).map(([word, k]) => `${k} ${word}`).join(", ");
}


const NICE = { boursier2022: "Boursier et al.", min2024: "Min et al.", kou2023: "Kou et al.", lee2023: "Lee et al." };
const KIND = {
  holds: "holds", "holds within slack": "holds", violated: "violated", unmeasured: "unknown", unfinished: "unknown",
  "consistent so far": "apart", "constant fitted": "apart",
};
const open = new Set();

export function fill(hold) {
  const shown = store.laws.filter((law) => law.claims);
  const parts = shown.map(law);
  const missing = store.laws.filter((entry) => entry.missing);
  if (!parts.length) {
    const idle = store.recorded ? "A recorded run is not judged here." : "No theorem is about a run like this.";
    parts.push(el("p", { class: "empty" }, store.judging ? "Judging this run…" : idle));
  }
  if (missing.length) {
    const head = el("summary", {}, el("span", { class: "id" }, `${missing.length} not about this run`),
      el("span", { class: "what" }, "why"));
    const rows = missing.map((m) => el("tr", {}, el("td", {}, m.name), el("td", {}, m.missing)));
    parts.push(unfolding("missing", head, el("table", {}, ...rows)));
  }
  const top = hold.firstChild?.scrollTop ?? 0;
  hold.replaceChildren(el("div", { class: "scroll" }, ...parts));
  hold.firstChild.scrollTop = top;
}

export function verdict(report) {
  const all = report.claims.map((c) => c.verdict);
  if (!report.applies) return all.includes("violated") ? ["apart", "hypotheses and claim fail"] : ["unknown", "hypotheses fail"];
  if (all.includes("violated")) return ["violated", "violated"];
  if (all.every((v) => v === "unmeasured")) return ["unknown", "unmeasured"];
  if (all.some((v) => KIND[v] === "holds")) return ["holds", all.includes("holds within slack") ? "holds within slack" : "holds"];
  return ["apart", all.find((v) => KIND[v] === "apart") ?? "unmeasured"];
}

function law(report) {
  const [kind, word] = verdict(report), [paper, result] = report.name.split(".");
  const about = `${NICE[paper] ?? paper}: ${plain(report.title)}`;
  const head = el("summary", {}, el("span", { class: "id", title: report.name }, nice(result)),
    el("span", { class: "what" }, about), el("span", { class: `tag ${kind}` }, word));
  const rows = [];
  for (const [name, claims] of [["hypotheses", report.hypotheses], ["claims", report.claims]]) {
    if (!claims.length) continue;
    const num = (text) => el("td", { class: "num" }, text);
    rows.push(el("tr", { class: "sub" }, el("td", {}, name), num("measured"), num("margin"), el("td")), ...claims.map(claim));
  }
  return unfolding(report.name, head, el("table", {}, ...rows));
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

function claim(c) {
  const margin = typeof c.margin === "number" ? g(c.margin, 3) : String(c.margin);
  return el("tr", { title: c.note ?? "" }, el("td", {}, c.text),
    el("td", { class: "num" }, `${num(c.measured, c.log)} ${c.relation} ${num(c.bound, c.log)}`),
    el("td", { class: "num" }, margin), el("td", { class: KIND[c.verdict] }, c.verdict));
}
