// The stories: one per paper and a few more, each a list of steps. A step shows some views, plays the run from one place to
// another and stops; the last one asks the reader to try something.
//
// `set` changes the preset's experiment by dotted paths. [[group|words]] in a text marks neurons while one points at the words.
// Places are shares of the clock of events, or of a phase: ["growth", 0, 0.5] is half of the first growth.

const BOURSIER = "Boursier, Pillaud-Vivien and Flammarion 2022", MIN = "Min, Mallada and Vidal 2024";
const KOU = "Kou, Chen and Gu 2023", LEE = "Lee, Sim and Ye 2023";
const scale = (value) => ({ "init.log_scale": value });

export const STORIES = [
  {
    id: "alignment", title: "Neurons align early", paper: MIN, preset: "toy_plane",
    steps: [
      { views: ["neurons", "circle"], title: "Two classes, sixty small neurons", from: 0, to: 0, seconds: 2,
        text: "Each mark is a neuron: circles have a > 0, diamonds a < 0. On the right, S₊ is the cone of directions that are "
          + "active exactly on the points of class +1, S₋ the one for class −1. Neurons in the dead cone are active on no "
          + "point." },
      { views: ["neurons", "circle"], title: "They turn", from: 0, to: ["alignment", 0, 0.5], seconds: 12,
        text: "While all weights are tiny, the outputs are zero and each neuron turns by itself. [[plus|Neurons with a > 0]] turn"
          + " towards S₊, [[minus|neurons with a < 0]] towards S₋. Some lose every point on the way: [[dead|these are dead]] "
          + "and never move again." },
      { views: ["neurons", "loss"], title: "The loss has not moved", from: ["alignment", 0, 0.5], to: ["alignment", 0, 1], seconds: 8,
        text: "All of this happens before the loss changes at all. The time it takes does not depend on the scale of the start, "
          + "only on the data: Theorem 1 bounds it by a multiple of log n / √μ." },
      { views: ["learned", "loss"], title: "Then they grow", from: ["growth", 0, 0], to: ["growth", 1, 0.6], seconds: 9,
        text: "The aligned neurons of one class grow together and the loss falls; then those of the other. Every point is now "
          + "classified by neurons that are active on its own class alone." },
      { views: ["margins", "rank"], title: "What stays", from: ["growth", 0, 0.8], to: 1, seconds: 8,
        text: "The margins become positive and approach the largest possible one like 1/log t. The neurons of one sign point the "
          + "same way, so the stable rank of the weights is small: at most two directions are left." },
      { views: ["neurons", "learned", "loss"], title: "Now you try", to: null,
        text: "Make the scale smaller with the slider λ, to e^−1000 or below. Does the alignment take longer? (Look at where the "
          + "loss falls, and at the time when the neurons stop turning.)", aim: "scale λ at e^−1000 or below",
          done: (s) => s.experiment?.init?.log_scale <= -1000 },
    ],
  },
  {
    id: "saddles", title: "Saddle to saddle", paper: BOURSIER, preset: "two_points",
    steps: [
      { views: ["neurons", "learned", "loss"], title: "Two points, sixty neurons", from: 0, to: 0, seconds: 2,
        text: "The inputs of the two points are orthogonal (with the bias column). All weights start at size e^−14, so the "
          + "function (right) is zero." },
      { views: ["neurons", "learned"], title: "Align", from: 0, to: ["alignment", 0, 0.55], seconds: 10,
        text: "Neurons that are active on a point of their sign turn to a [[aims|gold direction]]; the others lose every point "
          + "and [[dead|die]]. The function does not change yet." },
      { views: ["neurons", "loss"], title: "The first group grows", from: ["alignment", 0, 0.9], to: ["growth", 0, 1], seconds: 9,
        text: "The group with the larger gradient, [[grew:0|these neurons]], reaches size one first and fits its point. The loss "
          + "falls for the first time." },
      { views: ["neurons", "loss"], title: "A saddle", from: ["plateau", 0, 0], to: ["plateau", 0, 1], seconds: 8,
        text: "Now nothing seems to happen. The network is near a saddle of the loss: one point is fitted, and the neurons for "
          + "the other are still too small to matter. They are growing all the while, exponentially." },
      { views: ["learned", "loss"], title: "The second group", from: ["growth", 1, 0], to: ["growth", 1, 1], seconds: 8,
        text: "When [[grew:1|the second group]] becomes visible the loss falls again, and the function bends to the other point." },
      { views: ["size", "learned"], title: "Minimum norm", from: ["convergence", 0, 0], to: 1, seconds: 6,
        text: "The loss tends to zero, and the weights end with the smallest norm of all networks that fit the two points (gold)."
          + " Theorem 1 of the paper says so for orthogonal inputs and small scales." },
      { views: ["neurons", "learned", "loss"], title: "Now you try", to: null,
        text: "Make λ smaller and watch the saddle (grey) in the loss. By how much does its length grow when log(1/λ) doubles? "
          + "Choose linear time below to see it.",
        aim: "scale λ below e^−50", done: (s) => s.experiment?.init?.log_scale <= -50 },
    ],
  },
  {
    id: "sliding", title: "Sliding, and a surprise", paper: BOURSIER, preset: "five_points",
    steps: [
      { views: ["neurons", "learned"], title: "Inputs that are not orthogonal", from: 0, to: 0, seconds: 2,
        text: "Five points on a line. Dashed lines are the boundaries at which a point switches on or off for a neuron." },
      { views: ["neurons", "raster"], title: "Neurons slide", from: 0, to: ["alignment", 0, 0.6], seconds: 12,
        text: "On some boundaries the gradients of both sides push a neuron back: it can neither cross nor leave, and "
          + "[[sliding|slides along the boundary]] (gold rims, gold in the raster). No theorem for orthogonal data covers this." },
      { views: ["learned", "loss"], title: "A saddle", from: ["growth", 0, 0], to: ["plateau", 0, 1], seconds: 10,
        text: "The loss falls in steps. At the saddle the function fits the points as well as [[grew:0|the neurons that have "
          + "grown]] can; from smaller scales there are more steps." },
      { views: ["learned", "loss"], title: "The surprise", from: ["growth", 1, 0], to: 1, seconds: 9,
        text: "The network fits all points, and between the second and the third it goes far below all labels: to about −1.5, "
          + "where the labels lie between −0.3 and 0.7. Few kinks, but not the function one would draw." },
      { views: ["learned", "loss"], title: "Descent does something else", overlay: 0.05, from: ["growth", 0, 0], to: 1, seconds: 10,
        text: "Dashed: gradient descent with step 0.05. Shrinking neurons change sign under descent, which the flow never does, "
          + "and here it stays at a saddle that the flow leaves." },
      { views: ["neurons", "learned", "loss"], title: "Now you try", to: null,
        text: "Choose another seed: other neurons, another order. Do the saddles have the same losses?", aim: "another seed",
        done: (s) => (s.experiment?.init?.seed ?? 0) !== 0 },
    ],
  },
  {
    id: "classes", title: "Three classes, one after another", paper: "Several outputs", preset: "three_classes",
    steps: [
      { views: ["neurons", "learned"], title: "Three outputs", from: 0, to: 0, seconds: 2,
        text: "Five points of class 0, three of class 1, two of class 2, and a network with one output for each class. Every neuron has "
          + "an output weight in each; its colour and shape say which class it raises most." },
      { views: ["neurons", "norms"], title: "Pairs align", from: 0, to: ["alignment", 0, 0.6], seconds: 12,
        text: "While the weights are tiny a neuron turns in both layers at once: w and a go to a pair of singular vectors of the matrix "
          + "that drives it. [[sliding|Some slide along a boundary]] on the way." },
      { views: ["learned", "loss"], title: "The largest class first", from: ["alignment", 0, 0.9], to: ["growth", 0, 1], seconds: 8,
        text: "[[class:0|Neurons of class 0]] are driven by five points and grow fastest. The loss falls to a saddle at which class 0 is "
          + "told from the rest, and the other two are not told apart from each other." },
      { views: ["learned", "loss"], title: "Then the second", from: ["plateau", 0, 0], to: ["growth", 1, 1], seconds: 8,
        text: "[[class:1|Neurons of class 1]] have been growing all the while. They become visible, and the plane gets a second region." },
      { views: ["learned", "loss"], title: "And the third", from: ["plateau", 1, 0], to: 1, seconds: 9,
        text: "At last [[class:2|those of class 2]]. Every class is now told from the others, and the outputs grow without bound." },
      { views: ["neurons", "learned", "loss"], title: "Now you try", to: null,
        text: "Make the scale larger with the slider λ, to e^−5. Are the classes still learnt one after another?",
        aim: "scale λ at e^−5 or above", done: (s) => s.experiment?.init?.log_scale >= -5 },
    ],
  },
  {
    id: "regimes", title: "Lazy and rich", paper: "The scale of the start", preset: "five_points", other: 0,
    steps: [
      { views: ["beside"], title: "Two starts", from: 0, to: 0, seconds: 2,
        text: "The same data, the same random directions, two scales: on the left the weights start at e^−15.86, on the right at 1." },
      { views: ["beside"], title: "They learn in different ways", from: 0, to: 1, seconds: 14,
        text: "From the small scale neurons first gather in a few directions and then grow, group by group: the rich regime. From"
          + " the large scale they hardly turn; their initial random features are enough: the lazy regime." },
      { views: ["beside", "loss"], title: "Both fit, with different functions", from: 1, to: 1, seconds: 2,
        text: "Both have loss zero. The rich fit has a few kinks, shared by whole groups of neurons; the lazy one has a kink for "
          + "every neuron." },
      { views: ["beside", "loss"], title: "Now you try", to: null,
        text: "Move λ (the run on the left) towards 1. Where does one regime become the other?", aim: "scale λ at e^−5 or above",
        done: (s) => s.experiment?.init?.log_scale >= -5 },
    ],
  },
  {
    id: "scales", title: "From 1 to e^−100000", paper: "The limit of vanishing scale", preset: "two_points",
    steps: [
      { views: ["neurons", "loss"], set: scale(0), title: "Scale 1", from: 0, to: 1, seconds: 7,
        text: "From scale 1 the loss falls at once, without any saddle." },
      { views: ["neurons", "loss"], set: scale(-5), title: "Scale e^−5", from: 0, to: 1, seconds: 7, text: "From e^−5 it hesitates: a "
          + "shoulder where the saddle will be." },
      { views: ["neurons", "loss"], set: scale(-100), title: "Scale e^−100", from: 0, to: 1, seconds: 8,
        text: "From e^−100 there are two clear steps, and a saddle between them." },
      { views: ["neurons", "loss"], set: scale(-100000), title: "Scale e^−100000", from: 0, to: 1, seconds: 9,
        text: "From e^−100000 the picture is the limit: on the scale of log(1/λ) neurons turn, and the loss falls, in instants, and in"
          + " between they grow unseen. The weights have been computed, not extrapolated; their logarithms are what is stored." },
      { views: ["neurons", "loss"], title: "Now you try", set: scale(-100000), clock: "linear", to: null,
        text: "On the linear clock the loss is a staircase. Go back to e^−5 on this clock: is it still one?",
          aim: "scale λ at e^−5 or above",
        done: (s) => s.experiment?.init?.log_scale >= -5 },
    ],
  },
  {
    id: "rank", title: "Descent finds low rank", paper: KOU, preset: "nearly_orthogonal",
    steps: [
      { views: ["rank", "loss"], title: "Eight nearly orthogonal points", from: 0, to: 0, seconds: 2,
        text: "Twenty leaky ReLU neurons, only their first layer is trained, by gradient descent on the logistic loss. The random"
          + " weights have a large stable rank." },
      { views: ["raster", "rank"], title: "The activation pattern settles", from: 0, to: 0.5, seconds: 9,
        text: "Within some thirty steps every neuron is active exactly on the points of its own class (raster). From then on the "
          + "network is linear on the data, and stays so." },
      { views: ["rank", "loss"], title: "The rank falls", from: 0.2, to: 1, seconds: 9,
        text: "All neurons of a class receive the same updates, so they become parallel: the stable rank of each half tends to 1 "
          + "(dotted), while the loss goes to zero like 1/t. Theorem 4.1 of the paper." },
      { views: ["rank", "raster"], set: { "problem.activation": null }, title: "Plain ReLU", from: 0, to: 1, seconds: 9,
        text: "With slope 0 a neuron that is inactive on a point learns nothing from it. The loss still goes to zero, and the "
          + "stable rank stays bounded, but it does not tend to 1: Theorem 4.3." },
      { views: ["rank", "margins", "loss"], set: { "problem.activation": { kind: "leaky_relu", slope: 0.2 } }, title: "Now you try",
        to: null, text: "Set the slope α to 0.5. Does the rank fall faster or more slowly than with 0.2?", aim: "slope α at 0.5",
        done: (s) => s.experiment?.problem?.activation?.slope === 0.5 },
    ],
  },
  {
    id: "single", title: "One neuron, magnitude and angle", paper: LEE, preset: "single",
    steps: [
      { views: ["neurons", "single"], title: "One neuron learns another", from: 0, to: 0, seconds: 2,
        text: "Inputs are Gaussian, the target is a ReLU neuron w*. By symmetry only two numbers matter: the norm of w and its "
          + "angle to w*." },
      { views: ["neurons", "single"], title: "From a small start", from: 0, to: 1, seconds: 8,
        text: "The small neuron turns first and grows later. The angle to the target never increases: Theorem 3.2." },
      { views: ["neurons", "single"], set: { "single.log_norm": 0, "single.phi": 1.5 }, title: "From the right size", from: 0, to: 1,
        seconds: 8,
        text: "Started at the norm of the target but at a wrong angle, the neuron first shrinks, to about 0.7, and recovers while"
          + " it turns: the norm has at most one minimum." },
      { views: ["neurons", "single"], set: { "single.layers": 2 }, title: "Two layers", from: 0, to: 1, seconds: 8,
        text: "With a second layer the speed of turning does not depend on the norm at all." },
      { views: ["neurons", "single"], set: { "single.layers": 3, "single.log_norm": -3 }, title: "Three layers", from: 0, to: 1, seconds: 9,
        text: "With three layers a small start is slow in both: turning and growing take longer the smaller the norm is. Here too the"
          + " neuron turns first and grows later. Small starts make shallow neurons faster and deep ones slower." },
      { views: ["neurons", "single", "loss"], title: "Now you try", to: null,
        set: { "single.layers": 1, "single.log_norm": 0 },
        text: "With one layer, start from a norm of e^1. Does the norm still fall below that of the target on the way?",
        aim: "norm of w at e^1", done: (s) => s.experiment?.single?.log_norm >= 1 },
    ],
  },
  {
    id: "mnist", title: "Real images", paper: MIN, preset: "mnist",
    steps: [
      { views: ["images", "loss"], title: "Noise", from: 0, to: 0, seconds: 2,
        text: "Fifty neurons on images of 0 and 1, trained by descent from weights of size 1e−6. As images, their weights are noise." },
      { views: ["images", "loss"], title: "Alignment", from: 0, to: 0.5, seconds: 9,
        text: "Before the loss moves, the weights of all neurons turn to the same image, the difference of the class means, with "
          + "either sign." },
      { views: ["images", "rank"], title: "Growth", from: 0.5, to: 1, seconds: 8, text: "They grow, the loss falls, and the stable rank "
          + "is close to one." },
      { views: ["neurons", "images", "loss"], title: "Now you try", to: null, text: "Move through time with the slider below: at which "
          + "moment can you first see a digit?",
        aim: "a moment before the middle", done: (s) => s.run && s.run.pos("event", s.index) < 0.5 && s.run.pos("event", s.index) > 0.05 },
    ],
  },
];

