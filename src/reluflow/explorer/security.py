"""Which requests are answered: Host and Origin are checked, and every answer carries a strict content policy.

The page needs its own files and its own server and nothing else; another site open in the same browser can neither read
from it nor send requests to it. A foreign name that resolves to this machine (DNS rebinding) shows in Host and is
refused. A server that listens beyond loopback also requires a token: it is in the address that `reluflow explore`
prints, and the page keeps it as a cookie.
"""

import hmac
import ipaddress
import json
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; "
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


COOKIE = "reluflow-token"


class Security:
    """Refuses foreign hosts and origins, and requests without the token; adds the headers to every answer."""

    def __init__(self, app, host: str = "127.0.0.1", port: int | None = None, token: str | None = None):
        self.app, self.host, self.port, self.token = app, host, port, token

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}

        async def with_headers(message):
            if message["type"] == "http.response.start":
                given = message.get("headers", [])
                names = {k.decode().lower() for k, _ in given}
                given = [(k, v) for k, v in given if k.decode().lower() not in HEADERS or k.lower() == b"cache-control"]
                more = [(k, v) for k, v in HEADERS.items() if k != "cache-control" or k not in names]
                message = {**message, "headers": given + [(k.encode(), v.encode()) for k, v in more]}
            await send(message)

        why = self.refusal(headers)
        if why is None and self.token is not None:
            offered = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
            if scope["path"] == "/" and self.accepts(offered):
                cookie = f"{COOKIE}={self.token}; Path=/; HttpOnly; SameSite=Strict"
                headers_out = [(b"location", b"/"), (b"set-cookie", cookie.encode()), (b"content-length", b"0")]
                await with_headers({"type": "http.response.start", "status": 303, "headers": headers_out})
                await send({"type": "http.response.body", "body": b""})
                return
            if not self.accepts(cookie_of(headers)):
                why = "This server needs its token: open the address that `reluflow explore` printed."
        if why is None:
            await self.app(scope, receive, with_headers)
            return
        body = json.dumps({"error": why}).encode()
        kind = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await with_headers({"type": "http.response.start", "status": 403, "headers": kind})
        await send({"type": "http.response.body", "body": body})

    def accepts(self, offered: str) -> bool:
        return self.token is not None and hmac.compare_digest(offered.encode(), self.token.encode())

    def refusal(self, headers: dict[str, str]) -> str | None:
        """Why a request with these headers is not answered; None where it is."""
        host = headers.get("host", "")
        if not self.names_this_server(host):
            return "This server answers only under its own address."
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
            return "This server does not answer other sites."
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return "This server does not answer other sites."
        return None

    def names_this_server(self, given: str) -> bool:
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


def cookie_of(headers: dict[str, str]) -> str:
    """The token that a request carries, or nothing."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value
