"""Who may ask: Host and Origin are checked, and every answer carries a strict content policy.

The page needs its own files and its own server, nothing else; another site open in the same browser may neither read
nor ask. A name that resolves to this machine (DNS rebinding) shows in Host and is refused.
"""

from __future__ import annotations

import ipaddress
import json

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class Guard:
    """Refuses foreign hosts and origins; adds the headers to every answer."""

    def __init__(self, app, host: str = "127.0.0.1", port: int | None = None):
        self.app, self.host, self.port = app, host, port

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}

        async def with_headers(message):
            if message["type"] == "http.response.start":
                given = [(k, v) for k, v in message.get("headers", []) if k.decode().lower() not in HEADERS]
                message = {**message, "headers": given + [(k.encode(), v.encode()) for k, v in HEADERS.items()]}
            await send(message)

        why = self.refusal(headers)
        if why is None:
            await self.app(scope, receive, with_headers)
            return
        body = json.dumps({"error": why}).encode()
        kind = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await with_headers({"type": "http.response.start", "status": 403, "headers": kind})
        await send({"type": "http.response.body", "body": body})

    def refusal(self, headers: dict[str, str]) -> str | None:
        """Why a request with these headers is not answered; None where it is."""
        host = headers.get("host", "")
        if not self.mine(host):
            return "This server answers only under its own address."
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
            return "Other sites may not ask this server."
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return "Other sites may not ask this server."
        return None

    def mine(self, given: str) -> bool:
        """Whether a Host header names this server: loopback, or what was asked for when it was started."""
        name, _, port = given.rpartition(":") if not given.endswith("]") else (given, "", "")
        if not name:
            name, port = given, ""
        if self.port is not None and (port or "80") != str(self.port):
            return False
        name = name.lower()
        if self.host in ("127.0.0.1", "localhost", "::1"):
            return name in LOOPBACK
        if name in (*LOOPBACK, self.host.lower()):
            return True
        if self.host in ("0.0.0.0", "::"):
            # Listening everywhere: a bare address cannot be rebound, a name could.
            try:
                ipaddress.ip_address(name.strip("[]"))
            except ValueError:
                return False
            return True
        return False
