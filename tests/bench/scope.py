# SPDX-License-Identifier: Apache-2.0
"""Whether the time of an answer reveals if a process exists that belongs to another user."""
import subprocess

import ingero

# Tolerance around 0.5; guess: two nonexistent processes never differed by as much.
LIMIT = 0.08
ROUNDS = 300


def share_above(values, others):
    """Probability that a value of the first list is larger than one of the second: 0.5 if they cannot be distinguished."""
    ranked = sorted([(value, 0) for value in values] + [(value, 1) for value in others])
    rank_sum = sum(rank for rank, (_, kind) in enumerate(ranked, 1) if kind == 0)
    return (rank_sum - len(values) * (len(values) + 1) / 2) / (len(values) * len(others))


def measure(bench):
    run = subprocess.run([bench.programs.path("test_rpc_scope"), "--measure", str(ROUNDS)], capture_output=True, text=True,
                         check=False)
    if run.returncode:
        raise ingero.Failed(f"test_rpc_scope: exit status {run.returncode}: {run.stderr[-500:]}")
    questions = {}
    for line in run.stdout.splitlines():
        method, name, *times = line.split("\t")
        if len(times) == 3:
            questions.setdefault(f"{method.rsplit('.', 1)[1]} {name}", []).append([int(ns) for ns in times])
    for question, rows in questions.items():
        other, gone, again = zip(*rows)
        bench.row(f"{question}: about another user's process", [ns / 1000 for ns in other], "us")
        bench.row(f"{question}: about a process that is gone", [ns / 1000 for ns in gone], "us")
        bench.row(f"{question}: difference of two processes that are gone", abs(share_above(again, gone) - 0.5), "share")
        bench.row(f"{question}: difference of another user's process and one that is gone", abs(share_above(other, gone) - 0.5), "share",
                  limit=LIMIT)
