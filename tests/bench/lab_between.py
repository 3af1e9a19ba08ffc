# SPDX-License-Identifier: Apache-2.0
"""Diagnosis between calls: what a loop loses there is named first with who did it, from the first second on or in mid-run; loops that are well are left alone."""
import collections
import contextlib
import os
import random
import subprocess
import sys
import threading

import ingero
import lab
import programs

BETWEEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../workloads/between.py")
SEEDS = 5  # of each strength and onset
HEALTHY_SEEDS = 10
SECONDS = 14  # what a process waits for is not looked at in its first five
ONSETS = {"at once": 0, "mid-run": 6}
COMPUTE_MS = 6
KERNEL = "100us"
BOUND_KERNEL = "3ms"  # of each of a step's five: the loop waits for the device
STRENGTHS = (0.25, 0.5, 0.75)  # of the clock, once it begins
NAMED_RATIO = 0.95

# How a fault is made: what the loop loses its time to, the kind of the finding, the kind of its cause.
WAITS = {
    "loader": ("loader", "starved", "loader"),
    "lock": ("lock", "starved", "lock"),
    "child": ("child", "starved", "tool"),
    "checkpoint": ("disk", "starved", "checkpoint"),
}
HOGS = (["--bursts", "{on}ms,{off}ms"], [], ["--nice", "-5"])
QUOTAS = (70, 40, 20)
GIL_THREADS = (1, 2, 3)

Shape = collections.namedtuple("Shape", "loses wait_ms compute_ms kernel hog_cpu", defaults=(None,))
HEALTHY = {
    "waits for the device": Shape("nothing", 0, 2, BOUND_KERNEL),
    "waits for the device, a hog elsewhere": Shape("nothing", 0, 2, BOUND_KERNEL, lab.OTHER_CPU),
    "waits for the device, a hog beside it": Shape("nothing", 0, 1, BOUND_KERNEL, lab.CPU),
    "paced": Shape("sleep", 20, 1, KERNEL),
    "paced, a hog elsewhere": Shape("sleep", 20, 1, KERNEL, lab.OTHER_CPU),
    "paced slowly": Shape("sleep", 300, 5, KERNEL),
    "idle server": Shape("idle", 200, 1, KERNEL),
    "idle server, a hog elsewhere": Shape("idle", 200, 1, KERNEL, lab.OTHER_CPU),
    "loader far ahead": Shape("loader", 2, 2, BOUND_KERNEL),
    "loader ahead": Shape("loader", 10, 2, BOUND_KERNEL),
    "socket ahead": Shape("socket", 8, 2, BOUND_KERNEL),
    "a lock now and then": Shape("lock", 0.5, 2, BOUND_KERNEL),
}


def traced(bench, seed, shape, *options, wrap=lambda command: command):
    """Pid of a traced loop and its findings, worst first."""
    libraries = os.path.dirname(bench.programs.library("libcudart.so.12"))
    vary = random.Random(seed).uniform(0.9, 1.1)
    command = [sys.executable, "-S", BETWEEN, "--libraries", libraries, "--loses", shape.loses, "--wait-ms", f"{shape.wait_ms * vary:g}",
               "--compute-ms", f"{shape.compute_ms * vary:g}", "--pin", str(lab.CPU), "--seconds", f"{bench.seconds or SECONDS:g}", *options]
    environment = {"INGERO_STANDIN_QUIET": "1", "INGERO_STANDIN_KERNEL": shape.kernel, "INGERO_STANDIN_WAIT": "block", "LD_LIBRARY_PATH": libraries}
    trace = ingero.trace(bench.programs, command=wrap(command), environment=environment, timeout_s=120)
    if trace.status:
        raise ingero.Failed(f"{shape.loses}: exit status {trace.status}: {trace.stderr[-500:]}")
    return trace.summary.get("findings", [])


def told(findings, is_named):
    """What is kept of a run."""
    first = findings[0] if findings else {}
    return {"is_named": bool(first) and bool(is_named(first)), "rank": lab.rank(first.get("severity")), "kind": first.get("kind", "nothing"),
            "says": ", ".join(f"{f['severity']} {f['kind']} {f['cause'].get('kind', '')}".strip() for f in findings) or "nothing"}


