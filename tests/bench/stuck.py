# SPDX-License-Identifier: Apache-2.0
"""A thread that does not return from a call: whether it is shown with operation and age and, when killed, counted as never returned."""
import time

import ingero
import programs

SYNC = "cudaStreamSynchronize"
SHOWN_AFTER_S = 2


def stuck(bench):
    """(program in a call of one minute, trace started before it, approximate start of the call)"""
    program = programs.Load(bench, "--op", "sync", "--calls", 1, "--wait-for-stdin", standin={"INSIDE": f"{SYNC}=60s:sleep"})
    process = program.start_ready()
    tracing = programs.attached(ingero.Tracing(bench.programs, "--pid", str(process.pid)))
    programs.go(process)
    return process, tracing, time.monotonic()


def shown(bench):
    """Age of the call in the summary of the trace, 2 s after the call began; None if it is not shown."""
    process, tracing, began = stuck(bench)
    try:
        time.sleep(max(0.0, began + SHOWN_AFTER_S - time.monotonic()))
        trace = tracing.stop()
        rows = [row for row in trace.summary["in_flight"] if row["op"] == SYNC]
        return rows[0]["age_ns"] / 1e9 if len(rows) == 1 else None
    finally:
        programs.kill(process)


def killed(bench):
    process, tracing, _ = stuck(bench)
    ingero.wait_for(lambda: programs.is_asleep(process.pid), "the call", 10)
    programs.kill(process)
    trace = tracing.stop()
    rows = trace.operations(op=SYNC)
    return sum(row["abandoned"] for row in rows), sum(row["count"] for row in rows), len(trace.summary["in_flight"])


def measure(bench):
    ages = [shown(bench) for _ in range(bench.pairs)]
    bench.row("runs that show the call in flight", [int(age is not None) for age in ages], "of 1", least=1)
    bench.row("age of the call, 2 s after it began", [age for age in ages if age is not None], "s", limit=SHOWN_AFTER_S + 0.5, least=SHOWN_AFTER_S - 1)
    runs = [killed(bench) for _ in range(bench.pairs)]
    abandoned, returned, in_flight = zip(*runs)
    bench.row("killed in the call: counted as never returned", [abs(n - 1) for n in abandoned], "calls off", limit=0)
    bench.row("killed in the call: counted as returned", returned, "calls", limit=0)
    bench.row("killed in the call: still shown as in flight", in_flight, "calls", limit=0)
