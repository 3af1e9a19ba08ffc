#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
stacks_waits.py BUILD CASE: where a thread waits between its calls: the account and findings name the line.

python: with each installed CPython 3.9 to 3.13, the line of each of several waits (tests/workloads/waiting.py); native: of a mutex in a C program;
fault: at any instruction of one, in a page fault;
findings: of waits for the interpreter, in what was kept and in words. Needs root (or it is skipped).
"""
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import gil_waits  # noqa: E402
import ingero  # noqa: E402
import kept  # noqa: E402

WORKLOADS = HERE.parent / "workloads"
# Class of blame and resource of each wait; None: any.
WAITS = {"pipe": ("other", "pipe"), "lock": ("lock", "futex"), "sleep": ("sleep", None), "disk": ("block_io", "written"),
         "fault": ("memory", None), "gil": ("lock", "gil")}
QUIET = {"INGERO_STANDIN_QUIET": "1"}


def lines_of(path):
    """{what: its line}"""
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        marked = re.search(r"waits: (\w+)", line)
        if marked:
            found[marked[1]] = number
    return found


def place(site):
    return (os.path.basename(site.get("file", "")), site.get("func"), site.get("line")) if site else None


def parts_of(trace):
    """Parts between calls of the thread that makes the calls."""
    return [part for part in trace.summary["accounts"][0]["parts"] if part["where"] == "between"]


def traced(home, command):
    trace = ingero.trace(home.programs, "--db", home.db, command=command, environment=QUIET)
    if any(family["name"] == "sched" and family["state"] == "absent" for family in trace.start["families"]):
        kept.skip("this kernel does not tell of task switches")
    return trace


def case_python(check, home):
    script = WORKLOADS / "waiting.py"
    lines, libraries = lines_of(script), os.path.dirname(home.programs.library("libcuda.so.1"))
    for version, python in gil_waits.interpreters():
        trace = traced(home, [python, "-B", str(script), "--libraries", libraries])
        check(f"{version}: the trace ended well", trace.status == 0 and not trace.lost(), trace.status, trace.stderr[-500:], trace.lost())
        parts = parts_of(trace)
        for what, (blame, kind) in WAITS.items():
            of = [part for part in parts if part["class"] == blame and part.get("resource", {}).get("kind") == kind]
            told = [place(part.get("from")) for part in of]
            # a disk that has all in its memory at once is not waited for
            if what != "disk" or sum(part["ns"] for part in of) > 50_000_000:
                check(f"{version}: {what}", (script.name, what, lines[what]) in told, told)
        waiting = [account["waiting"] for figures in trace.figures for account in figures["accounts"] if "waiting" in account]
        # of a linked-in interpreter the place may look like one of short waits, and has no line then
        found = [place(part.get("from")) for part in waiting]
        check(f"{version}: in progress", (script.name, "hang", lines["hang"]) in found or "static" in version and not any(found), waiting)
        # ctypes waits for the interpreter at the end of each call
        told = {place(part.get("from")) for part in parts if part.get("resource", {}).get("kind") != "gil"} - {None}
        check(f"{version}: no other line", all(line in lines.values() or file == "threading.py" for file, _, line in told), told)


def case_native(check, home):
    trace = traced(home, [home.programs.path("waiting")])
    line = lines_of(WORKLOADS / "waiting.c")["mutex"]
    most = max((part for part in parts_of(trace) if part["class"] == "lock"), key=lambda part: part["ns"], default={})
    check.same("mutex", place(most.get("from")), ("waiting.c", "wait_for_turn", line))


def case_fault(check, home):
    """In a page fault the thread is at any instruction: of the C library, whose caller is told, or at the first one of a function, or where the frame has just changed."""
    for name, function in (("library", "touch_by_library"), ("first", "touch_first"), ("pushed", "touch_pushed")):
        trace = traced(home, [home.programs.path("waiting"), "--for", name])
        if trace.status == 77:
            kept.skip("programs cannot bring memory here")
        most = max((part for part in parts_of(trace) if part["class"] == "memory"), key=lambda part: part["ns"], default={})
        told = place(most.get("from"))
        check.same(name, told, ("waiting.c", function, lines_of(WORKLOADS / "waiting.c")[name]))


def case_findings(check, home):
    source = (WORKLOADS / "between.py").read_text(encoding="utf-8").splitlines()
    line = next(number for number, text in enumerate(source, 1) if "time.sleep(0)  # gives" in text)
    # at the end of each call ctypes waits for the interpreter as long as time.sleep() does
    call = next(number for number, text in enumerate((WORKLOADS / "cudaload.py").read_text(encoding="utf-8").splitlines(), 1)
                if "code = self.functions[" in text)
    places = (("between.py", "gil", line), ("cudaload.py", "call", call))
    libraries = os.path.dirname(home.programs.library("libcuda.so.1"))
    trace = traced(home, [sys.executable, "-B", str(WORKLOADS / "between.py"), "--libraries", libraries, "--loses", "gil", "--seconds", "12"])
    check("the trace ended well", trace.status == 0, trace.status, trace.stderr[-500:])
    found = [one for one in home.explain("--db", home.db)["findings"] if one["kind"] == "starved" and one["cause"]["kind"] == "gil"]
    told = [place(one.get("from")) for one in found]
    check("kept: from a line that waits", len(told) == 1 and told[0] in places, told)
    text = kept.words_of(home.answer("explain", "--db", home.db))
    check("in words", any(f"from {file}:{number} in {function}" in text for file, function, number in places), text[:2000])


CASES = {name[5:]: function for name, function in list(globals().items()) if name.startswith("case_")}


def main(build, case):
    with kept.Kept(build) as home:
        return kept.run_case(case, lambda check: CASES[case](check, home))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
