# SPDX-License-Identifier: Apache-2.0
"""
What a program waits for between its calls is shown, kept and explained, as much as its own clocks say: waits.py BUILD.

A loop in Python that rests on its main thread, and one in C that rests on another thread.
"""
import contextlib
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support")]
import ingero  # noqa: E402
import kept  # noqa: E402

# Between the program's clocks and the scheduler's lie interrupts, a hypervisor's pauses and what was before the first call.
LEAST_RATIO = 0.85
WAITS = ("wait_main", "wait_threads")


def in_calls_ns(trace):
    """Off the CPU inside of the outermost calls: of the runtime."""
    return sum(sum(ns for name, ns in row["blame_ns"].items() if name != "on_cpu") for row in trace.operations(source="cuda"))


def check_waits(check, name, trace, which, off_ns):
    """off_ns: off the CPU in the loop, by the program's own clocks."""
    rows = {row["op"]: row for row in trace.operations(source="host") if row["op"] in WAITS}
    row = rows.get(which, {"total_ns": 0, "count": 0, "blame_ns": {}})
    least_ns = LEAST_RATIO * (off_ns - in_calls_ns(trace))
    check(f"{name}: the trace ended well, and nothing is lost", trace.status == 0 and not trace.lost(), trace.status, trace.stderr[-500:], trace.lost())
    check(f"{name}: as much as its own clocks say", least_ns <= row["total_ns"] <= trace.summary["window_ns"], least_ns, row, trace.summary["window_ns"])
    check(f"{name}: its parts are the whole", sum(row["blame_ns"].values()) == row["total_ns"], row)
    check(f"{name}: it slept, or waited for the CPU", sum(row["blame_ns"].get(part, 0) for part in ("sleep", "runnable", "quota")) > 0.9 * row["total_ns"], row)
    check(f"{name}: nobody else makes calls and waits", not (rows.keys() - {which}), rows)
    return row


# Loads the driver in its first call.
FIRST_CALL = """
import ctypes, sys, time
runtime = ctypes.CDLL(sys.argv[1])
for _ in range(3):
    runtime.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1024))
    time.sleep(0.05)
"""
STOPS = "SELECT resource_name, by_pid, count FROM waits WHERE resource_kind = 'stopped'"


def check_own_stop(check, place):
    """The stop while a library is attached is the tracer's, not somebody's signal. It may be shorter than what is kept."""
    db, stops = place.path("stop.db"), []
    for _ in range(10):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(db)
        ingero.trace(place.programs, "--db", db, environment={"INGERO_STANDIN_QUIET": "1"}, command=[
            sys.executable, "-S", "-c", FIRST_CALL, place.programs.library("libcudart.so.12")])
        stops = place.sql(STOPS, "--db", db)
        if stops:
            break
    check("a stop to attach a library is told as the tracer's", [row["resource_name"] for row in stops] == ["ingero"] and not stops[0]["by_pid"], stops)


def main(build):
    if os.geteuid() != 0:
        kept.skip("capture needs root")
    check = kept.Checks()
    with kept.Kept(build) as place:
        programs, report = place.programs, place.path("report")
        libraries = os.path.dirname(programs.library("libcuda.so.1"))
        trace = ingero.trace(programs, "--db", place.db, environment={"INGERO_STANDIN_QUIET": "1"}, command=[
            sys.executable, str(HERE.parent / "workloads" / "cudaload.py"), "--libraries", libraries, "--rate", "10", "--steps", "30", "--report", report])
        if any(family["name"] == "sched" and family["state"] == "absent" for family in trace.start["families"]):
            kept.skip("this kernel does not tell of task switches")
        with open(report, encoding="utf-8") as file:
            said = json.load(file)["threads"][0]
        main_row = check_waits(check, "main thread", trace, "wait_main", (said["seconds"] - said["cpu_seconds"]) * 1e9)
        explained = place.explain("--db", place.db)
        check("explain tells of it", [(one["operation"]["op"], one["operation"]["total_ns"]) for one in explained["waits"]] ==
              [("wait_main", main_row["total_ns"])], explained["waits"], main_row)
        text = place.answer("explain", "--db", place.db)
        check("in words, too", "main thread" in text and "sleeping" in text, text)
        (row,) = place.sql("SELECT sum(sum_dur) AS total_ns, sum(sleep) AS sleep_ns FROM event_aggregates WHERE op_name = 'wait_main'", "--db", place.db)
        check("and it is kept by class", row["total_ns"] == main_row["total_ns"] and row["sleep_ns"] == main_row["blame_ns"]["sleep"], row, main_row)

        command, report = place.load("--rate", 20, "--calls", 60)
        trace = ingero.trace(programs, "--db", place.path("other.db"), environment={"INGERO_STANDIN_QUIET": "1"}, command=command)
        with open(report, encoding="utf-8") as file:
            (thread,) = json.load(file)["threads"]
        check_waits(check, "another thread", trace, "wait_threads", thread["end_ns"] - thread["start_ns"] - thread["cpu_ns"])

        place.answer("export", "--db", place.path("other.db"), "-o", place.path("exported.db"))
        counted = [place.run("query", "--db", place.path(name)).stderr.split(" counted events")[0] for name in ("other.db", "exported.db")]
        check("waits are no calls that were counted, exported neither", counted[0] == counted[1] and " of " in counted[0], counted)

        ingero.trace(programs, "--db", place.path("short.db"), environment={"INGERO_STANDIN_QUIET": "1"}, command=[
            sys.executable, str(HERE.parent / "workloads" / "cudaload.py"), "--libraries", libraries, "--rate", "10", "--steps", "2", "--report", report])
        check_own_stop(check, place)
        check("a short life says nothing of its pace", place.explain("--db", place.path("short.db"))["waits"] == [])
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
