"""The server: the page's files, and answers to what the page asks. Nothing else can be read or written through it."""

from __future__ import annotations

import contextlib
import json
import time
from importlib import resources
from typing import TYPE_CHECKING, Any

from reluflow.explorer import spec
from reluflow.explorer.desk import Desk, Superseded
from reluflow.explorer.guard import Guard
from reluflow.explorer.spec import Refused

if TYPE_CHECKING:
    from starlette.applications import Starlette

TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "rfx": "application/octet-stream",
}


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


def make(start: dict | None = None, recorded: bytes | None = None, *, host="127.0.0.1", port: int | None = None):
    """The application. `start` is the experiment to open with, `recorded` a run in the wire format to show at first."""
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route

    from reluflow.explorer.court import Court

    desk, court, files = Desk(), Court(), assets()

    def asset(request):
        name = request.path_params.get("name", "index.html")
        if name not in files:
            raise HTTPException(404, "There is no such page.")
        return Response(files[name], media_type=TYPES[name.rsplit(".", 1)[-1]])

    def about(request):
        return JSONResponse(beginning(start, recorded is not None, "mnist.rfx" in files))

    def opened(request):
        if recorded is None:
            raise HTTPException(404, "No run was given.")
        return Response(recorded, media_type=TYPES["rfx"])

    async def read(request) -> dict:
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            raise HTTPException(415, "Send `application/json`.")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > spec.BODY:
                raise HTTPException(413, f"A request may have {spec.BODY} bytes.")
        return spec.parse(body)

    async def solve(request):
        asked = await read(request)
        ticket = desk.ticket(asked.get("page"), asked.get("number"))
        await court.drop(ticket.page)
        raw = await desk.do(ticket, lambda ticket: solved(desk, ticket, asked))
        return Response(raw, media_type=TYPES["rfx"])

    async def overlay(request):
        asked = await read(request)
        ticket = desk.ticket(asked.get("page"), asked.get("number"))
        raw = await desk.do(ticket, lambda ticket: overlaid(desk, ticket, asked))
        return Response(raw, media_type=TYPES["rfx"])

    async def judge(request):
        asked = await read(request)
        ticket = desk.ticket(asked.get("page"), asked.get("number"))
        experiment = await desk.do(ticket, lambda ticket: spec.experiment(asked.get("experiment")))

        async def lines():
            async with contextlib.aclosing(court.ask(experiment.to_dict(), ticket.page)) as found:
                async for finding in found:
                    if ticket.stale:
                        return
                    yield json.dumps(finding) + "\n"

        return StreamingResponse(lines(), media_type="application/x-ndjson")

    async def toml(request):
        asked = await read(request)
        ticket = desk.ticket(asked.get("page"), asked.get("number"))
        text = await desk.do(ticket, lambda ticket: spec.experiment(asked.get("experiment")).to_toml())
        return JSONResponse({"toml": text})

    async def refused(request, error):
        return JSONResponse({"error": str(error)}, 422)

    async def superseded(request, error):
        return JSONResponse({"superseded": True})

    async def http(request, error):
        return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)

    async def unforeseen(request, error):
        return JSONResponse({"error": "Something unforeseen happened; the server goes on."}, 500)

    @contextlib.asynccontextmanager
    async def lifespan(app):
        yield
        desk.close()
        await court.stop()

    post: dict[str, Any] = {"methods": ["POST"]}
    handlers: dict[Any, Any] = {
        Refused: refused, Superseded: superseded, HTTPException: http, Exception: unforeseen,
    }  # fmt: skip
    app: Starlette = Starlette(
        routes=[
            Route("/", asset),
            Route("/api/start", about),
            Route("/api/opened", opened),
            Route("/api/solve", solve, **post),
            Route("/api/overlay", overlay, **post),
            Route("/api/judge", judge, **post),
            Route("/api/toml", toml, **post),
            Route("/page/{name:path}", asset),
        ],
        exception_handlers=handlers,
        lifespan=lifespan,
    )
    return Guard(app, host, port)


def beginning(start: dict | None, opened: bool, mnist: bool) -> dict:
    """What the page needs to know first."""
    from reluflow import __version__
    from reluflow.explorer.presets import PRESETS, RECORDED

    return {
        "version": __version__,
        "presets": [*PRESETS, *(RECORDED if mnist else [])],
        "start": start,
        "opened": opened,
        "most": spec.MOST,
    }


def solved(desk: Desk, ticket, asked: dict) -> bytes:
    """The picture of a run; with `draft`, a quick one for while a slider moves."""
    from reluflow.explorer import wire
    from reluflow.explorer.frames import picture

    began, busy = time.perf_counter(), time.thread_time()
    draft = asked.get("draft") is True
    experiment = spec.experiment(asked.get("experiment"), draft=draft)
    sol = desk.solved(experiment, ticket)
    ticket.check()
    header, arrays = picture(sol, draft=draft)
    cost = {"spent": time.perf_counter() - began, "cpu": time.thread_time() - busy}
    return wire.encode({**header, **cost, "key": experiment.key}, arrays)


def overlaid(desk: Desk, ticket, asked: dict) -> bytes:
    """The descent with the step asked for, beside the flow: its own picture, and when their outputs part."""
    from reluflow.explorer import wire
    from reluflow.explorer.overlay import beside

    flow = spec.experiment(asked.get("experiment"))
    if flow["method.kind"] != "flow":
        raise Refused("Descent is laid over a flow: choose the flow first.")
    tables = {k: v for k, v in asked["experiment"].items() if k != "solve"}
    header, arrays = beside(desk.solved(flow, ticket), tables, asked.get("step"), ticket)
    return wire.encode(header, arrays)
