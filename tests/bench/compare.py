# SPDX-License-Identifier: Apache-2.0
"""Comparison of two runs: how often it tells a slow-down of 3 % and 10 %, and names its part, and how often one that is none."""
import json
import os
import random
import statistics
import subprocess
import sys

import ingero
import kept

MEASURES = ("collectord/archive/questions", "collectord/archive/write", "collectord/figures", "bpf", "tests/workloads/steps.py")
STEPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../workloads/steps.py")
ROUNDS = 10
SECONDS = 20
# A step, µs: nine kernels, hashing between calls, a copy that takes time in the call; and Python around these.
KERNEL_US, KERNELS, COMPUTE_US, COPY_US = 500, 9, 2000, 500
STEP_US = KERNEL_US * KERNELS + COMPUTE_US + COPY_US + 300
SLOWER = {"alike": 0, "3 %": 0.03, "10 %": 0.10}
# what takes longer: where the comparison has to find it
PARTS = {"device": ("in", "device", "cudaStreamSynchronize"), "compute": ("between", "on_cpu", None), "copy": ("in", "on_cpu", "cudaMemcpyAsync")}


def options_of(kind, ratio, rounds_of_ms):
    """Of steps.py, for a step that is so much longer."""
    more_us = STEP_US * ratio
    kernel_us = KERNEL_US + (more_us / KERNELS if kind == "device" else 0)
    compute_us = COMPUTE_US + (more_us if kind == "compute" else 0)
    copy_us = COPY_US + (more_us if kind == "copy" else 0)
    return ["--kernel-us", str(round(kernel_us)), "--rounds", str(round(rounds_of_ms * compute_us / 1000)), "--inside-us", str(round(copy_us))]


def round_run(bench, kind, rounds_of_ms, seconds):
    """Runs of one round, side by side: {name: pid}; all of them wait until the last one is there."""
    libraries = os.path.dirname(bench.programs.library("libcudart.so.12"))
    names = ["first", *SLOWER]
    random.shuffle(names)
    runs = {}
    for name in names:
        command = [sys.executable, "-S", STEPS, "--libraries", libraries, "--seconds", str(seconds), "--wait-for-stdin",
                   *options_of(kind, SLOWER.get(name, 0), rounds_of_ms)]
        runs[name] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                      env={**os.environ, "LD_LIBRARY_PATH": libraries})
    pids = {name: int(run.stdout.readline()) for name, run in runs.items()}
    for run in runs.values():
        run.stdin.close()
    for name, run in runs.items():
        if run.wait():
            raise ingero.Failed(f"{STEPS} {name}: exit status {run.returncode}")
        run.stdout.close()
    return pids


def compared(home, before, after):
    done = home.run("compare", "--json", f"pid:{before}", f"pid:{after}", "--db", home.db)
    if done.returncode not in (0, 3, 4):
        raise ingero.Failed(f"compare: {done.stderr}")
    return json.loads(done.stdout)


def part_of(answer):
    """Where the verdict says that the time went: (where, class, operation)."""
    without = answer["basis"] == "without_runnable"
    for part in answer["parts"]:
        if part["is_told"] and part["change_ns"] > 0 and not (without and part["class"] == "runnable"):
            return part["where"], part["class"], part.get("op")
    return None


def is_for_want_of_cpu(answer):
    """Whether all that is told is time ready without a CPU: others ran beside one of the two."""
    return answer["basis"] == "wall" and all(part["class"] == "runnable" for part in answer["parts"] if part["is_told"])


def measure(bench):
    seconds = bench.seconds or SECONDS
    rounds_of_ms = int(subprocess.run([sys.executable, "-S", STEPS, "--calibrate"], capture_output=True, text=True, check=True).stdout)
    random.seed(1)
    kinds = [list(PARTS)[i % len(PARTS)] for i in range(ROUNDS)]
    told, later, last = {name: [] for name in SLOWER}, [], None
    library = bench.programs.library("libcudart.so.12")
    with kept.Kept(bench.programs.build) as home, ingero.mapped(library):
        tracing = ingero.Tracing(bench.programs, "--pid", str(os.getpid()), "--db", home.db)
        try:
            ingero.wait_for(tracing.lines, "the start of the trace")
            for kind in kinds:
                # at once: figures of single seconds are kept for two minutes
                pids = round_run(bench, kind, rounds_of_ms, seconds)
                for name in SLOWER:
                    told[name].append((kind, compared(home, pids["first"], pids[name])))
                if last:
                    later.append(compared(home, last, pids["first"]))
                last = pids["first"]
        finally:
            tracing.stop()
    for name, answers in told.items():
        slower = [(kind, one) for kind, one in answers if one["verdict"] == "slower"]
        named = [part_of(one) == PARTS[kind] for kind, one in slower]
        if not SLOWER[name]:
            bench.row(f"{name}, side by side: told to be slower or faster", sum(one["verdict"] in ("slower", "faster") for _, one in answers), "of 10", limit=0)
        else:
            bench.row(f"slower by {name}: found", len(slower), "of 10", least=10 if SLOWER[name] > 0.05 else 7)
            bench.row(f"slower by {name}: right part first, of those found", sum(named) / max(1, len(named)), "ratio", least=1)
        bench.row(f"{name}: change, as told", [one.get("change_ratio", 0) for _, one in answers], "ratio")
        bench.row(f"{name}: error, as told", [one.get("error_ratio", 0) for _, one in answers], "ratio")
    apart = [one for one in later if one["verdict"] in ("slower", "faster")]
    bench.row("alike, one after the other: told to be slower or faster, not for want of a CPU", sum(not is_for_want_of_cpu(one) for one in apart), f"of {len(later)}",
              limit=0)
    bench.row("alike, one after the other: told to be slower or faster for want of a CPU", sum(map(is_for_want_of_cpu, apart)), f"of {len(later)}")
    bench.row("alike, one after the other: error, as told", [one.get("error_ratio", 0) for one in later], "ratio")
    bench.row("time ready without a CPU of a step, share", statistics.median(
        sum(part["a_ns"] for part in one["parts"] if part["class"] == "runnable") / one["a"]["unit_ns"] for _, one in told["alike"]), "ratio")
