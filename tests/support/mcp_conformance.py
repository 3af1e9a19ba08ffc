#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
mcp_conformance.py BUILD [REVISION...]: the protocol's own conformance suite against the MCP server with fixtures, over TLS with a token.

The suite speaks plain HTTP and has no token: a proxy on loopback adds both, and hands everything else on as it is. Needs npx of Node 22 or
newer, which fetches the suite. Failures that are expected, each with its reason, are in tests/data/mcp-conformance.yml.
"""
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import kept  # noqa: E402
import mcp  # noqa: E402
import mcp_http  # noqa: E402

SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
EXPECTED = HERE.parent / "data" / "mcp-conformance.yml"


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


def main(build, *revisions):
    if not shutil.which("npx"):
        kept.skip("no npx")
    failed = []
    with kept.Kept(build) as home:
        home.answer("demo", "cpu-contention", "--speed", "100", "--db", home.db)
        server = FixtureServer(home)
        proxy = Proxy(server)
        try:
            for revision in revisions or (mcp.MODERN, mcp.LEGACY[0]):
                out = home.path(f"conformance-{revision}")
                done = subprocess.run(["npx", "--yes", SUITE, "server", "--url", f"http://localhost:{proxy.port}/mcp", "--requirements", revision,
                                       "--expected-failures", str(EXPECTED), "-o", out], cwd=home.directory, check=False,
                                      env={**os.environ, "HOME": os.environ.get("HOME", home.directory)})
                if done.returncode:
                    failed.append(revision)
        finally:
            proxy.listening.close()
            server.end()
    print(f"conformance: {'failed: ' + ', '.join(failed) if failed else 'passed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
