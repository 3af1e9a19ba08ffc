# SPDX-License-Identifier: Apache-2.0
"""
CPU time that `ingero io` adds to a system call: a cached read of 512 bytes that is traced, one of a process that is not, a call on
a path, a call that is not in its table; and the first sight of a file.
"""
import collections
import subprocess

ROUNDS = 9
MEASURES = ("bpf", "collectord/io", "tests/bpf/bench_io.c")
READ, TWO, PATH, OTHER = "pread", "pread of two files in turn", "stat", "getppid"


def figures(bench):
    """{(load, variant): ns of each round}"""
    done = subprocess.run(["sh", "-c", f"ulimit -n 8192 && exec {bench.programs.build}/tests/bench_io {ROUNDS}"], capture_output=True, text=True, check=True)
    rows = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        words = line.split("\t")
        if len(words) == 3:
            rows[words[1], words[0]].append(float(words[2]))
    return rows


def measure(bench):
    rows = figures(bench)
    for load in (READ, TWO, PATH, OTHER):
        bench.row(f"{load}, without", rows[load, "alone"], "ns")

    def added(what, load, variant, limit=None):
        pairs = list(zip(rows[load, variant], rows[load, "alone"]))
        bench.row(f"{what}: added", [traced - alone for traced, alone in pairs], "ns")
        bench.row(f"{what}: added, as a share of the call", [(traced - alone) / alone for traced, alone in pairs], "", limit=limit)

    added("pread, traced", READ, "traced", 1.1)
    added("pread of two files in turn, traced", TWO, "traced", 1.1)
    added("pread, not traced", READ, "bystander", 0.4)
    added("stat, traced", PATH, "traced", 0.6)
    added("getppid, not in the table", OTHER, "traced")
    bench.row("first sight of a file below three directories: added", rows["first sight", "traced"], "ns", limit=2500 + 4 * 300)
