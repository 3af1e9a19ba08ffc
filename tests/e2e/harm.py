# SPDX-License-Identifier: Apache-2.0
"""
Programs that mistreat their calls go on unharmed under trace, and every call is accounted for:
harm.py BUILD BACK_END [rest]. The truth is what the stand-ins wrote into their own books.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../support"), os.path.join(HERE, "../workloads")]
import books  # noqa: E402
import books_of  # noqa: E402
import ingero  # noqa: E402

# The kernel itself kills these, with probes that do nothing (tests/bpf, docs/rooms/bpf.md): a
# return trap cannot be refused outside session links, and no unwinder can pass one.
KERNEL_KILLS = {
    "session": {"exception-through"},
    "multi": {"exception-through", "altstack-above", "altstack-far-above", "swapcontext-up", "swapcontext-down"},
}
KERNEL_KILLS["perf"] = KERNEL_KILLS["multi"]
# Of these back ends the cases that differ most: tests/bpf/harm.c tries every case on a library of a few functions. Perf events go
# slowly (0.1 s each, two for each of 220 functions), and the next trace waits for the last one's. The rest is another test.
ONLY = {"multi": {"longjmp-mixed", "fork", "exec", "cancel", "killed"}, "perf": {"longjmp-mixed", "killed"}}
REST = {"perf": {"fork", "exec", "cancel"}}


def is_tried(back_end, case, is_rest):
    if not is_rest:
        return case in ONLY.get(back_end, {case})
    return case in REST.get(back_end, {case}) and case not in ONLY[back_end]


def cases(programs, program):
    out = subprocess.run([programs.path(program), "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [line.split()[0] for line in out.splitlines() if line.strip()]


def overridden(stderr):
    """{operation: calls}, where one export forwards to another of its operation: the program says so itself."""
    lines = [json.loads(line) for line in stderr.splitlines() if line.startswith("{")]
    return {row["op"]: row["count"] for line in lines for row in line["operations"]}


def made_by(prefix, known, case, stderr):
    """{operation: [entered, abandoned]} over all processes of the program."""
    made = {}
    for name, (entries, returns) in books.total(books.read(prefix)).items():
        op = books_of.SUFFIX.sub("", name, count=1)
        if op in known:
            total = made.setdefault(op, [0, 0])
            total[0] += entries
            # in a forked child its parent's call returns once more
            total[1] += 0 if case == "fork" else entries - returns
    for op, count in overridden(stderr).items():
        made[op][0] = count
    return made


def check(programs, known, back_end, program, case):
    with tempfile.TemporaryDirectory(prefix="ingero-harm-") as directory:
        prefix = os.path.join(directory, "books")
        trace = ingero.trace(programs, "--back-end", back_end, command=[programs.path(program), case],
                             environment={"INGERO_STANDIN_QUIET": "1", "INGERO_STANDIN_BOOKS": prefix})
        made = made_by(prefix, known, case, trace.stderr)
    if trace.status != 0:
        return [f"exit status {trace.status}"]
    lost = trace.lost()
    if case == "recursion-100":
        lost.pop("depth", None)  # nested deeper than there are frames: told, and counted without their times, as compared below
    wrong = [f"lost {lost}"] if lost else []
    counted = {}
    for row in trace.operations():
        total = counted.setdefault(row["op"], [0, 0])
        total[0] += row["count"] + row["abandoned"]
        total[1] += row["abandoned"]
    for op in sorted(made.keys() | counted.keys()):
        want, got = made.get(op, [0, 0]), counted.get(op, [0, 0])
        if want != got:
            wrong.append(f"{op}: {want[0]} entered and {want[1]} of them abandoned, reported {got[0]} and {got[1]}")
    return wrong


def main():
    build, back_end, *rest = sys.argv[1:]
    programs = ingero.Programs(build)
    known = books_of.known_operations(os.path.join(HERE, "../../bpf/ops.def"))
    n_failed = n_passed = 0
    if os.geteuid() != 0:
        print("skipped: needs root to trace")
        return 77
    for program in ("harm", "harm-cxx"):
        for case in cases(programs, program):
            if case in KERNEL_KILLS[back_end] or not is_tried(back_end, case, bool(rest)):
                continue
            try:
                wrong = check(programs, known, back_end, program, case)
            except ingero.Failed as error:
                wrong = [str(error)]
            for text in wrong:
                print(f"[{case}] {text}")
            n_failed += bool(wrong)
            n_passed += not wrong
    print(f"{n_passed} unharmed and exact, {n_failed} not")
    return 1 if n_failed or not n_passed else 0


sys.exit(main())
