#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/operations.md lists the operations of bpf/ops.def: operations.py ROOT [--rewrite]."""
import os
import re
import sys

import tree

PAGE = "docs/operations.md"
ROW = re.compile(r'^OP\((\d+), (\w+), (\w+), "(\w+)", (.*), ([\w |]+)\)$', re.M)
EVENT = re.compile(r'^EVENT\((\d+), (\w+), (\w+), (\w+), (\w+), (\w+), "(.*)"\)$', re.M)
KEPT = re.compile(r"(ARG|OUT|ELEMENTS|AREA|BOX)\((\d)((?:, \d+)*), (\w+)\)")
LAYER = re.compile(r'^LAYER\((\w+), "(\w+)", "(\w*)", "(.+)"\)$', re.M)
TITLE = """# Operations

Generated from `bpf/ops.def` by `tests/check/operations.py . --rewrite`; the check of the same name fails when
it is not up to date.

An operation is a family of exports: the name, then at most one of `_v2`, `_v3` ..., then at most one of
`_ptsz`, `_ptds`, `_spt`. A call that goes from one export of a family to another is counted once, and so is
one by `__cudaLaunchKernel`, which jumps to `cudaLaunchKernel`. A call of the runtime and the call of the driver
inside it are two operations, of two sources. `cudaGetLastError` and `cudaPeekAtLastError` have the code that they
return, which is that of a call before them: its error is counted there as well. A launch of a graph is one call, whatever
is in the graph.

`args` of an event are the kept arguments in this order. The first argument of a C function is 1; *out* is
what the call stored where that argument points, 0 when it failed; *in* is read from the structure that it
points at. Of calls in the forms from before CUDA 3.2, with 32-bit sizes (`v2`: the export without `_v2`), no
arguments are kept. Copies between arrays that count in elements keep no bytes; the driver's operation inside
them does. Bytes are summed over the calls that
succeeded. Copy kinds are CUDA's: 0 host to host, 1 host to device, 2 device to host, 3 device to device,
4 by the addresses. `sync` waits for the device, `alloc` changes memory: such calls are always recorded.
"""
EVENTS = """
## The kernel, source `host`

What happens to processes that are traced, to those that descend from them, and what the kernel does for them; no calls.
Each is told by process, never by thread. `exec`, `fork`, `exit` and kills are kept one by one, all of them. Allocations
of pages and reclaim are figures of processes that made a traced call: `count`, for pages `bytes`, for reclaim the
times, too; pages that an interrupt takes while the process runs are among them. Reclaim is the time in which the
kernel frees memory before the process may go on; inside a call, what it waits meanwhile is blamed on `memory`.

`wait_main` and `wait_threads` are the times that threads which make traced calls were off the CPU outside of them: the
process's main thread, and all others added up. From its first call to its end, `count` is how often such a thread left the
CPU, the durations how long until it ran again, and `blame_ns` why, as for calls, with one difference: `poll`, `select`
and `epoll_wait` for descriptors are `other` here, as it need not be the device that is waited for. A call that is not
traced is no call here. A wait is counted when the thread leaves the CPU the next time, or ends; one that goes on is not
there yet. A training loop that waits for its batches shows it in `wait_main`; threads that only wait for work, as that of
PyTorch's autograd, fill `wait_threads`.

| event | args | ret_code | kept | id |
| --- | --- | --- | --- | --- |
"""
HEADER = "\n## {0}, source `{1}`\n\n| op | Ingero's name | kept | flags | id |\n| --- | --- | --- | --- | --- |\n"


def kept(form, index, numbers, meaning):
    what, first = meaning.lower().replace("_", " "), int(index) + 1
    numbers = [int(number) for number in numbers.split(", ")[1:]]
    if form == "OUT":
        return f"{what}: out {first}"
    if form == "BOX":
        return f"{what}: in {first}"
    factors = [first]
    if form == "AREA":
        factors.append(numbers[0] + 1)
    if numbers and numbers[-1]:
        factors.append(1 << numbers[-1])
    return f"{what}: {' × '.join(map(str, factors))}"


