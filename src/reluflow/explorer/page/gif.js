// An animated GIF from frames of pixels: one palette of 256 colours for all of them, then LZW.

// Colours by how often they occur, in cells of 5 bits a channel; rare ones go to their nearest neighbour.
function palette(frames) {
  const count = new Map(), sums = new Map();
  for (const { data } of frames) for (let o = 0; o < data.length; o += 4) {
    const key = ((data[o] >> 3) << 10) | ((data[o + 1] >> 3) << 5) | (data[o + 2] >> 3);
    count.set(key, (count.get(key) ?? 0) + 1);
    const s = sums.get(key);
    if (s) { s[0] += data[o]; s[1] += data[o + 1]; s[2] += data[o + 2]; } else sums.set(key, [data[o], data[o + 1], data[o + 2]]);
  }
  const keys = [...count.keys()].sort((a, b) => count.get(b) - count.get(a)).slice(0, 256);
  const colours = keys.map((key) => sums.get(key).map((v) => Math.round(v / count.get(key))));
  while (colours.length < 256) colours.push([0, 0, 0]);
  return colours;
}

function indexed(frame, colours, memory) {
  const { data } = frame, out = new Uint8Array(data.length / 4);
  for (let o = 0, p = 0; o < data.length; o += 4, p++) {
    const key = ((data[o] >> 3) << 10) | ((data[o + 1] >> 3) << 5) | (data[o + 2] >> 3);
    let best = memory[key];
    if (best < 0) {
      let near = Infinity;
      colours.forEach((c, k) => {
        const far = (c[0] - data[o]) ** 2 + (c[1] - data[o + 1]) ** 2 + (c[2] - data[o + 2]) ** 2;
        if (far < near) { near = far; best = k; }
      });
      memory[key] = best;
    }
    out[p] = best;
  }
  return out;
}

class Bytes {
  constructor() { this.buffer = new Uint8Array(1 << 16); this.used = 0; }
  push(...values) { for (const v of values) this.one(v); }
  one(v) {
    if (this.used === this.buffer.length) { const more = new Uint8Array(2 * this.used); more.set(this.buffer); this.buffer = more; }
    this.buffer[this.used++] = v;
  }
  word(v) { this.push(v & 255, v >> 8); }
  done() { return this.buffer.subarray(0, this.used); }
}

function lzw(pixels, out) {
  const CLEAR = 256, END = 257;
  let codes = new Map(), next = 258, size = 9, bits = 0, held = 0, block = [];
  const flush = () => { if (block.length) { out.one(block.length); block.forEach((b) => out.one(b)); block = []; } };
  const emit = (code) => {
    held |= code << bits; bits += size;
    while (bits >= 8) { block.push(held & 255); held >>>= 8; bits -= 8; if (block.length === 255) flush(); }
  };
  out.one(8);
  emit(CLEAR);
  let word = pixels[0];
  for (let p = 1; p < pixels.length; p++) {
    const key = word * 256 + pixels[p], known = codes.get(key);
    if (known !== undefined) { word = known; continue; }
    emit(word);
    if (next < 4096) {
      codes.set(key, next++);
      if (next > 1 << size && size < 12) size++;
    } else { emit(CLEAR); codes = new Map(); next = 258; size = 9; }
    word = pixels[p];
  }
  emit(word); emit(END);
  if (bits) block.push(held & 255);
  flush();
  out.one(0);
}

// `frames` are ImageData of one size, each shown for `delay` hundredths of a second.
export function encodeGif(frames, delay) {
  const { width, height } = frames[0], out = new Bytes(), colours = palette(frames), memory = new Int16Array(1 << 15).fill(-1);
  out.push(...[..."GIF89a"].map((c) => c.charCodeAt(0)));
  out.word(width); out.word(height);
  out.push(0xf7, 0, 0);
  colours.forEach((c) => out.push(...c));
  // No loop extension: played once, the last picture stays.
  frames.forEach((frame, k) => {
    out.push(0x21, 0xf9, 4, 0); out.word(k === frames.length - 1 ? 150 : delay); out.push(0, 0);
    out.one(0x2c); out.word(0); out.word(0); out.word(width); out.word(height); out.one(0);
    lzw(indexed(frame, colours, memory), out);
  });
  out.one(0x3b);
  return out.done();
}
