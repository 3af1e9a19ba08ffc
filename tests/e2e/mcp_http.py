#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
mcp_http.py BUILD: the MCP server over HTTPS: whoever has the token is answered in both eras, everybody else is refused, and no
connection, however it behaves, keeps the server from the next.
"""
import hashlib
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import ingero  # noqa: E402
import kept  # noqa: E402
import mcp  # noqa: E402

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_causal_chains", "arguments": {}}}
SLOW = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
CONNECTIONS = 128  # FRONT_STRANGERS_MAX and FRONT_GUESTS_MAX of web/front.h
STUCK_S = 30  # FRONT_IDLE_S
SENT_MOST = 64 * 1024  # to a client that does not read: twice SOCKET_BYTES of web/listener.c, and a record
UNREAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 400
# What another server may read differently: each is one connection, refused with the status (tests/unit/web/gate.c has them all).
SMUGGLED = (
    ("two lengths", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400),
    ("length and chunks", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("a folded line", b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nA: b\r\n c\r\n\r\n", 400),
    ("bare line feeds", b"GET /mcp HTTP/1.1\nHost: localhost\n\n", 400),
    ("two hosts", b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400),
    ("a NUL byte", b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nA: \0\r\n\r\n", 400),
    ("a blank before the colon", b"GET /mcp HTTP/1.1\r\nHost : localhost\r\n\r\n", 400),
    ("HTTP/1.0", b"GET /mcp HTTP/1.0\r\nHost: localhost\r\n\r\n", 505),
    ("no host", b"GET /mcp HTTP/1.1\r\n\r\n", 400),
    ("a foreign host", b"GET /mcp HTTP/1.1\r\nHost: example.com\r\n\r\n", 403),
    ("a foreign origin", b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: https://example.com\r\n\r\n", 403),
    ("another method", b"PUT /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", 405),
    ("a large head", b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nA: " + b"a" * 20000 + b"\r\n\r\n", 431),
    ("a large body", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n", 413),
)


class Server:
    """A server that was started with --http, and what it said of itself."""

    program = "ingero-mcp"

    def __init__(self, home, *options, is_recorded=True, cwd="/", address=":0"):
        command = [home.programs.path(self.program), *(("--db", home.db) if is_recorded else ()), "--http", address, *options]
        self.process = subprocess.Popen(command, env={**home.environment, "HOME": home.directory}, cwd=cwd, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.said = {}
        while "certificate" not in self.said:
            line = self.process.stderr.readline()
            if not line:
                raise ingero.Failed(f"the server ended with {self.process.wait()}")
            name, _, value = line.strip().partition(": ")
            self.said[name] = value
        self.port = int(re.search(r":(\d+)/", self.said["listening"])[1])
        self.token = pathlib.Path(self.said["token"].removeprefix("in ")).read_text(encoding="ascii").strip()
        self.cert = os.path.join(home.directory, ".ingero", "mcp-cert.pem")

    def connect(self, **versions):
        context = ssl.create_default_context(cafile=self.cert)
        for name, version in versions.items():
            setattr(context, name, version)
        return context.wrap_socket(socket.create_connection(("127.0.0.1", self.port), timeout=60), server_hostname="localhost")

    def send(self, request):
        """One connection, to its end. Returns what came."""
        with self.connect() as connection:
            connection.sendall(request)
            return read_all(connection)

    def request(self, message, headers=(), token=None, path="/mcp", method="POST"):
        """The bytes of a request; a header whose value is empty is left out."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        lines = {"Host": f"localhost:{self.port}", "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                 "Authorization": f"Bearer {self.token if token is None else token}", "Connection": "close", **dict(headers)}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
        length = f"Content-Length: {len(body)}\r\n" if method == "POST" else ""
        return f"{method} {path} HTTP/1.1\r\n{head}{length}\r\n".encode() + (body if length else b"")

    def post(self, *what, **how):
        """Sends a request(). Returns the status, the headers in small letters, and the body."""
        return parsed(self.send(self.request(*what, **how)))

    def end(self):
        """SIGTERM. Returns the exit status and the seconds it took."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=60)
        self.process.stderr.close()
        return status, time.monotonic() - begin


def read_all(connection):
    got = b""
    while True:
        try:
            piece = connection.recv(65536)
        except (ssl.SSLError, ConnectionError):
            return got
        if not piece:
            return got
        got += piece


def read_one(connection):
    """One reply with a length, from a connection that stays open."""
    got = b""
    while True:
        head, end, body = got.partition(b"\r\n\r\n")
        if end and len(body) >= int(re.search(rb"content-length: (\d+)", head.lower())[1]):
            return got
        piece = connection.recv(65536)
        if not piece:
            return got
        got += piece


def parsed(reply):
    head, _, body = reply.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    return int(lines[0].split()[1]) if reply else 0, headers, body


def sentence_of(headers, body):
    """Sentence of an error of JSON-RPC; "" where the body is none."""
    return json.loads(body)["error"]["message"] if headers.get("content-type") == "application/json" else ""


def unchunked(body):
    """A body in chunks as one."""
    whole = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        whole, body = whole + body[:int(size, 16)], body[int(size, 16) + 2:]
    return whole


def modern(method, params=None, **headers):
    """A modern request and its headers."""
    meta = {mcp.META + "protocolVersion": mcp.MODERN, mcp.META + "clientCapabilities": {}}
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": {**(params or {}), "_meta": meta}}
    return message, {"MCP-Protocol-Version": mcp.MODERN, "Mcp-Method": method, **{name.replace("_", "-"): value for name, value in headers.items()}}


def files_check(check, server):
    place = pathlib.Path(server.cert).parent
    for name in ("mcp-token", "mcp-key.pem"):
        check(f"{name} is its owner's alone", stat.S_IMODE(os.stat(place / name).st_mode) == 0o600)
    der = ssl.PEM_cert_to_DER_cert(pathlib.Path(server.cert).read_text(encoding="ascii"))
    told = server.said["certificate"].removeprefix("SHA-256 ").replace(":", "").lower()
    check("the fingerprint is that of the certificate", told == hashlib.sha256(der).hexdigest(), server.said)
    check("the certificate has a file", server.said.get("certificate file") == server.cert, server.said)
    command = re.search(r'^ADD_HTTP\("(.*)"\)', (mcp.ROOT / "mcp-server/editors.def").read_text(encoding="utf-8"), re.M)[1]
    wanted = (f"NODE_EXTRA_CA_CERTS='{server.cert}'", f"; {command} ingero {server.said['listening']} ",
              f"$(cat '{place / 'mcp-token'}')", "docs/editors.md")
    check("the next step", all(part in server.said.get("to connect", "") for part in wanted), server.said)
    check("nobody else reaches it", "warning" not in server.said, server.said)
    check("loopback", server.said["listening"].startswith("https://127.0.0.1:"), server.said)


def eras_check(check, server):
    status, headers, body = server.post(CALL)
    answer = mcp.Answer(json.loads(body)["result"])
    check("a bare call", status == 200 and headers["content-type"] == "application/json" and answer.json["findings"], status, body[:300])
    check("is not kept by anybody", headers["cache-control"] == "no-store" and headers["x-content-type-options"] == "nosniff", headers)
    status, _, body = server.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": mcp.LEGACY[0], "capabilities": {}}})
    check("initialize", status == 200 and json.loads(body)["result"]["protocolVersion"] == mcp.LEGACY[0], body)
    status, headers, body = server.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    check("a notification", status == 202 and not body, status, body)
    status, _, body = server.post({"jsonrpc": "2.0", "id": 1, "method": "no/such"})
    check("legacy, no such method", status == 200 and json.loads(body)["error"]["code"] == -32601, status, body)
    status, _, body = server.post(CALL, {"MCP-Protocol-Version": "1999-01-01"})
    check("legacy, no such revision", status == 400, status, body)

    message, headers = modern("server/discover")
    status, _, body = server.post(message, headers)
    check("discover", status == 200 and json.loads(body)["result"]["resultType"] == "complete", status, body)
    message, headers = modern("tools/call", {"name": "explain", "arguments": {}}, Mcp_Name="explain")
    status, _, body = server.post(message, headers)
    check("a modern call", status == 200 and not json.loads(body)["result"]["isError"], status, body[:300])
    encoded = {**headers, "Mcp-Name": "=?base64?ZXhwbGFpbg==?="}
    check("its name in base64", server.post(message, encoded)[0] == 200)
    blanks = {name: f"  {value} \t " for name, value in headers.items()}
    check("blanks around values", server.post(message, blanks)[0] == 200)
    for name, value in (("MCP-Protocol-Version", None), ("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Method", None), ("Mcp-Method", "tools/List"),
                        ("Mcp-Name", None), ("Mcp-Name", "blame")):
        status, _, body = server.post(message, {**headers, name: value})
        check(f"{name} {value}", status == 400 and json.loads(body)["error"]["code"] == -32020, status, body)
    with_token = {**message, "params": {**message["params"], "_meta": {**message["params"]["_meta"], "progressToken": 5}}}
    status, told, body = server.post(with_token, headers)
    events = [json.loads(line.removeprefix(b"data: ")) for line in unchunked(body).split(b"\n") if line.startswith(b"data: ")]
    check("events, the last of which is the answer", status == 200 and told["content-type"] == "text/event-stream" and events[-1].get("id") == 7 and
          "result" in events[-1] and all(one.get("method") == "notifications/progress" for one in events[:-1]), status, told, body[:500])
    message, headers = modern("tools/list")
    message["params"]["_meta"][mcp.META + "protocolVersion"] = "2030-01-01"
    for named, code in (("2030-01-01", -32022), (mcp.MODERN, -32020)):
        status, _, body = server.post(message, {**headers, "MCP-Protocol-Version": named})
        check(f"a revision to come, with {named} in its header", status == 400 and json.loads(body)["error"]["code"] == code, status, body)
    message, headers = modern("no/such")
    status, _, body = server.post(message, headers)
    check("modern, no such method", status == 404 and json.loads(body)["error"]["code"] == -32601, status, body)


def refusals_check(check, server):
    for token in ("", "wrong", server.token[:-1], server.token + "0", server.token.upper()):
        status, headers, body = server.post(CALL, token=token)
        check(f"token '{token[:5]}'", status == 401 and headers.get("www-authenticate") == "Bearer" and
              "Authorization: Bearer TOKEN" in sentence_of(headers, body), status, body)
    status, headers, body = server.post(b"", method="GET")
    check("GET", status == 405 and headers["allow"] == "POST" and "POST" in sentence_of(headers, body), status, body)
    check("DELETE", server.post(b"", method="DELETE")[0] == 405)
    check("another path", server.post(CALL, path="/")[0] == 404)
    for media in ("text/plain", "application/json-patch+json"):
        check(f"type {media}", server.post(CALL, {"Content-Type": media})[0] == 415)
    check("a coding", server.post(CALL, {"Content-Encoding": "gzip"})[0] == 415)
    check("none", server.post(CALL, {"Content-Encoding": "Identity"})[0] == 200)
    check("a path that a NUL byte ends", server.post(CALL, path="/mcp%00x")[0] == 400)
    check("a port that is none", server.post(CALL, {"Host": "localhost:99999"})[0] == 403)
    check("a parameter of the type", server.post(CALL, {"Content-Type": "application/json; charset=utf-8"})[0] == 200)
    check("nothing that we send", server.post(CALL, {"Accept": "text/html"})[0] == 406)
    check("no JSON", server.post(b"{")[0] == 400)
    check("a batch", server.post([CALL])[0] == 400)
    for name, request, wanted in SMUGGLED:
        status, headers, _ = parsed(server.send(request))
        check(f"{name}: refused, and closed", status == wanted and headers.get("connection") == "close", status, headers)
    behind = server.send(SMUGGLED[0][1] + b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")
    check("nothing behind a refusal is answered", behind.count(b"HTTP/1.1 ") == 1, behind)


def in_turn_check(check, server):
    """Requests on one connection: a refusal is an answer of its own, or none."""
    head = f"Host: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer {server.token}\r\n"
    call = json.dumps(CALL).encode()
    slow = json.dumps({**CALL, "params": {"name": "run_sql", "arguments": {"query": SLOW}}}).encode()
    with server.connect() as kept_open:
        for turn in ("first", "second"):
            kept_open.sendall(f"POST /mcp HTTP/1.1\r\n{head}Content-Length: {len(call)}\r\n\r\n".encode() + call)
            check(f"{turn} of a connection", parsed(read_one(kept_open))[0] == 200)
        kept_open.sendall(SMUGGLED[0][1])
        check("a refusal behind answers", parsed(read_all(kept_open))[0] == SMUGGLED[0][2])
    with server.connect() as ahead:
        ahead.sendall(f"POST /mcp HTTP/1.1\r\n{head}Content-Length: {len(slow)}\r\n\r\n".encode() + slow + SMUGGLED[0][1])
        got = read_all(ahead)
        check("a refusal is not taken for the answer to what came before it", got == b"", got)


def example_check(check, home, server):
    """The command of the page, as it is but for the port."""
    page = (mcp.ROOT / "docs/editors.md").read_text(encoding="utf-8")
    command = next(block for block in re.findall(r"```\n(.*?)```", page, re.S) if block.startswith("curl "))
    if not shutil.which("curl"):
        return
    done = subprocess.run(["bash", "-c", command.replace(":8080/", f":{server.port}/")], env={**home.environment, "HOME": home.directory},
                          capture_output=True, text=True, timeout=60, check=False)
    check("the example of the page", done.returncode == 0 and json.loads(done.stdout)["result"]["isError"] is False, done)


def connect_slow(server, context):
    """A connection with small buffers: what is stuck is the server's."""
    plain = socket.socket()
    for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        plain.setsockopt(socket.SOL_SOCKET, buffer, 32768)
    plain.settimeout(60)
    plain.connect(("127.0.0.1", server.port))
    connection = context.wrap_socket(plain, server_hostname="localhost")
    connection.setblocking(False)
    return connection


