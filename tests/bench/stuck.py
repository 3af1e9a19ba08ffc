# SPDX-License-Identifier: Apache-2.0
"""A thread that does not come back from a call: shown with operation and age; when killed, counted as never returned."""
import time

import ingero
import programs

SYNC = "cudaStreamSynchronize"
LAUNCHES = 200  # 2 s at 100 a second: the trace is in place before the call that hangs
PER_SECOND = 100


def stuck_program(bench):
    return programs.Clocked(bench, "--per-second", PER_SECOND, "--calls", LAUNCHES, "--every", LAUNCHES,
                            standin={"INSIDE": f"{SYNC}=60s:block"})


def shown(bench):
    """Age of the call when the trace ends, 2 s after it began, and what the summary says."""
    process = stuck_program(bench).start()
    try:
        began = time.monotonic() + LAUNCHES / PER_SECOND
        tracing = ingero.Tracing(bench.programs, "--pid", str(process.pid))
        time.sleep(max(0.0, began + 2 - time.monotonic()))
        trace = tracing.stop()
        rows = [row for row in trace.summary["in_flight"] if row["op"] == SYNC]
        return rows[0]["age_ns"] / 1e9 if len(rows) == 1 else None
    finally:
        programs.kill(process)


def killed(bench):
    process = stuck_program(bench).start()
    try:
        began = time.monotonic() + LAUNCHES / PER_SECOND
        tracing = ingero.Tracing(bench.programs, "--pid", str(process.pid))
        time.sleep(max(0.0, began + 0.5 - time.monotonic()))
        programs.kill(process)
        trace = tracing.stop()
    finally:
        programs.kill(process)
    rows = trace.operations(op=SYNC)
    return sum(row["abandoned"] for row in rows), sum(row["count"] for row in rows), len(trace.summary["in_flight"])


def measure(bench):
    ages = [shown(bench) for _ in range(bench.pairs)]
    bench.row("runs that show the call in flight", [int(age is not None) for age in ages], "of 1", least=1)
    bench.row("its age, 2 s after it began", [age for age in ages if age is not None], "s", limit=2.5, least=None)
    runs = [killed(bench) for _ in range(bench.pairs)]
    abandoned, returned, in_flight = zip(*runs)
    bench.row("killed in the call: counted as never returned", [abs(n - 1) for n in abandoned], "calls off", limit=0)
    bench.row("killed in the call: counted as returned", returned, "calls", limit=0)
    bench.row("killed in the call: still shown as in flight", in_flight, "calls", limit=0)
