# SPDX-License-Identifier: Apache-2.0
"""
First bytes of functions: where the tracer would place a probe, and what an independent disassembler shows at
that place. Call use() once, then of(), places() and check().
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "exports"))
import make  # noqa: E402 (needs the path above)

BYTES = 32  # bytes of a head from the parser: PARSER_HEAD_BYTES
PLAIN = re.compile(r"^(push +%r|nop$|jmp +0x|call +0x)")
JUMP = re.compile(r"^j(?!mp)\w+ +0x")
NOP = re.compile(r"^(data16 |cs )*nop")
# instructions that do not change arguments, stack pointer and return address
TRANSPARENT = (re.compile(r"^endbr64"), re.compile(r"^cmp[bwlq] +\$\w+,\S*0x\w+\(%rip\)"), re.compile(r"^test +(%\w+),\1$"),
               re.compile(r"^movabs +\$\w+,%(rax|r10|r11)$"), re.compile(r"^xor +%eax,%eax$"), NOP)
Place = collections.namedtuple("Place", "delta kind")
_state = {"program": None, "known": {}}


def use(programs):
    _state["program"] = programs.path("place_lines")


def of(path, addresses):
    """{address: bytes}"""
    library = make.Library(path)
    return {address: library.data[offset:offset + BYTES] for address in addresses for offset in [library.offset_of(address)]}


def place(head):
    return places([head])[head]


def places(heads):
    """{bytes: Place} by the tracer's own decoder."""
    new = [head for head in set(heads) if head not in _state["known"]]
    if new:
        lines = "".join(f"{number} {head.hex()}\n" for number, head in enumerate(new))
        text = subprocess.run([_state["program"]], input=lines, stdout=subprocess.PIPE, check=True, encoding="ascii").stdout
        for line in text.splitlines():
            number, delta, kind = line.split()
            _state["known"][new[int(number)]] = Place(int(delta), kind)
    return {head: _state["known"][head] for head in heads}


def disassemble(heads):
    """[(offset, instruction)] of each head, by objdump."""
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        # distance between heads: an instruction cut off at the end of one must not reach the next
        file.write(b"".join(head.ljust(2 * BYTES, b"\x90") for head in heads))
        file.flush()
        text = subprocess.run(["objdump", "-D", "-w", "-z", "--no-show-raw-insn", "-b", "binary", "-m", "i386:x86-64", file.name],
                              stdout=subprocess.PIPE, check=True, encoding="utf-8", env=dict(os.environ, LC_ALL="C")).stdout
    found = [[] for _ in heads]
    for address, instruction in re.findall(r"^ *([0-9a-f]+):\t([^#\n]*)", text, re.M):
        number, offset = divmod(int(address, 16), 2 * BYTES)
        found[number].append((offset, instruction.strip()))
    return found


def shape(instructions):
    """Describes the start of a head: mnemonics up to the first that the kernel emulates, at most three."""
    words = []
    for _, instruction in instructions[:3]:
        words.append(instruction.split()[0] if not PLAIN.match(instruction) else instruction.split()[0].replace("call", "call near"))
        if PLAIN.match(instruction) or JUMP.match(instruction):
            break
    return "; ".join(words)


def check(name, heads):
    """One line for each probe that is not at the start of an instruction, on a wrong one, or after one that must not precede it."""
    heads = sorted(set(heads.values()))
    for head, instructions in zip(heads, disassemble(heads)):
        found = places(heads)[head]
        at = dict(instructions)
        before = [instruction for offset, instruction in instructions if offset < found.delta]
        here = at.get(found.delta)
        if here is None:
            yield f"{name}: {head.hex()}: a probe inside an instruction: {instructions[:3]}"
        elif any(not any(pattern.match(text) for pattern in TRANSPARENT) for text in before):
            yield f"{name}: {head.hex()}: a probe behind what a call changes: {before}"
        elif found.kind == "plain" and not (PLAIN.match(here) or NOP.match(here)) or found.kind == "jump" and not JUMP.match(here):
            yield f"{name}: {head.hex()}: called {found.kind}, is {here}"
        elif found.kind == "stepped":
            # there must be no cheap place in the head
            for _, text in instructions:
                if PLAIN.match(text) or JUMP.match(text):
                    yield f"{name}: {head.hex()}: single-stepped before {text}"
                if not any(pattern.match(text) for pattern in TRANSPARENT):
                    break
