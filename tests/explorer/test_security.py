"""Who is answered, with what, and what is refused: every refusal is JSON, and nothing else can be reached."""

import contextlib
import json
import random
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from trust.mutate import spoiled, struck

from reluflow.explorer import request
from reluflow.explorer.app import make
from reluflow.explorer.presets import PRESETS
from reluflow.explorer.scheduler import Scheduler, Superseded
from reluflow.explorer.security import Security

POST = {"content-type": "application/json"}
TWO = {"data": {"kind": "two_points"}, "init": {"kind": "balanced", "width": 6, "log_scale": -10.0, "seed": 0}}


def ask(address, path="api/solve", **body):
    return httpx.post(address + path, json={"page": "test", "number": 0, **body}, timeout=60)


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "evil.example:80"},
        {"host": "127.0.0.1"},  # another port than ours
        {"host": "127.0.0.1.evil.example"},
        {"host": ""},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["", "api/start", "api/solve", "page/main.js"])
def test_a_foreign_host_or_origin_is_refused(address, headers, path):
    call = httpx.post if path == "api/solve" else httpx.get
    more = {"json": {"page": "x", "number": 0, "experiment": TWO}} if path == "api/solve" else {}
    reply = call(address + path, headers=headers, **more)
    assert reply.status_code == 403
    assert "error" in reply.json()


def test_the_own_host_and_origin_are_answered_under_both_names_of_loopback(address):
    port = address.rsplit(":", 1)[1].rstrip("/")
    for name in ("127.0.0.1", "localhost", "[::1]"):
        headers = {"host": f"{name}:{port}", "origin": f"http://{name}:{port}"}
        assert httpx.get(address + "api/start", headers=headers).status_code == 200


def test_listening_everywhere_still_refuses_names_that_could_be_rebound():
    everywhere = Security(None, "0.0.0.0", 8000)
    assert (
        everywhere.names_this_server("192.168.1.7:8000")
        and everywhere.names_this_server("[fe80::1]:8000")
        and everywhere.names_this_server("localhost:8000")
    )
    assert not everywhere.names_this_server("evil.example:8000") and not everywhere.names_this_server(
        "192.168.1.7:8001"
    )
    named = Security(None, "lab.example", 8000)
    assert named.names_this_server("lab.example:8000") and not named.names_this_server("192.168.1.7:8000")


def test_every_answer_carries_a_strict_content_policy(address):
    for reply in (
        httpx.get(address),
        httpx.get(address + "nothing"),
        ask(address, experiment=TWO),
        httpx.get(address, headers={"host": "evil"}),
    ):
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    "path",
    [
        "page/../app.py",
        "page/..%2fapp.py",
        "page/%2e%2e/app.py",
        "page//etc/passwd",
        "page/..%5capp.py",
        "page/%00",
        "etc/passwd",
        "page/",
        "page/mnist.rfx/../../app.py",
    ],
)
def test_no_file_of_the_machine_is_readable(server, path):
    address, _ = server
    host, port = address.removeprefix("http://").rstrip("/").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as line:  # httpx would tidy the path up
        line.sendall(f"GET /{path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
        reply = b""
        while part := line.recv(65536):
            reply += part
    assert reply.split(b" ")[1] == b"404"
    assert b"root:" not in reply and b"import" not in reply


def test_data_kinds_that_read_files_are_refused(address):
    for data in (
        {"kind": "from_csv", "path": "/etc/passwd"},
        {"kind": "from_npz", "path": "/etc/passwd"},
        {"kind": "mnist", "folder": "/etc"},
    ):
        reply = ask(address, experiment={**TWO, "data": data})
        assert reply.status_code == 422 and "must be one of" in reply.json()["error"]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"init": {"kind": "balanced", "width": 10**7}}, "width"),
        (
            {"init": {"kind": "balanced", "width": 2000}, "data": {"kind": "random_points", "n": 200, "d": 100}},
            "width x n",
        ),
        ({"data": {"kind": "random_points", "n": 10**6, "d": 2}}, "data.n"),
        ({"data": {"kind": "orthonormal", "n": 3, "d": 10**8}}, "data.d"),
        ({"data": {"kind": "arrays", "x": [[1, 2]] * 300, "y": [1] * 300}}, "length of data.x"),
        ({"init": {"kind": "arrays", "w": [[1]], "a": [1]}}, "init.kind"),
        ({"solve": {"save": {"memory": "1000 GiB"}}}, "solve.save"),
        ({"solve": {"limits": {"steps": 10**12}}}, "solve.limits"),
        ({"sweep": {"over": {}}}, "sweep"),
        ({"problem": {"loss": "cubic"}}, "loss"),
    ],
)
def test_what_is_too_large_or_not_the_pages_to_say_is_refused_in_a_sentence(address, change, text):
    reply = ask(address, experiment={**TWO, **change})
    assert reply.status_code == 422 and text in reply.json()["error"]
    assert "Traceback" not in reply.text


