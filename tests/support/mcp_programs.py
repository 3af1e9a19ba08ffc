#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
mcp_programs.py BUILD: programs that people ask with, set up by what `ingero mcp --print-config` prints, verbatim. ollmcp, with an invented model
in Ollama's place, which calls a tool and is given its answer; Claude Code, as far as it goes without an account: it adds the server, connects, and
says so. The packages are fetched once, into the user's cache.
"""
import http.server
import json
import os
import pathlib
import pty
import re
import select
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import ingero  # noqa: E402
import kept  # noqa: E402
import mcp_http  # noqa: E402
import mcp_stdio  # noqa: E402
import npx  # noqa: E402
import pypi  # noqa: E402

OLLMCP = "mcp-client-for-ollama==0.35.1"
CLAUDE = "@anthropic-ai/claude-code@2.1.332"
MODEL = "invented"


class Model:
    """Ollama's place, on loopback. Its one model calls explain, and ends when it has been given the answer."""

    def __init__(self):
        self.asked = []
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self._say({"models": [{"name": MODEL, "model": MODEL, "modified_at": "2026-01-01T00:00:00.0Z", "size": 1, "digest": "0", "details": {}}]})

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self._say(model.turn(asked) if self.path == "/api/chat" else {"capabilities": ["completion", "tools"], "details": {}, "model_info": {}})

            def _say(self, answer):
                body = json.dumps(answer).encode() + b"\n"
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def turn(self, asked):
        self.asked.append(asked)
        message = {"role": "assistant", "content": "That is all."}
        if asked["messages"][-1]["role"] != "tool":
            message = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "ingero_explain", "arguments": {}}}]}
        return {"model": MODEL, "created_at": "2026-01-01T00:00:00.0Z", "message": message, "done": True, "done_reason": "stop",
                "prompt_eval_count": 1, "eval_count": 1}


class Terminal:
    """A program in a terminal of its own. said: all that it has printed, without escape sequences."""

    def __init__(self, command, home):
        self.terminal, inner = pty.openpty()
        self.process = subprocess.Popen([str(word) for word in command], env={**home.environment, "TERM": "dumb", "NO_COLOR": "1"}, cwd=home.directory,
                                        stdin=inner, stdout=inner, stderr=inner, start_new_session=True)
        os.close(inner)
        self.said = ""
        self.seen = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._read(until=lambda: False, limit_s=20)
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)

    def _read(self, until, limit_s):
        end = time.monotonic() + limit_s
        while not until() and time.monotonic() < end:
            if select.select([self.terminal], [], [], 1)[0]:
                try:
                    got = os.read(self.terminal, 65536).decode(errors="replace")
                except OSError:  # it ended
                    return
                self.said += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", got)

    def answer(self, prompt, text):
        """Types the text when the prompt, a pattern, has come behind the one before."""
        found = []

        def has_come():
            found[:] = [re.compile(prompt, re.S).search(self.said, self.seen)]
            return found[0]

        self._read(has_come, 60)
        if not has_come():
            raise ingero.Failed(f"no '{prompt}': {self.said[-3000:]}")
        self.seen = found[0].end()
        os.write(self.terminal, text.encode())


def print_config(home, name):
    return subprocess.run([home.programs.path("ingero"), "mcp", "--print-config", name, "--db", home.db], env=home.environment, cwd=home.directory,
                          capture_output=True, text=True, check=True).stdout


def ollmcp_check(check, home):
    config = home.path("ingero-mcp.json")
    pathlib.Path(config).write_text(print_config(home, "ollmcp"), encoding="utf-8")
    model = Model()
    with Terminal([pypi.installed(OLLMCP) / "ollmcp", "-m", MODEL, "-j", config, "-H", model.address], home) as terminal:
        terminal.answer("tools❯", "why is it slow?\r")
        terminal.answer("What would you like to do", "y\r")
        terminal.answer("That is all.*tools❯", "quit\r")
    if check("ollmcp: asks the model", model.asked, terminal.said[-3000:]):
        tools = {tool["function"]["name"] for tool in model.asked[0]["tools"]}
        check("ollmcp: all tools", tools == {f"ingero_{name}" for name in mcp_stdio.TOOLS}, tools)
        answers = [message["content"] for asked in model.asked for message in asked["messages"] if message["role"] == "tool"]
        check("ollmcp: the model is given the answer", answers and "ffmpeg" in answers[0], answers, terminal.said[-3000:])
    print(f"ollmcp: {' '.join(re.findall('[0-9/]+ tools enabled|[0-9]+ resource.*template.s.', terminal.said))}")


def claude_check(check, home):
    claude = npx.command(CLAUDE, "claude")[1:]
    environment = {**home.environment, "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}

    def run(*arguments):
        done = subprocess.run([*claude, "mcp", *arguments], env=environment, cwd=home.directory, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120, check=False)
        return done.stdout + done.stderr

    server = json.loads(print_config(home, "claude"))["mcpServers"]["ingero"]
    said = run("add-json", "ingero", json.dumps(server))
    check("Claude Code: adds it", "Added" in said, said)
    https = mcp_http.Server(home)
    environment["NODE_EXTRA_CA_CERTS"] = https.cert
    try:
        run("add", "--transport", "http", "ingero-https", f"https://localhost:{https.port}/mcp", "--header", f"Authorization: Bearer {https.token}")
        said = run("list")
    finally:
        https.end()
    for name in ("ingero", "ingero-https"):
        check(f"Claude Code: {name} is connected to", re.search(f"^{name}: .*Connected", said, re.M), said)
    print(f"Claude Code: {said.strip()}")


def main(build):
    check = kept.Checks()
    with kept.Kept(build) as home:
        home.answer("demo", "cpu-contention", "--speed", "100", "--db", home.db)
        ollmcp_check(check, home)
        claude_check(check, home)
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
