# SPDX-License-Identifier: Apache-2.0
"""Time from the start of a trace until a running program is traced, and from its stop until the program is untraced: measured by the duration of its calls."""
import statistics
import time

import ingero
import programs

# launches with a busy wait in between: after a sleep, calls are slower because caches are cold
MIX = ("--mix", "launch=1,sync=1", "--sync", "spin", "--sync-us", 50)
LAUNCH = "cudaLaunchKernel"
WINDOW = 50  # calls: 2.5 ms
LEAST_ADDED_NS = 300  # smaller differences are noise: a traced launch and its nested call add thousands
LIMIT_S = 0.3
# the kernel takes about 30 ms to open a perf event while a program keeps its CPU busy, and 0.1 s to close one
SECONDS = {"session": 6, "multi": 6, "perf": 90}


def changes(calls, started_ns, stopped_ns):
    """Times at which calls became slower after the start, and normal again after the stop; None if they did not."""
    # the quickest fifth of a window is undisturbed even on a busy machine
    figures = [(calls[i + WINDOW - 1]["start_ns"], sorted(call["wall_ns"] for call in calls[i:i + WINDOW])[WINDOW // 5])
               for i in range(0, len(calls) - WINDOW, WINDOW)]
    before = statistics.median(ns for at, ns in figures if at < started_ns)
    during = statistics.median(ns for at, ns in figures if stopped_ns - 500000000 < at < stopped_ns)
    if during - before < LEAST_ADDED_NS:
        raise ingero.Failed(f"calls take {during:.0f} ns under trace and {before:.0f} ns before: the difference is too small to find the start of tracing")
    threshold = (before + during) / 2
    slow = [at for at, ns in figures if started_ns < at < stopped_ns and ns > threshold]
    normal = [at for at, ns in figures if at > stopped_ns and ns < threshold]
    return (slow[0] if slow else None), (normal[0] if normal else None), during - before


def run_one(bench, back_end):
    seconds = SECONDS[back_end]
    program = programs.Load(bench, *MIX, "--duration", f"{seconds}s", "--pin", 0, *programs.EVERY_CALL)
    process = program.start()
    try:
        time.sleep(0.5)
        started_ns = time.monotonic_ns()
        tracing = ingero.Tracing(bench.programs, "--pid", str(process.pid), "--back-end", back_end)
        programs.attached(tracing)
        said_ns = time.monotonic_ns()
        time.sleep(1)
        stopped_ns = time.monotonic_ns()
        trace = tracing.stop()
        if process.wait():
            raise ingero.Failed(f"cudaload: exit status {process.returncode}")
    finally:
        programs.kill(process)
    attached_ns, free_ns, added_ns = changes([call for call in program.report().calls if call["op"] == LAUNCH], started_ns, stopped_ns)
    if attached_ns is None or free_ns is None:
        raise ingero.Failed(f"{back_end}: no change in the program's calls: was it traced? {trace.stderr[-500:]}")
    return (said_ns - started_ns) / 1e9, (attached_ns - started_ns) / 1e9, (free_ns - stopped_ns) / 1e9, added_ns


def measure(bench):
    for back_end in programs.BACK_ENDS:
        limit = None if back_end == "perf" else LIMIT_S
        runs = [run_one(bench, back_end) for _ in range(bench.pairs if limit else 1)]
        said, attached, free, added = zip(*runs)
        bench.row(f"{back_end}: first call traced after the start", attached, "s", limit=limit)
        bench.row(f"{back_end}: line 'start' printed after the start", said, "s")
        bench.row(f"{back_end}: first untraced call after the stop", free, "s", limit=limit)
        bench.row(f"{back_end}: added to a call while traced", added, "ns")
