# SPDX-License-Identifier: Apache-2.0
"""How soon stacks are complete in a program that makes calls all the time when a trace comes: C, Python, and real PyTorch."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import ingero
import kept
import programs
import set_ups
import stacks_torch
import torch

MEASURES = ("bpf", "collectord")

WORKLOADS = pathlib.Path(__file__).resolve().parent.parent / "workloads"
LIMIT_MS = 50
COMPLETE_LEAST = 0.999
ROUNDS = 5
TRACED_S = 2
FOREVER = 1000000
QUIET = {"INGERO_STANDIN_QUIET": "1"}


def commands(bench):
    """Yields name, command and environment of programs that call until they are killed."""
    numbers = ["30", "64", "1000", str(FOREVER)]
    yield "native", [bench.tools.path("callers-loop"), *numbers], QUIET
    library = os.path.join(bench.tools.build, "workloads", "libcallers-loop.so")
    yield "Python", ["/usr/bin/python3", "-S", str(WORKLOADS / "callers_loop.py"), library, *numbers, "15"], QUIET
    for name, set_up, arguments in (("PyTorch, A", "a", ("plain",)), ("PyTorch, B", "b", ("plain", "--without-blas"))):
        if set_ups.find(set_up):
            loop = torch.Loop(bench, set_up, *arguments)
            yield name, [*loop.command[:-1], str(FOREVER)], {**QUIET, **loop.environment}
        else:
            bench.row(f"{name}: programs measured", 0, "programs", note=set_ups.why_not(set_up))


def once(bench, command, environment):
    """(milliseconds from the first call to the first complete stack, calls before it, the share of complete ones from then on, and after LIMIT_MS, why others were not)"""
    with tempfile.TemporaryDirectory(prefix="ingero-") as directory, contextlib.ExitStack() as stack:
        books = os.path.join(directory, "books")
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              env={**os.environ, **environment, "INGERO_STANDIN_BOOKS": books}) as process:
            try:
                ingero.wait_for(lambda: list(pathlib.Path(directory).glob("books.*")), "the program's first call")
                time.sleep(0.5)  # it is in its loop
                tracing = ingero.Tracing(bench.programs, "--record", "all", "--stack=all", "--pid", str(process.pid))
                stack.callback(programs.kill, tracing.process, signal.SIGINT)
                ingero.wait_for(lambda: any(line["type"] == "event" for line in tracing.lines()), "the first call")
                time.sleep(TRACED_S)
                trace = tracing.stop(300)
            finally:
                process.kill()
    calls = stacks_torch.calls_of(trace)
    events = sorted((kept.unix_ns(call["timestamp"]), bool(call.get("stack_complete"))) for call in calls)
    whys = {call.get("stack_why", "no stack") for call in calls if not call.get("stack_complete")}
    complete = [at for at, is_complete in events if is_complete]
    if not complete:
        raise ingero.Failed(f"{command[0]}: no complete stack")
    first = complete[0]
    later = [is_complete for at, is_complete in events if at >= first]
    after = [is_complete for at, is_complete in events if at >= events[0][0] + LIMIT_MS * 10**6]
    return (first - events[0][0]) / 1e6, sum(at < first for at, _ in events), sum(later) / len(later), sum(after) / max(1, len(after)), whys


def measure(bench):
    for name, command, environment in commands(bench):
        if not bench.only.search(name):
            continue
        runs = bench.in_turns(pairs=max(ROUNDS, bench.pairs), attach=lambda command=command, environment=environment: once(bench, command, environment))["attach"]
        bench.row(f"{name}: first complete stack after the first call", [run[0] for run in runs], "ms", limit=LIMIT_MS)
        bench.row(f"{name}: calls before it", [run[1] for run in runs], "calls")
        bench.row(f"{name}: complete from then on", [run[2] for run in runs], "ratio")
        bench.row(f"{name}: complete, {LIMIT_MS} ms after the first call", [run[3] for run in runs], "ratio", least=COMPLETE_LEAST,
                  note="; ".join(sorted(set().union(*(run[4] for run in runs))))[:200])
    if not bench.rows:
        sys.exit(f"bench: nothing matches '{bench.only.pattern}'")
