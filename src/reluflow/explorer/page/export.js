// Taking things along: pictures of what is on the page, the experiment, the data.

import { $, el } from "./dom.js";
import { note, toml } from "./api.js";
import { csvText } from "./edit.js";
import { g } from "./format.js";
import { encodeGif } from "./gif.js";
import { isStatic } from "./backend.js";
import { Sheet, colours, type } from "./pad.js";
import { store } from "./store.js";
import { Svg } from "./svg.js";
import { cards } from "./cards.js";

const LIST = [
  ["png", "PNG", "the views as they are", png], ["svg", "SVG", "the same, sharp at any size", svg],
  ["gif", "GIF", "the whole run, played once", gif],
  ["toml", "TOML", "the experiment, for reluflow run", experiment], ["csv", "CSV", "the data points", data],
];

export function setup() {
  const list = $("export-list"), button = $("export");
  const close = () => { list.hidden = true; button.setAttribute("aria-expanded", "false"); };
  list.append(...LIST.map(([key, name, text, does]) => {
    const take = async () => {
      close();
      try { await does(); } catch (error) { note(error.message); }
    };
    return el("button", { type: "button", id: `export-${key}`, onclick: take }, name, el("small", {}, text));
  }));
  button.addEventListener("click", (event) => {
    event.stopPropagation();
    list.hidden = !list.hidden;
    button.setAttribute("aria-expanded", String(!list.hidden));
  });
  document.addEventListener("click", close);
  closing = () => { const open = !list.hidden; close(); if (open) button.focus(); return open; };
}

// Closes the menu; whether it was open.
export let closing = () => false;
const moment = () => { const { run } = store, k = run.near(store.index);
  return `t = ${run.log_t[k] < 700 ? g(run.t[k], 4) : `e^${g(run.log_t[k], 4)}`}`; };

export function save(name, content, kind) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: kind }));
  const a = el("a", { href: url, download: name });
  document.body.append(a); a.click(); a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const base = () => `reluflow-${store.preset ?? "points"}`;

// The visible canvas views where they stand, one enlarged alone or all of them.
function layout() {
  const shown = cards.filter((c) => c.pad && !c.node.hidden);
  const origin = $("views").getBoundingClientRect(), top = $("views").scrollTop;
  const boxes = shown.map((c) => {
    const b = c.node.getBoundingClientRect(), h = c.pad.canvas.getBoundingClientRect();
    const inner = { ix: h.left - b.left, iy: h.top - b.top, iw: h.width, ih: h.height };
    return { ...c, x: b.left - origin.left, y: b.top - origin.top + top, w: b.width, h: b.height, ...inner };
  });
  const far = (edge) => Math.ceil(Math.max(...boxes.map(edge))) + 12;
  return { boxes, w: far((b) => b.x + b.w), h: far((b) => b.y + b.h) };
}

function paint(ctx, { boxes, w, h }, move) {
  ctx.fillStyle = colours.paper;
  ctx.fillRect(0, 0, w, h);
  for (const b of boxes) {
    ctx.fillStyle = colours.card; ctx.fillRect(b.x, b.y, b.w, b.h);
    ctx.strokeStyle = colours.line; ctx.lineWidth = 1; ctx.strokeRect(b.x + 0.5, b.y + 0.5, b.w - 1, b.h - 1);
    new Sheet(ctx, w, h).text(b.name(), b.x + type.size, b.y + type.size * 1.9, { colour: colours.ink, weight: 620, scale: 1.12 });
    move(b, (inner) => b.view.draw(new Sheet(inner, b.iw, b.ih)));
  }
  const last = boxes[0]; // every picture says which moment it shows
  new Sheet(ctx, w, h).text(moment(), last.x + last.w - type.size, last.y + type.size * 1.9, { align: "right", colour: colours.ink });
}

function onCanvas(scale, plan = layout()) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(plan.w * scale); canvas.height = Math.round(plan.h * scale);
  const ctx = canvas.getContext("2d", { willReadFrequently: true });
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  paint(ctx, plan, (b, draw) => {
    ctx.save();
    ctx.beginPath(); ctx.rect(b.x + b.ix, b.y + b.iy, b.iw, b.ih); ctx.clip();
    ctx.setTransform(scale, 0, 0, scale, scale * (b.x + b.ix), scale * (b.y + b.iy));
    draw(ctx);
    ctx.restore();
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
  });
  return canvas;
}

async function png() {
  const canvas = onCanvas(2);
  save(`${base()}.png`, await new Promise((done) => canvas.toBlob(done, "image/png")));
}

async function svg() {
  const plan = layout(), out = new Svg();
  paint(out, plan, (b, draw) => {
    const inner = new Svg();
    draw(inner);
    out.parts.push(`<svg x="${b.x + b.ix}" y="${b.y + b.iy}" width="${b.iw}" height="${b.ih}">${inner.text()}</svg>`);
  });
  const size = `width="${plan.w}" height="${plan.h}" viewBox="0 0 ${plan.w} ${plan.h}"`;
  save(`${base()}.svg`, `<svg xmlns="http://www.w3.org/2000/svg" ${size}>\n${out.text()}\n</svg>\n`, "image/svg+xml");
}

const GIF_FRAMES = 72, GIF_WIDTH = 900;
async function gif() {
  const plan = layout(), scale = Math.min(1, GIF_WIDTH / plan.w), was = store.index, frames = [];
  note("Drawing the GIF…");
  for (let k = 0; k < GIF_FRAMES; k++) {
    store.index = store.run.index(store.clock, k / (GIF_FRAMES - 1));
    const canvas = onCanvas(scale, plan);
    frames.push(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height));
    if (k % 8 === 0) await new Promise((done) => setTimeout(done));
  }
  store.index = was;
  save(`${base()}.gif`, encodeGif(frames, 7), "image/gif");
}

async function experiment() {
  if (store.recorded || isStatic() || store.experiment?.single) {
    note("Only `reluflow explore` writes experiments of networks; this run has none to export.");
    return;
  }
  save(`${base()}.toml`, await toml(), "application/toml");
}

async function data() {
  save(`${base()}.csv`, csvText(store.run), "text/csv");
}
