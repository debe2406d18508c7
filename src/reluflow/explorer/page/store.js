// What the page is showing, in one place; views read it, controls change it.

export const store = {
  experiment: null, preset: null, presets: [], most: {}, mode: "line", recorded: false, served: true,
  run: null, over: null, phases: [], norm: {}, laws: [], known: null, judging: false,
  index: 0, clock: "event", playing: false, speed: 1, hover: -1, datum: -1, focus: null, tool: "move",
  overlay: false, step: 0.01, logLoss: null, radius: "log", theme: "light", large: false,
};

const heard = new Map();

export function on(names, what) {
  for (const name of names.split(" ")) heard.set(name, [...(heard.get(name) ?? []), what]);
}

export function tell(name) {
  for (const what of heard.get(name) ?? []) what();
}

export const copy = (value) => JSON.parse(JSON.stringify(value));
