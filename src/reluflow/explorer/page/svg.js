// The part of a 2-D canvas context that views use, written down as SVG.

const esc = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
const n = (v) => String(Math.round(v * 100) / 100);
let clips = 0;

export class Svg {
  constructor() {
    this.parts = []; this.d = ""; this.stack = []; this.open = 0;
    Object.assign(this, { fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, font: "12px sans-serif", textAlign: "left",
      textBaseline: "alphabetic", dash: [], dx: 0, dy: 0 });
  }
  beginPath() { this.d = ""; }
  moveTo(x, y) { this.d += `M${n(x)} ${n(y)}`; }
  lineTo(x, y) { this.d += `${this.d ? "L" : "M"}${n(x)} ${n(y)}`; }
  closePath() { this.d += "Z"; }
  rect(x, y, w, h) { this.d += `M${n(x)} ${n(y)}h${n(w)}v${n(h)}h${n(-w)}Z`; }
  arc(x, y, r, from, to, back = false) {
    const at = (a) => `${n(x + r * Math.cos(a))} ${n(y + r * Math.sin(a))}`, turn = Math.abs(to - from);
    this.d += `${this.d && !this.d.endsWith("Z") ? "L" : "M"}${at(from)}`;
    const parts = turn > 3 ? 3 : 1, step = (to - from) / parts;
    for (let k = 1; k <= parts; k++) this.d += `A${n(r)} ${n(r)} 0 0 ${back ? 0 : 1} ${at(from + k * step)}`;
  }
  fill() { this.parts.push(`<path d="${this.d}" fill="${esc(this.fillStyle)}"/>`); }
  stroke() {
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    const line = `stroke="${esc(this.strokeStyle)}" stroke-width="${n(this.lineWidth)}" stroke-linecap="round" stroke-linejoin="round"`;
    this.parts.push(`<path d="${this.d}" fill="none" ${line}${dash}/>`);
  }
  fillRect(x, y, w, h) {
    const size = `width="${n(Math.max(0, w))}" height="${n(Math.max(0, h))}"`;
    this.parts.push(`<rect x="${n(x)}" y="${n(y)}" ${size} fill="${esc(this.fillStyle)}"/>`);
  }
  strokeRect(x, y, w, h) {
    const line = `fill="none" stroke="${esc(this.strokeStyle)}" stroke-width="${n(this.lineWidth)}"`;
    this.parts.push(`<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}" ${line}/>`);
  }
  clearRect() {}
  setTransform() {}
  setLineDash(dash) { this.dash = dash; }
  fillText(text, x, y) {
    const anchor = { left: "start", center: "middle", right: "end" }[this.textAlign] ?? "start";
    const base = { middle: "central", top: "text-before-edge", bottom: "text-after-edge" }[this.textBaseline] ?? "alphabetic";
    const look = `fill="${esc(this.fillStyle)}" style="font:${esc(this.font)}" text-anchor="${anchor}" dominant-baseline="${base}"`;
    this.parts.push(`<text x="${n(x)}" y="${n(y)}" ${look}>${esc(text)}</text>`);
  }
  drawImage(image, x, y, w, h) {
    const smooth = this.imageSmoothingEnabled === false ? ' style="image-rendering:pixelated"' : "";
    const place = `x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}" preserveAspectRatio="none"`;
    this.parts.push(`<image ${place} href="${image.toDataURL("image/png")}"${smooth}/>`);
  }
  save() { this.stack.push(this.open); }
  restore() {
    const before = this.stack.pop() ?? 0;
    while (this.open > before) { this.parts.push("</g>"); this.open--; }
  }
  clip() {
    const name = `c${++clips}`;
    this.parts.push(`<clipPath id="${name}"><path d="${this.d}"/></clipPath><g clip-path="url(#${name})">`);
    this.open++;
  }
  text() { return this.parts.join("\n"); }
}
