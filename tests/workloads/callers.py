#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Calls from many places of a Python program, and the stack of each as the program itself knows it; CPython 3.9 and later, no packages.

    callers.py --libraries DIR --report FILE [--rounds N] [--pause-ms N] [--check] [--wait-for-stdin] [SHAPE...]     callers.py --list

A place calls three functions by one instruction: the witness, which notes the frames of Python, backtrace(3) through ctypes, which notes
those of C, and the CUDA function through ctypes. Each call has a number of bytes that no other call of the process has. The report has a
line of JSON for each, in the form of callers.h, and

    "python": [[co_filename, co_name, co_qualname or null, line], ...]     innermost first
    "eval": [file, address] of the interpreter's loop
    "before": frames of the thread's call before; only where backtrace(3) could not follow a return address that the tracer has replaced

FILE '-' is stdout. --check: the stack inside of each call is compared with what is told; only where nobody traces. Exit status 77: the stand-in library is missing.
"""
import argparse
import ctypes
import itertools
import json
import mmap
import os
import sys
import threading
import time

BYTES_FIRST = 65536
FRAMES_MAX = 100000  # of C, for each thread; untouched memory costs nothing


class Report:
    """The report of this process: an open file, and the number of the next call."""

    def __init__(self):
        self.fd = None
        self.path = None
        self.numbers = itertools.count(BYTES_FIRST)
        self.malloc = None
        self.backtrace = None

    def open(self, path, libraries):
        self.path, self.libraries = path, libraries
        self.fd = 1 if path == "-" else os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o666)
        self.malloc = of_library(ctypes.CDLL(os.path.join(libraries, "libcudart.so.12")), "cudaMalloc")
        self.backtrace = of_library(ctypes.CDLL(None), "backtrace")
        self.backtrace(here.pointer, 1)  # loads what it needs
        self.eval = eval_loop()

    def write(self, row):
        # one line, one write: those of several processes do not mix
        text = (json.dumps(row) + "\n").encode()
        if os.write(self.fd, text) != len(text):
            raise OSError("no line was written")


def mapped_at(address):
    """Name of the mapping of an address; None: there is none."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            start, end = (int(word, 16) for word in line.split()[0].split("-"))
            if start <= address < end:
                return (line.split(maxsplit=5) + [""])[5].rstrip("\n")
    return None


def eval_loop():
    """[file, address] of the interpreter's loop."""
    address = ctypes.cast(ctypes.pythonapi._PyEval_EvalFrameDefault, ctypes.c_void_p).value
    return [mapped_at(address), hex(address)]


def ends_at_probe(frames):
    """
    Whether backtrace(3) ended where the tracer's probe on the return of a function has replaced an address on the stack: in 3.9 to 3.13 on
    that of the garbage collector.
    """
    last = int(frames[-1]["ip"], 16) if frames else 1
    return last % mmap.PAGESIZE == 0 and mapped_at(last) == "[uprobes]"


def of_library(library, name):
    """All functions that a place calls are the same to ctypes."""
    function = getattr(library, name)
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    function.restype = ctypes.c_int
    return function


class Here(threading.local):
    """What a thread's next call is given, and what is told of it."""

    def __init__(self):
        self.frames = (ctypes.c_void_p * FRAMES_MAX)()
        self.pointer = ctypes.addressof(self.frames)
        self.bytes = 0
        self.shape = ("?", "complete", 0)
        self.row = None
        self.more = {}  # keys of its line
        self.before = []  # frames of the last call with all of them


def frames_of(frame):
    """Yields what Python knows of a frame and of all behind it."""
    while frame is not None:
        code = frame.f_code
        yield [code.co_filename, code.co_name, getattr(code, "co_qualname", None), frame.f_lineno]
        frame = frame.f_back


def witness(pointer, number):
    name, rule, least = here.shape
    here.row = {"shape": name, "pid": os.getpid(), "tid": threading.get_native_id(), "bytes": number, "op": "cudaMalloc", "rule": rule, "least": least,
                "eval": report.eval, "python": list(frames_of(sys._getframe(1))), **here.more}