def test_a_body_may_not_be_too_long_nor_of_another_kind(address):
    long = httpx.post(address + "api/solve", content=b"[" + b"1," * 200_000 + b"1]", headers=POST)
    assert long.status_code == 413 and "bytes" in long.json()["error"]
    plain = httpx.post(address + "api/solve", content=json.dumps({"experiment": TWO}))
    assert plain.status_code == 415
    assert httpx.get(address + "api/solve").status_code == 405
    assert httpx.delete(address + "api/start").status_code == 405


def memory(pid: int) -> int:
    """Resident bytes of a process, where the system tells."""
    try:
        with open(f"/proc/{pid}/status") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS"))
    except OSError:
        pytest.skip("no /proc here to read memory from")


class Fuzz:
    """Requests between almost right and absurd."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def value(self, depth=0):
        r = self.rng
        plain = [
            *(
                None,
                True,
                False,
                0,
                -1,
                1,
                2,
                3.5,
                1e308,
                -1e308,
                1e-320,
                10**400,
                "",
                "x",
                "balanced",
                "flow",
                "\u0000",
            ),
            *("../../etc/passwd", "🜁" * 9, r.random(), r.randint(-(10**9), 10**9)),
        ]
        if depth > 3 or r.random() < 0.6:
            return r.choice(plain)
        if r.random() < 0.5:
            return [self.value(depth + 1) for _ in range(r.randint(0, 4))]
        return {
            r.choice(["kind", "x", "y", "n", "d", "seed", "a"]): self.value(depth + 1) for _ in range(r.randint(0, 3))
        }

    def pick(self, right, wrong):
        """Mostly something right."""
        return self.rng.choice(wrong if self.rng.random() < 0.06 else right)

    def experiment(self):
        r, pick = self.rng, self.pick
        rows = r.randint(1, 3)
        data = [
            {"kind": "two_points"},
            {"kind": "random_points", "n": pick([1, 3, 4], [0, -2]), "d": r.choice([1, 2, 3]), "labels": "signs"},
            {"kind": "arrays", "x": [[pick([1.0, 0.0, 1e-300], [1e300]), 1.0]] * rows, "y": pick([[1] * rows], [[1]])},
            {"kind": "two_angles", "delta": pick([0, 0.1, 0.5], [-1, 5])},
        ]
        flow = {"kind": "flow", "rtol": pick([1e-6, 1e-8], [1.0, 0])}
        descent = {"kind": "descent", "step": pick([0.1, 1e-2, 1e9], [-1, 0])}
        tables = {
            "data": r.choice(data),
            "init": {
                "kind": r.choice(["balanced", "gaussian", "fixed_output"]),
                "width": pick([1, 5, 9], [0, 10**9]),
                "log_scale": pick([-5, -50.0, 0], [-1e5, 400, 1e300]),
                "seed": pick([0, 1, 2, 3], [-1]),
            },
            "problem": {
                "loss": pick(["square", "logistic", "exponential"], ["x"]),
                "reduction": r.choice(["mean", "sum"]),
            },
            "method": r.choice([flow, descent]),
            "solve": r.choice([{}, {"t1": pick([1.0, 30.0, 1e9], [-1, 0])}, {"log_t1": pick([2.0, 5.0], [1e9])}]),
        }
        for _ in range(r.choice([0, 0, 0, 1, 2])):
            name = r.choice(list(tables))
            if r.random() < 0.5 or not isinstance(tables[name], dict):
                tables[name] = self.value()
            else:
                key = r.choice(["kind", "width", "n", "x", "t1", "loss", "extra"])
                tables[name] = {**tables[name], key: self.value()}
        return tables

    def preset(self):
        found = json.loads(json.dumps(self.rng.choice([p for p in PRESETS if p["mode"] != "single"])["experiment"]))
        found["init"]["width"] = 4
        return found

    def request(self):
        """(method, path, keywords)."""
        r, pick = self.rng, self.pick
        roll = r.random()
        path = r.choice(["api/solve"] * 16 + ["api/toml"] * 3 + ["api/overlay", "api/checks", "api/beside", "api/csv"])
        if roll < 0.1:
            body = bytes(r.randrange(256) for _ in range(r.randint(0, 80)))
            return "POST", path, {"content": body, "headers": POST}
        if roll < 0.18:
            odd = [b"{", b"[" * 50_000, b'{"a":' * 900, b'{"number":1e999}', b"NaN", b'{"page":"p","number":NaN}']
            return "POST", path, {"content": r.choice(odd), "headers": POST}
        if roll < 0.25:
            path = r.choice([path, "api/start", "page/x", ""])
            return r.choice(["GET", "PUT", "DELETE", "PATCH"]), path, {}
        if roll < 0.35:
            body = {"page": "p", "number": 0, "draft": True, "experiment": self.preset()}
            for _ in range(r.choice([1, 1, 2])):
                struck(r, body)
            return "POST", path, {"content": json.dumps(body).encode("utf-8", "surrogatepass"), "headers": POST}
        if roll < 0.42:
            body = json.dumps({"page": "p", "number": 0, "draft": True, "experiment": self.preset()}).encode()
            headers = pick(
                [POST], [{"content-type": "application/json; charset=\xff"}, {**POST, "content-encoding": "gzip"}]
            )
            headers = {name: value.encode("latin-1", "replace") for name, value in headers.items()}
            return "POST", path, {"content": spoiled(r, body)[1], "headers": headers}
        body = {
            "page": pick(["p"], ["", 3, "z" * 99]),
            "number": pick([0], [-1, 1.5, "1"]),
            "draft": r.choice([True, False, "yes"]),
            "step": pick([0.1], [1e-9, "x"]),
            "experiment": self.experiment(),
        }
        return "POST", path, {"content": json.dumps(body).encode(), "headers": POST}


def fuzzed(server, count, seed):
    """Status counts of `count` fuzzed requests, and resident memory after the first third and at the end."""
    address, process = server
    found, marks = {}, []
    with httpx.Client(timeout=60) as client:
        fuzz = Fuzz(seed)
        for k in range(count):
            method, path, more = fuzz.request()
            reply = client.request(method, address + path, **more)
            found[reply.status_code] = found.get(reply.status_code, 0) + 1
            assert 200 <= reply.status_code < 300 or 400 <= reply.status_code < 500, (
                reply.status_code,
                method,
                path,
                more,
            )
            assert b"Traceback" not in reply.content
            if reply.status_code >= 400:
                assert "error" in reply.json()
            if k in (count // 3, count - 1):
                marks.append(memory(process.pid))
    return found, marks


def test_fuzzed_requests_get_2xx_or_4xx_in_json_and_the_server_lives(server):
    found, _ = fuzzed(server, 70, seed=1)
    assert found.get(200, 0) > 10 and found.get(422, 0) > 10  # neither all right nor all wrong
    assert server[1].poll() is None and ask(server[0], experiment=TWO).status_code == 200


@pytest.mark.exhaustive
@pytest.mark.parametrize("count", [1000, 10_000])
def test_thousands_of_fuzzed_requests_leave_memory_where_it_was(server, count):
    found, (early, late) = fuzzed(server, count, seed=count)
    assert sum(found.values()) == count
    # Four solutions of up to 24 MiB are kept for the next question; beyond that nothing may pile up.
    assert late - early < 128 * 2**20
    assert server[1].poll() is None and ask(server[0], experiment=TWO).status_code == 200
    print(found, early / 2**20, late / 2**20)


@pytest.mark.parametrize("method", [{"kind": "flow", "rtol": 1e-8}, {"kind": "descent", "step": 1e-4}])
def test_a_run_that_is_no_longer_wanted_stops_after_the_burst_it_is_in(method):
    scheduler = Scheduler()
    slow = {"data": {"kind": "random_points", "n": 12, "d": 6, "seed": 1}, "method": method}
    slow["init"] = {"kind": "balanced", "width": 200, "log_scale": -10.0, "seed": 0}
    ticket, asked = scheduler.ticket("p", 1), []

    class Counted(type(ticket)):
        @property
        def stale(self):
            asked.append(1)
            if len(asked) == 3:
                scheduler.ticket("p", 2)
            return scheduler.newest["p"] > 1

    ticket.__class__ = Counted
    with pytest.raises(Superseded):
        scheduler.solved(request.experiment({**slow, "solve": {"t1": 1e4}}), ticket)
    assert len(asked) == 3  # no later than the first look after the newer request came
    scheduler.pool.shutdown()


def test_a_newer_request_of_the_same_page_overtakes_an_older_one(address):
    slow = {**TWO, "init": {**TWO["init"], "width": 400}, "data": {"kind": "random_points", "n": 12, "d": 6, "seed": 1}}
    with ThreadPoolExecutor(2) as pool:
        old = pool.submit(
            lambda: httpx.post(address + "api/solve", json={"page": "o", "number": 1, "experiment": slow}, timeout=60)
        )
        time.sleep(0.4)
        new = httpx.post(address + "api/solve", json={"page": "o", "number": 2, "experiment": TWO}, timeout=60)
        assert new.headers["content-type"] == "application/octet-stream"
        assert old.result().json() == {"superseded": True}


def test_half_sent_headers_and_bodies_do_not_hold_the_server(server):
    address, _ = server
    host, port = address.removeprefix("http://").rstrip("/").split(":")
    held = [socket.create_connection((host, int(port)), timeout=30) for _ in range(80)]
    try:
        for k, line in enumerate(held):
            line.sendall(b"GET / HTTP/1.1\r\nHost: " if k % 2 else b"")
        # The server closes each of them (a silent one would run into the socket's time-out) and answers others.
        for line in held:
            with contextlib.suppress(ConnectionError):
                while line.recv(4096):
                    pass
    finally:
        for line in held:
            line.close()
    assert httpx.get(address + "api/start").status_code == 200


def test_beyond_loopback_a_token_is_needed_once_and_kept_as_a_cookie():
    from starlette.testclient import TestClient

    app = make(host="0.0.0.0", port=8000, token="secret-word")
    with TestClient(app, base_url="http://192.168.1.7:8000") as client:
        for path in ("/", "/api/start", "/page/main.js", "/?token=wrong", "/api/start?token=secret-word"):
            refused = client.get(path, follow_redirects=False)
            assert refused.status_code == 403 and "token" in refused.json()["error"]
        entered = client.get("/?token=secret-word", follow_redirects=False)
        assert entered.status_code == 303 and "httponly" in entered.headers["set-cookie"].lower()
        assert client.get("/api/start").status_code == 200
        body = {"page": "t", "number": 0, "experiment": TWO}
        solved = client.post("/api/solve", json=body)
        assert solved.status_code == 200 and solved.headers["content-encoding"] == "gzip"
        client.cookies.clear()
        assert client.get("/api/start").status_code == 403


def test_files_of_the_page_are_compressed_and_found_again_by_their_tag(address):
    plain = httpx.get(address + "page/main.js", headers={"accept-encoding": "identity"})
    small = httpx.get(address + "page/main.js")
    assert small.headers["content-encoding"] == "gzip" and small.content == plain.content
    again = httpx.get(address + "page/main.js", headers={"if-none-match": small.headers["etag"]})
    assert again.status_code == 304 and again.content == b""
    assert "default-src 'none'" in again.headers["content-security-policy"]


def test_the_time_of_an_answer_is_bounded_as_stated(monkeypatch):
    scheduler = Scheduler()
    ticket = scheduler.ticket("p", 1)
    monkeypatch.setattr("reluflow.explorer.scheduler.time.monotonic", lambda: 100.0)
    ticket.began = 100.0 - request.SECONDS + 0.5
    ticket.check()
    ticket.began = 100.0 - request.SECONDS - 0.5
    with pytest.raises(request.Refused, match=f"more than {request.SECONDS:g} seconds"):
        ticket.check()
    assert request.SOLVE_SECONDS < request.SECONDS
    scheduler.close()
