#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the books of the stand-in libraries: what was really called, to the call.

    books.py PREFIX      all books PREFIX.PID.GENERATION as one JSON object

The layout is that of standin/books.h. A book can be read at any time, while its process runs or
after it was killed.
"""

import glob
import json
import re
import struct
import sys

MAGIC = b"INGBOOK1"
HEADER = struct.Struct("<8sIIIIIiIIQ16s")
BLOCK = struct.Struct("<QIIQQ")
CELL = struct.Struct("<QQ")
BOUNDARY_CELL = struct.Struct("<120sQ")


def read_file(path):
    """One process image, or None when it was killed before its book was made (and so before its first call)."""
    with open(path, "rb") as f:
        data = f.read()
    if len(data) < HEADER.size or data[:8] != MAGIC:
        return None
    (_, n_functions, stride, names_offset, names_bytes, first_block, pid, generation, n_blocks, start_ns,
     comm) = HEADER.unpack_from(data)
    words = data[names_offset : names_offset + names_bytes].split(b"\0")
    functions = [(words[i].decode(), words[i + 1].decode()) for i in range(0, 2 * n_functions, 2)]

    threads = []
    for i in range(n_blocks):
        at = first_block + i * stride
        if at + stride > len(data):
            break  # handed out, not yet there
        thread_start_ns, tid, _, _, _ = BLOCK.unpack_from(data, at)
        calls = {}
        for k, (library, name) in enumerate(functions):
            entries, returns = CELL.unpack_from(data, at + BLOCK.size + k * CELL.size)
            if entries or returns:
                calls[name, library] = (entries, returns)
        if tid:
            threads.append({"tid": tid, "start_ns": thread_start_ns, "calls": calls})
    return {
        "pid": pid,
        "generation": generation,
        "comm": comm.split(b"\0")[0].decode(errors="replace"),
        "start_ns": start_ns,
        "threads": threads,
    }


def read(prefix):
    """All books of a prefix, by process and generation."""
    pattern = re.compile(re.escape(prefix) + r"\.\d+\.\d+$")
    books = [read_file(path) for path in glob.glob(glob.escape(prefix) + ".*") if pattern.match(path)]
    return sorted((b for b in books if b), key=lambda b: (b["pid"], b["generation"]))


def total(books, pid=None):
    """name -> [entries, returns] over all threads of these books, or of one process's."""
    sums = {}
    for book in books:
        if pid is not None and book["pid"] != pid:
            continue
        for thread in book["threads"]:
            for (name, _), (entries, returns) in thread["calls"].items():
                sum_ = sums.setdefault(name, [0, 0])
                sum_[0] += entries
                sum_[1] += returns
    return sums


def boundary_names(path):
    """Functions of real libraries by the number of their cell, as boundary.c counts them."""
    with open(path, "rb") as f:
        names = [name.split(b"\0")[0].decode() for name, _ in BOUNDARY_CELL.iter_unpack(f.read())]
    return [name for name in names if name]


def read_boundary(path):
    """name -> calls into real libraries, as boundary.c counted them; functions of one name in several objects are summed."""
    counts = {}
    with open(path, "rb") as f:
        data = f.read()
    for name, count in BOUNDARY_CELL.iter_unpack(data):
        if not name[0]:
            break
        name = name.split(b"\0")[0].decode()
        counts[name] = counts.get(name, 0) + count
    return counts


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    books = read(sys.argv[1])
    for book in books:
        for thread in book["threads"]:
            thread["calls"] = [
                {"function": name, "library": library, "entries": entries, "returns": returns}
                for (name, library), (entries, returns) in sorted(thread["calls"].items())
            ]
    json.dump({"books": books}, sys.stdout, indent=1)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
