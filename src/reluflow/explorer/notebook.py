"""A finished run in a notebook: the page and the run's numbers in one piece of HTML that needs no server."""

from __future__ import annotations

import base64
import html
import json
import re


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


def show(sol, *, height: int = 900) -> Shown:
    """The explorer with this run in it, for a notebook: play it, point at neurons, switch views, take pictures."""
    from reluflow.explorer import wire
    from reluflow.explorer.frames import picture
    from reluflow.explorer.judge import phases

    header, arrays = picture(sol)
    header |= {"phases": phases(sol), "key": "notebook"}
    return Shown(page(wire.encode(header, arrays)), height)


def page(run: bytes) -> str:
    """The page with a run inside, as one document."""
    from reluflow.explorer.app import assets

    files = assets()
    text = files["index.html"].decode()
    modules = {name: raw.decode() for name, raw in files.items() if name.endswith(".js") and name != "loader.js"}
    inside = json.dumps(modules).replace("<", "\\u003c")
    style = f"<style>{files['style.css'].decode()}</style>"
    text = re.sub(r'<link rel="icon"[^>]*>\n', "", text)
    text = re.sub(r'<link rel="stylesheet"[^>]*>', lambda _: style, text)
    scripts = (
        f'<script type="application/json" id="files">{inside}</script>'
        f'<script type="text/plain" id="run">{base64.b64encode(run).decode()}</script>'
        f"<script>{files['loader.js'].decode()}</script>"
    )
    text = re.sub(r'<script type="module"[^>]*></script>\n', "", text)
    return text.replace("</body>", f"{scripts}\n</body>")
