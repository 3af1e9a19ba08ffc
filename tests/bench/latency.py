# SPDX-License-Identifier: Apache-2.0
"""What tracing adds to an application: 2 000 launches a second with synchronises that block for 1 ms."""
import programs

PER_SECOND = 2000
LAUNCHES_PER_SYNCHRONIZE = 4
LAUNCH = "cudaLaunchKernel"


def measure(bench):
    seconds = bench.seconds or 5
    # the rate is of all calls
    arguments = ("--rate", PER_SECOND * (LAUNCHES_PER_SYNCHRONIZE + 1) // LAUNCHES_PER_SYNCHRONIZE, "--duration", f"{seconds:g}s",
                 "--mix", f"launch={LAUNCHES_PER_SYNCHRONIZE},sync=1", "--sync", "block", "--sync-us", 1000, "--measure", "wall")
    runs = bench.in_turns(
        untraced=lambda: programs.Load(bench, *arguments).run(),
        traced=lambda: programs.Load(bench, *arguments).run_traced()[0])

    def added(figure):
        return [figure(traced) - figure(untraced) for traced, untraced in zip(runs["traced"], runs["untraced"])]

    for name, figures in runs.items():
        for key in ("p50_ns", "p99_ns"):
            bench.row(f"launch {key[:3]}, {name}", [run.ops[LAUNCH][key] / 1000 for run in figures], "us")
    bench.row("launch p50, added", added(lambda run: run.ops[LAUNCH]["p50_ns"] / 1000), "us", limit=3)
    bench.row("launch p99, added", added(lambda run: run.ops[LAUNCH]["p99_ns"] / 1000), "us", limit=6)
    bench.row("involuntary switches, added", added(lambda run: run.sum("involuntary") / run.seconds()), "1/s", limit=20)
    bench.row("launches kept up with, traced", [run.ops[LAUNCH]["count"] / run.seconds() for run in runs["traced"]], "1/s",
              least=PER_SECOND * 0.99)
