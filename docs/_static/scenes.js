// Puts a live figure above the scenes of each story and moves it to the step whose text is being read.

(() => {
  const part = (node, name) => [...node.classList].find((c) => c.startsWith(`${name}-`))?.slice(name.length + 1);
  let figure = null, story = null;
  for (const scene of document.querySelectorAll(".scene")) {
    const mine = part(scene, "story");
    if (mine !== story || scene.previousElementSibling !== figure) {
      story = mine;
      figure = document.createElement("div");
      figure.className = "scenes";
      const frame = document.createElement("iframe");
      frame.title = `Live figure: ${story}`;
      frame.loading = "lazy";
      const theme = document.body.dataset.theme === "dark" || (document.body.dataset.theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
      frame.src = `explorer/index.html?embed=story&story=${story}&step=${Number(part(scene, "step")) - 1}&theme=${theme ? "dark" : "light"}`;
      scene.before(figure);
      figure.append(frame);
    }
    figure.append(scene);
  }
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      entry.target.classList.toggle("now", entry.isIntersecting);
      if (!entry.isIntersecting) continue;
      const frame = entry.target.parentElement.querySelector("iframe");
      frame.contentWindow?.postMessage({ reluflow: { story: part(entry.target, "story"), step: Number(part(entry.target, "step")) - 1 } }, location.origin);
    }
  }, { rootMargin: "-62% 0px -28% 0px" });
  for (const scene of document.querySelectorAll(".scene")) seen.observe(scene);
})();
