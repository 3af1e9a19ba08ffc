# SPDX-License-Identifier: Apache-2.0
"""Counts reported against calls made: 1, 2 and 8 threads flat out on two CPUs, ring at its minimum, each back end forced."""
import os
import re

import ingero
import programs

THREADS = (1, 2, 8)
RING = "4k"
SUFFIX = re.compile(r"(_v\d+)?(_ptsz|_ptds|_spt)?$")


def by_operation(report, known):
    """Entries in the books, for each operation that Ingero knows by the name without suffix."""
    made = {}
    for row in report.books:
        op = SUFFIX.sub("", row["function"], count=1)
        if op in known:
            made[op] = made.get(op, 0) + row["entries"]
    return made


def known_operations(root):
    with open(root + "/bpf/ops.def", encoding="utf-8") as file:
        return set(re.findall(r"^OP\(\d+,\s*\w+,\s*(\w+)", file.read(), re.M))


def compare(made, counted):
    """Calls off, over all operations: {op: counted - made} where they differ."""
    return {op: counted.get(op, 0) - made.get(op, 0) for op in made.keys() | counted.keys() if counted.get(op, 0) != made.get(op, 0)}


def measure(bench):
    known = known_operations(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    for back_end in programs.BACK_ENDS:
        for threads in THREADS:
            program = programs.Load(bench, "--threads", threads, "--duration", f"{bench.seconds or 30:g}s", "--pin", "0,1")
            report, trace = program.run_traced("--back-end", back_end, "--ringbuf-size", RING)
            if trace.start["back_end"] != back_end:
                raise ingero.Failed(f"asked for {back_end}, traced by {trace.start['back_end']}: {trace.start.get('back_end_reason')}")
            made = by_operation(report, known)
            wrong = compare(made, trace.counts())
            bench.row(f"{back_end}, {threads} threads: operations whose count is wrong", len(wrong), "of " + str(len(made)), limit=0,
                      note=f"{sum(made.values())} calls" + (f", off by {wrong}" if wrong else ""))
