# SPDX-License-Identifier: Apache-2.0
"""What tracing adds to an application: 2 000 launches a second with synchronises that block for 1 ms."""
import programs

PER_SECOND = 2000
LAUNCHES_PER_SYNCHRONIZE = 4


def measure(bench):
    seconds = bench.seconds or 5
    arguments = ("--per-second", PER_SECOND, "--every", LAUNCHES_PER_SYNCHRONIZE, "--calls", int(PER_SECOND * seconds), "--warm-up", 200)
    standin = {"INSIDE": "cuStreamSynchronize=1ms:block"}
    runs = bench.in_turns(
        untraced=lambda: programs.Clocked(bench, *arguments, standin=standin).run(),
        traced=lambda: programs.Clocked(bench, *arguments, standin=standin).run_traced()[0])

    def added(figure):
        return [figure(traced) - figure(untraced) for traced, untraced in zip(runs["traced"], runs["untraced"])]

    for name, figures in runs.items():
        for key in ("p50_ns", "p99_ns"):
            bench.row(f"launch {key[:3]}, {name}", [run["cudaLaunchKernel"][key] / 1000 for run in figures], "us")
    bench.row("launch p50, added", added(lambda run: run["cudaLaunchKernel"]["p50_ns"] / 1000), "us", limit=3)
    bench.row("launch p99, added", added(lambda run: run["cudaLaunchKernel"]["p99_ns"] / 1000), "us", limit=6)
    bench.row("involuntary switches, added", added(lambda run: run["involuntary"] / (run["wall_ns"] / 1e9)), "1/s", limit=20)
    bench.row("launches kept up with, traced", [run["cudaLaunchKernel"]["count"] / (run["wall_ns"] / 1e9) for run in runs["traced"]], "1/s",
              least=PER_SECOND * 0.99)