def unread(server, n):
    """Connections whose answers nobody reads, with as many requests as they take."""
    context = ssl.create_default_context(cafile=server.cert)
    held = [connect_slow(server, context) for _ in range(n)]
    rest = list(held)
    while rest:
        rest = [one for one in select.select([], rest, [], 0.5)[1] if send_more(one, UNREAD)]
    return held


def send_more(connection, requests):
    """Return: whether it may take more."""
    try:
        connection.send(requests)
    except ssl.SSLWantWriteError:
        return True
    except (ssl.SSLError, ConnectionError):
        return False
    return True


def sent_bytes(server):
    """What the server's sockets keep for clients that do not read: the longest queue."""
    rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    return max((int(row[4].partition(":")[0], 16) for row in rows if row[1].endswith(f":{server.port:04X}")), default=0)


def strangers_check(check, server):
    """Whoever has no token keeps no place from whoever has it, neither by asking nor by not reading."""
    held = []
    try:
        for _ in range(CONNECTIONS):
            held.append(server.connect())
            held[-1].sendall(server.request(b"", token="", method="GET", headers={"Connection": None}))
            read_one(held[-1])
        with server.connect() as guest:
            held += [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(CONNECTIONS - 20)]
            guest.sendall(server.request(CALL))
            check("an answer beside a crowd that was refused, and another that comes", parsed(read_all(guest))[0] == 200)
        with server.connect() as guest:
            guest.sendall(server.request(CALL, headers={"Connection": None}))
            read_one(guest)
            held += [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(2 * CONNECTIONS)]
            guest.sendall(server.request(CALL))
            check("no stranger takes the place of an idle guest", parsed(read_all(guest))[0] == 200)
        for one in held:
            one.close()
        held = unread(server, CONNECTIONS)
        kept_bytes = sent_bytes(server)
        check("what one that does not read keeps", 0 < kept_bytes <= SENT_MOST, kept_bytes)
        check("an answer beside a crowd that does not read", server.post(CALL)[0] == 200)
    finally:
        for one in held:
            one.close()


