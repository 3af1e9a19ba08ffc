# SPDX-License-Identifier: Apache-2.0
"""Reported counts against calls made: 1, 2 and 8 threads at full load on two CPUs, with the smallest ring, for each back end."""
import books_of
import ingero
import programs

THREADS = (1, 2, 8)
RING = "4k"


def measure(bench):
    known = books_of.known_operations(bench.programs.source("bpf/ops.def"))
    for back_end in programs.BACK_ENDS:
        for threads in THREADS:
            program = programs.Load(bench, "--threads", threads, "--duration", f"{bench.seconds or 30:g}s", "--pin", "0,1")
            report, trace = program.run_traced("--back-end", back_end, "--ringbuf-size", RING)
            if trace.start["back_end"] != back_end:
                raise ingero.Failed(f"asked for {back_end}, traced by {trace.start['back_end']}: {trace.start.get('back_end_reason')}")
            made = books_of.operations(report.books, known)
            wrong = books_of.differences(made, trace.counts())
            bench.row(f"{back_end}, {threads} threads: operations whose count is wrong", len(wrong), "of " + str(len(made)), limit=0,
                      note=f"{sum(made.values())} calls" + (f", off by {wrong}" if wrong else ""))
