#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
kept_truth.py BUILD: the same questions while it is recorded, right after, and a day later get the same
findings and the same numbers, and these are the program's own books.

Needs root (or it is skipped).
"""
import json
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import books_of  # noqa: E402
import ingero  # noqa: E402
import kept  # noqa: E402

ABOUT_NOW = ("cost", "is_recording", "sessions")  # of an answer: what is about who answers
COLUMNS = "pid, source_name, op_name, count, errors, sum_dur, max_dur, p50, p95, p99, runnable, on_cpu"
EVENTS = "SELECT op, count(*) AS n, sum(duration) AS total, max(duration) AS longest FROM events GROUP BY op ORDER BY op"


def traced(home):
    """A program beside a hog on its CPU, whose every call is kept; its report."""
    command, report = home.load("--threads", 1, "--duration", "4s", "--pin", 0, "--inside-us", 300)
    hog = ingero.start_hog(0)
    try:
        home.answer("trace", "--record", "all", "--json", "--", *command)
    finally:
        hog.kill()
        hog.wait()
    with open(report, encoding="utf-8") as file:
        return json.load(file)


def ask(home, window, *options):
    times = ("--from", window[0], "--to", window[1])
    whole = home.explain("--per-process", *times, *options)
    return {
        "explain": {key: value for key, value in whole.items() if key not in ABOUT_NOW},
        "findings": [home.explain(finding["id"], *options)["findings"] for finding in whole["findings"]],
        "operations": home.sql(f"SELECT {COLUMNS} FROM operations ORDER BY pid, op_name", *options),
        "events": home.sql(EVENTS, *options),
        "calls": [json.loads(line) for line in home.answer("query", "--json", "--limit", 100000, *times, *options).splitlines()],
    }


def check_books(check, answer, report):
    known = books_of.known_operations(HERE.parents[1] / "bpf" / "ops.def")
    made = books_of.operations(report["books"], known)
    rows = books_of.calls(answer["explain"]["operations"])
    check("explain counts what was called", not (wrong := books_of.differences(made, {row["op"]: row["count"] for row in rows})), wrong)
    counted = {row["op_name"]: row["count"] for row in books_of.calls(answer["operations"])}
    check("so does SQL", not (wrong := books_of.differences(made, counted)), wrong)
    check("and the window", answer["explain"]["window"]["calls"] == sum(made.values()), answer["explain"]["window"])
    calls = books_of.calls(answer["calls"])
    lost = sum(n for reason, n in answer["explain"]["losses"].items() if reason != "behind")  # which is the machine's doing
    check("nothing lost", not lost, answer["explain"]["losses"])
    check("every call is kept", len(calls) == answer["explain"]["window"]["events"] == sum(made.values()), len(calls), made)
    for row in rows:
        durations = sorted(call["duration_ns"] for call in calls if call["op"] == row["op"])
        check(f"{row['op']}: total", sum(durations) == row["total_ns"], sum(durations), row)
        check(f"{row['op']}: longest", durations[-1:] == [row["max_ns"]], durations[-1:], row)
        for name, part in (("p50_ns", 0.5), ("p95_ns", 0.95), ("p99_ns", 0.99)):
            true = durations[min(len(durations) - 1, max(0, -int(-part * len(durations) // 1) - 1))]
            check(f"{row['op']}: {name} within a bucket", abs(row[name] - true) <= true / 16 + 1, row[name], true)


def check_cost(check, live, kept_cost, removed_ns):
    """What recording cost is said by the file when the recorder is gone."""
    check("cost: as calibrated", kept_cost and all(kept_cost[key] == live[key] for key in ("per_call_ns", "share_ns", "share_spread_ns")),
          kept_cost, live)
    check("cost: what was taken out of durations", kept_cost and kept_cost["removed_ns"] == removed_ns, kept_cost, removed_ns)
    check("cost: no less than while it was recorded", kept_cost and all(
        kept_cost[key] >= live[key] for key in ("probe_ns", "daemon_cpu_ns", "bystander_calls")), kept_cost, live)
    check("cost: the share of processes that are gone and forgotten", kept_cost and 0 < kept_cost["low_ratio"] <= kept_cost["probe_ratio"] <=
          kept_cost["high_ratio"] <= 1, kept_cost, live)


def main(build):
    if os.geteuid() != 0:
        kept.skip("capture needs root")
    check = kept.Checks()
    with kept.Kept(build) as home:
        with kept.Service(home, "--db", home.db) as service:
            began = int(time.time())
            report = traced(home)
            until = int(time.time()) + 1
            ingero.wait_for(lambda: time.time() > until, "the next second")
            window = (kept.time_text(began * 10**9), kept.time_text(until * 10**9))
            live = ask(home, window)
            check("still recording", service.process.poll() is None, service.said())
            check("the same again", ask(home, window) == live)
            cost = home.explain("--from", window[0])["cost"]
        check("the daemon says nothing", "ERROR" not in service.said().upper(), service.said())
        check("something was found", [f["kind"] for f in live["explain"]["findings"]][:1] == ["cpu_contention"], live["explain"]["findings"])
        check_books(check, live, report)

        option = ("--db", home.db)
        check.same("right after", ask(home, window, *option), live)
        removed = home.sql("SELECT sum(sum_dur_raw - sum_dur) AS ns FROM operations", *option)[0]["ns"]
        check_cost(check, cost, home.explain(*option).get("cost"), removed)

        day = home.copy("day.db")
        kept.turn_clock(day, -kept.DAY_NS)
        yesterday = tuple(kept.shifted(window, -kept.DAY_NS))
        check.same("a day later", kept.shifted(ask(home, yesterday, "--db", day), kept.DAY_NS), live)
        text = home.answer("explain", "--db", day)
        check("and without a time", "cudaStream" in text or "waited for the CPU" in text, text)
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
