# SPDX-License-Identifier: Apache-2.0
"""Waiting time of one user while another user's clients attack, for every kind of attack; compared with the time without attack, and
with the time while they attack a listener that is not the daemon, which shows the CPU time that the clients themselves take."""
import statistics
import subprocess

import ingero

ASKED = {"status": "status", "greeting": "a new connection", "rows": "SQL, which takes a process"}
RSS_LIMIT_MIB = 96


def attacks(program):
    return subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()


def measure_attack(bench, program, attack, everything):
    run = subprocess.run([program, "--measure", attack, str(bench.pairs)], capture_output=True, text=True, check=False)
    if run.returncode:
        raise ingero.Failed(f"{attack}: exit status {run.returncode}: {run.stderr[-500:]}")
    figures = {}
    for line in run.stdout.splitlines():
        what, *values = line.split()
        figures.setdefault(what, []).append([int(value) for value in values])
    for what, told in ASKED.items():
        quiet_us = statistics.median(quiet for quiet, _, _ in figures[what]) / 1000
        ratios = {"time relative to no attack": [beside / quiet for quiet, _, beside in figures[what]],
                  "time relative to the same attack on another listener": [beside / elsewhere for _, elsewhere, beside in figures[what]]}
        for base, values in ratios.items():
            everything.setdefault((told, base), []).append(statistics.median(values))
            bench.row(f"{attack}: {told}, {base}", values, "ratio", limit=2, note=f"{quiet_us:.0f} us without attack")
    bench.row(f"{attack}: memory of the daemon", max(beside for _, _, beside in figures["rss"]) / 2**20, "MiB", limit=RSS_LIMIT_MIB)


def measure(bench):
    program = bench.programs.path("test_rpc_hostile")
    everything = {}
    for attack in attacks(program):
        measure_attack(bench, program, attack, everything)
    for (told, base), values in everything.items():
        bench.row(f"all attacks: {told}, {base}", values, "ratio", limit=2)
