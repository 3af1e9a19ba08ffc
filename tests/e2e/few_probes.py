#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Perf events, which the kernel takes long to close: the fewest are attached and that is said, whoever closes them has a
name and is not traced, and the next trace does not wait for their end: few_probes.py BUILD.
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import ingero  # noqa: E402 (needs the path above)
import kept  # noqa: E402
import ops_def  # noqa: E402

START_S = 20  # of a trace, beside whoever closes probes; all of them would take minutes
PERF = ("--back-end", "perf")
COMMAND = ("--mix", "launch=4,sync=1,malloc=1", "--calls", "600")
MORE = "not traced with this kernel's probes ('--calls all' traces them)"


def tier_of():
    return {op.name: op.tier for op in ops_def.ops()}


def libraries(trace):
    return [library for library in trace.start["libraries"] + trace.libraries if library["symbols"]]


def test_few(check, programs):
    tiers = tier_of()
    command = [programs.path("cudaload"), *COMMAND]
    trace = ingero.trace(programs, *PERF, "--calls", "default", command=command, environment={"INGERO_STANDIN_QUIET": "1"})
    check("the trace ends well", trace.status == 0, trace.stderr)
    found = libraries(trace)
    check("libraries are attached", found, trace.start)
    for library in found:
        name = library["soname"]
        check(f"{name}: what every diagnosis needs", {tiers[op] for op in library["operations"]} == {"ALWAYS"}, library["operations"])
        check(f"{name}: not the others, which are told", library["not_traced"] and "ALWAYS" not in {tiers[op] for op in library["not_traced"]}, library["not_traced"])
        check(f"{name}: and are not called missing", not set(library["missing"]) & set(library["not_traced"]), library["missing"])
    counts = trace.counts(source="cuda")
    check("waits are counted, launches are not", counts.get("cudaStreamSynchronize", 0) > 0 and "cudaLaunchKernel" not in counts, counts)
    everything = ingero.trace(programs, *PERF, "--calls", "all", command=command, environment={"INGERO_STANDIN_QUIET": "1"})
    check("all of them on request", not any(library["not_traced"] for library in libraries(everything)), libraries(everything))
    check("launches, too", everything.counts(source="cuda").get("cudaLaunchKernel", 0) > 0, everything.counts())
    return sum(library["symbols"] for library in found), sum(library["symbols"] for library in libraries(everything))


def test_text(check, home, programs):
    done = home.run("trace", *PERF, "--calls", "default", "--", programs.path("cudaload"), *COMMAND)
    check("the summary says what is not traced", MORE in " ".join(done.stderr.split() + done.stdout.split()), done.stdout, done.stderr)


def test_closers(check, programs):
    """Right behind traces whose probes are being closed."""
    left = ingero.closers()
    # one that has closed its last probe says 0, and is gone soon
    left = {pid: n for pid, n in left.items() if n}
    check("who closes says how much is left", left, ingero.processes_named("clos"), ingero.tracers())
    for pid in left:
        try:
            with kept_open(pid, "cmdline") as file:
                said = file.read().split("\0")[:3]
            with kept_open(pid, "status") as file:
                parent = [line.split()[1] for line in file if line.startswith("PPid:")]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if pid not in ingero.closers():
            continue  # it has ended meanwhile
        check("and what it is", said == ["ingero-collectord", "--child", "closer"], pid)
        check("nobody waits for it", parent and int(parent[0]) not in (os.getpid(), 0), parent)
    began = time.monotonic()
    # with a program, whose libraries are attached
    command = [programs.path("cudaload"), *COMMAND, "--rate", "100"]
    tracing = ingero.Tracing(programs, *PERF, "--calls", "default", command=command, environment={"INGERO_STANDIN_QUIET": "1"})
    ingero.wait_for(lambda: tracing.process.poll() is not None or any(line["type"] == "library" for line in tracing.lines()),
                    "the libraries of the next trace", limit_s=ingero.CLOSERS_S)
    took_s = time.monotonic() - began
    before = ingero.closers()
    ingero.wait_for(lambda: sum(ingero.closers().values()) < sum(before.values()), "progress of who closes", limit_s=60)
    trace = tracing.stop()
    check(f"the next trace starts ({took_s:.1f} s), and they go on", took_s < START_S and before, took_s, before)
    check("it says that probes are being closed", trace.start["closing_probes"] > 0, trace.start["closing_probes"])
    named = {row["pid"] for row in trace.summary["behind"]} | {row["pid"] for row in trace.summary["operations"]}
    check("who closes is in no figure", not named & {int(pid) for pid in before}, named)
    return took_s, sum(before.values())


def kept_open(pid, name):
    return open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace")


def main(build):
    if os.geteuid() != 0:
        kept.skip("needs root to trace")
    check = kept.Checks()
    with kept.Kept(build) as home:
        few, everything = test_few(check, home.programs)
        test_text(check, home, home.programs)
        took_s, left = test_closers(check, home.programs)
    print(f"{few} and not {everything} exports attached; a trace beside {left} probes that were being closed began after {took_s:.1f} s")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
