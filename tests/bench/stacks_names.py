# SPDX-License-Identifier: Apache-2.0
"""Time to name 10 000 addresses of a library with 500 MB of code, functions and lines: first, and again."""
import glob
import json
import os
import subprocess
import tempfile

import ingero
import set_ups

MEASURES = ("collectord/children", "base")

ADDRESSES = 10000
FUNCTIONS, FUNCTION_BYTES = 300000, 1700
COLD_MS_MAX, WARM_MS_MAX = 1000, 20


def source(file):
    """Functions whose code is padding, and a line for each instruction."""
    file.write('.file "made.s"\n.text\n')
    for i in range(FUNCTIONS):
        name = f"_ZN4made{5 + len(str(i % 997))}space{i % 997}8functionIfLi{i}EEvPT_{i}"
        file.write(f".globl {name}\n.type {name},@function\n{name}:\n.cfi_startproc\nnop\n.skip {FUNCTION_BYTES - 2},0x90\nret\n.cfi_endproc\n.size {name},.-{name}\n")


def make(directory):
    path, library = os.path.join(directory, "made.s"), os.path.join(directory, "libmade.so")
    with open(path, "w", encoding="ascii") as file:
        source(file)
    subprocess.run(["cc", "-g", "-shared", "-nostdlib", "-o", library, path], check=True)
    os.unlink(path)
    return library


def once(bench, library):
    done = subprocess.run([bench.tools.path("bench_names"), library, str(ADDRESSES)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ingero.Failed(f"bench_names {library}: {done.stderr}")
    return json.loads(done.stdout)


def measure_file(bench, name, library):
    runs = bench.in_turns(names=lambda: once(bench, library))["names"]
    note = f"{os.path.getsize(library) >> 20} MiB, {runs[0]['named']} of {ADDRESSES} named, {runs[0]['lines']} with a line"
    bench.row(f"{name}: first, not in memory", [run["cold_ms"] for run in runs], "ms", limit=COLD_MS_MAX, note=note)
    bench.row(f"{name}: first", [run["index_ms"] for run in runs], "ms", limit=COLD_MS_MAX)
    bench.row(f"{name}: again", [run["warm_ms"] for run in runs], "ms", limit=WARM_MS_MAX)


def measure(bench):
    with tempfile.TemporaryDirectory(prefix="ingero-") as directory:
        measure_file(bench, "a made library", make(directory))
    for set_up in ("a", "b"):
        python = set_ups.find(set_up)
        if not python:
            bench.row(f"{set_up.upper()}: libraries measured", 0, "libraries", note=set_ups.why_not(set_up))
            continue
        found = glob.glob(os.path.join(os.path.dirname(python), "..", "lib", "python*", "site-packages", "torch", "lib", "libtorch_*.so"))
        largest = max(found, key=os.path.getsize)
        measure_file(bench, f"{set_up.upper()}, {os.path.basename(largest)}", largest)
