"""The server: the page's files, and answers to its requests. Nothing else can be read or written through it."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import hashlib
import json
import time
from importlib import resources
from typing import TYPE_CHECKING, Any

from reluflow import __version__
from reluflow.data.files import from_csv_text, likely_delimiter
from reluflow.explorer import encoding, single
from reluflow.explorer import request as requests
from reluflow.explorer.digits import shown
from reluflow.explorer.frames import picture
from reluflow.explorer.presets import PRESETS, RECORDED
from reluflow.explorer.request import Refused
from reluflow.explorer.scheduler import Scheduler, Superseded
from reluflow.explorer.security import LOOPBACK, Security
from reluflow.explorer.supervisor import Supervisor
from reluflow.losses import TABLE

if TYPE_CHECKING:
    from starlette.applications import Starlette

TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "woff2": "font/woff2",
    "txt": "text/plain; charset=utf-8",
    "rfx": "application/octet-stream",
}
BODY_SECONDS = 10.0  # for the body of a request to arrive
REFINED = 1.5  # seconds: the frames of a run that took longer are its own, without more between them


def assets() -> dict[str, bytes]:
    """Every file of the page, by its path below `page/`."""
    found: dict[str, bytes] = {}

    def walk(folder, prefix: str):
        for entry in folder.iterdir():
            if entry.is_dir():
                walk(entry, f"{prefix}{entry.name}/")
            elif entry.name.rsplit(".", 1)[-1] in TYPES:
                found[prefix + entry.name] = entry.read_bytes()

    walk(resources.files("reluflow.explorer") / "page", "")
    return found


def document(files: dict[str, bytes]) -> bytes:
    """The page's document, which asks for all modules at once instead of one import after the other."""
    modules = sorted(name for name in files if name.endswith(".js") and name not in ("loader.js", "main.js"))
    links = "".join(f'<link rel="modulepreload" href="page/{name}">\n' for name in modules)
    return files["index.html"].replace(b"</head>", links.encode() + b"</head>", 1)


class Asset:
    """One file of the page, compressed once, with a tag by which the browser finds its copy still good."""

    def __init__(self, name: str, raw: bytes):
        self.raw, self.kind = raw, TYPES[name.rsplit(".", 1)[-1]]
        self.zipped = gzip.compress(raw, 9)
        self.tag = f'"{hashlib.sha256(raw).hexdigest()[:20]}"'

    def answer(self, request):
        from starlette.responses import Response

        headers = {"etag": self.tag, "cache-control": "no-cache", "vary": "accept-encoding"}
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(self.zipped, media_type=self.kind, headers={**headers, "content-encoding": "gzip"})
        return Response(self.raw, media_type=self.kind, headers=headers)


def make(
    start: dict | None = None,
    recorded: bytes | None = None,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str | None = None,
):
    """The application. `start` is the experiment to open with, `recorded` an encoded run to show at first."""
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route

    scheduler, supervisor = Scheduler(), Supervisor()
    found = assets()
    files = {name: Asset(name, raw) for name, raw in {**found, "index.html": document(found)}.items()}

    def asset(request):
        name = request.path_params.get("name", "index.html")
        if name not in files:
            raise HTTPException(404, "File not found.")
        return files[name].answer(request)

    def about(request):
        return JSONResponse(beginning(start, recorded is not None, "mnist.rfx" in files))

    def opened(request):
        if recorded is None:
            raise HTTPException(404, "No run was given.")
        return Response(recorded, media_type=TYPES["rfx"])

    def digits(request):
        found = shown()
        if found is None:
            return Response(status_code=204)  # MNIST is not on this machine, which is no error
        return Response(found, media_type=TYPES["rfx"])

    async def body_of(request) -> bytes:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > requests.BODY:
                raise HTTPException(413, f"A request may have {requests.BODY} bytes.")
        return body

    async def read(request) -> dict:
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            raise HTTPException(415, "Send `application/json`.")
        try:
            body = await asyncio.wait_for(body_of(request), BODY_SECONDS)
        except TimeoutError:
            raise HTTPException(408, f"A request must arrive within {BODY_SECONDS:g} seconds.") from None
        return requests.parse(body)

    async def answer(request, work):
        asked = await read(request)
        ticket = scheduler.ticket(asked.get("page"), asked.get("number"))
        return await scheduler.do(ticket, lambda ticket: work(scheduler, ticket, asked))

    async def solve(request):
        asked = await read(request)
        ticket = scheduler.ticket(asked.get("page"), asked.get("number"))
        await supervisor.drop(ticket.page)
        raw = await scheduler.do(ticket, lambda ticket: solved(scheduler, ticket, asked))
        return Response(raw, media_type=TYPES["rfx"])

    async def overlay(request):
        return Response(await answer(request, overlaid), media_type=TYPES["rfx"])

    async def beside(request):
        return Response(await answer(request, compared), media_type=TYPES["rfx"])

    async def csv(request):
        return JSONResponse(await answer(request, lambda scheduler, ticket, asked: table_of(asked)))

    async def checks(request):
        asked = await read(request)
        ticket = scheduler.ticket(asked.get("page"), asked.get("number"))
        experiment = await scheduler.do(ticket, lambda ticket: requests.experiment(asked.get("experiment")))

        async def lines():
            asking = supervisor.ask(experiment.key, experiment.to_dict(), ticket.page)
            async with contextlib.aclosing(asking) as found:
                async for finding in found:
                    if ticket.stale:
                        return
                    yield json.dumps(finding) + "\n"

        return StreamingResponse(lines(), media_type="application/x-ndjson")

    async def toml(request):
        text = await answer(
            request, lambda scheduler, ticket, asked: requests.experiment(asked.get("experiment")).to_toml()
        )
        return JSONResponse({"toml": text})

    async def refused(request, error):
        return JSONResponse({"error": str(error)}, 422)

    async def superseded(request, error):
        return JSONResponse({"superseded": True})

    async def http(request, error):
        return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)

    async def internal(request, error):
        return JSONResponse({"error": "An internal error occurred; the server is still running."}, 500)

    @contextlib.asynccontextmanager
    async def lifespan(app):
        yield
        scheduler.close()
        await supervisor.stop()

    post: dict[str, Any] = {"methods": ["POST"]}
    handlers: dict[Any, Any] = {
        Refused: refused, Superseded: superseded, HTTPException: http, Exception: internal,
    }  # fmt: skip
    app: Starlette = Starlette(
        routes=[
            Route("/", asset),
            Route("/api/start", about),
            Route("/api/opened", opened),
            Route("/api/solve", solve, **post),
            Route("/api/overlay", overlay, **post),
            Route("/api/beside", beside, **post),
            Route("/api/checks", checks, **post),
            Route("/api/csv", csv, **post),
            Route("/api/digits", digits),
            Route("/api/toml", toml, **post),
            Route("/page/{name:path}", asset),
        ],
        exception_handlers=handlers,
        lifespan=lifespan,
    )
    if host not in (*LOOPBACK, "::1"):
        from starlette.middleware.gzip import GZipMiddleware

        app.add_middleware(
            GZipMiddleware, minimum_size=2048, compresslevel=4
        )  # over a network; on one machine it only costs
    return Security(app, host, port, token)


