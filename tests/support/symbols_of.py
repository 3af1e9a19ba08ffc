# SPDX-License-Identifier: Apache-2.0
"""Names and lines of addresses in ELF files, as binutils tell them; of a file's own debug data, or of those that belong to it."""
import bisect
import collections
import functools
import os
import re
import shutil
import subprocess

Symbol = collections.namedtuple("Symbol", "start end name")
FUNCTION_TYPES = "tTwWiuVv"
VERSION = re.compile(r"@@?[\w.]+$")
PART = re.compile(r"( \[clone \.\w+(\.\d+)*\]|\.(part|cold|isra|constprop|lto_priv)(\.\d+)*)+$")
WITH_SIZE = re.compile(r"^([0-9a-f]+) ([0-9a-f]+) (\w) (.*)$")
DEBUG_ROOT = "/usr/lib/debug"


def output_of(*command, **more):
    # a library without symbols is no failure
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C.UTF-8"}, **more).stdout


@functools.lru_cache(maxsize=None)
def files_of(path):
    """The file, and those with its debug data: by its name, by its build id, unpacked from it."""
    found = [path] + [path + ending for ending in (".debug", ".mini") if os.path.exists(path + ending)]
    build_id = re.search(r"Build ID: ([0-9a-f]+)", output_of("readelf", "-n", path))
    if build_id:
        by_id = os.path.join(DEBUG_ROOT, ".build-id", build_id[1][:2], build_id[1][2:] + ".debug")
        found += [by_id] if os.path.exists(by_id) else []
    by_path = os.path.join(DEBUG_ROOT, os.path.realpath(path).lstrip("/")) + ".debug"
    return found + ([by_path] if os.path.exists(by_path) else [])


@functools.lru_cache(maxsize=None)
def symbols_of(path):
    """(starts, symbols) of functions with a size, by address."""
    symbols = set()
    for file in files_of(path):
        for more in ((), ("-D",)):
            for line in output_of("nm", "-S", "--defined-only", *more, file).splitlines():
                match = WITH_SIZE.match(line)
                if match and match[3] in FUNCTION_TYPES and int(match[2], 16):
                    start = int(match[1], 16)
                    symbols.add(Symbol(start, start + int(match[2], 16), VERSION.sub("", match[4])))
    rows = sorted(symbols)
    return [symbol.start for symbol in rows], rows


def at_of(path, address):
    """Symbols that contain the address as linked; several names of one function are several symbols."""
    starts, rows = symbols_of(path)
    i = bisect.bisect_right(starts, address)
    return [symbol for symbol in rows[max(0, i - 64):i] if symbol.start <= address < symbol.end]


@functools.lru_cache(maxsize=None)
def demangled(name):
    """Names by which people know it: without parameters and with them, and without what a compiler adds to the name of a part."""
    if not name.startswith(("_Z", "_R")):
        return {name, PART.sub("", name)}
    with_parameters = output_of("c++filt", name).strip()
    return {with_parameters, PART.sub("", with_parameters), output_of("c++filt", "-p", name).strip()}


def names_of(path, at, is_call=True):
    """
    Right names of an address, with the offset from the start of its function; empty: no symbol contains it.
    is_call: it is the return address of a call, which may be behind the end of its function
    """
    return {f"{name}+{at - symbol.start:#x}" for symbol in at_of(path, at - 1 if is_call else at) for name in demangled(symbol.name)}


LINE = re.compile(r"(.*?):(\d+)")
LINES = collections.defaultdict(set)  # {(path, address): lines}


def learn_lines(path, addresses):
    """
    Asks for the source lines of many addresses at once, each program that can tell. They differ where a function from another file is
    inside, whose file the older releases of binutils do not find.
    """
    new = sorted({at for at in addresses if (path, at) not in LINES})
    text = "".join(f"{at:#x}\n" for at in new)
    for at in new:
        LINES[path, at] = set()
    for file in files_of(path) if new else ():
        for command in (("addr2line", "-e", file), ("llvm-symbolizer", "--no-inlines", "--obj", file), ("llvm-symbolizer", "--obj", file)):
            if not shutil.which(command[0]):
                continue
            said = output_of(*command, input=text)
            # the other program tells of functions, too, and ends each answer with an empty line
            answers = said.splitlines() if command[0] == "addr2line" else [(answer.splitlines() + ["", ""])[1] for answer in said.split("\n\n")]
            for at, match in zip(new, map(LINE.match, answers)):
                if match and not match[1].startswith("?") and int(match[2]):
                    LINES[path, at].add((os.path.basename(match[1]), int(match[2])))


def lines_of(path, at):
    """{(base name of the source file, line)} of an address; {None}: not known."""
    learn_lines(path, [at])
    return LINES[path, at] or {None}


def ranges_of(path, name, address):
    """(start, end) in a process of a function and of the parts that a compiler has moved away from it. address: where it starts there"""
    parts = [symbol for symbol in symbols_of(path)[1] if symbol.name.split(".")[0] == name]
    start = next((symbol.start for symbol in parts if symbol.name == name), 0)
    return [(symbol.start - start + address, symbol.end - start + address) for symbol in parts]
