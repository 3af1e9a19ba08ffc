# SPDX-License-Identifier: Apache-2.0
"""Cost of tracing the vendor's own libraries: the time to attach, and the cost of a call by kind of function head."""
import collections
import os
import subprocess
import sys
import tempfile

import heads
import ingero
import make
import real_libraries

LIMIT_ATTACH_MS = 300
CALLS = 20000
CALLER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support/real_call_ns.py")
# one call of each kind of head; without a device all of them fail at once, so the added time is that of the tracer
ONE = {"libcudart-10.2": "cudaFree", "libcudart-11.8": "cudaFree", "libcudart-12.9": "cudaFree", "libcudart-13.5": "cudaFree",
       "libcuda-470": "cuMemFree_v2", "libcuda-535": "cuMemFree_v2", "libcuda-550": "cuMemFree_v2"}


def histogram(path):
    """{(start of the head, kind of place): number of functions} over all exports."""
    found = list(heads.of(path, {address for _, address in make.Library(path).exports()}).values())
    places, counts = heads.places(found), collections.Counter()
    for head, instructions in zip(found, heads.disassemble(found)):
        counts[heads.shape(instructions), places[head].kind] += 1
    return counts


def call_ns(bench, path, name, is_traced, directory):
    """(ns per call, ms that the kernel took to attach)"""
    command = [sys.executable, CALLER, path, name, str(CALLS)]
    if not is_traced:
        return float(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout), 0
    said = os.path.join(directory, "said")
    trace = ingero.trace(bench.programs, "--record", "none", command=["sh", "-c", 'out=$1; shift; exec "$@" >"$out"', "sh", said, *command])
    if sum(trace.counts().values()) != CALLS + 1:
        raise ingero.Failed(f"{path}: {CALLS + 1} calls made, {trace.counts()} counted")
    with open(said, encoding="ascii") as file:
        return float(file.read()), trace.libraries[0]["attach_ns"] / 1e6


def measure(bench):
    heads.use(bench.programs)
    for library in real_libraries.LIBRARIES:
        try:
            path = real_libraries.get(library)
        except real_libraries.Unreachable as error:
            bench.row(f"{library.name}: left out, {error}", [], "")
            continue
        with tempfile.TemporaryDirectory(prefix="ingero-real-") as directory:
            runs = bench.in_turns(alone=lambda: call_ns(bench, path, ONE[library.name], False, directory),
                                  traced=lambda: call_ns(bench, path, ONE[library.name], True, directory))
        ((kind, place), _), *_ = histogram(path).most_common()
        bench.row(f"{library.name}: attach", [ms for _, ms in runs["traced"]], "ms", limit=LIMIT_ATTACH_MS)
        # another tracer on the machine may slow the untraced program, too: its lowest time is used
        alone_ns = min(ns for ns, _ in runs["alone"])
        bench.row(f"{library.name}: added to {ONE[library.name]} ({kind}: {place})", [ns - alone_ns for ns, _ in runs["traced"]], "ns")
        for (kind, place), n in histogram(path).most_common(8):
            bench.row(f"{library.name}: heads that begin {kind}: {place}", n, "functions")
