#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Every operation of bpf/ops.def is exported by a real library of its layer, every export that by its name copies, fills, launches,
allocates, frees or synchronises has a row there or a reason in exports_without_row.txt, and the export lists are whole.
"""
import fnmatch
import os
import re
import sys

import tree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import ops_def  # noqa: E402

LAYERS = "bpf/layers.def"
WHERE = "tests/support/exports"
ROW = re.compile(r"^OP\((\d+),\s*(\w+),\s*(\w+),")
HEAD = re.compile(r"^[0-9a-f]{32}$")
REASONS = "tests/check/exports_without_row.txt"
# What a name promises; memory is what memory, arrays and pools are.
LIKE_OPERATION = re.compile(r"Memcpy|Memset|Launch|Malloc|MemAlloc|HostAlloc|(Mem|Array|Array3D|Pool|Multicast)Create|Free(?!d)|"
                            r"(MemRelease|(Array|Pool)Destroy|Destroy\w*Memory)|Synchronize")


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


def check_rows(files_tree, exported, families):
    """Exports that look like operations and are none; reasons that nothing needs."""
    reasons = {}
    for number, (pattern, *reason) in tree.table(files_tree.text(REASONS)):
        if not reason:
            yield f"{REASONS}:{number}: no reason for {pattern}"
        reasons[pattern] = number
    without = [name for name in sorted(exported) if LIKE_OPERATION.search(name) and not any(row.match(name) for row in families)]
    for name in without:
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in reasons):
            yield f"bpf/ops.def: no row for {name}, and no reason in {REASONS}"
    for pattern, number in reasons.items():
        if not fnmatch.filter(without, pattern):
            yield f"{REASONS}:{number}: {pattern} is no export without a row that looks like an operation"


def check(files_tree):
    problems = []
    lists = {layer.layer: layer.library for layer in ops_def.layers(files_tree.text(LAYERS)) if layer.library}
    exported = {layer: set() for layer in lists}
    for layer, library in lists.items():
        paths = files_tree.files(f"{WHERE}/{library}-*.txt")
        if not paths:
            problems.append(f"{WHERE}: no list of a {layer} library")
        for path in paths:
            exported[layer].update(read_list(files_tree, path, problems))
    families = []
    for number, line in enumerate(files_tree.lines("bpf/ops.def"), 1):
        match = ROW.match(line)
        if not match:
            continue
        _, layer, name = match.groups()
        families.append(family(name))
        if layer not in lists:
            problems.append(f"bpf/ops.def:{number}: layer {layer} has no row of a library in bpf/layers.def")
        elif not any(families[-1].match(export) for export in exported[layer]):
            problems.append(f"bpf/ops.def:{number}: no real library exports {name} or a suffixed form of it")
    if not families:
        problems.append("bpf/ops.def: no operation")
    problems += check_rows(files_tree, set().union(*exported.values()), families)
    return problems


HEX = "55" * 16
RUNTIME = {f"{WHERE}/libcudart-1.txt": f"# 1 functions\ncudaFree {HEX}\n"}
DRIVER = {f"{WHERE}/libcuda-1.txt": f"# 2 functions\ncuFree_v2_ptsz {HEX}\ncuFreeze {HEX}\n"}
GOOD = {"bpf/ops.def": 'OP(1, RUNTIME, cudaFree, "x", NONE)\nOP(2, DRIVER, cuFree, "x", NONE)\n', **RUNTIME, **DRIVER,
        REASONS: "# NAME reason\ncuFreez*  frees nothing\n",
        LAYERS: 'LAYER(RUNTIME, "cuda", "libcudart", "cuda", "DRIVER", "r", LEFT)\nLAYER(DRIVER, "driver", "libcuda", "cu", "", "d", LEFT)\n'}
tree.run(check, [
    ("suffixed forms are the family", GOOD, None),
    ("nobody exports it", {**GOOD, "bpf/ops.def": 'OP(1, DRIVER, cuFre, "x", NONE)\n'}, "bpf/ops.def:1: no real"),
    ("exported by the other layer", {**GOOD, "bpf/ops.def": 'OP(1, DRIVER, cudaFree, "x", NONE)\n'}, "cudaFree"),
    ("a layer without a row", {**GOOD, "bpf/ops.def": 'OP(1, NCCL, ncclFree, "x", NONE)\n'}, "layer NCCL"),
    ("no operation", {**GOOD, "bpf/ops.def": "\n"}, "no operation"),
    ("a list that lost a line", {**GOOD, f"{WHERE}/libcudart-1.txt": "# 2 functions\ncudaFree " + HEX}, "says 2"),
    ("a list out of order", {**GOOD, f"{WHERE}/libcudart-1.txt": f"# 2 functions\nb {HEX}\na {HEX}\n"}, "sorted"),
    ("a broken head", {**GOOD, f"{WHERE}/libcudart-1.txt": "# 1 functions\ncudaFree 55\n"}, "16 bytes"),
    ("no lists", {"bpf/ops.def": GOOD["bpf/ops.def"], LAYERS: GOOD[LAYERS], REASONS: ""}, "no list of a RUNTIME"),
    ("an export without a row", {**GOOD, REASONS: ""}, "no row for cuFreeze,"),
    ("a form that its family does not have", {**GOOD, f"{WHERE}/libcuda-1.txt": f"# 2 functions\ncuFreeAsync {HEX}\ncuFree_v2 {HEX}\n"},
     "no row for cuFreeAsync,"),
    ("a reason without need", {**GOOD, REASONS: GOOD[REASONS] + "cuFree_v2 has a row\n"}, ":3: cuFree_v2 is no export"),
    ("no reason", {**GOOD, REASONS: "cuFreez*\n"}, ":1: no reason for cuFreez*"),
])
