# SPDX-License-Identifier: Apache-2.0
"""The MCP server among clients that mean no good: malformed, deep and endless messages over standard input, a thousand sessions over HTTPS, and
all that its tests smuggle; requests that were answered otherwise than they should, and the memory that the server took."""
import collections
import concurrent.futures
import json
import ssl

import ingero
import kept
import mcp
import mcp_http
import mcp_server

MEASURES = ("base", "libingero", "mcp-server", "web", "proto")
MEMORY_MIB = 64
SESSIONS = 1000
AT_ONCE = 100
LONG_BYTES = 100_000_000
LINES = (
    ("malformed JSON", b'{"jsonrpc":"2.0","id":1,', -32700),
    ("10 000 levels", b"[" * 10000 + b"]" * 10000, -32700),
    ("10 000 levels of objects", b'{"a":' * 10000 + b"1" + b"}" * 10000, -32700),
    ("a line of 100 MB", b"x" * LONG_BYTES, -32600),
    ("a message of 100 MB", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"' + b"x" * LONG_BYTES + b'"}}', -32600),
    ("a number", b"7", -32600),
    ("a batch", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
    ("no method", b'{"jsonrpc":"2.0","id":1}', -32600),
    ("a method of the wrong type", b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
    ("an id of the wrong type", b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
    ("parameters of the wrong type", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
    ("an unknown method", b'{"jsonrpc":"2.0","id":1,"method":"tools/steal"}', -32601),
    ("an unknown tool", b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"steal"}}', -32602),
    ("NUL and invalid UTF-8", b'{"jsonrpc":"2.0","id":1,"method":"\xff\x00"}', -32700),
)


def stdio(bench, home):
    wrong = []
    with mcp.Client([bench.programs.path("ingero-mcp"), "--db", home.db], mcp.LEGACY[0]) as client:
        client.greet()
        for name, line, code in LINES:
            client.send(line)
            answer = client.read()
            if answer.get("error", {}).get("code") != code:
                wrong.append(f"{name}: {json.dumps(answer)[:80]}")
            client.ask("ping")
        peak = mcp_server.peak_mib(client.process.pid)
    bench.row("standard input: wrong answers", len(wrong), f"of {len(LINES)}", limit=0, note="; ".join(wrong)[:200])
    bench.row("standard input: memory of the server", peak, "MiB", limit=MEMORY_MIB)


def session(server):
    """A whole session of a client: the handshake and a call on one connection. Returns "answered", "told to wait" or "wrong"."""
    try:
        with server.connect() as connection:
            for message in ({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": mcp.LEGACY[0], "capabilities": {},
                             "clientInfo": {"name": "crowd", "version": "1"}}}, mcp_http.CALL):
                connection.sendall(server.request(message, {"Connection": ""}))
                status, _, answer = mcp_http.parsed(mcp_http.read_one(connection))
                told = json.loads(answer)
                if status != 200 or "result" not in told:
                    return "told to wait" if "ask again" in told.get("error", {}).get("message", "") else "wrong"
        return "answered"
    except (ssl.SSLError, OSError, ValueError, IndexError, TypeError):
        return "wrong"


def https(bench, home):
    server = mcp_http.Server(home)
    try:
        wrong = [name for name, request, status in mcp_http.SMUGGLED if mcp_http.parsed(server.send(request))[0] != status]
        bench.row("HTTPS: smuggled requests that were not refused", len(wrong), f"of {len(mcp_http.SMUGGLED)}", limit=0, note="; ".join(wrong)[:200])
        bench.row("HTTPS: a wrong token is refused", server.post(mcp_http.CALL, token="x" * 43)[0], "status", limit=401)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as crowd:
            ends = collections.Counter(crowd.map(lambda _: session(server), range(SESSIONS)))
        bench.row(f"HTTPS: sessions, {AT_ONCE} at once, neither answered nor told to ask again", ends["wrong"], f"of {SESSIONS}", limit=0,
                  note=f"{ends['told to wait']} were told to ask again: at most 64 requests run or wait")
        if server.post(mcp_http.CALL)[0] != 200:
            raise ingero.Failed("the server does not go on")
        bench.row("HTTPS: memory of the server", mcp_server.peak_mib(server.process.pid), "MiB", limit=MEMORY_MIB)
    finally:
        server.end()


def measure(bench):
    with kept.Kept(bench.programs.build) as home:
        home.answer("demo", "incident", "--speed", "100", "--db", home.db)
        stdio(bench, home)
        https(bench, home)
