# SPDX-License-Identifier: Apache-2.0
"""Size of a stored event in bytes, by column, and CPU time to pack and unpack it: 10 million events, less compressible than real ones."""
import json
import subprocess

import ingero

MEASURES = ("base", "collectord/archive")

EVENTS = 10_000_000
BYTES_MAX = 13
PACK_CPU_S_MAX = 0.25  # for a million events, tail and block together; part of the 1 s allowed for the store and decoding
EXPLAIN_CPU_S_MAX = 0.8  # for 10 million events; the whole answer must take less than 1 s


def run(bench):
    result = subprocess.run([bench.programs.path("bench_store"), str(EVENTS)], stdin=subprocess.DEVNULL, capture_output=True,
                            text=True, check=False)
    if result.returncode:
        raise ingero.Failed(f"bench_store: exit status {result.returncode}: {result.stderr[-500:]}")
    return json.loads(result.stdout)


def measure(bench):
    runs = bench.in_turns(store=lambda: run(bench))["store"]
    first = runs[0]
    bench.row("blocks", first["bytes_per_event"], "B/event", limit=BYTES_MAX)
    for column, size in first["column_bytes_per_event"].items():
        bench.row(f"blocks, {column}", size, "B/event")
    bench.row("tail", first["tail_bytes_per_event"], "B/event")
    bench.row("pack, tail and blocks", [run["encode_cpu_s_per_million"] + run["tail_cpu_s_per_million"] for run in runs],
              "CPU s/million", limit=PACK_CPU_S_MAX)
    bench.row("pack, blocks alone", [run["encode_cpu_s_per_million"] for run in runs], "CPU s/million")
    for columns in first["decode_cpu_s_per_10_million"]:
        limit = EXPLAIN_CPU_S_MAX if columns.startswith("explain") else None
        bench.row(f"unpack, {columns}", [run["decode_cpu_s_per_10_million"][columns] for run in runs], "CPU s/10 million",
                  limit=limit)
    figures = first["figures"]
    bench.row("figures, a minute and user", figures["bytes_per_row"], "B/row")
    for what in ("encode", "decode", "merge"):
        bench.row(f"figures of a day, {what}", [run["figures"][what + "_cpu_s"] for run in runs], "CPU s",
                  note=f"{figures['rows']} rows in {figures['blobs']} blobs")
