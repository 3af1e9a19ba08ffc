# SPDX-License-Identifier: Apache-2.0
"""
Calls of NCCL are a layer of their own: counted in a program that loads libnccl alone, in one that has its functions inside
another library, and beside the runtime, whose calls inside a collective count in their own layer. Its other exports are
counted by their names, too, where uprobe_multi can be had, live and in the file: collectives.py BUILD.
"""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
import ingero  # noqa: E402

CALLS, FAILED, INSIDE_US = 307, 11, 50
OTHERS = {"ncclSend": 29, "ncclGroupStart": 31, "ncclGroupEnd": 31}  # exports without a row in ops.def
# @1 the library, @2 the runtime or "", @3 seconds before the first call
PROGRAM = f"""
import ctypes, sys, time
runtime = ctypes.CDLL(sys.argv[2]) if sys.argv[2] else None
library = ctypes.CDLL(sys.argv[1])
time.sleep(float(sys.argv[3]))
word = ctypes.c_uint64
def call(name, n, kind, comm):
    return getattr(library, name)(word(1), word(2), word(n), word(0x5eed00000000 + kind), word(0), word(comm), word(0))
for number in range({CALLS}):
    assert call("ncclAllReduce", 100 + number, 7, 1) == 0
    assert call("pncclBroadcast", 3, 77, 1) == 0
for number in range({FAILED}):
    assert call("ncclBroadcast", 5, 0, 0) == 4
for name, n in {OTHERS}.items():
    for number in range(n):
        assert call(name, number, 7, 1) == 5
"""
BYTES = sum(4 * (100 + number) for number in range(CALLS))


def run(programs, library, *options, runtime="", wait_s=0.0):
    standins = os.path.join(programs.build, "standins")
    return ingero.trace(programs, "--record", "all", *options, command=[sys.executable, "-S", "-c", PROGRAM, library, runtime, str(wait_s)],
                        environment={"LD_LIBRARY_PATH": standins, "INGERO_STANDIN_QUIET": "1",
                                     "INGERO_STANDIN_UNLISTED": "5",
                                     "INGERO_STANDIN_INSIDE": f"ncclAllReduce={INSIDE_US}us:spin,ncclSend={INSIDE_US}us:spin"})


def check(what, trace, n_inside, lost=(), others=None):
    if others is None:
        others = {} if trace.start["back_end"] == "perf" else OTHERS  # each of those takes two
    rows = {row["op"]: row for row in trace.operations(source="nccl")}
    if trace.status or set(trace.lost()) - set(lost):
        yield f"{what}: exit status {trace.status}, lost {trace.lost()}: {trace.stderr}"
    if {op: row["count"] for op, row in rows.items()} != {"ncclAllReduce": CALLS, "ncclBroadcast": CALLS + FAILED, **others}:
        yield f"{what}: counted { {op: row['count'] for op, row in rows.items()} }"
        return
    if (rows["ncclAllReduce"]["bytes"], rows["ncclBroadcast"]["bytes"]) != (BYTES, 0):
        yield f"{what}: bytes {rows['ncclAllReduce']['bytes']}, of an unknown type {rows['ncclBroadcast']['bytes']}, and not {BYTES}"
    if (rows["ncclAllReduce"]["errors"], rows["ncclBroadcast"]["errors"]) != (0, FAILED):
        yield f"{what}: errors {rows['ncclAllReduce']['errors']}, {rows['ncclBroadcast']['errors']}"
    for op in others:  # what they return is not known to be an error
        if rows[op]["errors"] or rows[op]["untimed"] or rows[op]["total_ns"] < (op == "ncclSend") * others[op] * INSIDE_US * 900:
            yield f"{what}: {rows[op]}"
    for library in trace.start["libraries"] + trace.libraries:
        if library["soname"] == "libnccl.so.2" and (set(OTHERS) <= set(library["operations"])) != bool(others):
            yield f"{what}: operations of {library}"
        if library["soname"] == "libnccl.so.2" and (library["left_out"] > 0) != (library["back_end"] == "perf"):
            yield f"{what}: left out of {library}"
    if trace.counts(source="cuda").get("cudaLaunchKernel", 0) != n_inside:
        yield f"{what}: {trace.counts(source='cuda')} inside, and not {n_inside} launches"
    events = sorted(trace.events, key=lambda event: (event["timestamp"], event["depth"]))
    outer = None
    for event in events:
        if event["source"] == "nccl":
            outer = event
            if event["depth"] or event["op"] in ("ncclAllReduce", "ncclSend") and event["duration_ns"] < INSIDE_US * 900:
                yield f"{what}: {event}"
        elif event["op"] == "cudaLaunchKernel" and (event["depth"] != 1 or event["duration_raw_ns"] > outer["duration_raw_ns"]):
            yield f"{what}: {event} inside {outer}"


