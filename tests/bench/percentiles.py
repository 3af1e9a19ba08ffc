# SPDX-License-Identifier: Apache-2.0
"""Reported p50 and p95 against the program's own clock untraced: nested calls that take 0, 5 and 50 microseconds."""
import programs

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

        runs = bench.in_turns(own=lambda: programs.Load(bench, *arguments, "--measure", "wall").run().ops["cudaLaunchKernel"],
                              reported=reported)
        for key in ("p50_ns", "p95_ns"):
            own = [run[key] for run in runs["own"]]
            told = [run[key] for run in runs["reported"]]
            bench.row(f"{work_us} us of work, {key[:3]}, own clock", own, "ns")
            bench.row(f"{work_us} us of work, {key[:3]}, reported", told, "ns")
            bench.row(f"{work_us} us of work, {key[:3]}, error / allowed",
                      [abs(a - b) / max(ABSOLUTE_NS, RELATIVE * b) for a, b in zip(told, own)], "ratio", limit=1)