def beginning(start: dict | None, opened: bool, mnist: bool) -> dict:
    """What the page needs to know first."""
    return {
        "version": __version__,
        "presets": [*PRESETS, *(RECORDED if mnist else [])],
        "start": start,
        "opened": opened,
        "most": requests.MOST,
        "losses": [{"name": row.name, "text": row.text, "labels": row.labels} for row in TABLE.values()],
    }


def solved(scheduler: Scheduler, ticket, asked: dict) -> bytes:
    """The picture of a run; with `draft`, a quick one while a slider moves."""
    began, busy = time.perf_counter(), time.thread_time()
    draft = asked.get("draft") is True
    tables = asked.get("experiment")
    if isinstance(tables, dict) and "single" in tables:
        return encoding.encode(*single.picture(tables["single"], draft=draft))
    experiment = requests.experiment(tables, draft=draft)
    sol = scheduler.solved(experiment, ticket, draft)
    ticket.check()
    header, arrays = picture(sol, draft=draft, refine=time.perf_counter() - began < REFINED)
    if not draft:
        scheduler.remember(experiment.key, arrays["log_t"])
    cost = {"spent": time.perf_counter() - began, "cpu": time.thread_time() - busy}
    return encoding.encode({**header, **cost, "key": experiment.key}, arrays)


def compared(scheduler: Scheduler, ticket, asked: dict) -> bytes:
    """The picture of the same experiment from another scale, for two runs side by side."""
    tables, log_scale = asked.get("experiment"), asked.get("log_scale")
    if not isinstance(tables, dict) or not isinstance(tables.get("init"), dict):
        raise Refused("`experiment` must be an object with tables `data` and `init`.")
    experiment = requests.experiment({**tables, "init": {**tables["init"], "log_scale": log_scale}})
    sol = scheduler.solved(experiment, ticket)
    ticket.check()
    header, arrays = picture(sol)
    return encoding.encode({**header, "key": experiment.key, "log_scale": experiment["init.log_scale"]}, arrays)


def overlaid(scheduler: Scheduler, ticket, asked: dict) -> bytes:
    """The descent with the step asked for, beside the flow: its own picture, and when their outputs part."""
    from reluflow.explorer.overlay import beside

    flow = requests.experiment(asked.get("experiment"))
    if flow["method.kind"] != "flow":
        raise Refused("Descent is laid over a flow: choose the flow first.")
    tables = {k: v for k, v in asked["experiment"].items() if k != "solve"}
    sol = scheduler.solved(flow, ticket)
    if flow.key not in scheduler.moments:
        scheduler.remember(flow.key, picture(sol)[1]["log_t"])
    header, arrays = beside(sol, tables, asked.get("step"), ticket, scheduler.moments[flow.key])
    return encoding.encode(header, arrays)


def table_of(asked: dict) -> dict:
    """The data of a CSV file as `rf.data.from_csv` reads them; one column of inputs gets a bias column. The page cannot
    ask what ends the cells."""
    text, name = asked.get("text"), asked.get("name", "data.csv")
    if not isinstance(text, str) or not isinstance(name, str) or len(name) > 200:
        raise Refused("Send the `text` of a CSV file and its `name`.")
    try:
        data = from_csv_text(text, name, delimiter=likely_delimiter(text))
    except ValueError as error:
        raise Refused(str(error)) from None
    most = requests.MOST
    if data.n > most["n"] or data.d > most["d"]:
        raise Refused(
            f"The explorer takes {most['n']} rows of {most['d']} columns, got {data.n} of {data.d}: use `rf.solve`."
        )
    bias = data.d == 1
    data = data.with_bias() if bias else data
    return {"x": data.x.tolist(), "y": data.y.tolist(), "bias": bias, "classes": data.classes is not None}
