#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts of ctest's result files, with every skip and its reason: count_results.py FILE.xml... [--report FILE] [--skipped TEXT]

TEXT: one more skip, for tests that ctest did not reach. FILE: gets the same as JSON, which ingero-mcp answers get_test_report from."""
import json
import os
import sys
import xml.etree.ElementTree as xml


def outcome(case):
    """passed, failed or skipped. A test that could not start, or was disabled, has not passed."""
    if case.get("status") == "run" and case.find("failure") is None:
        return "passed"
    skipped = case.find("skipped")
    if skipped is not None and "SKIP" in (skipped.get("message") or "").upper():
        return "skipped"
    return "failed"


def reason(case):
    text = case.findtext("system-out") or ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = [line for line in lines if line.lower().startswith("skipped")]
    return (said or lines or ["no reason given"])[-1]


def value_of(name, arguments):
    """Takes an option and its value out of the arguments. Returns the value; None without one."""
    if name not in arguments[:-1]:
        return None
    at = arguments.index(name)
    value = arguments[at + 1]
    del arguments[at:at + 2]
    return value


def report_write(path, counts, tests):
    """What matters comes first: a reader may see the beginning alone."""
    tests = sorted(tests, key=lambda test: ("failed", "skipped", "passed").index(test["result"]))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**counts, "tests": tests}, file)
        file.write("\n")


def main():
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    arguments = sys.argv[1:]
    report, skipped = value_of("--report", arguments), value_of("--skipped", arguments)
    tests = []
    for path in arguments:
        build = os.path.splitext(os.path.basename(path))[0]
        for case in xml.parse(path).getroot().iter("testcase"):
            result = outcome(case)
            counts[result] += 1
            tests.append({"name": case.get("name"), "build": build, "result": result, "seconds": float(case.get("time") or 0),
                          **({"reason": reason(case)} if result == "skipped" else {})})
            if result != "passed":
                print(f"{result}: {case.get('name')} ({build}): {reason(case) if result == 'skipped' else 'see above'}")
    if skipped:
        counts["skipped"] += 1
        print(f"skipped: {skipped}")
    if report:
        report_write(report, counts, tests)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
