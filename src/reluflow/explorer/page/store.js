// What the page is showing, in one place; views read it, controls change it.

export const store = {
  experiment: null, preset: null, presets: [], most: {}, losses: [], mode: "line", recorded: false, served: true, live: true,
  run: null, over: null, beside: null, phases: [], norm: {}, reports: [], known: null, checking: false, checked: true,
  pending: false, index: 0, clock: "event", playing: false, speed: 1, hover: -1, datum: -1, group: null, focus: null, tool: "move",
  more: false, only: null, step_views: null, zoom: null, images: null,
  overlay: false, step: 0.01, other: null, logLoss: null, radius: "log", theme: "light", large: false,
};

const listeners = new Map();

export function on(names, what) {
  for (const name of names.split(" ")) listeners.set(name, [...(listeners.get(name) ?? []), what]);
}

export function tell(name) {
  for (const what of listeners.get(name) ?? []) what();
}

export const copy = (value) => JSON.parse(JSON.stringify(value));
