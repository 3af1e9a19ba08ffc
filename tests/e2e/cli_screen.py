# SPDX-License-Identifier: Apache-2.0
"""
A terminal for tests: a pseudo terminal with a program on it, and the screen that it draws.

Knows the few control sequences that ingero uses and fails on any other, so that a
new one cannot slip in untested.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import unicodedata

CSI = re.compile(rb"\x1b\[([?0-9;]*)([A-Za-z])")
PATIENCE_S = 60  # how long a program may keep silent before the test gives up; never waited for on success


class Unexpected(Exception):
    """The program did what no terminal program of ours should."""


def columns_of(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class Screen:
    """What is to be seen: the normal screen with everything that scrolled off, and the alternate one."""

    def __init__(self, rows, columns):
        self.resize(rows, columns)
        self.normal = ""
        self.lines = {}
        self.is_alternate = False
        self.cursor_hidden = False
        self.tones = set()
        self.row, self.column = 1, 1
        self.frames = 0
        self.pending = b""

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns

    def feed(self, data):
        data = self.pending + data
        self.pending = b""
        at = 0
        while at < len(data):
            if data[at] == 0x1B:
                found = CSI.match(data, at)
                if not found:
                    if len(data) - at < 16:
                        self.pending = data[at:]
                        return
                    raise Unexpected(f"control sequence {data[at:at + 16]!r}")
                self.control(found.group(1).decode(), found.group(2).decode())
                at = found.end()
                continue
            end = data.find(b"\x1b", at)
            chunk = data[at:end if end >= 0 else len(data)]
            try:
                text = chunk.decode()
            except UnicodeDecodeError as error:
                if end >= 0 or error.start < len(chunk) - 4:
                    raise Unexpected(f"bytes that are no text: {chunk!r}")
                self.pending = chunk[error.start:]
                text = chunk[:error.start].decode()
                self.text(text)
                return
            self.text(text)
            at += len(chunk)

    def text(self, text):
        if not self.is_alternate:
            self.normal += text
            return
        for c in text:
            if ord(c) < 32:
                raise Unexpected(f"control character {c!r} on the live screen")
            if self.row > self.rows or self.column > self.columns:
                raise Unexpected(f"{c!r} at row {self.row}, column {self.column} of {self.rows}x{self.columns}")
            line = self.lines.setdefault(self.row, {})
            line[self.column] = c
            self.column += columns_of(c)

    def control(self, arguments, letter):
        if letter == "m":
            self.tones.add(arguments)
        elif letter in "hl" and arguments == "?1049":
            self.is_alternate = letter == "h"
        elif letter in "hl" and arguments == "?25":
            self.cursor_hidden = letter == "l"
        elif letter == "H":
            self.row, self.column = (int(n) for n in arguments.split(";"))
        elif letter == "K":
            line = self.lines.get(self.row, {})
            self.lines[self.row] = {k: v for k, v in line.items() if k < self.column}
        elif letter == "J" and arguments == "2":
            self.lines = {}
        elif letter == "J":
            self.lines = {k: v for k, v in self.lines.items() if k <= self.row}
            self.frames += 1
        else:
            raise Unexpected(f"control sequence CSI {arguments}{letter}")

    def shown(self):
        """The live screen as lines of text."""
        last = max(self.lines, default=0)
        return ["".join(self.lines.get(row, {}).get(column, " ") for column in range(1, self.columns + 1)).rstrip()
                for row in range(1, last + 1)]


class Terminal:
    """A program on a pseudo terminal of its own, as its session's foreground."""

    def __init__(self, argv, environment, rows=24, columns=80, stdout=None, stdin=None):
        self.screen = Screen(rows, columns)
        self.raw = b""
        self.master, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.inner = inner  # kept open: the modes can be read after the program's end
        self.modes_before = termios.tcgetattr(inner)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(inner, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(inner, fd)
            if stdin is not None:
                os.dup2(stdin, 0)
            if stdout is not None:
                os.dup2(stdout, 1)
            os.closerange(3, 256)
            os.execvpe(argv[0], argv, environment)
        self.status = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()
        os.close(self.master)
        os.close(self.inner)

    def until(self, condition, what):
        """Reads until condition(screen) holds."""
        while not condition(self.screen):
            ready, _, _ = select.select([self.master], [], [], PATIENCE_S)
            if not ready:
                raise Unexpected(f"still waiting for {what}; screen:\n" + "\n".join(self.screen.shown()) +
                                 "\nnormal:\n" + self.screen.normal)
            data = os.read(self.master, 65536)
            self.raw += data
            self.screen.feed(data)

    def wait(self):
        """Reads to the end of the program. Returns its exit status as a shell sees it."""
        os.set_blocking(self.master, False)
        pidfd = os.pidfd_open(self.pid)
        while True:
            ready, _, _ = select.select([self.master, pidfd], [], [], PATIENCE_S)
            if not ready:
                raise Unexpected("the program does not end")
            try:
                data = os.read(self.master, 65536)
                self.raw += data
                self.screen.feed(data)
            except (BlockingIOError, OSError):
                if pidfd in ready:
                    break
        os.close(pidfd)
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self.status = code if code >= 0 else 128 - code
        return self.status

    def type(self, text):
        os.write(self.master, text.encode())

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        self.screen.lines = {}
        fcntl.ioctl(self.inner, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def modes_are_restored(self):
        return termios.tcgetattr(self.inner) == self.modes_before
