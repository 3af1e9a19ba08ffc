# SPDX-License-Identifier: Apache-2.0
"""Cost of storing events: CPU time of the writing thread and of the loop per million events, with one commit a second, synchronous=FULL."""
import json
import os
import subprocess
import tempfile

import ingero

MEASURES = ("base", "collectord/archive", "collectord/events", "collectord/figures")

EVENTS = 1000000
LIMIT_CPU_S = 0.6


def measure(bench):
    def run(operations):
        with tempfile.TemporaryDirectory() as directory:
            command = [bench.programs.path("bench_writer"), os.path.join(directory, "bench.db"), str(EVENTS), str(operations)]
            result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise ingero.Failed(f"bench_writer: exit status {result.returncode}: {result.stderr[-500:]}")
        return json.loads(result.stdout)

    results = bench.in_turns(events=lambda: run(0), few=lambda: run(4), many=lambda: run(30))
    for name, told, limit in (("events", "events alone", LIMIT_CPU_S), ("few", "with figures of 50 processes x 4 operations", None),
                              ("many", "with figures of 50 processes x 30 operations", None)):
        bench.row(f"{told}: CPU of the writing thread per million events", [r["writer_cpu_s_per_million"] for r in results[name]], "s", limit=limit)
        bench.row(f"{told}: CPU of the loop per million events", [r["loop_cpu_s_per_million"] for r in results[name]], "s",
                  note="two readings of the clock for each event included")
        bench.row(f"{told}: longest commit", [r["worst_commit_ms"] for r in results[name]], "ms")
        bench.row(f"{told}: bytes in the file per event", [r["file_bytes_per_event"] for r in results[name]], "B")
        bench.row(f"{told}: bytes written per event", [r["written_bytes_per_event"] for r in results[name]], "B")
