# SPDX-License-Identifier: Apache-2.0
"""Time from the load of a new copy of a CUDA library to its attach, and the cost of short-lived processes, 200 a second."""
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

import ingero
import programs

RATE = 200


def libraries(tracing):
    """{path: message} of each file reported as attached."""
    found = {}
    for line in tracing.lines():
        for library in line["libraries"] if line["type"] == "start" else [line] if line["type"] == "library" else []:
            if not library["reason"]:
                found[library["path"]] = library
    return found


def brood(bench, standins, n, linger):
    done = subprocess.run([bench.programs.path("brood"), "--processes", str(n), "--calls", "10", "--rate", str(RATE),
                           "--at-once", "200", "--linger", linger], capture_output=True, text=True, check=True,
                          env={**os.environ, "INGERO_STANDIN_QUIET": "1", "LD_LIBRARY_PATH": standins})
    return [line["pid"] for line in map(json.loads, done.stdout.splitlines())]


def run_one(bench, directory, number):
    n = int((bench.seconds or 10) * RATE)
    standins = os.path.join(directory, f"copy{number}")
    shutil.copytree(os.path.join(bench.programs.build, "standins"), standins, symlinks=True)
    tracing = ingero.Tracing(bench.programs, "--all", "--record", "none")
    while not tracing.lines():
        time.sleep(0.05)
    daemon = programs.daemon_of(tracing)
    cold = brood(bench, standins, RATE, "1s")
    cpu, began = programs.cpu_ns(daemon), time.monotonic()
    warm = brood(bench, standins, n, "0ns")
    cpu_ratio = (programs.cpu_ns(daemon) - cpu) / 1e9 / (time.monotonic() - began)
    trace = tracing.stop()
    late_ms = [library["late_ns"] / 1e6 for library in trace.summary["libraries"] if library["path"].startswith(standins) and library["symbols"]]
    counts = {}
    for row in trace.operations(op="cudaLaunchKernel"):
        counts[row["pid"]] = counts.get(row["pid"], 0) + row["count"]
    return {
        "late_ms": max(late_ms, default=None),
        "cold_missed": sum(counts.get(pid, 0) != 10 for pid in cold),
        "cold_late": trace.summary["lost"]["late_load"],
        "warm": len(warm),
        "warm_missed": sum(counts.get(pid, 0) != 10 for pid in warm),
        "cpu_ratio": cpu_ratio,
    }


def measure(bench):
    with tempfile.TemporaryDirectory(prefix="ingero-discovery-") as directory:
        os.chmod(directory, 0o755)
        runs = [run_one(bench, directory, number) for number in range(bench.pairs)]
    bench.row("discovery time: load of a new copy to its attach", [run["late_ms"] for run in runs if run["late_ms"] is not None], "ms", limit=1000)
    bench.row(f"processes that started before that, of {RATE}", [run["cold_missed"] for run in runs], "processes")
    bench.row("of these, not counted as missed", [max(0, run["cold_missed"] - run["cold_late"]) for run in runs], "processes", limit=0)
    bench.row(f"later processes that are not exact, of {runs[0]['warm']} at {RATE} a second", [run["warm_missed"] for run in runs], "processes", limit=0)
    bench.row("the daemon's CPU meanwhile", [run["cpu_ratio"] for run in runs], "of one CPU")
    return statistics.median([run["late_ms"] or 0 for run in runs])
