#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every operation of bpf/ops.def is exported by a real library of its layer, and the export lists are whole."""
import re

import tree

LISTS = {"RUNTIME": "libcudart-", "DRIVER": "libcuda-"}
WHERE = "tests/support/exports"
ROW = re.compile(r"^OP\((\d+),\s*(\w+),\s*(\w+),")
HEAD = re.compile(r"^[0-9a-f]{32}$")


def family(name):
    """A name and its suffixed forms, as bpf/ops.def defines them."""
    return re.compile(rf"^{re.escape(name)}(_v\d+)?(_ptsz|_ptds|_spt)?$")


def read_list(files_tree, path, problems):
    names, stated = [], None
    for number, line in enumerate(files_tree.lines(path), 1):
        if line.startswith("#"):
            match = re.match(r"# (\d+) functions", line)
            stated = int(match.group(1)) if match else stated
            continue
        words = line.split()
        if len(words) != 2 or not HEAD.match(words[1]):
            problems.append(f"{path}:{number}: not a name and 16 bytes in hexadecimal")
            continue
        names.append(words[0])
    if names != sorted(set(names)):
        problems.append(f"{path}: names are not sorted, or come twice")
    if stated != len(names):
        problems.append(f"{path}: says {stated} functions, has {len(names)}")
    return names


def check(files_tree):
    problems = []
    exported = {layer: set() for layer in LISTS}
    for layer, prefix in LISTS.items():
        paths = files_tree.files(f"{WHERE}/{prefix}*.txt")
        if not paths:
            problems.append(f"{WHERE}: no list of a {layer} library")
        for path in paths:
            exported[layer].update(read_list(files_tree, path, problems))
    n_rows = 0
    for number, line in enumerate(files_tree.lines("bpf/ops.def"), 1):
        match = ROW.match(line)
        if not match:
            continue
        n_rows += 1
        _, layer, name = match.groups()
        if layer not in LISTS:
            problems.append(f"bpf/ops.def:{number}: no export list is known for layer {layer}: name it in this check")
        elif not any(family(name).match(export) for export in exported[layer]):
            problems.append(f"bpf/ops.def:{number}: no real library exports {name} or a suffixed form of it")
    if n_rows == 0:
        problems.append("bpf/ops.def: no operation")
    return problems


HEX = "55" * 16
RUNTIME = {f"{WHERE}/libcudart-1.txt": f"# 1 functions\ncudaFree {HEX}\n"}
DRIVER = {f"{WHERE}/libcuda-1.txt": f"# 2 functions\ncuFree_v2_ptsz {HEX}\ncuFreeze {HEX}\n"}
GOOD = {"bpf/ops.def": 'OP(1, RUNTIME, cudaFree, "x", NONE)\nOP(2, DRIVER, cuFree, "x", NONE)\n', **RUNTIME, **DRIVER}
tree.run(check, [
    ("suffixed forms are the family", GOOD, None),
    ("nobody exports it", {**GOOD, "bpf/ops.def": 'OP(1, DRIVER, cuFre, "x", NONE)\n'}, "bpf/ops.def:1: no real"),
    ("exported by the other layer", {**GOOD, "bpf/ops.def": 'OP(1, DRIVER, cudaFree, "x", NONE)\n'}, "cudaFree"),
    ("a layer without a list", {**GOOD, "bpf/ops.def": 'OP(1, NCCL, ncclFree, "x", NONE)\n'}, "layer NCCL"),
    ("no operation", {**GOOD, "bpf/ops.def": "\n"}, "no operation"),
    ("a list that lost a line", {**GOOD, f"{WHERE}/libcudart-1.txt": "# 2 functions\ncudaFree " + HEX}, "says 2"),
    ("a list out of order", {**GOOD, f"{WHERE}/libcudart-1.txt": f"# 2 functions\nb {HEX}\na {HEX}\n"}, "sorted"),
    ("a broken head", {**GOOD, f"{WHERE}/libcudart-1.txt": "# 1 functions\ncudaFree 55\n"}, "16 bytes"),
    ("no lists", {"bpf/ops.def": GOOD["bpf/ops.def"]}, "no list of a RUNTIME"),
])
