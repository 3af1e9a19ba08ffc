#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/operations.md lists the operations of bpf/ops.def: operations.py ROOT [--rewrite]."""
import os
import re
import sys

import tree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import ops_def  # noqa: E402

PAGE = "docs/operations.md"
TITLE = """# Operations

Generated from `bpf/ops.def` by `tests/check/operations.py . --rewrite`; the check of the same name fails when
it is not up to date.

An operation is a family of exports: the name, then at most one of `_v2`, `_v3` ..., then at most one of
`_ptsz`, `_ptds`, `_spt`. A call that goes from one export of a family to another is counted once, and so is
one by `__cudaLaunchKernel`, which jumps to `cudaLaunchKernel`. A call of the runtime and the call of the driver
inside it are two operations, of two sources, and so are a collective of NCCL and what it calls. Between `ncclGroupStart` and
`ncclGroupEnd` a collective only queues. `ncclInProgress`, of communicators that do not block, counts as an error. `cudaGetLastError` and `cudaPeekAtLastError` have the code that they
return, which is that of a call before them: its error is counted there as well. A launch of a graph is one call, whatever
is in the graph.

`args` of an event are the kept arguments in this order. The first argument of a C function is 1; *out* is
what the call stored where that argument points, 0 when it failed; *in* is read from the structure that it
points at; *sum of 4 in 3*: as many words as argument 4 says, in the array that argument 3 points at, 0 where they are
more than 4 096; *size of type 4*: bytes of an element of the type that argument 4 says, 0 where it is not known. Of calls in the forms from before CUDA 3.2, with 32-bit sizes (`v2`: the export without `_v2`), no
arguments are kept. Copies between arrays that count in elements keep no bytes; the driver's operation inside
them does. Bytes are summed over the calls that
succeeded. Copy kinds are CUDA's: 0 host to host, 1 host to device, 2 device to host, 3 device to device,
4 by the addresses. `sync` waits for the device, `alloc` and `free` change what memory there is: such calls are always
recorded. The tier says what an operation is worth to a diagnosis: `always`, `affordable` (rates and CPU time of many short
calls), `request` (what it tells is told elsewhere, too). All tiers are
traced, and with perf events (before Linux 6.6) `always` alone unless `--calls all` asks for them. With `ingero trace --budget 2%`
the tiers are also the order in which operations are left out where tracing takes more of a thread's CPU time than that: `request`
first, then `affordable` of the driver, then `affordable` but for short windows; the answers name what is left out.

Functions of libnccl without a row here are counted by their names, where `uprobe_multi` can be had (since Linux 6.6): their
calls and times, no arguments, no results. Their ids begin at 672, and are others in each file.

Exports of the runtime 11 to 13 and of the drivers 470 to 550 that sound like an operation of these kinds and are none have
their reasons in `tests/check/exports_without_row.txt`.
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
HEADER = "\n## {0}, source `{1}`\n\n| op | Ingero's name | kept | traits | tier | id |\n| --- | --- | --- | --- | --- | --- |\n"


def kept(form, numbers, meaning):
    what, first = meaning.lower().replace("_", " "), numbers[0] + 1
    numbers = numbers[1:]
    if form == "OUT":
        return f"{what}: out {first}"
    if form == "BOX":
        return f"{what}: in {first}"
    if form == "TYPED":
        return f"{what}: {first} × size of type {numbers[0] + 1}"
    if form == "SUM":
        return f"{what}: sum of {numbers[0] + 1} in {first}"
    factors = [first]
    if form == "AREA":
        factors.append(numbers[0] + 1)
    if numbers and numbers[-1]:
        factors.append(1 << numbers[-1])
    return f"{what}: {' × '.join(map(str, factors))}"


def page(text, layers):
    out = TITLE
    for layer in ops_def.layers(layers):
        if not layer.library:
            continue
        out += HEADER.format(layer.title, layer.source)
        for op in ops_def.ops(text):
            if op.layer == layer.layer:
                words = ", ".join(kept(*argument) for argument in ops_def.arguments(op))
                traits = ", ".join(trait.lower() for trait in re.findall(r"OP_(\w+)", op.traits) if trait != "STACK")
                out += (f"| `{op.name}` | {'' if op.short_name == op.name else f'`{op.short_name}`'} | {words} | {traits} |"
                        f" {op.tier.lower()} | {op.id} |\n")
    out += EVENTS
    for event in ops_def.events(text):
        words = ", ".join(word.lower() for word in ops_def.words(event))
        how = "figures" if event.traits in ("OP_FIGURES", "OP_WAITS") else "each"
        out += f"| `{event.name}` | {words} | {event.result} | {how} | {event.id} |\n"
    return out


def check(files_tree):
    text, layers = files_tree.text("bpf/ops.def"), files_tree.text("bpf/layers.def")
    problems = []
    if ops_def.misshapen(layers, "LAYER"):
        problems.append("bpf/layers.def: a row is not of the shape that this check reads")
    if ops_def.misshapen(text, "OP") or ops_def.misshapen(text, "EVENT"):
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
ONE = 'OP(1, DRIVER, cuA, "cuA", ARGS(AREA(2, 3, 0, BYTES), OUT(0, POINTER)), OP_ALLOC, ALWAYS)\n'
LAYERS = 'LAYER(DRIVER, "driver", "libcuda", "cu", "", "libcuda", LEFT)\nLAYER(HOST, "host", "", "", "", "The kernel", LEFT)\n'
FILES = {"bpf/ops.def": ONE, "bpf/layers.def": LAYERS, PAGE: page(ONE, LAYERS)}
tree.run(check, [
    ("a row that the page lacks", {**FILES, PAGE: page("", LAYERS)}, "bytes: 3 × 4, pointer: out 1 | alloc | always | 1"),
    ("a layer that the page lacks", {**FILES, "bpf/layers.def": 'LAYER(NCCL, "nccl", "libnccl", "nccl", "DRIVER", "libnccl", COUNTED)\n' + LAYERS}, "not up to date"),
    ("an event that the page lacks", {**FILES, "bpf/ops.def": ONE + 'EVENT(2, HOST, oom, ARGS(WORD(BYTES), WORD(PROCESS)), 0, "1: why")\n'}, "not up to date"),
    ("an event of another shape", {**FILES, "bpf/ops.def": ONE + "EVENT(2, HOST, oom)\n"}, "shape"),
    ("a layer of another shape", {**FILES, "bpf/layers.def": "LAYER(DRIVER)\n" + LAYERS}, "shape"),
    ("no page", {"bpf/ops.def": ONE, "bpf/layers.def": LAYERS}, "not up to date"),
    ("a row of another shape", {**FILES, "bpf/ops.def": "OP(1, DRIVER, cuA)\n"}, "shape"),
    ("up to date", FILES, None),
])
