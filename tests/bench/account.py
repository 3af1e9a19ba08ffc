# SPDX-License-Identifier: Apache-2.0
"""Accounts of threads: the reported parts of the wall clock, in and between calls, against the thread's own clocks, its run delay and cpu.stat."""
import contextlib
import json
import os
import sys
import tempfile

import ingero
import programs

BETWEEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../workloads/between.py")
SECONDS = 60
CPU = 0
QUOTA_US = 40000  # of 100 000
# condition: (cause of lost time in the loop, hogs on its CPU, quota, classes to which the program's own wait belongs)
CONDITIONS = {
    "nothing": ("nothing", 0, None, ()),
    "hog": ("nothing", 1, None, ()),
    "quota": ("nothing", 0, QUOTA_US, ()),
    "sleep": ("sleep", 0, None, ("sleep",)),
    "loader": ("loader", 0, None, ("other",)),
    "socket": ("socket", 0, None, ("network",)),
    "lock": ("lock", 0, None, ("lock",)),
    "gil": ("gil", 0, None, ("lock",)),
    "disk": ("disk", 0, None, ("block_io",)),
    "child": ("child", 0, None, ("other",)),
    "idle": ("idle", 0, None, ("network", "other")),
    "gc": ("gc", 0, None, ()),
}
GC_FROM = 2  # seconds before collections begin: the tracer has found the interpreter by then
READY = ("runnable", "quota")
SUM_RATIO = 0.005
CLASS_RATIO = 0.01
GC_RATIO = 0.03


def run(bench, loses, n_hogs, quota_us, seconds):
    """(report of the program, account of its thread)"""
    libraries = os.path.dirname(bench.programs.library("libcudart.so.12"))
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        report = os.path.join(directory, "report")
        command = [sys.executable, "-S", BETWEEN, "--libraries", libraries, "--loses", loses, "--seconds", f"{seconds:g}",
                   "--pin", str(CPU), "--from", str(GC_FROM if loses == "gc" else 0), "--report", report]
        if quota_us:
            group = programs.Group(quota_us, 100000)
            stack.callback(group.remove)
            # the program reads cpu.stat itself, since its start is throttled, too
            command = group.command([*command, "--group", group.path])
        stack.enter_context(programs.hogs(n_hogs, CPU))
        trace = ingero.trace(bench.programs, command=command, timeout_s=seconds * 3 + 60,
                             environment={"INGERO_STANDIN_QUIET": "1", "LD_LIBRARY_PATH": libraries})
        if trace.status:
            raise ingero.Failed(f"{loses}: exit status {trace.status}: {trace.stderr[-500:]}")
        with open(report, encoding="ascii") as file:
            said = json.load(file)
    accounts = [account for account in trace.summary["accounts"] if account["tid"] == said["tid"]]
    if len(accounts) != 1:
        raise ingero.Failed(f"{loses}: {len(accounts)} accounts of thread {said['tid']}: {trace.summary['accounts']}")
    return said, accounts[0]


def part_ns(account, where=None, classes=None):
    return sum(part["ns"] for part in account["parts"]
               if (where is None or part["where"] == where) and (classes is None or part["class"] in classes))


def measure(bench):
    seconds = bench.seconds or SECONDS
    for name, (loses, n_hogs, quota_us, classes) in CONDITIONS.items():
        if not bench.only.search(name):
            continue
        sums, cpus, readies, waits, quotas, unknown, collections = ([] for _ in range(7))
        for _ in range(bench.pairs):
            said, account = run(bench, loses, n_hogs, quota_us, seconds)
            wall_ns = said["wall_ns"]
            sums.append(abs(part_ns(account) - wall_ns) / wall_ns)
            cpus.append(abs(part_ns(account, classes=("on_cpu",)) - said["cpu_ns"]) / wall_ns)
            readies.append(abs(part_ns(account, classes=READY) - said["ready_ns"]) / wall_ns)
            unknown.append(part_ns(account, where="not_known") / wall_ns)
            if classes:
                # the program's own wait includes the time until it gets a CPU again, and the work that it does for the wait
                waited_ns = said["wall_ns"] - said["cpu_ns"] - said["ready_ns"] - part_ns(account, where="in", classes=None) + \
                    part_ns(account, where="in", classes=("on_cpu", *READY))
                waits.append(abs(part_ns(account, where="between", classes=classes) - waited_ns) / wall_ns)
            if loses == "gc":
                ns = sum(part["ns"] for part in account["parts"] if part.get("resource", {}).get("kind") == "gc")
                collections.append(abs(ns - said["collected_ns"]) / max(said["collected_ns"], 1))
            if quota_us:
                quotas.append(abs(part_ns(account, classes=("quota",)) - said["throttled_ns"]) / wall_ns)
        bench.row(f"{name}: sum of the parts against the wall clock, error", sums, "ratio", limit=SUM_RATIO)
        bench.row(f"{name}: on the CPU against the thread's CPU clock, error / wall", cpus, "ratio", limit=CLASS_RATIO)
        bench.row(f"{name}: ready without a CPU against run_delay, error / wall", readies, "ratio", limit=CLASS_RATIO)
        bench.row(f"{name}: not known / wall", unknown, "ratio", limit=SUM_RATIO)
        if waits:
            bench.row(f"{name}: {' + '.join(classes)} between calls against the program's clocks, error / wall", waits, "ratio", limit=CLASS_RATIO)
        if collections:
            bench.row(f"{name}: time in garbage collections against the program's own clock, error", collections, "ratio", limit=GC_RATIO)
        if quotas:
            bench.row(f"{name}: quota against cpu.stat, error / wall", quotas, "ratio", limit=CLASS_RATIO)
