# SPDX-License-Identifier: Apache-2.0
"""
SQL, blame and an exported file tell the account of a thread that lost its time between its calls, as much as its own clocks
say: accounts.py BUILD.

A loop in Python that waits for a loader through a pipe, and one that waits for a lock.
"""
import json
import os
import pathlib
import sqlite3
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support")]
import ingero  # noqa: E402
import kept  # noqa: E402

SECONDS = 4
WITHIN = 0.02  # of the thread's wall clock: its report ends at its last step, its account a little later
# What a thread loses: class of the account, kind of resource, whether another process ends the waits.
LOSES = {"loader": ("other", "pipe", True), "lock": ("lock", "futex", False)}

PARTS = 'SELECT pid, tid, "where", class, op_name, ns, wall_ns, is_driving FROM accounts'
WAITS = 'SELECT pid, tid, "where", class, resource_kind, by_pid, by_comm, by_uid, count, ns, max_ns FROM waits'


def check_rows(check, name, parts, waits, said, loses):
    """Rows of both tables as dictionaries; said: the thread's own report."""
    class_, kind, is_other = LOSES[loses]
    mine = [row for row in parts if row["tid"] == said["tid"]]
    for key in {(row["pid"], row["tid"], row["wall_ns"]) for row in parts}:
        of = [row["ns"] for row in parts if (row["pid"], row["tid"], row["wall_ns"]) == key]
        check(f"{name}: the parts of a thread are its wall clock", sum(of) == key[2], key, of)
    if not check(f"{name}: the thread has an account", mine, parts):
        return
    wall_ns = mine[0]["wall_ns"]
    check(f"{name}: the wall clock is the thread's", abs(wall_ns - said["wall_ns"]) < WITHIN * wall_ns, wall_ns, said)
    cpu_ns = sum(row["ns"] for row in mine if row["class"] == "on_cpu")
    check(f"{name}: so is the time on the CPU", abs(cpu_ns - said["cpu_ns"]) < WITHIN * wall_ns, cpu_ns, said)
    check(f"{name}: it drives its process", all(row["is_driving"] == 1 for row in mine), mine)
    lost_ns = sum(row["ns"] for row in mine if (row["where"], row["class"]) == ("between", class_))
    check(f"{name}: what it lost is named", lost_ns > 0.8 * said["waited_ns"], lost_ns, said, mine)
    check(f"{name}: operations are those in calls", all((row["op_name"] is None) or row["where"] == "in" for row in mine), mine)

    named = [row for row in waits if (row["tid"], row["where"], row["class"], row["resource_kind"]) == (said["tid"], "between", class_, kind)]
    wait_ns = sum(row["ns"] for row in named)
    check(f"{name}: its waits are told by what they were for", 0.8 * said["waited_ns"] < wait_ns <= lost_ns * 1.01, wait_ns, lost_ns, waits)
    check(f"{name}: their number and the longest", all(row["count"] > 0 and row["ns"] / row["count"] <= row["max_ns"] <= row["ns"] for row in named), named)
    by = max(named, key=lambda row: row["ns"], default=None)
    check(f"{name}: and by who ended them", by and by["by_pid"] and (by["by_pid"] != mine[0]["pid"]) == is_other and by["by_uid"] == os.geteuid(), by)


def main(build):
    if os.geteuid() != 0:
        kept.skip("capture needs root")
    check = kept.Checks()
    with kept.Kept(build) as place:
        programs, report = place.programs, place.path("report")
        libraries = os.path.dirname(programs.library("libcuda.so.1"))
        for loses in LOSES:
            db, exported = place.path(f"{loses}.db"), place.path(f"{loses}-exported.db")
            trace = ingero.trace(programs, "--db", db, environment={"INGERO_STANDIN_QUIET": "1"}, command=[
                sys.executable, "-S", str(HERE.parent / "workloads" / "between.py"), "--libraries", libraries, "--loses", loses, "--seconds", str(SECONDS),
                "--report", report])
            if any(family["name"] == "sched" and family["state"] == "absent" for family in trace.start["families"]):
                kept.skip("this kernel does not tell of task switches")
            with open(report, encoding="ascii") as file:
                said = json.load(file)
            parts, waits = place.sql(PARTS, "--db", db), place.sql(WAITS, "--db", db)
            check_rows(check, loses, parts, waits, said, loses)

            blamed = json.loads(place.answer("blame", "--db", db, "--json"))["accounts"]
            check(f"{loses}: blame has the same threads and times", sorted((a["pid"], a["tid"], a["wall_ns"]) for a in blamed) ==
                  sorted({(row["pid"], row["tid"], row["wall_ns"]) for row in parts}), blamed, parts)
            by_class = [sorted((a["tid"], part["where"], part["class"], part["ns"]) for a in blamed for part in a["parts"])]
            totals = {}
            for tid, where, class_, ns in by_class[0]:
                totals[tid, where, class_] = totals.get((tid, where, class_), 0) + ns
            asked = {}
            for row in parts:
                key = (row["tid"], row["where"], row["class"])
                asked[key] = asked.get(key, 0) + row["ns"]
            check(f"{loses}: and the same parts", totals == asked, totals, asked)

            place.answer("export", "--db", db, "-o", exported)
            with sqlite3.connect(f"file:{exported}?mode=ro", uri=True) as connection:
                connection.row_factory = sqlite3.Row
                told = [[dict(row) for row in connection.execute(sql)] for sql in (PARTS, WAITS)]
            check(f"{loses}: an exported file has the same rows", told == [parts, waits], told[0][:3], parts[:3])
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
