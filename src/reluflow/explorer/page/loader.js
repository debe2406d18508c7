// In a notebook there is no server: modules become addresses of the document's own making, and an import map names them.
// Not a module itself; `notebook.py` puts it into the page.

(() => {
  const files = JSON.parse(document.getElementById("files").textContent);
  const place = (from, to) => {
    const parts = from.split("/").slice(0, -1);
    for (const part of to.split("/")) {
      if (part === "..") parts.pop();
      else if (part !== ".") parts.push(part);
    }
    return parts.join("/");
  };
  const imports = {};
  for (const [name, source] of Object.entries(files)) {
    const text = source.replace(/(from\s+|import\s+)"(\.[^"]+)"/g, (_, word, to) => `${word}"reluflow/${place(name, to)}"`);
    imports[`reluflow/${name}`] = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  }
  const add = (type, text) => {
    const tag = document.createElement("script");
    tag.type = type;
    tag.textContent = text;
    document.head.append(tag);
  };
  const raw = atob(document.getElementById("run").textContent.trim());
  globalThis.reluflowRun = Uint8Array.from(raw, (c) => c.charCodeAt(0)).buffer;
  add("importmap", JSON.stringify({ imports }));
  add("module", 'import "reluflow/main.js";');
})();
