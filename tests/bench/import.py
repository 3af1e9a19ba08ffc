# SPDX-License-Identifier: Apache-2.0
"""Bytes that recordings of Ingero's take when packed as ours: columns of their calls, and stacks with their frames."""
import glob
import gzip
import os
import subprocess
import tempfile

import ingero

RECORDINGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/ingero-db/*.db.gz")
LIMIT_BYTES = 10
PAGES_CALLS_MIN = 1000  # of fewer calls the pages are those of empty tables


def measure(bench):
    with tempfile.TemporaryDirectory() as directory:
        paths = []
        for packed in sorted(glob.glob(RECORDINGS)):
            paths.append(os.path.join(directory, os.path.basename(packed)[:-len(".gz")]))
            with gzip.open(packed, "rb") as source, open(paths[-1], "wb") as target:
                target.write(source.read())
        result = subprocess.run([bench.programs.path("bench_import"), *paths], capture_output=True, text=True, check=False)
        if result.returncode or not paths:
            raise ingero.Failed(f"bench_import: exit status {result.returncode}: {result.stderr[-500:]}")
        for path, line in zip(paths, result.stdout.splitlines()):
            calls, columns, stacks, pages = map(int, line.split()[-4:])
            name = os.path.basename(path)
            bench.row(f"{name}: bytes a call, stacks included", (columns + stacks) / calls, "B", limit=LIMIT_BYTES,
                      note=f"{calls} calls, {columns} B of columns, {stacks} B of stacks; Ingero's file: {os.path.getsize(path) / calls:.0f} B a call")
            if calls >= PAGES_CALLS_MIN:
                bench.row(f"{name}: bytes a call, whole pages of these tables", pages / calls, "B", note="index pages of frames and stacks included")
