# SPDX-License-Identifier: Apache-2.0
"""
Socket activation as systemd does it, for one daemon of a test: holds the listening socket, starts the daemon
when a client connects, reads its status messages, and starts it again.

Also a client that sends Hello and one request, in the bytes of docs/protocol.md.
"""
import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import time

import ingero

PATIENCE_S = 60
REQUEST, REPLY, END, CREDIT, CANCEL = 1, 2, 3, 4, 5
# The variable has to name the process itself, which is not known before it runs.
WITH_PID = 'export LISTEN_PID=$$ && exec "$@"'


@contextlib.contextmanager
def listening(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(path)
        one.listen(8)
        yield one


@contextlib.contextmanager
def connected(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(path)
        yield one


class Activated:
    """A listening socket and the daemon started by it; leaving the context ends both."""

    def __init__(self, programs, directory, *options, watchdog_us=0, command=()):
        self.programs = programs
        self.path = os.path.join(directory, "ingero.sock")
        self.n_started = 0
        self.process = None
        self.said = []  # every line that the daemon sent to its supervisor
        # if the daemon ignored the socket, it would serve another path than the machine's
        self._options = [*command, programs.path("ingero-collectord"), "--socket", os.path.join(directory, "other.sock"), *map(str, options)]
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(self.path)
        os.chmod(self.path, 0o666)
        self._listening.listen(128)
        self._notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._notified.bind(os.path.join(directory, "notify.sock"))
        os.chmod(os.path.join(directory, "notify.sock"), 0o666)
        self.log_path = os.path.join(directory, "collectord.log")
        self._log = open(self.log_path, "a", encoding="utf-8")  # noqa: SIM115
        self._environment = {**os.environ, "LISTEN_FDS": "1", "NOTIFY_SOCKET": os.path.join(directory, "notify.sock")}
        if watchdog_us:
            self._environment["WATCHDOG_USEC"] = str(watchdog_us)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        for one in (self._listening, self._notified, self._log):
            one.close()

    def start(self):
        def inherit():
            os.dup2(self._listening.fileno(), 3)
            os.set_inheritable(3, True)  # dup2 does not if the descriptor is 3 already

        self.n_started += 1
        self.process = subprocess.Popen(["sh", "-c", WITH_PID, "sh", *self._options], env=self._environment, close_fds=False,
                                        preexec_fn=inherit, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.wait_for_exit()
            except ingero.Failed:
                self.process.kill()
                self.process.wait()
                raise

    def supervise(self, until, what):
        """Supervises as systemd does until the condition is true. Returns its value."""
        end = time.monotonic() + PATIENCE_S
        while True:
            self._hear()
            is_running = self.process is not None and self.process.poll() is None
            if not is_running and select.select([self._listening], [], [], 0)[0]:
                self.start()
            value = until()
            if value:
                return value
            if time.monotonic() > end:
                raise ingero.Failed(f"{what} did not come within {PATIENCE_S} s; the daemon said: {self.log()[-2000:]}")
            select.select([self._notified, *([] if is_running else [self._listening])], [], [], 0.005)

    def _hear(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                self.said += self._notified.recv(65536, socket.MSG_DONTWAIT).decode("utf-8").splitlines()

    def wait_for_line(self, beginning, behind=0):
        """The first line with that beginning among those said after the first `behind`."""
        return self.supervise(lambda: next((line for line in self.said[behind:] if line.startswith(beginning)), None), f"'{beginning}'")

    def wait_for_exit(self):
        """Waits for the daemon's exit without starting it again."""
        end = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            select.select([self._notified], [], [], 0.005)
            self._hear()  # a client that connects before a daemon listens must wait
            if time.monotonic() > end:
                raise ingero.Failed(f"the daemon did not end within {PATIENCE_S} s; it said: {self.log()[-2000:]}")
        self._hear()
        return self.process.returncode

    def log(self):
        with open(self.log_path, encoding="utf-8") as file:
            return file.read()


def varint(value):
    said = b""
    while value > 0x7f:
        said += bytes([value & 0x7f | 0x80])
        value >>= 7
    return said + bytes([value])


def message(body):
    """Encodes a field with a length prefix."""
    return varint(len(body)) + body


def fields(body):
    """Decodes a protobuf message: {field number: [value]}; texts and messages as bytes."""
    said, at = {}, 0

    def number():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = body[at]
            at += 1
            value |= (byte & 0x7f) << shift
            if byte < 0x80:
                return value
            shift += 7

    while at < len(body):
        key = number()
        if key & 7 == 0:
            value = number()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or number()
            value = body[at:at + size]
            at += size
        said.setdefault(key >> 3, []).append(value)
    return said


def frame(kind, stream, body):
    return struct.pack("<IBBHI", len(body), kind, 0, 0, stream) + body


def request(stream, method, message=b"", deadline_ms=PATIENCE_S * 1000):
    """deadline_ms: 0: the daemon's default, which is none for a stream."""
    return frame(REQUEST, stream, struct.pack("<IB", deadline_ms, len(method)) + method.encode() + message)


class Client:
    """One connection that has sent Hello and a status request; it may connect before a daemon runs."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.setblocking(False)
        self._socket.connect(path)
        # HelloRequest.protocol_major = 1
        self._socket.sendall(request(1, "ingero.v1.Query.Hello", b"\x08\x01") + request(2, "ingero.v1.Query.Status") +
                             frame(CREDIT, 2, struct.pack("<I", 1 << 20)))
        self._bytes = b""
        self.frames = []
        self.is_lost = False

    def close(self):
        self._socket.close()

    def ask(self, stream, method, message=b"", credit=4 << 20, **options):
        """credit: bytes of replies that are welcome beside the 1 MiB of every stream; options: of request()."""
        self._socket.sendall(request(stream, f"ingero.v1.{method}", message, **options) + (frame(CREDIT, stream, struct.pack("<I", credit)) if credit else b""))

    def credit(self, stream, n_bytes):
        self._socket.sendall(frame(CREDIT, stream, struct.pack("<I", n_bytes)))

    def cancel(self, stream):
        self._socket.sendall(frame(CANCEL, stream, b""))

    def status(self):
        """Bytes of the StatusReply; None while it has not come and the daemon runs."""
        return self.reply(2)

    def end(self, stream):
        """Bytes of the END frame of a call; None while the call is running."""
        self._read()
        return next((body for kind, of, body in self.frames if (kind, of) == (END, stream)), None)

    def reply(self, stream):
        """Bytes of the first reply of a stream; None: there is none."""
        return next(iter(self.replies(stream)), None)

    def answer(self, stream):
        """Bytes of the first reply of a stream, or of its END frame where it ended without one; None: neither has come."""
        ended = self.end(stream)  # first: a reply that comes with it has been read, too
        return self.reply(stream) or ended

    def replies(self, stream):
        """Bytes of each reply of a stream so far."""
        self._read()
        return [body for kind, of, body in self.frames if (kind, of) == (REPLY, stream)]

    def _read(self):
        with contextlib.suppress(BlockingIOError):
            while not self.is_lost:
                try:
                    got = self._socket.recv(65536)
                except ConnectionResetError:  # the request was not read
                    got = b""
                self.is_lost = not got
                self._bytes += got
        while len(self._bytes) >= 12:
            length, kind, _, _, stream = struct.unpack("<IBBHI", self._bytes[:12])
            if len(self._bytes) < 12 + length:
                break
            self.frames.append((kind, stream, self._bytes[12:12 + length]))
            self._bytes = self._bytes[12 + length:]