const KINDS = {
  alignment: ["Alignment", (p, t) => `From t = ${t.from} to ${t.to} the neurons turn while the loss stays at ${t.loss}.`],
  growth: ["Growth", (p, t, k) =>
    `From t = ${t.from} to ${t.to} [[grew:${k}|${p.neurons.length} ${p.neurons.length === 1 ? "neuron grows" : "neurons grow"}]]`
    + ` and the loss falls to ${t.loss}.`],
  plateau: ["Saddle", (p, t) => `From t = ${t.from} to ${t.to} the loss stays near ${t.loss}: the network is close to a saddle.`],
  convergence: ["Convergence", (p, t) => `From t = ${t.from} on the run converges; at the end the loss is ${t.loss}.`],
};

// The story of any run, told from its own phases.
export function own(phases, say) {
  const counts = {}, steps = [];
  for (const p of phases) {
    const k = counts[p.kind] ?? 0, [title, text] = KINDS[p.kind];
    counts[p.kind] = k + 1;
    steps.push({ views: ["neurons", p.kind === "alignment" ? "learned" : "loss"], title, from: [p.kind, k, 0], to: [p.kind, k, 1],
      seconds: 7,
      text: text(p, say(p), k) });
  }
  if (!steps.length) {
    steps.push({ views: ["neurons", "learned", "loss"], title: "The whole run", from: 0, to: 1, seconds: 14,
      text: "From the start to the end of this run." });
  }
  return { id: "own", title: "This run", paper: "Told from its own phases", preset: null, steps };
}