def page(text, layers):
    rows = ROW.findall(text)
    out = TITLE
    for layer, source, library, title in LAYER.findall(layers):
        if not library:
            continue
        out += HEADER.format(title, source)
        for number, of, name, short_name, arguments, flags in rows:
            if of == layer:
                words = ", ".join(kept(*found) for found in KEPT.findall(arguments))
                flag_words = ", ".join(flag.lower() for flag in re.findall(r"OP_(\w+)", flags) if flag != "STACK")
                out += f"| `{name}` | {'' if short_name == name else f'`{short_name}`'} | {words} | {flag_words} | {number} |\n"
    out += EVENTS
    for number, _, name, arg_a, arg_b, flags, result in EVENT.findall(text):
        words = ", ".join(word.lower() for word in (arg_a, arg_b) if word != "NONE")
        out += f"| `{name}` | {words} | {result} | {'figures' if flags in ('OP_FIGURES', 'OP_WAITS') else 'each'} | {number} |\n"
    return out


def check(files_tree):
    text, layers = files_tree.text("bpf/ops.def"), files_tree.text("bpf/layers.def")
    problems = []
    if len(LAYER.findall(layers)) != len(re.findall(r"^LAYER\(", layers, re.M)):
        problems.append("bpf/layers.def: a row is not of the shape that this check reads")
    if (len(ROW.findall(text)) != len(re.findall(r"^OP\(", text, re.M)) or
            len(EVENT.findall(text)) != len(re.findall(r"^EVENT\(", text, re.M))):
        problems.append("bpf/ops.def: a row is not of the shape that this check reads")
    there = files_tree.text(PAGE) if os.path.exists(files_tree.path(PAGE)) else ""
    if there != page(text, layers):
        stale = sorted(set(page(text, layers).splitlines()) ^ set(there.splitlines()))
        problems.append(f"{PAGE} is not up to date: run tests/check/operations.py . --rewrite; "
                        f"first difference: {stale[0] if stale else 'order'}")
    return problems


if sys.argv[-1] == "--rewrite":
    FILES = tree.Tree(sys.argv[1])
    with open(FILES.path(PAGE), "w", encoding="utf-8") as page_file:
        page_file.write(page(FILES.text("bpf/ops.def"), FILES.text("bpf/layers.def")))
    sys.exit(0)
ONE = 'OP(1, DRIVER, cuA, "cuA", AREA(2, 3, 0, BYTES), OUT(0, POINTER), OP_ALLOC)\n'
LAYERS = 'LAYER(DRIVER, "driver", "libcuda", "libcuda")\nLAYER(HOST, "host", "", "The kernel")\n'
FILES = {"bpf/ops.def": ONE, "bpf/layers.def": LAYERS, PAGE: page(ONE, LAYERS)}
tree.run(check, [
    ("a row that the page lacks", {**FILES, PAGE: page("", LAYERS)}, "bytes: 3 × 4, pointer: out 1 | alloc | 1"),
    ("a layer that the page lacks", {**FILES, "bpf/layers.def": 'LAYER(NCCL, "nccl", "libnccl", "libnccl")\n' + LAYERS}, "not up to date"),
    ("an event that the page lacks", {**FILES, "bpf/ops.def": ONE + 'EVENT(2, HOST, oom, BYTES, PROCESS, 0, "1: why")\n'}, "not up to date"),
    ("an event of another shape", {**FILES, "bpf/ops.def": ONE + "EVENT(2, HOST, oom)\n"}, "shape"),
    ("a layer of another shape", {**FILES, "bpf/layers.def": "LAYER(DRIVER)\n" + LAYERS}, "shape"),
    ("no page", {"bpf/ops.def": ONE, "bpf/layers.def": LAYERS}, "not up to date"),
    ("a row of another shape", {**FILES, "bpf/ops.def": "OP(1, DRIVER, cuA)\n"}, "shape"),
    ("up to date", FILES, None),
])
