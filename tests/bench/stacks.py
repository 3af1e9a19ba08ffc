# SPDX-License-Identifier: Apache-2.0
"""
Cost of the stack of a recorded call, against empty programs of back end session: 30 native frames, and 30 with 15 of Python, on each
interpreter; stacks that repeat, and so many different ones that none is found where it was; and calls that are not recorded.

With back end perf one probe alone is measured: closing those of a trace takes minutes, and disturbs what runs meanwhile.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import floor
import gil_waits
import ingero
import programs

MEASURES = ("bpf", "collectord/probes", "collectord/stacks")

WORKLOADS = pathlib.Path(__file__).resolve().parent.parent / "workloads"
FRAMES, PYTHON = 30, 15
CALLS, CHUNKS = 1000, 101
MANY = 4096  # different stacks: more than are remembered
STACKS = {"seen": 1, "miss": MANY}
# cost of a stack / cost of an empty session pair, by its frames and whether it repeats
LIMITS = {
    ("native", "seen"): 0.45, ("native", "miss"): 1.0,
    ("3.10", "seen"): 2.0, ("3.10", "miss"): 2.7,
    **{(version, kind): limit for version in ("3.11", "3.12", "3.13") for kind, limit in (("seen", 1.0), ("miss", 1.7))},
}
LIMIT_NOT_RECORDED = 0.03  # the spread of two runs of the same thing
QUIET = {"INGERO_STANDIN_QUIET": "1"}
ONE_PROBE_ROUNDS = 7
ONE_PROBE_LINE = re.compile(r"^(\w.*?) +(\d+) ns ", re.MULTILINE)  # of bench_stack
ONE_PROBE_PARTS = {"seen": "stack, in the memo", "miss": "stack, not in the memo"}


class Program:
    """One program that times its calls."""

    def __init__(self, bench, name, paths, python=None):
        self.programs, self.name = bench.programs, name
        numbers = [str(number) for number in (FRAMES, paths, CALLS, CHUNKS)]
        self.command = [bench.tools.path("callers-loop"), *numbers]
        if python:
            library = os.path.join(bench.tools.build, "workloads", "libcallers-loop.so")
            self.command = [python, "-S", str(WORKLOADS / "callers_loop.py"), library, *numbers, str(PYTHON)]

    def said(self, text):
        lines = [line for line in text.splitlines() if line.startswith('{"ns"')]
        if not lines:
            raise ingero.Failed(f"{self.name} printed no time: {text[-300:]}")
        return json.loads(lines[-1])

    def alone(self):
        return self.said(subprocess.run(self.command, capture_output=True, text=True, check=True, env={**os.environ, **QUIET}).stdout)

    def empty(self):
        with floor.empty_probes(self.programs, [self.programs.library("libcuda.so.1")]):
            return self.alone()

    def traced(self, record, stacks, back_end):
        """The trace prints no single calls: what it does with them is not the thread's time."""
        options = ["--record", record, "--back-end", back_end, *([f"--stack={stacks}"] if stacks else [])]
        with tempfile.TemporaryDirectory(prefix="ingero-") as home:
            done = subprocess.run([self.programs.path("ingero-cli"), "trace", *options, "--", *self.command], capture_output=True, text=True, check=False,
                                  stdin=subprocess.DEVNULL, env={**self.programs.environment(home), **QUIET})
        if done.returncode:
            raise ingero.Failed(f"{self.name}: ingero trace ended with {done.returncode}: {done.stderr[-500:]}")
        return self.said(done.stdout)


def measure_program(bench, program, name, kind, back_end, limit):
    """Stack on minus stack off, of recorded calls, in turns with empty programs."""
    variants = {"alone": program.alone, "off": lambda: program.traced("all", "none", back_end), "on": lambda: program.traced("all", "all", back_end)}
    variants["empty"] = program.empty
    runs = bench.in_turns(**variants)
    ns = {way: [said["ns"] for said in runs[way]] for way in runs}
    note = f"{runs['on'][0]['native']} native, {runs['on'][0]['python']} Python"
    added = [on - off for on, off in zip(ns["on"], ns["off"])]
    pair = [empty - alone for empty, alone in zip(ns["empty"], ns["alone"])]
    bench.row(f"{name}, {kind}: empty session pair", pair, "ns")
    bench.row(f"{name}, {kind}: recorded without a stack", [off - alone for off, alone in zip(ns["off"], ns["alone"])], "ns")
    bench.row(f"{name}, {kind}: stack", added, "ns", note=note)
    bench.row(f"{name}, {kind}: stack / empty pair", [one / other for one, other in zip(added, pair)], "ratio", limit=limit, note=note)


def measure_one_probe(bench, back_end):
    """The same of native frames with a single probe, which is closed at once."""
    command = [bench.programs.path("bench_stack"), back_end, str(FRAMES), str(ONE_PROBE_ROUNDS)]
    runs = [dict(ONE_PROBE_LINE.findall(subprocess.run(command, capture_output=True, text=True, check=True).stdout)) for _ in range(bench.pairs)]
    for kind, part in ONE_PROBE_PARTS.items():
        bench.row(f"{back_end}: native, {kind}: stack", [int(ns[part]) - int(ns["record"]) for ns in runs], "ns", note="one probe alone")


def measure_not_recorded(bench, program, name):
    """Calls without a record: the same with stacks wanted and not."""
    runs = bench.in_turns(off=lambda: program.traced("none", "none", "session"), on=lambda: program.traced("none", "all", "session"),
                          empty=program.empty, alone=program.alone)
    ns = {way: [said["ns"] for said in runs[way]] for way in runs}
    pair = [empty - alone for empty, alone in zip(ns["empty"], ns["alone"])]
    bench.row(f"{name}, not recorded: added by stacks / empty pair", [(on - off) / one for on, off, one in zip(ns["on"], ns["off"], pair)], "ratio",
              limit=LIMIT_NOT_RECORDED)


def interpreters():
    """(name, version, path): those of shared libraries, and the machine's own."""
    for name, path in gil_waits.interpreters():
        version = name.split()[0]
        yield (f"Python {name}", version, path)


def measure(bench):
    cases = [("native", "native", None)] + [row for row in interpreters() if row[1] != "3.9"]
    for back_end in ("session", "multi"):
        for name, key, python in cases:
            if python and back_end != "session":
                continue
            for kind, paths in STACKS.items():
                condition = f"{back_end}: {name}"
                if not re.search(bench.only, f"{condition}, {kind}"):
                    continue
                limit = LIMITS.get((key, kind)) if back_end == "session" else None
                measure_program(bench, Program(bench, name, paths, python), condition, kind, back_end, limit)
    if re.search(bench.only, "session: native, not recorded"):
        measure_not_recorded(bench, Program(bench, "native", 1), "session: native")
    if re.search(bench.only, "perf: native"):
        measure_one_probe(bench, "perf")
    if not bench.rows:
        sys.exit(f"bench: nothing matches '{bench.only.pattern}'")
