// Numbers as the Python side prints them: `%.6g`, and e^… where they leave the range of float64.

export function g(value, digits = 6) {
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : value < 0 ? "-inf" : "nan";
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  const exponent = Number(power);
  if (exponent < -4 || exponent >= digits) {
    const sign = exponent < 0 ? "-" : "+";
    return `${trim(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  return trim(value.toFixed(Math.max(0, digits - 1 - exponent)));
}

const trim = (text) => (text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text);

// e^log as a number where it is one.
export function fromLog(log, digits = 6) {
  if (log < -1e37) return "0";
  return log > -700 && log < 700 ? g(Math.exp(log), digits) : `e^${g(log, digits)}`;
}

// The weight scale: always as a power of e.
export const scaleText = (log) => `e${superscript(g(log, 6))}`;

const UP = { "-": "⁻", "0": "⁰", "1": "¹", "2": "²", "3": "³", "4": "⁴", "5": "⁵", "6": "⁶", "7": "⁷", "8": "⁸", "9": "⁹", ".": "·" };
export const superscript = (text) => [...text].map((c) => UP[c] ?? c).join("");

// Ticks at round numbers.
export function ticks(lo, hi, count) {
  if (!(hi > lo)) return [];
  const raw = (hi - lo) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw * 0.999);
  const found = [];
  for (let v = Math.ceil(lo / step - 1e-9) * step; v <= hi + 1e-9 * step; v += step) found.push(Math.abs(v) < 1e-9 * step ? 0 : v);
  return found;
}

// A few digits, for ticks.
export function short(v) {
  if (v !== 0 && (Math.abs(v) >= 1e6 || Math.abs(v) < 1e-3)) return g(v, 3).replace(/e([+-])0?/, (_, s) => (s === "-" ? "e-" : "e"));
  return String(Number(v.toPrecision(4)));
}
