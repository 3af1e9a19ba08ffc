#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules of unwinding of real files, each row compared with what readelf says of the same entry.

readelf_rows.py PRINT_ROWS [FILE...]: these files, and some that are installed
readelf_rows.py PRINT_ROWS --only FILE...
readelf_rows.py PRINT_ROWS --all DIRECTORY...: every file below
"""
import bisect
import collections
import contextlib
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

PAGE = 4096
ROWS_MAX = 1023
FILES = (
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib/x86_64-linux-gnu/libgcc_s.so.1",
    "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "/usr/lib/x86_64-linux-gnu/libx265.so.199",
    "/usr/bin/python3",
    "~/.pyenv/versions/3.12.1/lib/libpython3.12.so.1.0",
)
REGISTERS = {"rsp": "sp", "rbp": "bp"}
ENTRY = re.compile(r"([0-9a-f]{8,}) [0-9a-f]{16} [0-9a-f]{8,} (?:CIE \"(.*?)\"|FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+))")
ADVANCE = re.compile(r"DW_CFA_(?:advance_loc\d?|set_loc): .*?([0-9a-f]{16})$")
EXPRESSION = re.compile(r"DW_CFA_(def_cfa_expression|expression: r6 \(rbp\)|undefined: r6 \(rbp\)) ?(?:\((.*)\))?$")
BASE = r"DW_OP_breg[67] \((rsp|rbp)\): (-?\d+)"
DEREF = re.compile(BASE + r"(; DW_OP_deref)?(?:(?<=deref); DW_OP_plus_uconst: (\d+))?$")
PLT = re.compile(r"DW_OP_breg7 \(rsp\): 8; DW_OP_breg16 \(rip\): 0; DW_OP_lit15; DW_OP_and; DW_OP_lit(\d+); DW_OP_ge; DW_OP_lit3; DW_OP_shl; DW_OP_plus$")
CONTEXT = re.compile(rb"(?:\xf3\x0f\x1e\xfa)?\x48\x89\xdc\x48\x8b\x3c\x24")  # begin of __start_context
SIGNAL = ("DW_OP_breg7 (rsp): 160; DW_OP_deref", "DW_OP_breg7 (rsp): 120")


class Damaged(Exception):
    pass


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, path], capture_output=True, text=True, check=False).stdout.splitlines()


def section_lines(lines, name):
    """Those of one section: a file may have .eh_frame and .debug_frame."""
    inside = False
    for line in lines:
        if line.startswith("Contents of the "):
            inside = f" {name} section" in line
        elif inside:
            yield line


def expressions(path, name):
    """{offset of an entry: [(address, expression of the CFA, of the frame pointer)]} of entries that have some."""
    found = {}
    entry, remembered, now, address = None, [], ("", ""), 0
    for line in section_lines(readelf("--debug-dump=frames", path), name):
        match = ENTRY.match(line)
        if match:
            entry, remembered, address = match[1], [], int(match[4] or "0", 16)
            now = found.get(match[3], [(0, "", "")])[-1][1:] if match[3] else ("", "")
            if match[3] and now != ("", ""):
                found[entry] = [(address, *now)]
            continue
        text = line.strip()
        advance, expression = ADVANCE.match(text), EXPRESSION.match(text)
        if advance:
            address = int(advance[1], 16)
        elif text == "DW_CFA_remember_state":
            remembered.append(now)
        elif text == "DW_CFA_restore_state" and remembered:
            now = remembered.pop()
            if entry in found:
                found[entry].append((address, *now))
        elif expression:
            if expression[1] == "def_cfa_expression":
                now = (expression[2], now[1])
            else:
                now = (now[0], expression[2] or "undefined")
            found.setdefault(entry, []).append((address, *now))
    return found


def saved_frame(cell, expression, base, offset, is_deref):
    """Text of where the frame pointer is saved, or None if that cannot be said."""
    if cell in ("", "s") or cell == "u" and expression != "undefined":
        return ""
    at = re.fullmatch(r"c([-+]\d+)", cell)
    if at:
        at = -int(at[1])
        return f" bp@{at}" if at not in (0, 8) else None
    at = re.fullmatch(BASE, expression) if cell == "exp" else None
    if not at or REGISTERS[at[1]] != base:
        return None
    if is_deref:
        return f" bp@{base}{int(at[2]):+d}"
    at = offset - int(at[2])
    return f" bp@{at}" if at not in (0, 8) else None


def rule_of(cells, is_signal, at, entry_expressions):
    """Text of a rule, as print_rows writes it; ("plt", N) for another table than the usual one."""
    ra = cells.get("ra", "")
    if ra == "u":
        return "stop"
    now = ("", "")
    for address, *texts in entry_expressions:
        if address <= at:
            now = tuple(texts)
    if is_signal:
        return "signal" if now == SIGNAL and cells.get("rsp") == ra == "exp" else "lost"
    if ra != "c-8" or cells.get("rsp", "u") != "u":
        return "lost"
    cfa, add, is_deref = cells["CFA"], 0, False
    if cfa == "exp":
        plt = PLT.match(now[0])
        if plt:
            return "lost" if cells.get("rbp", "u") != "u" else "plt" if plt[1] == "11" else ("plt", int(plt[1]))
        form = DEREF.match(now[0])
        if not form:
            return "lost"
        base, offset, is_deref, add = REGISTERS[form[1]], int(form[2]), bool(form[3]), int(form[4] or 0)
    else:
        form = re.fullmatch(r"(\w+)([-+]\d+)", cfa)
        if not form or form[1] not in REGISTERS:
            return "lost"
        base, offset = REGISTERS[form[1]], int(form[2])
    frame = saved_frame(cells.get("rbp", ""), now[1], base, offset, is_deref)
    if frame is None:
        return "lost"
    return (f"*({base}{offset:+d}){add:+d}" if is_deref else f"{base}{offset:+d}") + frame


def entries(path, name):
    """(place in the section, first address, end, [(address, rule)]) of each entry, as readelf interprets it."""
    texts = expressions(path, name)
    signals, initial = {}, {}
    entry = columns = None
    for line in [*section_lines(readelf("--debug-dump=frames-interp", path), name), "00000000 0000000000000000 00000000 CIE \"\""]:
        match = ENTRY.match(line)
        if match:
            if entry:
                begin, end, rows, cie, mine, place = entry
                rows = rows or [(begin, initial.get(cie, {}))]
                yield place, begin, end, [(at, rule_of(cells, signals.get(cie), at, mine)) for at, cells in rows]
            entry = columns = None
            if match[3]:
                entry = (int(match[4], 16), int(match[5], 16), [], match[3], texts.get(match[1], ()), int(match[1], 16))
            else:
                signals[match[1]] = "S" in match[2]
                cie = match[1]
            continue
        words = re.sub(r" \(\w+\)", "", line).split()
        if words[:1] == ["LOC"]:
            columns = words[1:]
        elif columns and len(words) == len(columns) + 1:
            cells = dict(zip(columns, words[1:]))
            if entry:
                entry[2].append((int(words[0], 16), cells))
            else:
                initial[cie] = cells


def headers(path):
    with open(path, "rb") as file:
        head = file.read(64)
        if head[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", head, 18)[0] != 62:
            raise Damaged("not of this machine")
        start, = struct.unpack_from("<Q", head, 32)
        size, n = struct.unpack_from("<HH", head, 54)
        file.seek(start)
        table = file.read(size * n)
    return [struct.unpack_from("<IIQQQQQQ", table, i * size) for i in range(n)]


def segments(path):
    """Place in the file, address and size of what is executed."""
    return [(offset, address, file_bytes) for kind, flags, offset, address, _, file_bytes, _, _ in headers(path) if kind == 1 and flags & 1]


def table_places(path):
    """Places in .eh_frame of the entries that the table for binary search has."""
    for kind, _, offset, address, _, file_bytes, _, _ in headers(path):
        if kind == 0x6474e550:
            with open(path, "rb") as file:
                file.seek(offset)
                table = file.read(file_bytes)
            if table[:4] == b"\x01\x1b\x03\x3b":
                start, n = struct.unpack_from("<iI", table, 4)
                return {address + struct.unpack_from("<i", table, 16 + 8 * i)[0] - (address + 4 + start) for i in range(n)}
    return set()


def of_table(rows, places):
    """Entries that the table has, and after one without code the next one if it has the same address."""
    follows = None
    for place, begin, end, states in rows:
        if place in places or begin == follows:
            yield place, begin, end, states
            follows = begin if begin == end else None
        else:
            follows = None


def is_go(path):
    """Go does not say what becomes of the frame pointer."""
    with open(path, "rb") as file:
        return b"\0.gopclntab\0" in file.read()


def paint(stretches):
    """Stretches without overlap; where two say different things it is 'lost'."""
    stretches.sort()
    out = []
    for begin, end, rule in stretches:
        if out and begin < out[-1][1]:
            last_begin, last_end, last_rule = out.pop()
            if last_begin < begin:
                out.append((last_begin, begin, last_rule))
            both = min(end, last_end)
            out.append((begin, both, rule if rule == last_rule else "lost"))
            if both < max(end, last_end):
                out.append((both, max(end, last_end), rule if end > last_end else last_rule))
        else:
            out.append((begin, end, rule))
    return out


def stretches_of(rows):
    """(first address, end, rule) of each state of these entries, and their number."""
    stretches, n_rows = [], 0
    for _, begin, end, states in rows:
        states = [state for state in states if begin and begin <= state[0] < end]
        n_rows += len(states)
        for (at, rule), (next_at, _) in zip(states, states[1:] + [(end, None)]):
            if next_at <= at:
                continue
            if isinstance(rule, str):
                stretches.append((at, next_at, rule))
                continue
            for byte in range(at, next_at):
                stretches.append((byte, byte + 1, "sp+16" if byte % 16 >= rule[1] else "sp+8"))
    return paint(stretches), n_rows


def places_of(path, stretches):
    """(place in the file, rule) where the rule changes, in all pages with code."""
    ends = [end for _, end, _ in stretches]
    for offset, address, file_bytes in segments(path):
        at = offset - offset % PAGE
        for begin, end, rule in stretches[bisect.bisect_right(ends, address):]:
            begin, end = max(begin, address) - address + offset, min(end, address + file_bytes) - address + offset
            if begin >= end:
                break
            if at < begin:
                yield at, "gap"
            yield begin, rule
            at = end
        if at < -(-(offset + file_bytes) // PAGE) * PAGE:
            yield at, "gap"


def by_page(places):
    """{page: its rows}, the first at its start."""
    pages = collections.defaultdict(list)
    for (at, rule), (end, _) in zip(places, places[1:] + [(places[-1][0] + 1, None)] if places else ()):
        for page in range(at // PAGE, max(at + 1, end - 1) // PAGE + 1):
            pages[page].append((max(at, page * PAGE), rule))
    return pages


def expected(path, name):
    """[(place in the file, rule)] of all pages with code, and the number of rows of readelf."""
    rows = list(entries(path, name))
    everything, n_rows = stretches_of(rows)
    places = list(places_of(path, everything))
    in_table = table_places(path) if name == ".eh_frame" else ()
    if in_table and any(place not in in_table for place, *_ in rows):
        pages = by_page(places)
        for page, found in by_page(list(places_of(path, stretches_of(of_table(rows, in_table))[0]))).items():
            if any(rule != "gap" for _, rule in found):
                pages[page] = found
        places = [row for page in sorted(pages) for row in pages[page]]
    return places, n_rows


def with_contexts(path, places):
    """The byte before the function that a context of makecontext(3) returns to ends the stack."""
    with open(path, "rb") as file:
        code = file.read()
    out = []
    for (at, rule), (end, after) in zip(places, places[1:] + [(0, "gap")]):
        is_end = rule == "gap" and after != "gap" and CONTEXT.match(code, end)
        out += [(at, rule)] * (not is_end or at < end - 1) + [(end - 1, "stop")] * bool(is_end)
    return out


def merged(places):
    out = []
    for at, rule in places:
        if not out or out[-1][1] != rule:
            out.append((at, rule))
    return out


def full_pages(places):
    """Pages with more rows than a page may have: padding counts as code there, and the end is 'lost'."""
    count = collections.Counter(at // PAGE for at, _ in places)
    return {page for page, n in count.items() if n + 1 > ROWS_MAX}


def by_byte(places, page):
    """Rule of each byte of a page."""
    first = bisect.bisect_right(places, (page * PAGE, "~")) - 1
    ends = [at for at, _ in places[first + 1:first + 1 + PAGE]] + [page * PAGE + PAGE]
    out = []
    for (at, rule), end in zip(places[first:], ends):
        out += [rule] * (min(end, page * PAGE + PAGE) - max(at, page * PAGE))
    return out[:PAGE]


def full_page_differs(want, got):
    """A page of full_pages(): what is neither padding nor at the end is right."""
    if "lost" in got:
        end = got.index("lost")
        if sum(a != b for a, b in zip(got[:end], got[1:end])) + 2 != ROWS_MAX or set(got[end:]) != {"lost"}:
            return True
        got = got[:end]
    return any(a != b and a != "gap" for a, b in zip(want, got))


def compare(print_rows, path):
    """Number of rows compared, and the first differences."""
    if not segments(path):
        raise Damaged("no code that is loaded")
    want, n_rows = expected(path, ".eh_frame")
    if not n_rows and not is_go(path):
        want, n_rows = expected(path, ".debug_frame")
    done = subprocess.run([print_rows, path], capture_output=True, text=True, check=False)
    if done.returncode:
        return n_rows, [f"print_rows ends with {done.returncode}"]
    got = [(int(at, 16), rule) for at, rule in (line.split(" ", 1) for line in done.stdout.splitlines())]
    if not n_rows:
        return 0, [f"{at:x}: {rule}, without rows in readelf" for at, rule in got if rule != "none"][:8]
    want, got = with_contexts(path, merged(want)), merged(got)
    full = full_pages(want)
    differences = [(page * PAGE, "page") for page in full if full_page_differs(by_byte(want, page), by_byte(got, page))]
    differences += sorted(row for row in set(want) ^ set(got) if row[0] // PAGE not in full and (row[0] - 1) // PAGE not in full)
    return n_rows, [f"{at:x}: {rule} is {'missing' if (at, rule) in set(want) else 'not in readelf'}" for at, rule in differences[:8]]


@contextlib.contextmanager
def vdso():
    """The library that the kernel maps, as a file."""
    with open("/proc/self/maps", encoding="ascii") as maps:
        found = [line.split()[0] for line in maps if line.rstrip().endswith("[vdso]")]
    with tempfile.NamedTemporaryFile(prefix="vdso-") as copy:
        if found:
            begin, end = (int(part, 16) for part in found[0].split("-"))
            with open("/proc/self/mem", "rb") as memory:
                memory.seek(begin)
                copy.write(memory.read(end - begin))
                copy.flush()
        yield [copy.name] if found else []


def files_of(arguments):
    if arguments[:1] == ["--only"]:
        return arguments[1:]
    if arguments[:1] != ["--all"]:
        return arguments + [path for path in map(os.path.expanduser, FILES) if os.path.exists(path)]
    paths = [os.path.join(base, name) for directory in arguments[1:] for base, _, names in os.walk(directory) for name in names]
    return [path for path in paths if os.path.isfile(path) and not os.path.islink(path)]


def main():
    print_rows, *arguments = sys.argv[1:]
    n_all = n_failed = n_files = 0
    with vdso() as more:
        for path in files_of(arguments) + more:
            started = time.monotonic()
            try:
                n_rows, differences = compare(print_rows, path)
            except (Damaged, OSError, struct.error):
                continue
            n_files += 1
            n_all += n_rows
            n_failed += bool(differences)
            print(f"{path}: {n_rows} rows, {time.monotonic() - started:.1f} s", *differences, sep="\n  ", flush=True)
    print(f"{n_files} files, {n_all} rows, {n_failed} files differ")
    if not n_files:
        print("no file of this machine's kind is there")
        return 77
    return 1 if n_failed or not n_all else 0


if __name__ == "__main__":
    sys.exit(main())
