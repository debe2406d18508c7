"""Serving the page: what to open with, and a server that says its address once it listens."""

import secrets
import socket
from collections.abc import Callable
from pathlib import Path

from reluflow.explorer import request
from reluflow.explorer.app import make


def opening(path: Path) -> tuple[dict | None, bytes | None]:
    """(experiment tables, or None; an encoded run, or None) of a .toml file or a run folder."""
    from reluflow.experiment import Experiment

    if path.is_dir():
        from reluflow.explorer import encoding
        from reluflow.explorer.frames import picture
        from reluflow.store import load

        sol = load(path)
        tables = None if sol.experiment is None else _tables(sol.experiment)
        header, arrays = picture(sol)
        return tables, encoding.encode({**header, "name": path.name}, arrays)
    tables = _tables(Experiment.from_toml(path))
    if tables is None:
        raise ValueError(
            f"`{path}` must fit the page ({request.MOST['n']} points, {request.MOST['d']} dimensions, "
            f"{request.MOST['width']} neurons, weights drawn by seed): `reluflow run` it, then explore the run folder."
        )
    return tables, None


def _tables(experiment) -> dict | None:
    """The experiment as the page's state, data written out where no name makes them; None where it does not fit."""
    tables = experiment.to_dict()
    found = {name: dict(tables[name]) for name in ("data", "init", "problem", "method")}
    if found["data"]["kind"] not in request.DATA:
        data = experiment.data
        found["data"] = {"kind": "arrays", "x": data.x.tolist(), "y": data.y.tolist(), "name": data.name}
    found["solve"] = {k: v for k, v in tables.get("solve", {}).items() if k in ("t1", "log_t1") and v is not None}
    try:
        request.experiment(found)
    except request.Refused:
        return None
    return found


def serve(
    start: dict | None = None,
    recorded: bytes | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serves until Ctrl-C; `ready` is told the address."""
    try:
        import uvicorn
    except ImportError:
        raise ImportError("The explorer needs starlette and uvicorn: install `reluflow[explore]`.") from None

    from reluflow.explorer.protocol import TimedProtocol

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            why = (error.strerror or "an error").lower()
            raise ValueError(
                f"`--port` must be free on {host}, got {port} ({why}): leave it out for a free one."
            ) from None
        port = listening.getsockname()[1]
        # On loopback Host and Origin suffice; beyond it whoever has not seen the printed address is refused.
        token = None if host in ("127.0.0.1", "localhost", "::1") else secrets.token_urlsafe(16)
        app = make(start, recorded, host=host, port=port, token=token)
        config = uvicorn.Config(
            app,
            http=TimedProtocol,
            log_level="critical",
            access_log=False,
            server_header=False,
            lifespan="on",
            ws="none",
            limit_concurrency=64,
            h11_max_incomplete_event_size=32 * 1024,
            timeout_graceful_shutdown=2,
        )
        server = uvicorn.Server(config)
        shown = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
        if ready is not None:
            listening.listen(128)
            ready(f"http://{shown}:{port}/" + (f"?token={token}" if token else ""))
        server.run(sockets=[listening])
