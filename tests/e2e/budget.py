#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
A budget for tracing, beside a program that counts its own calls: what is left out to keep it is said everywhere and
estimated, what is called exact is exact, and a program that fits into the budget is traced whole: budget.py BUILD BACK_END.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import ingero  # noqa: E402 (needs the path above)
import kept  # noqa: E402

LAUNCH = "cudaLaunchKernel"
WORDS = (LAUNCH, "cudaStreamSynchronize", "cudaMalloc", "cudaFree", "cudaMemcpyAsync")
LOSS = "to keep the budget"


def traced(home, *options, load):
    """(the trace, calls by operation as the program counted them)."""
    report = home.path("report")
    trace = ingero.trace(home.programs, *options, command=[home.programs.path("cudaload"), *load, "--report", report], environment=home.environment)
    if trace.status:
        raise ingero.Failed(f"the trace ended with {trace.status}: {trace.stderr[-500:]}")
    with open(report, encoding="utf-8") as file:
        books = {row["function"]: row["entries"] for row in json.load(file)["books"]}
    return trace, {op: n for op, n in books.items() if op in WORDS}


def rungs(trace):
    """{operation: rungs of its figures}"""
    found = {}
    for line in trace.figures:
        for row in line["operations"]:
            if row["source"] != "host":
                found.setdefault(row["op"], set()).add(row["rung"])
    return found


def levels(trace):
    return [line["cost"].get("level") for line in trace.figures]


def estimated(check, name, count, error, made):
    """Within twice the error that is told, which 19 of 20 estimates are within once."""
    check(f"{name}: estimated", abs(count - made) <= 2 * error * count and 0 < error < 3, count, error, made)


def accounted(check, trace):
    """The time in which launches were left out is no time between calls."""
    where = {}
    for account in trace.summary["accounts"]:
        parts = account["parts"]
        check("parts are the wall clock", abs(sum(part["ns"] for part in parts) - account["wall_ns"]) <= 0.005 * account["wall_ns"], account)
        for part in parts:
            where[part["where"], part["class"]] = where.get((part["where"], part["class"]), 0) + part["ns"]
    unseen, between = (where.get((place, "on_cpu"), 0) for place in ("not_known", "between"))
    check("computing is mostly not known", unseen > 5 * between, where)


def test_over(check, home, back_end):
    """More launches than the budget pays for, and few of what every diagnosis needs."""
    trace, made = traced(home, "--back-end", back_end, "--budget", "2%", load=("--rate", "50000", "--duration", "5s", "--mix", "launch=197,sync=1,malloc=1,free=1"))
    cost, counts, found = trace.summary["cost"], trace.counts(source="cuda"), rungs(trace)
    pids = {row["pid"] for row in trace.operations()}
    check("the budget is told", cost["budget_ratio"] == 0.02 and all(line["cost"]["budget_ratio"] == 0.02 for line in trace.figures), cost)
    check("for whose sake is told", all(line["cost"].get("forced_by_pid") in pids for line in trace.figures if line["cost"].get("level") == "duty"), pids, trace.figures)
    check("the last rung is reached", "duty" in levels(trace), levels(trace))
    for op in set(made) - {LAUNCH}:
        check(f"{op}: exact", counts.get(op) == made[op] and found[op] == {"exact"}, counts.get(op), made[op], found[op])
    check("launches: said in their figures", "duty" in found[LAUNCH], found[LAUNCH])
    launches = next(row for row in trace.operations() if row["op"] == LAUNCH)
    check("and in the summary", launches["rung"] == "duty" and launches["total_raw_ns"] < launches["total_ns"], launches)
    estimated(check, "launches", launches["count"], launches["count_error"], made[LAUNCH])
    check("each second: the rung says whether there is an error", all((row["count_error"] == 0) == (row["rung"] == "exact") for line in trace.figures for row in line["operations"] if "count_error" in row), trace.figures)
    kept_rows = {row["op_name"]: row for row in home.sql("SELECT op_name, count, rung, count_error FROM operations WHERE source_name = 'cuda'")}
    estimated(check, "kept: launches", kept_rows[LAUNCH]["count"], kept_rows[LAUNCH]["count_error"], made[LAUNCH])
    check("kept: the rungs", all(kept_rows[op]["rung"] == ("duty" if op == LAUNCH else "exact") for op in made), kept_rows)
    accounted(check, trace)
    check("no call is said never to have returned", not any(row["abandoned"] for row in trace.operations()), trace.operations())
    check("the loss is told", trace.summary["lost"]["budget"] >= 3000, trace.summary["lost"])
    check("kept: the loss", LOSS in kept.words_of(home.run("explain").stdout), home.run("explain").stdout)


def test_synchronises(check, home, back_end):
    """Even what every diagnosis needs takes more than the budget."""
    trace, made = traced(home, "--back-end", back_end, "--budget", "2%", load=("--rate", "50000", "--duration", "5s", "--mix", "sync=2,launch=1", "--sync", "spin"))
    cost, rows = trace.summary["cost"], {row["op"]: row for row in trace.operations()}
    check("the very last rung is reached", "duty_all" in levels(trace), levels(trace))
    check("the budget that would be enough is told", cost.get("level") != "duty_all" or cost["exact_budget_ratio"] > 0.02, cost)
    for op in ("cudaStreamSynchronize", LAUNCH):
        check(f"{op}: said", rows[op]["rung"] == "duty", rows[op])
        estimated(check, op, rows[op]["count"], rows[op]["count_error"], made[op])
    check("no call is said never to have returned", not any(row["abandoned"] for row in trace.operations()), trace.operations())


def test_within(check, home, back_end):
    """A program that fits into the budget, from its third second on at the latest."""
    trace, made = traced(home, "--back-end", back_end, "--budget", "10%", load=("--rate", "50", "--duration", "6s"))
    check("everything is traced", levels(trace)[-1] == "all", levels(trace))
    check("and called exact", all(row["rung"] == "exact" for row in trace.figures[-1]["operations"]), trace.figures[-1]["operations"])
    check("counts of tier 'always'", trace.counts(source="cuda").get("cudaMalloc") == made["cudaMalloc"], trace.counts(), made)


def test_off(check, home, back_end):
    trace, made = traced(home, "--back-end", back_end, "--budget", "off", load=("--rate", "50000", "--duration", "2s"))
    counts = trace.counts(source="cuda")
    check("every call is counted", all(counts.get(op) == n for op, n in made.items()), counts, made)
    check("no budget is told", "budget_ratio" not in trace.summary["cost"] and set(levels(trace)) == {None}, trace.summary["cost"])
    check("no loss", not trace.summary["lost"]["budget"], trace.summary["lost"])


def test_text(check, home, back_end):
    command = (home.programs.path("cudaload"), "--rate", "50000", "--duration", "3s", "--mix", "launch=1")
    done = home.run("trace", "--back-end", back_end, "--budget", "2%", "--", *command)
    text = kept.words_of(done.stderr + " " + done.stdout)
    check("the summary says the budget and what is left out", "budget 2.0 %: launches and copies sampled" in text and LOSS in text, text)
    check("and what is estimated", "~ estimated, within" in text, text)


def main(build):
    if os.geteuid() != 0:
        kept.skip("needs root to trace")
    check = kept.Checks()
    with kept.Kept(build) as home:
        for test in (test_over, test_synchronises, test_within, test_off, test_text):
            test(check, home, sys.argv[2])
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