def check_file(programs, path, back_end):
    """What each answer from the file calls the operations without a row; two traces are in it."""
    if back_end == "perf":
        return
    def ask(*words):
        done = subprocess.run([programs.path("ingero"), *words, "--db", path], capture_output=True, text=True, check=False)
        if done.returncode > 1:
            raise ingero.Failed(f"{words}: {done.stderr}")
        return done.stdout

    counts = {}
    for line in ask("query", "--json", "SELECT op_name, sum(count) AS n FROM operations WHERE source_name = 'nccl' GROUP BY op_name").splitlines():
        row = json.loads(line)
        counts[row["op_name"]] = row["n"]
    if counts != {"ncclAllReduce": 2 * CALLS, "ncclBroadcast": 2 * (CALLS + FAILED), **{op: 2 * n for op, n in OTHERS.items()}}:
        yield f"in the file: {counts}"
    calls = [json.loads(line) for line in ask("query", "--json", "--op", "ncclSend").splitlines()]
    if [call["op"] for call in calls] != ["ncclSend"] * 2 * OTHERS["ncclSend"] or any(call["args"] for call in calls):
        yield f"calls in the file: {len(calls)}, {calls[:2]}"
    if calls and "ncclSend" not in ask("explain", calls[0]["id"]):
        yield "explain does not name ncclSend"
    out = path + ".exported"
    ask("export", "-o", out)
    with sqlite3.connect(f"file:{out}?mode=ro", uri=True) as db:
        names = {row[0] for row in db.execute("SELECT name FROM events JOIN ops ON source_id = source AND op_id = op")}
    if not set(OTHERS) <= names:
        yield f"exported: {names}"


def main():
    programs = ingero.Programs(sys.argv[1])
    if os.geteuid() != 0:
        print("skipped: needs root to trace")
        return 77
    nccl, runtime = programs.library("libnccl.so.2"), programs.library("libcudart.so.12")
    wrong = []
    with tempfile.TemporaryDirectory(prefix="ingero-collectives-") as directory:
        path = os.path.join(directory, "kept.db")
        alone = run(programs, nccl, "--db", path)
        wrong += check("alone", alone, 0)
        wrong += check("beside the runtime", run(programs, nccl, "--db", path, runtime=runtime), 2 * CALLS)
        wrong += check_file(programs, path, alone.start["back_end"])
        wrong += check("perf events", run(programs, nccl, "--back-end", "perf"), 0, others={})
        inside = os.path.join(directory, "libtorch.so")
        with open(nccl, "rb") as file, open(inside, "wb") as copy:
            copy.write(file.read().replace(b"libnccl.so.2\0", b"libtorch.so\0\0"))
        # neither its name nor its soname says what it has: it is found when it is mapped, in a moment
        wrong += check("inside another library", run(programs, inside, wait_s=2.0), 0, lost=("late_load",), others={})
    for line in wrong[:20]:
        print(line)
    return 1 if wrong else 0


try:
    sys.exit(main())
except ingero.Failed as error:
    print(error)
    sys.exit(1)
