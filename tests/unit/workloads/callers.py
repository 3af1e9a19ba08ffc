#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
What callers and callers.py say of their stacks is what is on the stack inside of each call, and whoever compares with it sees what is wrong:
callers.py WORKLOADS STANDINS. With each interpreter that is here.
"""
import copy
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1] / "workloads"
sys.path[:0] = [str(HERE.parents[1] / "support"), str(SOURCE)]
import books  # noqa: E402
import gil_waits  # noqa: E402
import stacks_of  # noqa: E402
import symbols_of  # noqa: E402

WORKLOADS = STANDINS = ""
QUIET = {**os.environ, "INGERO_STANDIN_QUIET": "1"}


def run(*command):
    """Report of a program that compares it with its own stack."""
    with tempfile.TemporaryDirectory(prefix="ingero-") as directory:
        path = os.path.join(directory, "report")
        done = subprocess.run([*command, "--report", path], env=QUIET, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssertionError(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr[-2000:]}")
        return stacks_of.read(path)


def event_of(call):
    """What a tracer should tell."""
    stack = [{"ip": "0x1", "symbol": call["op"] + "+0x4"}]
    for frame in call["frames"]:
        row = {"ip": frame["ip"]}
        if frame.get("symbol"):
            row["symbol"] = frame["symbol"]
        elif frame.get("module"):
            at = int(frame["at"], 16)
            is_call = "signal" not in call["shape"] or not symbols_of.names_of(frame["module"], at, False)
            row["symbol"] = min(symbols_of.names_of(frame["module"], at, is_call), default="")
            line = next(iter(symbols_of.lines_of(frame["module"], at - is_call)))
            row.update(zip(("file", "line"), line or ()))
        stack.append(row)
    if call["rule"] == "prefix":
        del stack[1 + max(call["least"], 1):]
    stack += [dict(zip(("py_file", "py_func", "py_qualname", "py_line"), row)) for row in call.get("python", [])]
    event = {"op": call["op"], "pid": call["pid"], "args": [1, call["bytes"]], "depth": 0, "stack": stack, "stack_complete": True}
    if call["rule"] == "prefix":
        event.update(stack_complete=False, stack_why="deep")
    return event


def problems(calls, events):
    judge = stacks_of.Judge()
    judge.compare(calls, events)
    return [what for _, what, *_ in judge.problems], judge


CALL = {"shape": "x", "pid": 1, "tid": 1, "bytes": 70000, "op": "cudaMalloc", "rule": "complete", "least": 0, "frames": [{"ip": "0x10"}, {"ip": "0x20"}, {"ip": "0x30"}],
        "python": [["a.py", "f", "C.f", 3], ["b.py", "g", "g", 4]]}


def changed(**changes):
    return {**copy.deepcopy(CALL), **changes}


def told(change=lambda event: None, **changes):
    event = event_of(changed())
    change(event)
    return {**event, **changes}


def without(*places):
    def change(event):
        for place in sorted(places, reverse=True):
            del event["stack"][place]
        event.update(stack_complete=False, stack_why="a reason")
    return change


def put(place, **keys):
    return lambda event: event["stack"][place].update(keys)


SHORT = {"stack_complete": False, "stack_why": "a reason"}
# name, call, events, whether all is right
CASES = [
    ("as it is", CALL, [told()], True),
    ("no event", CALL, [], False),
    ("of another process", CALL, [told(pid=2)], False),
    ("no stack", CALL, [told(stack=[])], False),
    ("no reason", CALL, [told(stack_complete=False)], False),
    ("complete, with a reason", CALL, [told(stack_why="a reason")], False),
    ("another function", CALL, [told(put(0, symbol="cudaFree+0x4"))], False),
    ("a frame is missing, complete", CALL, [told(lambda event: event["stack"].pop(2))], False),
    ("a frame is missing, said", CALL, [told(without(2))], False),
    ("the last ones are missing", CALL, [told(without(3, 5))], True),
    ("some are missing, where some may be", changed(rule="some"), [told(without(2))], True),
    ("a wrong one where some may be missing", changed(rule="some"), [told(put(2, ip="0x21"), **SHORT)], False),
    ("fewer than there must be", changed(rule="some", least=3), [told(without(2))], False),
    ("complete where nobody can know", changed(rule="prefix"), [told()], False),
    ("one frame too many", CALL, [told(lambda event: event["stack"].insert(4, {"ip": "0x40"}))], False),
    ("another address", CALL, [told(put(2, ip="0x21"))], False),
    ("another line of Python", CALL, [told(put(4, py_line=5))], False),
    ("another file", CALL, [told(put(5, py_file="a.py"))], False),
    ("another qualified name", CALL, [told(put(4, py_qualname="f"))], False),
    ("no line of Python", CALL, [told(lambda event: event["stack"][5].pop("py_line"))], False),
    ("no line where none need be known", changed(rule="lines"), [told(lambda event: event["stack"][5].pop("py_line"))], True),
    ("Python frames in another order", CALL, [told(lambda event: event["stack"].append(event["stack"].pop(4)))], False),
    ("Python frames beyond the last", CALL, [told(lambda event: event["stack"].append(event["stack"][5]))], False),
    ("damaged, all right", changed(damaged=1), [told()], True),
    ("damaged, without its texts", changed(damaged=1), [told(lambda event: event["stack"].__setitem__(5, {"py_line": 9}))], True),
    ("damaged, ends there", changed(damaged=1), [told(without(5))], True),
    ("damaged, another text", changed(damaged=1), [told(put(5, py_func="h"))], False),
    ("damaged, frames it never had", changed(damaged=1), [told(lambda event: event["stack"].append({"py_func": "f"}))], False),
    ("damaged, frames missing, complete", changed(damaged=1), [told(lambda event: event["stack"].pop(5))], False),
    ("before the damage", changed(damaged=1), [told(put(4, py_func="h"))], False),
    ("a name where there is none", changed(frames=[{"ip": "0x10", "module": ""}]), [told(stack=[
        {"ip": "0x1", "symbol": "cudaMalloc+0x4"}, {"ip": "0x10", "symbol": "f+0x1"}])], False),
]


LATE = {"stack_complete": False, "stack_why": "rules of unwinding were not read in time"}
# symbol of the only frame, why it is not complete, whether all is right
PLACES = (("callers+0x1000", LATE, True), ("f+0x10", LATE, False), ("callers+0x1000", SHORT, False))


class Comparison(unittest.TestCase):
    def test_cases(self):
        for name, call, events, is_right in CASES:
            found, _ = problems([call], events)
            self.assertEqual(not found, is_right, f"{name}: {found}")

    def test_place_for_a_name(self):
        """Only where the names came too late, and only of the right file."""
        module = os.path.join(WORKLOADS, "callers")
        at = symbols_of.symbols_of(module)[0][0] + 2
        call = changed(frames=[{"ip": "0x10", "module": module, "at": hex(at)}], python=[])
        for symbol, why, is_right in PLACES:
            frame = {"ip": "0x10", "module": module, "symbol": symbol}
            found, _ = problems([call], [told(stack=[{"ip": "0x1", "symbol": "cudaMalloc+0x4"}, frame], **why)])
            self.assertEqual("name" not in found, is_right, (symbol, why, found))

    def test_lost_as_told(self):
        """As many calls may be without their stacks as the trace says; they are not complete."""
        for n_lost, is_right in ((0, False), (1, True)):
            judge = stacks_of.Judge(n_lost=n_lost)
            judge.compare([CALL], [told(lambda event: [event.pop(key) for key in ("stack", "stack_complete")])])
            self.assertEqual((not judge.problems, len(judge.incomplete)), (is_right, int(is_right)))

    def test_incomplete_is_counted(self):
        _, judge = problems([CALL], [told(without(3, 5))])
        self.assertEqual(len(judge.incomplete), 1)
        self.assertEqual(judge.n_complete["x"], 0)


class Truth(unittest.TestCase):
    def test_native(self):
        calls = run(os.path.join(WORKLOADS, "callers"), "--check")
        shapes = {call["shape"] for call in calls}
        listed = set(subprocess.run([os.path.join(WORKLOADS, "callers"), "--list"], capture_output=True, text=True, check=True).stdout.split())
        unchecked = {name for name in listed if name.startswith("lie_") or name == "claims"}
        self.assertEqual(listed - shapes, unchecked)
        self.assertEqual(len({(call["pid"], call["bytes"]) for call in calls}), len(calls))
        stacks_of.learn_lines(calls)
        found, _ = problems(calls, [event_of(call) for call in calls])
        self.assertEqual(found, [])
        for call in calls:  # every wrong name is seen, too
            event = event_of(call)
            event["stack"][1]["symbol"] = "wrong+0x1"
            if call["frames"][0].get("module") or call["frames"][0].get("symbol"):
                self.assertTrue(problems([call], [event])[0], call)

    def test_python(self):
        n = 0
        for name, python in gil_waits.interpreters():
            calls = run(python, "-B", str(SOURCE / "callers.py"), "--libraries", STANDINS, "--check")
            self.assertEqual(problems(calls, [event_of(call) for call in calls])[0], [], name)
            self.assertTrue(run(python, "-B", str(SOURCE / "callers_damaged.py"), "--libraries", STANDINS), name)
            n += 1
        self.assertGreater(n, 0)

    def test_boundary(self):
        """The linker's auditor notes the same stacks, of calls that the program makes by the linker's address."""
        auditor = os.path.join(STANDINS, "libingero-boundary.so")
        if not os.path.exists(auditor):
            self.skipTest("the auditor is for x86-64")
        shapes = ("plain.kept", "qsort.omitted", "alloca.omitted", "threads", "signal_alternate", "cxx_catch", "cxx_threads", "debian_sqlite", "remapped")
        with tempfile.TemporaryDirectory(prefix="ingero-") as directory:
            cells, stacks, report = (os.path.join(directory, name) for name in ("cells", "stacks", "report"))
            subprocess.run([os.path.join(WORKLOADS, "callers"), "--report", report, *shapes], check=True, stdin=subprocess.DEVNULL, env={
                **QUIET, "LD_AUDIT": auditor, "LD_BIND_NOW": "1", "INGERO_BOUNDARY": cells, "INGERO_BOUNDARY_STACKS": stacks,
                "INGERO_BOUNDARY_LIBRARIES": "libcudart"})
            noted = stacks_of.read_boundary(stacks, books.boundary_names(cells))
            told = {}
            for call in stacks_of.read(report):
                told.setdefault((call["tid"], "cudaMalloc"), []).append([int(frame["ip"], 16) for frame in call["frames"]])
        self.assertEqual(noted, told)

    def test_without_standins(self):
        done = subprocess.run([sys.executable, "-B", str(SOURCE / "callers.py"), "--libraries", "/nonexistent"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (77, 1), done.stderr)


if __name__ == "__main__":
    WORKLOADS, STANDINS = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
