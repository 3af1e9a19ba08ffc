# SPDX-License-Identifier: Apache-2.0
"""Diagnosis in calls: whether the first finding names a real fault with its process, and healthy programs have none; one seed a round."""
import contextlib
import os
import random
import subprocess
import sys

import ingero
import programs

SEEDS = 10
SECONDS = 5
FAULT_SECONDS = 8  # a hog delays a program that blocks only slightly: detection takes some seconds
SEVERITIES = ("LOW", "MEDIUM", "HIGH", "CRITICAL")
RHYTHM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../workloads/rhythm.py")
CPU, OTHER_CPU = 0, 1

# name: (shape, how a synchronise waits, whether a hog computes on another CPU)
HEALTHY = {
    "hog elsewhere": ("steady", "spin", "elsewhere"),
    "voluntary sleep": ("steady", "sleep", None),
    "bimodal": ("bimodal", "spin", None),
    "bimodal, blocking": ("bimodal", "block", None),
    "bursty": ("bursty", "block", None),
    "many short launches": ("launches", "block", None),
    "busy": ("busy", "block", None),
    "steady spin": ("steady", "spin", None),
    "steady block": ("steady", "block", None),
    "steady poll": ("steady", "poll", None),
}
# kind: faults in order of strength: severity must not fall from one to the next
FAULTS = {
    "cpu_contention": {
        "hog in bursts": ["--bursts", "{on}ms,{off}ms"],
        "hog": [],
        "hog at nice -10": ["--nice", "-10"],
    },
    "cpu_quota": {"quota 70 %": 70, "quota 40 %": 40, "quota 20 %": 20},
}


def rank(severity):
    return SEVERITIES.index(severity) if severity else -1


class Run:
    """One traced program: its pid, and the findings about it, worst first."""

    def __init__(self, bench, seed, shape, wait, seconds, wrap=lambda command: command):
        kernel_us = random.Random(seed * 7919 + 1).randint(20, 120)
        command = [sys.executable, "-S", RHYTHM, "--libraries", os.path.dirname(bench.programs.library("libcudart.so.12")),
                   "--shape", shape, "--seconds", f"{bench.seconds or seconds:g}", "--seed", str(seed), "--pin", str(CPU)]
        environment = {"INGERO_STANDIN_QUIET": "1", "INGERO_STANDIN_WAIT": wait, "INGERO_STANDIN_KERNEL": f"{kernel_us}us",
                       "LD_LIBRARY_PATH": os.path.dirname(bench.programs.library("libcudart.so.12"))}
        trace = ingero.trace(bench.programs, command=wrap(command), environment=environment, timeout_s=120)
        if trace.status:
            raise ingero.Failed(f"{shape}: exit status {trace.status}: {trace.stderr[-500:]}")
        self.trace = trace
        self.findings = trace.summary.get("findings", [])

    def worst(self):
        return self.findings[0]["severity"] if self.findings else None

    def says(self):
        return ", ".join(f"{f['severity']} {f['kind']} {f.get('op', '')}" for f in self.findings) or "nothing"


@contextlib.contextmanager
def hog(bench, *options):
    process = subprocess.Popen([bench.programs.path("hog"), "--duration", "600s", *options], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()
        yield process.pid
    finally:
        process.kill()
        process.communicate()


def healthy(bench, shape, wait, beside, seed):
    with hog(bench, "--pin", str(OTHER_CPU)) if beside else contextlib.nullcontext():
        return Run(bench, seed, shape, wait, SECONDS)


def contended(bench, options, seed):
    pick = random.Random(seed)
    values = {"on": pick.randint(200, 600), "off": pick.randint(200, 600)}
    options = [option.format(**values) for option in options]
    shape, wait = pick.choice([("busy", "spin"), ("busy", "block"), ("bursty", "spin"), ("bimodal", "spin")])
    with hog(bench, "--pin", str(CPU), *options) as pid:
        run = Run(bench, seed, shape, wait, FAULT_SECONDS)
    first = run.findings[0] if run.findings else {}
    return run, first.get("kind") == "cpu_contention" and first["cause"].get("pid") == pid


def limited(bench, percent, seed):
    group = programs.Group(percent * 1000, 100000)
    try:
        run = Run(bench, seed, "busy" if seed % 2 else "launches", "spin", FAULT_SECONDS, group.command)
    finally:
        group.remove()
    return run, bool(run.findings) and run.findings[0]["kind"] == "cpu_quota"


def measure(bench):
    seeds = range(1, 1 + max(SEEDS, bench.pairs))
    for kind, strengths in FAULTS.items():
        before = -1.0
        for name, how in strengths.items():
            results = [(contended if kind == "cpu_contention" else limited)(bench, how, seed) for seed in seeds]
            missed = [run for run, is_named in results if not is_named]
            mean = sum(rank(run.worst()) for run, _ in results) / len(results)
            bench.row(f"{name}: runs in which this fault is not the first finding", len(missed), f"of {len(results)}", limit=0,
                      note="; ".join(sorted({run.says() for run in missed}))[:200])
            bench.row(f"{name}: severity, 0 LOW to 3 CRITICAL, mean", mean, "", least=before)
            before = mean
    for name, row in HEALTHY.items():
        runs = [healthy(bench, *row, seed) for seed in seeds]
        wrong = [run for run in runs if rank(run.worst()) > rank("LOW")]
        bench.row(f"{name}: runs with a finding above LOW", len(wrong), f"of {len(runs)}", limit=0,
                  note="; ".join(sorted({run.says() for run in wrong}))[:200])
