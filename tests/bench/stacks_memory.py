# SPDX-License-Identifier: Apache-2.0
"""Memory for stacks: of the kernel half, of the daemon and of its parsers, with one traced process of real PyTorch, and with eight."""
import contextlib
import glob
import os
import signal
import subprocess
import tempfile
import time

import bpf_objects
import ingero
import programs
import set_ups
import stacks_torch
import torch

MEASURES = ("bpf", "collectord")

LIMITS_MIB = {1: 40, 8: 60}  # of all that stacks add: maps, daemon and parsers
OF_STACKS = ("stack", "unwind", "python", "code", "memo", "interpreters", "mappings")  # maps that are there for stacks alone, whether they are wanted or not
STACKS = "different stacks"
SETTLED_S = 10  # after the last process has begun its loop
FOREVER = 1000000
MIB = 1 << 20


def proportional_bytes(pid):
    """Memory of a process; of what it shares, its share. The kernel's maps that it has mapped are counted as those."""
    n = 0
    with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps", encoding="utf-8", errors="replace") as file:
        is_map = False
        for words in map(str.split, file):
            if not words[0].endswith(":"):
                is_map = words[-1] == "anon_inode:bpf-map"
            elif words[0] == "Pss:" and not is_map:
                n += int(words[1]) << 10
    return n


def children_of(pid):
    with contextlib.suppress(OSError):
        return [pid, *(one for child in ingero.children(pid) for one in children_of(child))]
    return [pid]


def held(daemon):
    """{what: bytes} of the kernel's maps by name, and of the daemon with its children."""
    sizes = dict(bpf_objects.map_bytes(daemon))
    sizes.update((f"process {pid}", proportional_bytes(pid)) for pid in children_of(daemon))
    return sizes


def processes_of(sizes):
    """Memory of the daemon and each of its children, the daemon first."""
    return [size for name, size in sizes.items() if name.startswith("process ")]


def calling(tracing):
    """Processes that make calls."""
    time.sleep(1)
    return {line["pid"] for line in tracing.lines() if line["type"] == "event"}


def once(bench, loop, n, stacks):
    with tempfile.TemporaryDirectory(prefix="ingero-") as directory, contextlib.ExitStack() as stack:
        tracing = ingero.Tracing(bench.programs, "--db", os.path.join(directory, "x.db"), "--record", "all", f"--stack={stacks}")
        stack.callback(programs.kill, tracing.process, signal.SIGINT)
        programs.attached(tracing)
        for i in range(n):
            environment = {**os.environ, **loop.environment, "INGERO_STANDIN_BOOKS": os.path.join(directory, f"books{i}")}
            process = stack.enter_context(subprocess.Popen([*loop.command[:-1], str(FOREVER), "--pause-ms", "500"], stdin=subprocess.DEVNULL, env=environment))
            stack.callback(process.kill)
        ingero.wait_for(lambda: all(glob.glob(os.path.join(directory, f"books{i}.*")) for i in range(n)), "the programs", 300)
        ingero.wait_for(lambda: len(calling(tracing)) >= n, "the loops", 300)
        time.sleep(SETTLED_S)
        sizes = held(programs.daemon_of(tracing))
        sizes[STACKS] = len({call.get("stack_id") for call in stacks_torch.calls_of(tracing.stop(300))})
        return sizes


def measure(bench):
    set_up, arguments = ("b", ("plain", "--without-blas")) if set_ups.find("b") else ("a", ("plain",))
    if not set_ups.find(set_up):
        bench.row("loops measured", 0, "loops", note=set_ups.why_not(set_up))
        return
    loop = torch.Loop(bench, set_up, *arguments)
    for n, limit in LIMITS_MIB.items():
        if not bench.only.search(f"{n} process"):
            continue
        runs = bench.in_turns(pairs=1, on=lambda n=n: once(bench, loop, n, "all"), off=lambda n=n: once(bench, loop, n, "none"))
        on, off = runs["on"][0], runs["off"][0]
        maps = {name: size for name, size in on.items() if not name.startswith("process ") and name != STACKS}
        of_stacks = {name: size for name, size in maps.items() if any(word in name for word in OF_STACKS)}
        processes = sum(processes_of(on)) - sum(processes_of(off))
        name = f"{set_up.upper()}, {n} process{'es' if n > 1 else ''}"
        bench.row(f"{name}: different stacks", on[STACKS], "stacks", least=10 * n)
        bench.row(f"{name}: memory for stacks", (sum(of_stacks.values()) + processes) / MIB, "MiB", limit=limit)
        bench.row(f"{name}: kernel memory for stacks", sum(of_stacks.values()) / MIB, "MiB",
                  note=", ".join(f"{one} {size / MIB:.2g}" for one, size in sorted(of_stacks.items(), key=lambda row: -row[1])[:8]))
        bench.row(f"{name}: kernel memory for everything", sum(maps.values()) / MIB, "MiB")
        bench.row(f"{name}: daemon and parsers, more than without stacks", processes / MIB, "MiB",
                  note=" + ".join(f"{size / MIB:.3g}" for size in processes_of(on)) + " in all; without " + " + ".join(f"{size / MIB:.3g}" for size in processes_of(off)))
