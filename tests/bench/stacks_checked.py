# SPDX-License-Identifier: Apache-2.0
"""
Stacks of real PyTorch that the memo has found, each checked by a full walk: how many are found there, and how many of these are wrong.

Needs a build that checks them: cmake --preset release -B build-check -DINGERO_CHECK_STACKS=ON. A piece takes SECONDS and the start of
PyTorch; with --cases FILE pieces of several runs add up.
"""
import os
import re
import signal
import subprocess
import tempfile

import bpf_objects
import ingero
import set_ups
import stacks_torch

MEASURES = ("bpf", "collectord")

SECONDS, PIECES = 30, 2
HITS_LEAST, CHECKED_LEAST = 0.95, 10**7
COUNTERS = "counters"  # map whose last entries are these
CHECKS = ("hits", "misses", "wrong")


def is_checking(build):
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
        return bool(re.search(r"^INGERO_CHECK_STACKS:BOOL=(ON|1|TRUE)$", file.read(), re.M))


def checks_of(daemon):
    """Sums of a checking build, by name."""
    for fields in bpf_objects.fields_of(daemon):
        if "map_id" in fields and bpf_objects.tool("map", "show", "id", fields["map_id"]).get("name") == COUNTERS:
            rows = sorted(bpf_objects.values_of(fields["map_id"]).items())
            return dict(zip(CHECKS, (sum(values) for _, values in rows[-len(CHECKS):])))
    raise ingero.Failed("the daemon has no counters")


def piece(loop):
    """Sums of one run. The trace prints no single calls, which would take the program's time."""
    with tempfile.TemporaryDirectory(prefix="ingero-") as home, ingero.mapped(*loop.libraries):
        command = [loop.bench.programs.path("ingero-cli"), "trace", "--db", os.path.join(home, "x.db"), "--record", "all", "--stack=all"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=loop.bench.programs.environment(home)) as tracer:
            try:
                daemon = ingero.wait_for(lambda: ingero.child_named(tracer.pid, "ingero-collect"), "the daemon")
                ingero.wait_for(lambda: "counters" in bpf_objects.map_bytes(daemon), "the daemon's maps")
                subprocess.run(loop.command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=loop.environment_of())
                return checks_of(daemon)
            finally:
                tracer.send_signal(signal.SIGINT)


def measure(bench):
    if not is_checking(bench.programs.build):
        bench.row("stacks checked", 0, "stacks", note="not a build with INGERO_CHECK_STACKS=ON")
        return
    bench.seconds = bench.seconds or SECONDS
    loops = {name: stacks_torch.Loop(bench, set_up, *arguments)
             for name, set_up, arguments in stacks_torch.LOOPS if bench.only.search(name) and set_ups.find(set_up)}
    results = bench.results({f"{name}: piece {i + 1}": lambda lane, loop=loop: piece(loop) for i in range(PIECES) for name, loop in loops.items()}, 1)
    for name, _, _ in [*stacks_torch.LOOPS, ("", "", "")]:
        pieces = [result for job, result in results.items() if job.startswith(name)]
        if not pieces:
            continue
        hits, misses, wrong = (sum(one[key] for one in pieces) for key in CHECKS)
        name = name or "all"
        bench.row(f"{name}: remembered, of all", hits / max(1, hits + misses), "ratio", least=HITS_LEAST)
        bench.row(f"{name}: checked", hits, "stacks", least=CHECKED_LEAST if name == "all" else None)
        bench.row(f"{name}: wrong", wrong, "stacks", limit=0)
    for name, set_up, _ in stacks_torch.LOOPS:
        if not set_ups.find(set_up):
            bench.row(f"{name}: loops measured", 0, "loops", note=set_ups.why_not(set_up))
