# SPDX-License-Identifier: Apache-2.0
"""Converts the counts of the stand-in libraries (calls of each export) to Ingero's operations."""
import re

SUFFIX = re.compile(r"(_v\d+)?(_ptsz|_ptds|_spt)?$")


def known_operations(path):
    """Names in bpf/ops.def."""
    with open(path, encoding="utf-8") as file:
        return set(re.findall(r"^OP\(\d+,\s*\w+,\s*(\w+)", file.read(), re.M))


def calls(rows):
    """Rows of figures or events that are calls of the program, without work of the kernel."""
    return [row for row in rows if row.get("source", row.get("source_name")) != "host"]


def operations(books, known):
    """{operation: number of entries} for known operations; books: rows of cudaload's report."""
    made = {}
    for row in books:
        op = SUFFIX.sub("", row["function"], count=1)
        if op in known:
            made[op] = made.get(op, 0) + row["entries"]
    return made


def differences(made, counted):
    """{operation: counted - made}, where they differ."""
    return {op: counted.get(op, 0) - made.get(op, 0) for op in sorted(made.keys() | counted.keys())
            if counted.get(op, 0) != made.get(op, 0)}
