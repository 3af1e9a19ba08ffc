# SPDX-License-Identifier: Apache-2.0
"""How long one user waits while another's clients are hostile, of every kind, beside how long he waits without."""
import statistics
import subprocess

import ingero

ASKED = {"status": "status", "greeting": "a new connection", "rows": "SQL, which takes a process"}
RSS_LIMIT_MIB = 96


def attacks(program):
    return subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()


def measure(bench):
    program = bench.programs.path("test_rpc_hostile")
    everything = {what: [] for what in ASKED}
    for attack in attacks(program):
        run = subprocess.run([program, "--measure", attack, str(bench.pairs)], capture_output=True, text=True, check=False)
        if run.returncode:
            raise ingero.Failed(f"{attack}: exit status {run.returncode}: {run.stderr[-500:]}")
        figures = {}
        for line in run.stdout.splitlines():
            what, quiet, beside = line.split()
            figures.setdefault(what, []).append((int(quiet), int(beside)))
        for what, told in ASKED.items():
            ratios = [beside / quiet for quiet, beside in figures[what]]
            everything[what].append(statistics.median(ratios))
            bench.row(f"{attack}: {told}", ratios, "ratio", limit=2,
                      note=f"{statistics.median(quiet for quiet, _ in figures[what]) / 1000:.0f} us without")
        bench.row(f"{attack}: memory of the daemon", figures["rss"][0][0] / 2**20, "MiB", limit=RSS_LIMIT_MIB)
    for what, told in ASKED.items():
        bench.row(f"all attacks: {told}", everything[what], "ratio", limit=2)