def turns():
    """Yields the functions that a place calls; is in no stack meanwhile."""
    if report.fd is None:
        return  # the places are only being made
    here.bytes = next(report.numbers)
    yield witness
    row = here.row
    here.frames[0] = here.frames[1] = None
    yield report.backtrace
    # backtrace(3) writes as many as there are, and the next one is what was there: zeroed below
    row["frames"] = []
    for ip in here.frames:
        if not ip:
            break
        row["frames"].append({"ip": hex(ip)})
    ctypes.memset(here.pointer, 0, 8 * (len(row["frames"]) + 1))
    if ends_at_probe(row["frames"]):
        row["frames"].pop()
        row["before"] = here.before
    else:
        here.before = row["frames"]
    report.write(row)
    yield report.malloc
    here.frames[0] = None


class Check:
    """Inside of each CUDA call: the stack is what was told of it. C calls back Python there, so frames of C are on top of what was told."""

    CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

    def __init__(self, libraries):
        self.callback = self.CALLBACK(self.look)
        self.failed = 0
        of = ctypes.CDLL(os.path.join(libraries, "libingero-standin.so")).ingero_standin_callback
        of.argtypes = [ctypes.c_char_p, self.CALLBACK, ctypes.c_void_p]
        of(b"cudaMalloc", self.callback, None)

    def look(self, _):
        row, frames = here.row, (ctypes.c_void_p * 4096)()
        n = report.backtrace(ctypes.addressof(frames), 4096)
        c = [hex(ip) for ip in frames[:n]]
        told = [frame["ip"] for frame in row["frames"]]
        python = list(frames_of(sys._getframe(1)))
        if python != row["python"]:
            self.failed += 1
            print(f"callers.py: {row['shape']}: {python} is not {row['python']}", file=sys.stderr)
        # the interpreter may have chosen another way to call meanwhile: one frame of its loop
        if n < len(told) or sum(a != b for a, b in zip(c[n - len(told):], told)) > 1:
            self.failed += 1
            print(f"callers.py: {row['shape']}: {c} does not end with {told}", file=sys.stderr)


def shape(name, rule="complete", least=0):
    here.shape = (name, rule, least)


here = Here()
report = Report()


def options_of(names):
    """(options, names of what is asked for) with an open report; or the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libraries", help="directory of libcudart.so.12")
    parser.add_argument("--report", default="-")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--pause-ms", type=float, default=0, help="between rounds")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--wait-for-stdin", action="store_true", help="print 'ready PID', read a line before the first call")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("shapes", nargs="*")
    options = parser.parse_args()
    if options.list:
        print("\n".join(names))
        return 0
    unknown = set(options.shapes) - set(names)
    if unknown:
        parser.error(f"no such shape: {' '.join(sorted(unknown))}: see --list")
    if not os.path.exists(os.path.join(options.libraries or "", "libcudart.so.12")):
        print(f"{os.path.basename(sys.argv[0])}: no stand-in library in {options.libraries}: build it first", file=sys.stderr)
        return 77
    report.open(options.report, options.libraries)
    if options.wait_for_stdin:
        print(f"ready {os.getpid()}", flush=True)
        sys.stdin.readline()
    return options, [name for name in names if not options.shapes or name in options.shapes]


def main():
    import callers_shapes
    rows = {row[0]: row for row in callers_shapes.ROWS}
    asked = options_of(list(rows))
    if not isinstance(asked, tuple):
        return asked
    options, names = asked
    check = Check(options.libraries) if options.check else None
    if check:
        names = [name for name in names if name != "subinterpreter"]  # where this interpreter cannot be called back
    for number in range(options.rounds):
        if number and options.pause_ms:
            time.sleep(options.pause_ms / 1000)
        for name in names:
            _, function, *more = rows[name]
            shape(name, *more)
            function()
    return 1 if check and check.failed else 0


if __name__ == "__main__":
    # the shapes import this module by its name: it is to be the same one
    sys.modules["callers"] = sys.modules["__main__"]
    sys.exit(main())
