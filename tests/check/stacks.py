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
FUNCTION = re.compile(r"^([0-9a-f]+) <(?!LBB)([^>]+)>:$")
STACK = re.compile(r"\(r10 - (\d+)\)")
POINTER = re.compile(r"\tr(\d) = r10$")
OFFSET = re.compile(r"\tr(\d) \+= -(\d+)$")
# a call of a function: its number in the section, and its operand. The operand counts from the next instruction, or from
# the beginning of the section that the relocation behind it names: so are static functions called
CALL = re.compile(r"^\s*(\d+):\t85 10 00 00 ((?:[0-9a-f]{2} ){3}[0-9a-f]{2})\tcall ")
CALLED = re.compile(r"R_BPF_64_32\s+(\S+)$")
# a function that is handed to a helper, which calls it: by name, or by its place in the section of functions
SECTION = re.compile(r"^Disassembly of section (\S+):$")
CONSTANT = re.compile(r"\tr\d = (0x[0-9a-f]+|\d+) ll$")
HANDED = re.compile(r"R_BPF_64_64\s+(\S+)$")


def frames(text):
    """{function: [bytes of its frame, functions that it calls or hands to a helper]} of a disassembly with relocations."""
    functions, pointers, places, section, constant, operand = {}, set(), {}, "", 0, 0
    for line in text.splitlines():
        match = SECTION.match(line)
        if match:
            section = match[1]
        match = FUNCTION.match(line)
        if match:
            now, pointers = functions.setdefault(match[2], [0, []]), set()
            places[section, int(match[1], 16)] = match[2]
            continue
        for deep in STACK.findall(line):
            now[0] = max(now[0], int(deep))
        match = POINTER.search(line)
        if match:
            pointers.add(match[1])
        match = OFFSET.search(line)
        if match and match[1] in pointers:
            now[0] = max(now[0], int(match[2]))
        match = CONSTANT.search(line)
        if match:
            constant = int(match[1], 0)
        match = CALL.search(line)
        if match:
            operand = int.from_bytes(bytes.fromhex(match[2]), "little", signed=True)
            now[1].append((section, (int(match[1]) + 1 + operand) * 8))
        match = CALLED.search(line)
        if match:
            now[1][-1] = (match[1], (operand + 1) * 8)
        match = HANDED.search(line)
        if match:
            now[1].append((match[1], constant))
    for function in functions.values():
        named = {places.get(callee, callee[0]) for callee in function[1]}
        function[1] = {callee for callee in named if callee in functions}
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
            told = subprocess.run([objdump, "-dr", path], capture_output=True, text=True, check=True)
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


CALLS = "85 10 00 00 ff ff ff ff\tcall -1"
SMALL = f"0 <a>:\n 0:\t7b 1a 38 ff 00 00 00 00\t*(u64 *)(r10 - 200) = r1\n 1:\t{CALLS}\n\t\t0000:  R_BPF_64_32\tb\n8 <b>:\n"
STATIC = "Disassembly of section .text:\n" + SMALL.replace("8 <b>", "40 <b>") + " 8:\t*(u32 *)(r10 - 300) = r1\n"
tree.run(check, [
    ("frames that do not fit", {"samples/a": SMALL + " 1:\t*(u32 *)(r10 - 260) = r1\n"}, "a > b: 512 bytes"),
    ("by a pointer", {"samples/a": SMALL + " 1:\tr2 = r10\n 2:\tr2 += -300\n"}, "a > b: 544 bytes"),
    ("a label is no function", {"samples/a": SMALL + "9 <LBB0_1>:\n 1:\t*(u32 *)(r10 - 300) = r1\n"}, "a > b: 544 bytes"),
    ("handed to a helper", {"samples/a": STATIC.replace(CALLS, "18 02 00 00 40 00 00 00 00 00 00 00 00 00 00 00\tr2 = 0x40 ll").replace(
        "R_BPF_64_32\tb", "R_BPF_64_64\t.text")}, "a > b: 544 bytes"),
    ("a static function in another section", {"samples/a": STATIC.replace(CALLS, "85 10 00 00 07 00 00 00\tcall 7").replace(
        "32\tb", "32\t.text")}, "a > b: 544 bytes"),
    ("a static function in the same section", {"samples/a": STATIC.replace(CALLS, "85 10 00 00 06 00 00 00\tcall 0x6 <b>").replace(
        "\t\t0000:  R_BPF_64_32\tb\n", "")}, "a > b: 544 bytes"),
    ("a helper is no function", {"samples/a": STATIC.replace(CALLS, "85 00 00 00 06 00 00 00\tcall 6").replace(
        "\t\t0000:  R_BPF_64_32\tb\n", "")}, None),
    ("what fits", {"samples/a": SMALL + " 1:\tr2 = r10\n 2:\tr3 += -300\n 3:\t*(u64 *)(r10 - 256) = r1\n"}, None),
])