def waits(bench, name, strength, onset_s, seed):
    loses, kind, cause = WAITS[name]
    share = STRENGTHS[strength]
    # a loader works while the loop computes, all others begin when the loop asks
    wait_ms = COMPUTE_MS / (1 - share) if loses == "loader" else COMPUTE_MS * share / (1 - share)
    findings = traced(bench, seed, Shape(loses, wait_ms, COMPUTE_MS, KERNEL), "--from", str(onset_s))
    return told(findings, lambda first: first["kind"] == kind and first["cause"].get("kind") == cause)


def gil(bench, _, strength, onset_s, seed):
    findings = traced(bench, seed, Shape("gil", 0, COMPUTE_MS, KERNEL), "--from", str(onset_s), "--threads", str(GIL_THREADS[strength]))
    return told(findings, lambda first: first["kind"] == "starved" and first["cause"].get("kind") == "gil")


@contextlib.contextmanager
def hog_later(bench, onset_s, *options):
    """A process that becomes a hog in a while: its pid."""
    command = ["sh", "-c", f'sleep {onset_s}; exec "$0" "$@"', bench.programs.path("hog"), "--duration", "600s", "--pin", str(lab.CPU), *options]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        yield process.pid
        if process.poll() is not None:
            raise ingero.Failed(f"{' '.join(command)}: ended at once, status {process.returncode}")
    finally:
        process.kill()
        process.wait()


def contended(bench, _, strength, onset_s, seed):
    pick = random.Random(seed)
    values = {"on": pick.randint(200, 600), "off": pick.randint(200, 600)}
    with hog_later(bench, onset_s, *(option.format(**values) for option in HOGS[strength])) as pid:
        findings = traced(bench, seed, Shape("nothing", 0, COMPUTE_MS, KERNEL))
    return told(findings, lambda first: first["kind"] == "cpu_contention" and first["cause"].get("pid") == pid)


def limited(bench, _, strength, onset_s, seed):
    group = programs.Group(100000, 100000)
    timer = threading.Timer(onset_s, group.limit, (QUOTAS[strength] * 1000,))
    timer.start()
    try:
        findings = traced(bench, seed, Shape("nothing", 0, COMPUTE_MS, KERNEL), wrap=group.command)
    finally:
        timer.cancel()
        timer.join()
        group.remove()
    return told(findings, lambda first: first["kind"] == "cpu_quota")


FAULTS = {"hog": contended, "quota": limited, "GIL": gil, **{name: waits for name in WAITS}}


def healthy(bench, shape, seed):
    with lab.hog(bench, "--pin", str(shape.hog_cpu)) if shape.hog_cpu is not None else contextlib.nullcontext():
        return told(traced(bench, seed, shape), lambda first: True)


def row_of_strength(bench, name, results, strength, before):
    missed = [result for result in results if not result["is_named"]]
    ratio = 1 - len(missed) / len(results)
    # of the weakest nothing is asked
    bench.row(f"{name}: named first, of {len(results)} runs", ratio, "ratio", least=NAMED_RATIO if strength else None,
              note="; ".join(sorted({result["says"] for result in missed}))[:160])
    mean = sum(result["rank"] for result in results) / len(results)
    bench.row(f"{name}: severity, 0 LOW to 3 CRITICAL, mean", mean, "", least=before)
    return mean


def measure(bench):
    confusion = collections.Counter()
    for name, make in FAULTS.items():
        before = None
        for strength in range(len(STRENGTHS)):
            results = []
            for onset, onset_s in ONSETS.items():
                for seed in range(1, SEEDS + 1):
                    result = bench.case(f"{name} {strength} {onset} {seed}", lambda *how: make(bench, *how), name, strength, onset_s, seed)
                    if result:
                        results.append(result)
                        confusion[name, result["kind"]] += 1
            if results:
                before = row_of_strength(bench, f"{name}, strength {strength + 1} of 3", results, strength, before)
    for name, shape in HEALTHY.items():
        results = [bench.case(f"healthy, {name} {seed}", healthy, bench, shape, seed) for seed in range(1, HEALTHY_SEEDS + 1)]
        results = [result for result in results if result]
        wrong = [result for result in results if result["rank"] > lab.rank("LOW")]
        for result in results:
            confusion["healthy", result["kind"] if result["rank"] > lab.rank("LOW") else "at most LOW"] += 1
        if results:
            bench.row(f"healthy, {name}: above LOW, of {len(results)} runs", len(wrong), "", limit=0,
                      note="; ".join(sorted({result["says"] for result in wrong}))[:160])
    for (name, kind), n in sorted(confusion.items()):
        bench.row(f"{name} is told as {kind}", n, "runs")
