"""A finished run in a notebook: the page and the run's numbers in one piece of HTML that needs no server."""

import base64
import html
import json
import re

CHECK_SECONDS = 5.0  # of processor time for one check


class Shown:
    """What `rf.show` returns: notebooks draw it; `.html` is a whole page that can be saved and opened anywhere."""

    def __init__(self, page: str, height: int):
        self.html, self.height = page, height

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="{self.height}" '
            'sandbox="allow-scripts allow-downloads" style="border:0" title="reluflow explorer"></iframe>'
        )

    def __repr__(self) -> str:
        return (
            f"Shown({len(self.html) // 1024} KiB of HTML: in a notebook it is drawn, elsewhere write `.html` to a file)"
        )


def show(sol, *, height: int = 900, checks: bool | None = None) -> Shown:
    """The explorer with this run in it, for a notebook: play it, point at neurons, switch views, take pictures.

    The page also shows the minimum norm and the verdict of every `rf.check` about such a run, which takes a few
    seconds; `checks=False` leaves them out, as is done for runs larger than the explorer takes unless `checks=True`.
    """
    from reluflow._checks import one_output
    from reluflow.explorer import encoding
    from reluflow.explorer.frames import picture
    from reluflow.explorer.request import in_plane

    if sol.problem.loss != "softmax" or not in_plane(sol.problem.data):
        one_output(sol.problem, "`rf.show`", "draw the run with `sol.plot()`")
    header, arrays = picture(sol)
    header |= {"key": "notebook", **found(sol, fits(sol) if checks is None else checks)}
    return Shown(page(encoding.encode(header, arrays)), height)


def fits(sol) -> bool:
    """Whether the run is of a size the explorer itself would take."""
    from reluflow.explorer.request import CELLS, MOST

    m, n, d = sol.problem.init.width, sol.problem.data.n, sol.problem.data.d
    return m <= MOST["width"] and n <= MOST["n"] and d <= MOST["d"] and m * n * d <= CELLS


def found(sol, checks: bool) -> dict:
    """Phases, norms and reports of a run, as the page reads them."""
    from reluflow.explorer import worker

    if not checks:
        return {"phases": worker.phases(sol), "norm": {}, "reports": [], "known": None}
    known, reports = [], []
    for finding in worker.checks(sol, lambda: False, seconds=CHECK_SECONDS):
        if "known" in finding:
            known = finding["known"]
        else:
            reports.append(finding["check"])
    return {"phases": worker.phases(sol), "norm": worker.norms(sol), "reports": reports, "known": known}


def page(run: bytes) -> str:
    """The page with a run inside, as one document."""
    from reluflow.explorer.app import assets

    files = assets()
    text = files["index.html"].decode()
    modules = {name: raw.decode() for name, raw in files.items() if name.endswith(".js") and name != "loader.js"}
    inside = json.dumps(modules).replace("<", "\\u003c")
    # Fonts are files of their own: the reader's take their place.
    rules = re.sub(r"@font-face \{.*?\}\n", "", files["style.css"].decode(), flags=re.DOTALL)
    style = f"<style>{rules}</style>"
    text = re.sub(r'<link rel="icon"[^>]*>\n', "", text)
    text = re.sub(r'<link rel="stylesheet"[^>]*>', lambda _: style, text)
    scripts = (
        f'<script type="application/json" id="files">{inside}</script>'
        f'<script type="text/plain" id="run">{base64.b64encode(run).decode()}</script>'
        f"<script>{files['loader.js'].decode()}</script>"
    )
    text = re.sub(r'<script type="module"[^>]*></script>\n', "", text)
    return text.replace("</body>", f"{scripts}\n</body>")
