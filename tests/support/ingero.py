# SPDX-License-Identifier: Apache-2.0
"""
Starts Ingero and its workloads for tests and benchmarks in Python, waits for them and reads their output.

Everything runs in a private home directory, so that no test uses the database of another test or of the user.
"""
import contextlib
import ctypes
import errno
import functools
import json
import os
import re
import resource
import struct
import subprocess
import sys
import tempfile
import time

import books_of
import schemas


class Failed(Exception):
    """A program failed; the message has its command and its output."""


def wait_for(condition, what, limit_s=60):
    """Polls until the condition is true. Returns its value."""
    end = time.monotonic() + limit_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed(f"{what} did not come within {limit_s} s")
        time.sleep(0.002)


@functools.lru_cache(maxsize=None)
def help_of(program, command):
    """Help text of a command; None if this build lacks the command."""
    told = subprocess.run([program, command, "--help"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return told.stdout if told.returncode == 0 else None


class Programs:
    """The executables of one build directory: the product in bin/, programs to trace in workloads/, tests in tests/."""

    def __init__(self, build):
        self.build = os.path.abspath(build)

    @functools.cached_property
    def root(self):
        """Source tree of this build, which may be an older one; this tree if the other is not on this machine."""
        path = self.setting("CMAKE_HOME_DIRECTORY")
        return path if path and os.path.isdir(path) else schemas.ROOT

    def setting(self, name):
        """What this build was configured with, such as INGERO_BACK_END; None: it is not told."""
        with contextlib.suppress(OSError), open(os.path.join(self.build, "CMakeCache.txt"), encoding="utf-8") as cache:
            match = re.search(rf"^{name}:\w+=(.*)$", cache.read(), re.M)
            return match and match[1]
        return None

    def source(self, path):
        """Path of a file of the source tree."""
        return os.path.join(self.root, path)

    def constant(self, path, name):
        """A whole number that a file of the source tree defines, such as 64 or (4u << 20)."""
        with open(self.source(path), encoding="utf-8") as file:
            factors = re.search(rf"#define {name} \(?(\d+)u?(?: << (\d+)\))?", file.read()).groups("0")
        return int(factors[0]) << int(factors[1])

    def has_option(self, command, option=""):
        """Whether this build has the command and the option; an older build may lack them."""
        told = help_of(self.path("ingero-cli"), command)
        return told is not None and option in told

    def path(self, name):
        for directory in ("bin", "workloads", "tests"):
            path = os.path.join(self.build, directory, name)
            if os.path.exists(path):
                return path
        raise Failed(f"{self.build} has no program '{name}': build it first")

    def library(self, name):
        """A stand-in library, by its soname."""
        return os.path.join(self.build, "standins", name)

    def environment(self, home):
        """Environment with a home and a database of the test, owned by the user that runs it, not by the user of sudo."""
        own = {"HOME": home, "INGERO_DB": os.path.join(home, "ingero.db"), "LC_ALL": "C.UTF-8"}
        return {**{name: value for name, value in os.environ.items() if not name.startswith("SUDO_")}, **own}


# Ends with its parent, however that ends; has a name that a screen can show.
HOG = """
import ctypes, os, signal
libc = ctypes.CDLL(None)
libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
libc.prctl(15, b"hog")  # PR_SET_NAME
os.sched_setaffinity(0, {%d})
while True:
    pass
"""


def start_hog(cpu, prefix=(), **options):
    """Starts a process named hog that only computes, on that CPU; the caller ends it. prefix: a command that executes it."""
    return subprocess.Popen([*prefix, sys.executable, "-S", "-c", HOG % cpu], stdin=subprocess.DEVNULL, **options)


# Loads libraries, says so, and waits for the end of its input.
KEEPER = """
import ctypes, sys
libraries = [ctypes.CDLL(path) for path in sys.argv[1:]]
print("mapped", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def mapped(*libraries):
    """A process that maps libraries: a tracer that comes has them attached before others call them."""
    with subprocess.Popen([sys.executable, "-S", "-c", KEEPER, *libraries], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout.readline() != "mapped\n":
            raise Failed(f"{libraries} cannot be loaded")
        yield process
        process.stdin.close()


CLOSERS_S = 900  # time for the perf events of four tracers: each takes 0.1 to 0.7 s to close, one after the other on the whole machine


def tracers():
    """Processes that trace: their probes are in every program that maps a CUDA library, sometimes until the tracer is gone."""
    return set(processes_named("ingero-collect")) | set(closers())


def processes_named(beginning):
    """{pid: name}"""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            name = file.read().rstrip("\n")
            if name.startswith(beginning):
                found[pid] = name
    return found


def closers():
    """{pid: number of probes} of processes that close the perf events of traces that have ended."""
    named = {pid: name.split()[1] for pid, name in processes_named("closing ").items() if len(name.split()) == 2}
    return {pid: int(number) for pid, number in named.items() if number.isdigit()}


def children(pid):
    """Running children of the first thread of a process; OSError if it is gone."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def child_named(pid, name):
    """First child of a process whose name begins with this text; None."""
    for child in children(pid):
        with contextlib.suppress(OSError), open(f"/proc/{child}/comm", encoding="ascii") as file:
            if file.read().startswith(name):
                return child
    return None


class Trace:
    """Output of one `ingero trace --json`: one attribute for each type of line; events of the host are separate from calls."""

    def __init__(self, text, status=0, stderr="", programs=None):
        self.status = status
        self.stderr = stderr
        self.start = None
        self.summary = None
        self.events = []
        self.host = []
        self.losses = []
        self.libraries = []
        self.figures = []
        messages = [json.loads(line) for line in text.splitlines()]
        invalid = schemas.problems(messages, root=programs.root if programs else schemas.ROOT)
        if invalid:
            raise Failed("ingero trace --json: not as docs/schema says: " + "; ".join(invalid[:5]))
        for message in messages:
            kind = message["type"]
            if kind == "event":
                (self.host if message["source"] == "host" else self.events).append(message)
            elif kind == "loss":
                self.losses.append(message)
            elif kind == "library":
                self.libraries.append(message)
            elif kind == "figures":
                self.figures.append(message)
            elif kind == "start":
                self.start = message
            elif kind == "summary":
                self.summary = message

    def operations(self, **wanted):
        """Rows of the summary whose keys have these values; only calls, unless a source is given."""
        rows = self.summary["operations"] if "source" in wanted else books_of.calls(self.summary["operations"])
        return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]

    def counts(self, **wanted):
        """Calls of each operation, over all processes that match."""
        counts = {}
        for row in self.operations(**wanted):
            counts[row["op"]] = counts.get(row["op"], 0) + row["count"]
        return counts

    def lost(self):
        """
        Reasons of losses; empty without losses. `behind` and `stacks` are left out: how often tasks take turns on this
        machine while a call waits, and how many new stacks come before the daemon reads them, is not known to a test
        (bpf.blame and bpf.stacks test those losses).
        """
        return {reason: n for reason, n in self.summary.get("lost", {}).items() if n and reason not in ("behind", "stacks")}


def finish(process, name, timeout_s=None):
    try:
        out, error = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        out, error = process.communicate()
        raise Failed(f"{name} did not end within {timeout_s} s; it said: {error[-2000:]}") from None
    return out, error


def what_they_do(pid):
    """One sentence each for a process and its descendants: name and where it waits."""
    for task in sorted(os.listdir(f"/proc/{pid}/task")):
        with contextlib.suppress(OSError):
            told = []
            for name in ("comm", "wchan", "syscall", "children"):
                with open(f"/proc/{pid}/task/{task}/{name}", encoding="utf-8") as file:
                    told.append(file.read().strip())
            yield f"{task} {told[0]} in {told[1]} ({told[2]})"
            for child in told[3].split():
                yield from what_they_do(child)


PR_SET_SECCOMP = 22
CALLS = {"perf_event_open": {"x86_64": 298, "aarch64": 241}, "pidfd_open": {"x86_64": 434, "aarch64": 434}}


def refuse_call(name):
    """Makes a system call fail with EPERM, for this process and all programs that it starts."""
    class Program(ctypes.Structure):
        _fields_ = [("n", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]

    load, equal, answer = 0x20, 0x15, 0x06  # struct sock_filter: code, then, else, value
    code = b"".join(struct.pack("=HBBI", *row) for row in (
        (load, 0, 0, 0), (equal, 0, 1, CALLS[name][os.uname().machine]), (answer, 0, 0, 0x00050000 | errno.EPERM), (answer, 0, 0, 0x7fff0000)))
    program = Program(len(code) // 8, code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "no filter of system calls")


class Tracing:
    """
    A running `ingero trace --json`; entering the context waits until it is attached, leaving ends it.
    open_files: soft and hard limit of open files; refused: name of a system call that fails
    """

    def __init__(self, programs, *options, command=(), environment=None, open_files=None, refused=None):
        self._home = tempfile.TemporaryDirectory(prefix="ingero-")
        self.programs = programs
        if "--back-end" in options and "--calls" not in options and programs.has_option("trace", "--calls"):
            options += ("--calls", "all")  # as with other back ends; tests/e2e/few_probes.py tests the default with perf events
        arguments = [programs.path("ingero-cli"), "trace", "--json", *options]
        if command:
            arguments += ["--", *command]
        # output goes to files, since no thread would read a pipe meanwhile
        self._out = tempfile.TemporaryFile("w+", encoding="utf-8")
        self._error = tempfile.TemporaryFile("w+", encoding="utf-8")
        def limit():
            if open_files:
                resource.setrlimit(resource.RLIMIT_NOFILE, open_files)
            if refused:
                refuse_call(refused)

        self.process = subprocess.Popen(arguments, preexec_fn=limit if open_files or refused else None, stdin=subprocess.DEVNULL, stdout=self._out, stderr=self._error,
                                        env={**programs.environment(self._home.name), **(environment or {})})

    def wait(self, timeout_s=None):
        try:
            status = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            doing = "; ".join(what_they_do(self.process.pid))
            said = self._text(self._out).splitlines()[-1:] + [self._text(self._error)[-2000:]]
            self.process.kill()
            self.process.wait()
            raise Failed(f"ingero trace did not end within {timeout_s} s: {doing}: {said}") from None
        trace = Trace(self._text(self._out), status, self._text(self._error), self.programs)
        self._home.cleanup()
        if trace.summary is None:
            raise Failed(f"ingero trace gave no summary, exit status {status}: {trace.stderr[-2000:]}")
        return trace

    def stop(self, timeout_s=60):
        """Sends SIGINT. Returns the Trace with the summary."""
        if self.process.poll() is None:
            self.process.send_signal(2)
        return self.wait(timeout_s)

    def lines(self):
        """Complete lines of output so far."""
        text = self._text(self._out)
        return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]

    @staticmethod
    def _text(file):
        # pread does not change the offset, which the child shares
        return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode("utf-8")


def trace(programs, *options, command=(), timeout_s=400, environment=None):
    """Runs a command under trace, or traces by the options, to the end."""
    return Tracing(programs, *options, command=command, environment=environment).wait(timeout_s)