def guests_check(check, server):
    """Idle connections with the token give way to others with it."""
    held = []
    try:
        for _ in range(CONNECTIONS):
            held.append(server.connect())
            held[-1].sendall(server.request(CALL, headers={"Connection": None}))
            read_one(held[-1])
        check("one guest more", server.post(CALL)[0] == 200)
        held[0].settimeout(60)
        check("has the place of the one that was idle the longest", read_all(held[0]) == b"")
        held[-1].sendall(server.request(CALL))
        check("and no other's", parsed(read_all(held[-1]))[0] == 200)
    finally:
        for one in held:
            one.close()


class Stuck(threading.Thread):
    """A guest that sends request behind request and reads no answer, until the server has enough."""

    def __init__(self, server):
        super().__init__()
        self._connection = connect_slow(server, ssl.create_default_context(cafile=server.cert))
        self._requests = server.request(b"", path="/", method="GET", headers={"Connection": None}) * 50
        self.seconds = None
        self.start()

    def run(self):
        begin = time.monotonic()
        poll = select.poll()
        poll.register(self._connection, select.POLLOUT)
        while time.monotonic() - begin < 3 * STUCK_S:
            if poll.poll(1000) and not send_more(self._connection, self._requests):
                self.seconds = time.monotonic() - begin
                break
        self._connection.close()

    def check(self, check):
        self.join()
        check("an answer that nobody reads", self.seconds and STUCK_S - 1 < self.seconds < 2 * STUCK_S, self.seconds)


