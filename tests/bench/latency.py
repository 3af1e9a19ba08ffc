# SPDX-License-Identifier: Apache-2.0
"""Cost of tracing for an application with 2 000 launches a second and synchronises that block for 1 ms. Compared with empty programs
at the same places: the cost of the kernel's traps is the lower limit for any tracer with uprobes."""
import floor
import programs

PER_SECOND = 2000
LAUNCHES_PER_SYNCHRONIZE = 4
LAUNCH = "cudaLaunchKernel"


def measure(bench):
    seconds = bench.seconds or 5
    # the rate counts all calls
    arguments = ("--rate", PER_SECOND * (LAUNCHES_PER_SYNCHRONIZE + 1) // LAUNCHES_PER_SYNCHRONIZE, "--duration", f"{seconds:g}s",
                 "--mix", f"launch={LAUNCHES_PER_SYNCHRONIZE},sync=1", "--sync", "block", "--sync-us", 1000, "--measure", "wall")

    def empty():
        with floor.empty_probes(bench.programs, floor.standins(bench.programs)):
            return programs.Load(bench, *arguments).run()

    runs = bench.in_turns(
        untraced=lambda: programs.Load(bench, *arguments).run(),
        empty=empty,
        traced=lambda: programs.Load(bench, *arguments).run_traced()[0])

    def added(figure, way="traced", before="untraced"):
        return [figure(a) - figure(b) for a, b in zip(runs[way], runs[before])]

    for name, figures in runs.items():
        for key in ("p50_ns", "p99_ns"):
            bench.row(f"launch {key[:3]}, {name}", [run.ops[LAUNCH][key] / 1000 for run in figures], "us")
    for key, limit in (("p50_ns", 3), ("p99_ns", 6)):
        def figure(run, key=key):
            return run.ops[LAUNCH][key] / 1000

        bench.row(f"launch {key[:3]}, added", added(figure), "us", limit=limit)
        bench.row(f"launch {key[:3]}, added by empty programs", added(figure, "empty"), "us")
        bench.row(f"launch {key[:3]}, added beyond empty programs", added(figure, "traced", "empty"), "us")
    bench.row("involuntary switches, added", added(lambda run: run.sum("involuntary") / run.seconds()), "1/s", limit=20)
    bench.row("launches made, traced", [run.ops[LAUNCH]["count"] / run.seconds() for run in runs["traced"]], "1/s",
              least=PER_SECOND * 0.99)
