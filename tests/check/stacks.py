#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The stacks of a BPF program and of what it calls fit, with room for another compiler: stacks.py ROOT BUILD OBJDUMP.

The kernel adds up the frames of the deepest chain of calls, each rounded up to 32 bytes, and refuses a program above 512.
"""
import glob
import os
import re
import subprocess

import tree

MOST = 480  # of 512: a spill more of another clang still loads
FUNCTION = re.compile(r"^[0-9a-f]+ <(?!LBB)([^>]+)>:$")
STACK = re.compile(r"\(r10 - (\d+)\)")
POINTER = re.compile(r"\tr(\d) = r10$")
OFFSET = re.compile(r"\tr(\d) \+= -(\d+)$")
CALL = re.compile(r"R_BPF_64_32\s+(\w+)$")


def frames(text):
    """{function: [bytes of its frame, functions that it calls]} of a disassembly with relocations."""
    functions, pointers = {}, set()
    for line in text.splitlines():
        match = FUNCTION.match(line)
        if match:
            now, pointers = functions.setdefault(match[1], [0, set()]), set()
            continue
        for deep in STACK.findall(line):
            now[0] = max(now[0], int(deep))
        match = POINTER.search(line)
        if match:
            pointers.add(match[1])
        match = OFFSET.search(line)
        if match and match[1] in pointers:
            now[0] = max(now[0], int(match[2]))
        match = CALL.search(line)
        if match:
            now[1].add(match[1])
    return functions


def deepest(functions, name):
    own, calls = functions.get(name, (0, ()))
    below = max((deepest(functions, call) for call in calls), default=(0, []))
    return max(32, (own + 31) // 32 * 32) + below[0], [name, *below[1]]


def check(files_tree, build=None, objdump=None):
    problems = []
    texts = {}
    if os.path.isdir(files_tree.path("samples")):
        texts = {name: files_tree.text(name) for name in files_tree.files("samples/*")}
    else:
        for path in sorted(glob.glob(os.path.join(build, "generated/*.bpf.o"))):
            told = subprocess.run([objdump, "-dr", "--no-show-raw-insn", path], capture_output=True, text=True, check=True)
            texts[os.path.basename(path)] = told.stdout
        if not any("call_session" in text for text in texts.values()):
            problems.append(f"{build}/generated: no object has call_session")
    for name, text in texts.items():
        functions = frames(text)
        for function in functions:
            total, chain = deepest(functions, function)
            if total > MOST:
                problems.append(f"{name}: {' > '.join(chain)}: {total} bytes of stack, at most {MOST}")
    return problems


SMALL = "0 <a>:\n 1:\t*(u64 *)(r10 - 200) = r1\n 2:\tcall -1\n\t\t0000:  R_BPF_64_32\tb\n8 <b>:\n"
tree.run(check, [
    ("frames that do not fit", {"samples/a": SMALL + " 1:\t*(u32 *)(r10 - 260) = r1\n"}, "a > b: 512 bytes"),
    ("by a pointer", {"samples/a": SMALL + " 1:\tr2 = r10\n 2:\tr2 += -300\n"}, "a > b: 544 bytes"),
    ("a label is no function", {"samples/a": SMALL + "9 <LBB0_1>:\n 1:\t*(u32 *)(r10 - 300) = r1\n"}, "a > b: 544 bytes"),
    ("what fits", {"samples/a": SMALL + " 1:\tr2 = r10\n 2:\tr3 += -300\n 3:\t*(u64 *)(r10 - 256) = r1\n"}, None),
])
