# SPDX-License-Identifier: Apache-2.0
"""
Calls of NCCL are a layer of their own: counted in a program that loads libnccl alone, in one that has its functions inside
another library, and beside the runtime, whose calls inside a collective count in their own layer: collectives.py BUILD.
"""
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
import ingero  # noqa: E402

CALLS, FAILED, INSIDE_US = 307, 11, 50
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
"""
BYTES = sum(4 * (100 + number) for number in range(CALLS))


def run(programs, library, runtime="", wait_s=0.0):
    standins = os.path.join(programs.build, "standins")
    return ingero.trace(programs, "--record", "all", command=[sys.executable, "-S", "-c", PROGRAM, library, runtime, str(wait_s)],
                        environment={"LD_LIBRARY_PATH": standins, "INGERO_STANDIN_QUIET": "1",
                                     "INGERO_STANDIN_INSIDE": f"ncclAllReduce={INSIDE_US}us:spin"})


def check(what, trace, n_inside, lost=()):
    rows = {row["op"]: row for row in trace.operations(source="nccl")}
    if trace.status or set(trace.lost()) - set(lost):
        yield f"{what}: exit status {trace.status}, lost {trace.lost()}: {trace.stderr}"
    if {op: row["count"] for op, row in rows.items()} != {"ncclAllReduce": CALLS, "ncclBroadcast": CALLS + FAILED}:
        yield f"{what}: counted { {op: row['count'] for op, row in rows.items()} }"
        return
    if (rows["ncclAllReduce"]["bytes"], rows["ncclBroadcast"]["bytes"]) != (BYTES, 0):
        yield f"{what}: bytes {rows['ncclAllReduce']['bytes']}, of an unknown type {rows['ncclBroadcast']['bytes']}, and not {BYTES}"
    if (rows["ncclAllReduce"]["errors"], rows["ncclBroadcast"]["errors"]) != (0, FAILED):
        yield f"{what}: errors {rows['ncclAllReduce']['errors']}, {rows['ncclBroadcast']['errors']}"
    if trace.counts(source="cuda").get("cudaLaunchKernel", 0) != n_inside:
        yield f"{what}: {trace.counts(source='cuda')} inside, and not {n_inside} launches"
    events = sorted(trace.events, key=lambda event: (event["timestamp"], event["depth"]))
    outer = None
    for event in events:
        if event["source"] == "nccl":
            outer = event
            if event["depth"] or event["op"] == "ncclAllReduce" and event["duration_ns"] < INSIDE_US * 900:
                yield f"{what}: {event}"
        elif event["op"] == "cudaLaunchKernel" and (event["depth"] != 1 or event["duration_raw_ns"] > outer["duration_raw_ns"]):
            yield f"{what}: {event} inside {outer}"


def main():
    programs = ingero.Programs(sys.argv[1])
    if os.geteuid() != 0:
        print("skipped: needs root to trace")
        return 77
    nccl, runtime = programs.library("libnccl.so.2"), programs.library("libcudart.so.12")
    wrong = [*check("alone", run(programs, nccl), 0), *check("beside the runtime", run(programs, nccl, runtime), 2 * CALLS)]
    with tempfile.TemporaryDirectory(prefix="ingero-collectives-") as directory:
        inside = os.path.join(directory, "libtorch.so")
        with open(nccl, "rb") as file, open(inside, "wb") as copy:
            copy.write(file.read().replace(b"libnccl.so.2\0", b"libtorch.so\0\0"))
        # neither its name nor its soname says what it has: it is found when it is mapped, in a moment
        wrong += check("inside another library", run(programs, inside, wait_s=2.0), 0, lost=("late_load",))
    for line in wrong[:20]:
        print(line)
    return 1 if wrong else 0


try:
    sys.exit(main())
except ingero.Failed as error:
    print(error)
    sys.exit(1)
