#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
mcp_conformance.py BUILD [REVISION...]: the protocol's own conformance suite against the MCP server with fixtures, over HTTPS with a token,
and over standard input and output.

The suite speaks plain HTTP and has no token: a proxy on loopback adds both, and hands everything else on as it is; a gateway does the same for
standard input and output. Failures that are expected, each with its reason, are in tests/data/mcp-conformance/.
"""
import contextlib
import json
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import kept  # noqa: E402
import mcp  # noqa: E402
import mcp_gateway  # noqa: E402
import mcp_http  # noqa: E402
import npx  # noqa: E402

SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
EXPECTED = HERE.parent / "data" / "mcp-conformance"


class Proxy:
    """Plain HTTP on loopback for one HTTPS server. Adds the bearer token; a connection has one request, all else of it passes as it is."""

    def __init__(self, server):
        self.server = server
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client:
            try:
                request = self._request(client)
                if not request:
                    return
                with self.server.connect() as upstream:
                    upstream.sendall(request)
                    # the client may go away meanwhile: so does this connection, then
                    while piece := upstream.recv(65536):
                        client.sendall(piece)
            except (OSError, ssl.SSLError, ValueError):
                pass

    def _request(self, client):
        """One whole request, with the token, for a connection of its own; nothing where the client has ended."""
        got = b""
        while b"\r\n\r\n" not in got:
            piece = client.recv(65536)
            if not piece:
                return b""
            got += piece
        head, _, body = got.partition(b"\r\n\r\n")
        lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines[1:])}
        while len(body) < int(headers.get(b"content-length", b"0")) or (b"transfer-encoding" in headers and not body.endswith(b"0\r\n\r\n")):
            piece = client.recv(65536)
            if not piece:
                return b""
            body += piece
        lines += [f"Authorization: Bearer {self.server.token}".encode(), b"Connection: close"]
        return b"\r\n".join(lines) + b"\r\n\r\n" + body


class FixtureServer(mcp_http.Server):
    """The server whose lists have the suite's names, too."""

    program = "mcp_fixtures"


def show_unmet(out):
    """Each check of the suite that failed or that it warns of, with its reason."""
    for path in sorted(pathlib.Path(out).glob("*/checks.json")):
        for one in json.loads(path.read_text(encoding="utf-8")):
            if one["status"] in ("FAILURE", "WARNING"):
                print(f"{one['status'].lower()}: {re.sub('^server-|-[0-9]{4}-[0-9-]*T.*', '', path.parent.name)}: {one['id']}: {one.get('errorMessage') or one['description']}")


@contextlib.contextmanager
def over_http(home):
    """Port of the proxy in front of the server over HTTPS."""
    server = FixtureServer(home)
    proxy = Proxy(server)
    try:
        yield proxy.port
    finally:
        proxy.listening.close()
        server.end()


@contextlib.contextmanager
def over_stdio(home):
    """Port of the gateway to the server over standard input and output."""
    gateway = mcp_gateway.Gateway([home.programs.path(FixtureServer.program), "--db", home.db])
    try:
        yield gateway.port
    finally:
        gateway.end()


def suite(home, name, revision, port):
    """Whether every failure is an expected one, and every expected one a failure."""
    out = home.path(f"conformance-{name}")
    expected = EXPECTED / f"{name}.yml"
    done = subprocess.run(npx.command(SUITE, "conformance", "server", "--url", f"http://localhost:{port}/mcp", "--requirements", revision,
                                      "--expected-failures", str(expected), "-o", out), cwd=home.directory, check=False)
    show_unmet(out)
    return done.returncode == 0


def main(build, *revisions):
    failed = []
    with kept.Kept(build) as home:
        home.answer("demo", "cpu-contention", "--speed", "100", "--db", home.db)
        for carrier in (over_http, over_stdio):
            for revision in revisions or (mcp.MODERN, mcp.LEGACY[0]):
                with carrier(home) as port:
                    if not suite(home, f"{revision}-{carrier.__name__.removeprefix('over_')}", revision, port):
                        failed.append(f"{revision} {carrier.__name__.replace('_', ' ')}")
    print(f"conformance: {'failed: ' + ', '.join(failed) if failed else 'passed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
