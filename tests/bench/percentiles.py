# SPDX-License-Identifier: Apache-2.0
"""Reported p50 and p95 against the program's own clock without tracing: nested calls that take 0, 5 and 50 microseconds. Compared with
the spread that empty programs add to the calls' own times: the cost of the kernel's traps is subtracted as measured at the start of
the trace, but its spread remains."""
import floor
import programs

MEASURES = ("base", "bpf", "collectord/figures")

WORK_US = (0, 5, 50)
ABSOLUTE_NS = 500
RELATIVE = 0.07


def measure(bench):
    for work_us in WORK_US:
        calls = int((bench.seconds or 2) * 1e6 / (work_us + 10))
        arguments = ("--op", "launch", "--calls", calls, "--inside-us", work_us)

        def reported():
            _, trace = programs.Load(bench, *arguments).run_traced()
            return trace.operations(op="cudaLaunchKernel")[0]

        def untraced():
            return programs.Load(bench, *arguments, "--measure", "wall").run().ops["cudaLaunchKernel"]

        def empty():
            with floor.empty_probes(bench.programs, floor.standins(bench.programs)):
                return untraced()

        def spread(run):
            return run["p95_ns"] - run["p50_ns"]

        runs = bench.in_turns(own=untraced, empty=empty, reported=reported)
        for key in ("p50_ns", "p95_ns"):
            own = [run[key] for run in runs["own"]]
            told = [run[key] for run in runs["reported"]]
            bench.row(f"{work_us} us of work, {key[:3]}, own clock", own, "ns")
            bench.row(f"{work_us} us of work, {key[:3]}, reported", told, "ns")
            bench.row(f"{work_us} us of work, {key[:3]}, error / allowed",
                      [abs(a - b) / max(ABSOLUTE_NS, RELATIVE * b) for a, b in zip(told, own)], "ratio", limit=1)
        bench.row(f"{work_us} us of work, p95 - p50, added by empty programs",
                  [spread(a) - spread(b) for a, b in zip(runs["empty"], runs["own"])], "ns")