def transport_check(check, server):
    try:
        with server.connect(minimum_version=ssl.TLSVersion.TLSv1_2, maximum_version=ssl.TLSVersion.TLSv1_2):
            check("TLS 1.2 is refused", False)
    except (ssl.SSLError, ConnectionError):
        pass
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as plain:
        plain.sendall(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try:
            got = plain.recv(1000)
        except ConnectionError:
            got = b""
        check("plain HTTP is not answered", b"HTTP" not in got, got)
    with server.connect() as slow:
        begin = time.monotonic()
        slow.sendall(b"POST /mcp HTTP/1.1\r\nHost: loc")
        check("a head that does not go on ends", read_all(slow) == b"" and time.monotonic() - begin < 30, time.monotonic() - begin)
    crowd = []
    try:
        for _ in range(CONNECTIONS + 20):
            crowd.append(socket.create_connection(("127.0.0.1", server.port), timeout=60))
        check("an answer beside a crowd that asks nothing", server.post(CALL)[0] == 200)
        crowd += [server.connect() for _ in range(CONNECTIONS)]
        check("and beside one that has shaken hands", server.post(CALL)[0] == 200)
    finally:
        for one in crowd:
            one.close()
    check("an answer behind a crowd", server.post(CALL)[0] == 200)
    strangers_check(check, server)
    guests_check(check, server)
    with server.connect() as gone:
        body = json.dumps({**CALL, "params": {"name": "run_sql", "arguments": {"query": SLOW}}}).encode()
        gone.sendall(f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: */*\r\nAuthorization: Bearer {server.token}\r\n"
                     f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    check("who goes away cancels, and others are answered", server.post(CALL)[0] == 200)


def main(build):
    check = kept.Checks()
    with kept.Kept(build) as home:
        home.answer("demo", "incident", "--speed", "100", "--db", home.db)
        server = Server(home)
        try:
            stuck = Stuck(server)
            files_check(check, server)
            eras_check(check, server)
            refusals_check(check, server)
            in_turn_check(check, server)
            example_check(check, home, server)
            transport_check(check, server)
            stuck.check(check)
            check("goes on", server.post(CALL)[0] == 200)
        finally:
            status, seconds = server.end()
        check("ends when it is told to", status == 0 and seconds < 15, status, seconds)
        again = Server(home)
        check("token and certificate are kept", (again.token, again.said["certificate"]) == (server.token, server.said["certificate"]))
        again.end()
        everywhere = Server(home, address="0.0.0.0:0")
        check("at all addresses: one to connect to, and a warning", everywhere.said["listening"] == f"https://{os.uname().nodename}:{everywhere.port}/mcp" and
              "other machines reach 0.0.0.0" in everywhere.said.get("warning", ""), everywhere.said)
        check("and who connects so is answered", everywhere.post(CALL, {"Host": f"{os.uname().nodename}:{everywhere.port}"})[0] == 200)
        everywhere.end()
        short = subprocess.run([home.programs.path("ingero-mcp"), "--http", ":0"], env={**home.environment, "INGERO_MCP_BEARER_TOKEN": "short"},
                               capture_output=True, text=True, check=False)
        check("a token that is too short", short.returncode == 2 and "INGERO_MCP_BEARER_TOKEN: a token must have" in short.stderr, short.stderr)
        taken = socket.create_server(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        for options, said in ((("--http", "nowhere"), "takes PORT"), (("--http", "localhost"), "localhost:PORT"),
                              (("--http", ":65536"), "'--http' takes a port from 0 to 65535, not ':65536'"), (("--http", "99999"), "from 0 to 65535"),
                              (("--http", "127.0.0.1:4294967297"), "from 0 to 65535"), (("--http", "::1"), "[::1]:PORT"),
                              (("--http", f":{port}"), "take another port"), (("--http", ":0", "--token-file", "/none"), "cannot read"),
                              (("--http", ":0", "--tls-cert", server.cert), "belong together")):
            done = subprocess.run([home.programs.path("ingero-mcp"), *options], env=home.environment, capture_output=True, text=True, timeout=60, check=False)
            check(f"{options}: refused", done.returncode in (1, 2) and said in done.stderr, done.returncode, done.stderr)
            check(f"{options}: a wrong address is misuse", done.returncode == 2 or "takes" not in said, done.returncode)
        taken.close()
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
