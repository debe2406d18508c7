// Small elements without markup in strings.

export const $ = (id) => document.getElementById(id);

export function el(name, given = {}, ...inside) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "class") node.className = value;
    else if (key in node && key !== "list" && key !== "role") node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...inside.filter((part) => part !== null && part !== undefined));
  return node;
}

// A text with `code` in backticks, as what goes into an element.
export const prose = (text) => text.split("`").map((part, k) => (k % 2 ? el("code", {}, part) : part));

// A row of buttons of which one is pressed.
export function segments(options, chosen, choose, label = "") {
  const box = el("div", { class: "seg", role: "group", ...(label ? { "aria-label": label } : {}) });
  fillSegments(box, options, chosen, choose);
  return box;
}

export function fillSegments(box, options, chosen, choose) {
  const focused = [...box.children].findIndex((b) => b === document.activeElement);
  box.replaceChildren(...options.map(([value, text, title]) => el("button", {
    type: "button", title: title ?? "", "aria-pressed": String(value === chosen), "data-value": value, onclick: () => choose(value),
  }, text)));
  if (focused >= 0) box.children[focused]?.focus();
}
