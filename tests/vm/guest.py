#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Runs inside the emulated machine: exact counts with every back end that this kernel has, beside a real-time thread.

guest.py DIRECTORY RESULTS: our programs are below the first, results go to the second. Exit status 0: every count was
equal to the calls made, to the call.
"""
import contextlib
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import books_of  # noqa: E402 (needs the path above)
import ingero  # noqa: E402

THREADS = (1, 2, 8)
DIAGNOSE_S = 30
CALLS = 5003  # of each thread; emulated calls are slow
BACK_ENDS = ("auto", "session", "multi", "perf")
# Runs on every CPU in turn before everything else, so that calls are preempted in the middle of probes.
REAL_TIME = """
import os, time
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
cpu = 0
while True:
    cpu = (cpu + 1) % os.cpu_count()
    os.sched_setaffinity(0, {cpu})
    end = time.monotonic_ns() + 300000
    while time.monotonic_ns() < end:
        pass
    time.sleep(0.001)
"""


@contextlib.contextmanager
def real_time_thread():
    process = subprocess.Popen([sys.executable, "-S", "-c", REAL_TIME])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def one_run(programs, known, back_end, threads, results):
    report_path = os.path.join(results, f"cudaload-{back_end}-{threads}.json")
    command = [programs.path("cudaload"), "--threads", str(threads), "--calls", str(CALLS), "--report", report_path]
    began = time.monotonic()
    tracing = ingero.Tracing(programs, "--back-end", back_end, command=command, environment={"INGERO_STANDIN_QUIET": "1"})
    # loading takes the emulated machine seconds; what matters is the time after
    while tracing.process.poll() is None and not tracing.lines():
        time.sleep(0.05)
    attached = time.monotonic()
    with real_time_thread():
        trace = tracing.wait(300)
    with open(report_path, encoding="utf-8") as file:
        made = books_of.operations(json.load(file)["books"], known)
    wrong = books_of.differences(made, trace.counts())
    return {"back_end": trace.start["back_end"], "threads": threads, "calls": sum(made.values()), "wrong": wrong,
            "lost": trace.lost(), "blame": any(row["blame_ns"] for row in trace.summary["operations"]),
            "attach_seconds": round(attached - began, 1), "seconds": round(time.monotonic() - began, 1)}


def diagnose(programs, back_end, results):
    """What the daemon says at length about why it cannot capture."""
    with open(os.path.join(results, f"daemon-{back_end}.log"), "w", encoding="utf-8") as file:
        process = subprocess.Popen([programs.path("ingero-collectord"), "--debug", "--back-end", back_end, "--socket", os.path.join(results, "socket")],
                                   stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(DIAGNOSE_S)
        process.kill()
        process.wait()
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(results, "socket"))


def preemption():
    with contextlib.suppress(OSError), open("/sys/kernel/debug/sched/preempt", encoding="ascii") as file:
        return file.read().strip()
    return "not dynamic"


def main():
    directory, results = sys.argv[1:]
    programs = ingero.Programs(directory)
    known = books_of.known_operations(os.path.join(directory, "ops.def"))
    told = {"kernel": os.uname().release, "preemption": preemption(), "runs": [], "absent": {}}
    is_exact = True
    for back_end in BACK_ENDS:
        for threads in THREADS:
            try:
                run = one_run(programs, known, back_end, threads, results)
            except ingero.Failed as error:
                # a back end that this kernel lacks is no failure; that none works is
                told["absent"][back_end] = str(error)
                print(f"{back_end}: {error}", flush=True)
                diagnose(programs, back_end, results)
                is_exact = is_exact and back_end not in ("auto", "perf")
                break
            told["runs"].append(run)
            is_exact = is_exact and not run["wrong"]
            print(f"{told['kernel']} ({told['preemption']}): {back_end} = {run['back_end']}, {threads} threads, {run['calls']} calls: "
                  f"{'exact' if not run['wrong'] else 'off by ' + str(run['wrong'])}, {run['seconds']} s", flush=True)
    with open(os.path.join(results, "counts.json"), "w", encoding="utf-8") as file:
        json.dump(told, file, indent=1)
    return 0 if is_exact and told["runs"] else 1


if __name__ == "__main__":
    sys.exit(main())
