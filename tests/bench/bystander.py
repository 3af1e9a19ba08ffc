# SPDX-License-Identifier: Apache-2.0
"""Cost per call for a process that is not traced but uses the same library, by back end, and whether that cost is reported."""
import time

import ingero
import programs

FILTERS_BY_PROCESS = ("session", "multi")
CALLS = 300007
NOISE_NS = 15  # guess: two runs of the same loop differ by less than this


def flat_out(bench):
    return programs.Load(bench, "--op", "launch", "--calls", CALLS, "--measure", "wall").run().ops["cudaLaunchKernel"]


def measure(bench):
    # the traced process maps the library, and makes few calls
    target = programs.Load(bench, "--op", "launch", "--rate", 10, "--calls", 100000).start()

    def beside(back_end):
        with programs.probes_gone():
            tracing = ingero.Tracing(bench.programs, "--pid", str(target.pid), "--back-end", back_end)
            programs.attached(tracing)
            time.sleep(0.5)
            own = flat_out(bench)
            return own, tracing.stop().summary

    try:
        variants = {back_end: (lambda name=back_end: beside(name)) for back_end in programs.BACK_ENDS}
        runs = bench.in_turns(alone=lambda: (flat_out(bench), None), **variants)
    finally:
        programs.kill(target)
    alone = [own["p50_ns"] for own, _ in runs["alone"]]
    bench.row("a nested call, nobody traced", alone, "ns")
    for back_end in programs.BACK_ENDS:
        added = [own["p50_ns"] - base for (own, _), base in zip(runs[back_end], alone)]
        bench.row(f"{back_end}: added to a nested call of a bystander", added, "ns",
                  limit=NOISE_NS if back_end in FILTERS_BY_PROCESS else None)
        costs = [summary["cost"] for _, summary in runs[back_end]]
        if back_end not in FILTERS_BY_PROCESS:
            made = 2 * CALLS
            bench.row(f"{back_end}: bystander calls reported / made", [cost["bystander_calls"] / made for cost in costs], "ratio", limit=1.01, least=0.99)
            bench.row(f"{back_end}: cost reported / measured",
                      [cost["bystander_ns"] / max(1, made / 2 * ns) for cost, ns in zip(costs, added)], "ratio")
        else:
            bench.row(f"{back_end}: bystander calls reported", [cost["bystander_calls"] for cost in costs], "calls", limit=0)
