# SPDX-License-Identifier: Apache-2.0
"""Real PyTorch with the stand-in libraries: steps and CPU time of training loops, untraced, with empty probes, and traced by default."""
import contextlib
import glob
import json
import os
import subprocess
import tempfile

import floor
import ingero
import set_ups

HERE = os.path.dirname(os.path.abspath(__file__))
TRAIN = os.path.join(HERE, "..", "workloads", "torch", "train.py")
PAUSE_MS = 6  # with about 90 traced calls a step: less than 10 000 a second of either thread
SMALL_LOSS = 0.02
SECONDS = 2  # length of a run, without the start of PyTorch


class Loop:
    """One kind of training loop, run in any of three ways; results of its own clocks."""

    def __init__(self, bench, set_up, *arguments):
        python = set_ups.find(set_up)
        if not python:
            raise ingero.Failed(set_ups.why_not(set_up))
        self.bench = bench
        self.command = [python, TRAIN, *map(str, arguments), "--seconds", str(bench.seconds or SECONDS)]
        standins = os.path.join(bench.programs.build, "standins")
        self.environment = set_ups.environment(set_up, standins)
        # libraries called in a step; runtimes that are linked into PyTorch's own libraries are rarely called there
        self.libraries = [os.path.join(standins, "libcuda.so.1"), *(
            [os.path.join(standins, set_ups.SET_UPS[set_up].runtime)] if set_ups.SET_UPS[set_up].runtime
            else glob.glob(os.path.join(os.path.dirname(python), "..", "lib", "python*", "site-packages", "torch", "lib", "libcudart-*")))]

    def run(self, way):
        with tempfile.TemporaryDirectory(prefix="ingero-") as directory:
            report = os.path.join(directory, "report")
            command = ["env", *(f"{name}={value}" for name, value in self.environment.items()), *self.command, "--report", report]
            trace = None
            if way == "traced":
                trace = ingero.trace(self.bench.programs, "--db", os.path.join(directory, "x.db"), command=command, timeout_s=300)
            else:
                with floor.empty_probes(self.bench.programs, self.libraries) if way == "empty" else contextlib.nullcontext():
                    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
            with open(report, encoding="utf-8") as file:
                said = json.load(file)
        said["seconds"] = (said["end_ns"] - said["start_ns"]) / 1e9
        return said, trace


def steps_a_second(said):
    return said["steps"] / said["seconds"]


def cpu_us_a_step(said):
    return said["cpu_ns"] / said["steps"] / 1000


def told_us_a_step(said, trace):
    return trace.summary["cost"]["probe_ns"] / said["steps"] / 1000


def measure_speed(bench, name, loop, has_empty=True, limit=None):
    ways = ["untraced", *(["empty"] if has_empty else []), "traced"]
    runs = bench.in_turns(**{way: lambda way=way: loop.run(way) for way in ways})
    said = {way: [one for one, _ in runs[way]] for way in ways}

    def lost(way, before="untraced"):
        """Steps lost by this way against the previous one, relative to an untraced run, for each round."""
        return [(steps_a_second(b) - steps_a_second(a)) / steps_a_second(u) for a, b, u in zip(said[way], said[before], said["untraced"])]

    def added(way, before="untraced"):
        return [cpu_us_a_step(a) - cpu_us_a_step(b) for a, b in zip(said[way], said[before])]

    bench.row(f"{name}: steps untraced", [steps_a_second(one) for one in said["untraced"]], "/s")
    bench.row(f"{name}: traced calls of a step", [sum(row["count"] for row in trace.operations()) / one["steps"] for one, trace in runs["traced"]], "calls")
    bench.row(f"{name}: traced calls", [sum(row["count"] for row in trace.operations()) / one["seconds"] for one, trace in runs["traced"]], "/s")
    bench.row(f"{name}: steps lost, traced", lost("traced"), "ratio")
    if has_empty:
        bench.row(f"{name}: steps lost, empty probes", lost("empty"), "ratio")
        bench.row(f"{name}: steps lost beyond empty probes", lost("traced", "empty"), "ratio", limit=limit)
    bench.row(f"{name}: CPU of a step untraced", [cpu_us_a_step(one) for one in said["untraced"]], "us")
    bench.row(f"{name}: CPU of a step, added", added("traced"), "us")
    if has_empty:
        bench.row(f"{name}: CPU of a step, added by empty probes", added("empty"), "us")
    bench.row(f"{name}: CPU of a step, added, as reported by Ingero", [told_us_a_step(one, trace) for one, trace in runs["traced"]], "us")


def measure(bench):
    measure_speed(bench, "A, with pauses", Loop(bench, "a", "plain", "--pause-ms", PAUSE_MS), limit=SMALL_LOSS)
    measure_speed(bench, "A, flat out, AdamW", Loop(bench, "a", "plain", "--optimiser", "adamw"))
    # B runs on a stand-in runtime, so its figures mean less; it takes long to start
    if set_ups.find("b"):
        measure_speed(bench, "B, flat out", Loop(bench, "b", "plain", "--without-blas"), has_empty=False)
    else:
        bench.row("B, flat out: loops measured", 0, "loops", note=set_ups.why_not("b"))
