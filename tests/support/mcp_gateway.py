# SPDX-License-Identifier: Apache-2.0
"""A gateway for tests: what clients POST goes to one server over standard input and output, and its answers come back. Ids and progress
tokens of different clients may be the same, so each message gets its own on the way, and the client's on the way back."""
import http.server
import itertools
import json
import queue
import subprocess
import threading

VERSION = "io.modelcontextprotocol/protocolVersion"
HEADER_MISMATCH = -32020
# Statuses that the protocol's newest revision wants beside codes of errors; all else is 200.
STATUSES = {-32700: 400, -32600: 400, -32601: 404, -32602: 400, HEADER_MISMATCH: 400, -32021: 400, -32022: 400}


class Gateway:
    def __init__(self, command):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.waiting = {}
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)
        gateway = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self._end(405)

            def do_POST(self):
                gateway.answer(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))

            def _end(self, status, body=b""):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                if body:
                    self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.port = self.http.server_address[1]
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def _read(self):
        """Each line of the server goes to the client that it is for: by its id, or by its progress token."""
        for line in self.process.stdout:
            message = json.loads(line)
            number = message.get("id") if "id" in message else message.get("params", {}).get("progressToken")
            with self.lock:
                waiting = self.waiting.get(number)
            if waiting:
                waiting.put(message)

    def answer(self, handler, body):
        try:
            message = json.loads(body)
        except ValueError:
            return handler._end(400, b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"not JSON"}}')
        meta = message.get("params", {}).get("_meta", {})
        named = handler.headers.get("MCP-Protocol-Version")
        if VERSION in meta and named != meta[VERSION]:
            refusal = {"jsonrpc": "2.0", "id": message.get("id"), "error": {"code": HEADER_MISMATCH, "message": "the header names another revision"}}
            return handler._end(400, json.dumps(refusal).encode())
        if "id" not in message:
            self._send(message)
            return handler._end(202)
        number, answers, own = next(self.numbers), queue.Queue(), message["id"]
        token = meta.get("progressToken")
        message["id"] = number
        if token is not None:
            message["params"]["_meta"]["progressToken"] = number
        with self.lock:
            self.waiting[number] = answers
        try:
            self._send(message)
            self._pass_on(handler, answers, own, token)
        finally:
            with self.lock:
                del self.waiting[number]
        return None

    def _pass_on(self, handler, answers, own, token):
        if token is not None:
            handler.send_response(200)
            handler.send_header("Content-Type", "text/event-stream")
            handler.send_header("Connection", "close")
            handler.end_headers()
            handler.close_connection = True
        while True:
            message = answers.get(timeout=60)
            is_last = "id" in message
            if is_last:
                message["id"] = own
            else:
                message["params"]["progressToken"] = token
            text = json.dumps(message).encode()
            if token is not None:
                handler.wfile.write(b"event: message\ndata: " + text + b"\n\n")
            elif is_last:
                handler._end(STATUSES.get(message.get("error", {}).get("code"), 200), text)
            if is_last:
                return

    def _send(self, message):
        with self.lock:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    def end(self):
        """Ends the server. Returns its exit status."""
        self.http.shutdown()
        self.process.stdin.close()
        return self.process.wait(timeout=60)
