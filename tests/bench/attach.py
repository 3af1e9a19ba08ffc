# SPDX-License-Identifier: Apache-2.0
"""How soon a running program is traced after the start, and is free again after the stop: its own calls tell."""
import statistics
import time

import ingero
import programs

PER_SECOND = 20000
WINDOW = 50  # calls: 2.5 ms
LIMIT_S = 0.3
# closing perf events takes the kernel about 0.1 s each, one after another
SECONDS = {"session": 4, "multi": 4, "perf": 20}


def changes(calls, started_ns, stopped_ns):
    """When calls became slower after the start, and normal again after the stop; None where they did not."""
    medians = [(calls[i + WINDOW - 1]["start_ns"], statistics.median(call["wall_ns"] for call in calls[i:i + WINDOW]))
               for i in range(0, len(calls) - WINDOW, WINDOW)]
    before = statistics.median(ns for at, ns in medians if at < started_ns)
    during = statistics.median(ns for at, ns in medians if stopped_ns - 500000000 < at < stopped_ns)
    threshold = (before + during) / 2
    slow = [at for at, ns in medians if started_ns < at < stopped_ns and ns > threshold]
    normal = [at for at, ns in medians if at > stopped_ns and ns < threshold]
    return (slow[0] if slow else None), (normal[0] if normal else None), during - before


def run_one(bench, back_end):
    seconds = SECONDS[back_end]
    program = programs.Load(bench, "--op", "launch", "--rate", PER_SECOND, "--calls", PER_SECOND * seconds, "--pin", 0, *programs.EVERY_CALL)
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
    attached_ns, free_ns, added_ns = changes(program.report().calls, started_ns, stopped_ns)
    if attached_ns is None or free_ns is None:
        raise ingero.Failed(f"{back_end}: no change in the program's calls: was it traced? {trace.stderr[-500:]}")
    return (said_ns - started_ns) / 1e9, (attached_ns - started_ns) / 1e9, (free_ns - stopped_ns) / 1e9, added_ns


def measure(bench):
    for back_end in programs.BACK_ENDS:
        limit = None if back_end == "perf" else LIMIT_S
        runs = [run_one(bench, back_end) for _ in range(bench.pairs if limit else 2)]
        said, attached, free, added = zip(*runs)
        bench.row(f"{back_end}: first call traced after the start", attached, "s", limit=limit)
        bench.row(f"{back_end}: 'start' printed after the start", said, "s")
        bench.row(f"{back_end}: first free call after the stop", free, "s", limit=limit)
        bench.row(f"{back_end}: added to a call meanwhile", added, "ns")
