# SPDX-License-Identifier: Apache-2.0
"""
Garbage collections of Python are a part of the account: garbage.py BUILD.

With each interpreter that is here: a loop collects between its calls, and knows by its own clock how long. One without marks and
symbols says that they are not measured.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support")]
import gil_waits  # noqa: E402
import ingero  # noqa: E402
import kept  # noqa: E402

S = 1_000_000_000
MS = 1_000_000
SECONDS = 4
# The loop begins to collect when the interpreter has been looked at.
FROM = 2
RATIO = 0.03
LEAST_NS = 20 * MS
ROWS = "SELECT tid, \"where\", class, count, ns, max_ns FROM waits WHERE resource_kind = 'gc'"
FINDING_SECONDS = 14


class Place:
    def __init__(self, check, place):
        self.check, self.place = check, place

    def trace(self, name, python, seconds, begin, **environment):
        """(the answer, what the program says of itself)"""
        report = self.place.path(name + ".json")
        trace = ingero.trace(self.place.programs, "--db", self.place.path(name + ".db"), environment={"INGERO_STANDIN_QUIET": "1", **environment}, command=[
            python, "-S", str(HERE.parent / "workloads" / "between.py"), "--libraries",
            os.path.dirname(self.place.programs.library("libcudart.so.12")), "--loses", "gc", "--seconds", str(seconds), "--from", str(begin),
            "--report", report])
        if any(family["name"] == "sched" and family["state"] == "absent" for family in trace.start["families"]):
            kept.skip("this kernel does not tell of task switches")
        with open(report, encoding="ascii") as file:
            return trace, json.load(file)

    def parts(self, trace, said):
        account = next((one for one in trace.summary["accounts"] if one["tid"] == said["tid"]), {"parts": [], "wall_ns": 0})
        return account, [part for part in account["parts"] if part.get("resource", {}).get("kind") == "gc"]

    def measured(self, name, python):
        db = self.place.path(name + ".db")
        trace, said = self.trace(name, python, SECONDS, FROM)
        account, parts = self.parts(trace, said)
        ns, truth = sum(part["ns"] for part in parts), said["collected_ns"]
        self.check(f"{name}: the parts are the whole", sum(part["ns"] for part in account["parts"]) == account["wall_ns"], account)
        self.check(f"{name}: on the CPU between calls", [(part["where"], part["class"]) for part in parts] == [("between", "on_cpu")], parts)
        self.check(f"{name}: as its own clock says", truth > LEAST_NS and abs(ns - truth) <= RATIO * truth, ns, said)
        rows = [row for row in self.place.sql(ROWS, "--db", db) if row["tid"] == said["tid"]]
        self.check(f"{name}: one row is kept", len(rows) == 1, rows)
        for row in rows:
            self.check(f"{name}: their time is kept", abs(row["ns"] - truth) <= RATIO * truth, row, said)
            self.check(f"{name}: their number", row["count"] == said["collections"], row, said)
            self.check(f"{name}: the longest", abs(row["max_ns"] - said["longest_ns"]) <= RATIO * said["longest_ns"] + MS, row, said)
        screen = self.place.answer("blame", "--db", db)
        self.check(f"{name}: blame says it", "garbage collection" in screen, screen)

    def finding(self, python):
        """A loop that collects in each step has a finding of its own, which wins no more than the collections took."""
        trace, said = self.trace("finding", python, FINDING_SECONDS, 0)
        found = [one for one in self.place.explain("--db", self.place.path("finding.db"))["findings"] if one["kind"] == "host_bound"]
        self.check("a finding", [one["cause"]["kind"] for one in found][:1] == ["gc"], found)
        for one in found:
            if one["cause"]["kind"] == "gc":
                self.check("no more than it took", 0 < one["lost_ns"] <= said["collected_ns"] * (1 + RATIO), one["lost_ns"], said)
                self.check("what to do", any("gc.freeze()" in advice for advice in one["advice"]), one)
                self.check("it is measured", not any("not measured" in advice for advice in one["advice"]), one)

    def not_measured(self, python):
        """Without symbols for linkers, and without marks: none is counted, and the finding says so."""
        copy = self.place.path("python3-stripped")
        library = subprocess.run([python, "-c", "import re; print(re.search(r'\\S*/libpython3\\S*', open('/proc/self/maps').read()).group())"],
                                 capture_output=True, text=True, check=True).stdout.strip()
        os.mkdir(copy)
        stripped = os.path.join(copy, os.path.basename(library))
        subprocess.run(["strip", "-o", stripped, library], check=True)
        trace, said = self.trace("stripped", python, FINDING_SECONDS, 0, LD_LIBRARY_PATH=copy)
        _, parts = self.parts(trace, said)
        self.check("not known", not parts, parts)
        found = [one for one in self.place.explain("--db", self.place.path("stripped.db"))["findings"] if one["kind"] == "host_bound"]
        self.check("said to be not measured", found and found[0]["cause"]["kind"] == "python" and
                   any("garbage collection is not measured" in advice for advice in found[0]["advice"]), found)


def main(build):
    if os.geteuid() != 0:
        kept.skip("capture needs root")
    check = kept.Checks()
    with kept.Kept(build) as place:
        here = Place(check, place)
        interpreters = list(gil_waits.interpreters())
        for name, python in interpreters:
            here.measured(name.replace(" ", "-"), python)
        if interpreters:
            here.finding(interpreters[-1][1])
        shared = [python for name, python in interpreters if name.endswith("shared")]
        if shared and shutil.which("strip"):
            here.not_measured(shared[0])
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
