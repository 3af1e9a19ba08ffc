#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts of ctest's result files, with every skip and its reason: count_results.py FILE.xml... [--skipped TEXT]

TEXT: one more skip, for tests that ctest did not reach."""
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


def main():
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    arguments = sys.argv[1:]
    more = []
    if len(arguments) > 1 and arguments[-2] == "--skipped":
        arguments, more = arguments[:-2], arguments[-1:]
    for path in arguments:
        build = os.path.splitext(os.path.basename(path))[0]
        for case in xml.parse(path).getroot().iter("testcase"):
            result = outcome(case)
            counts[result] += 1
            if result != "passed":
                print(f"{result}: {case.get('name')} ({build}): {reason(case) if result == 'skipped' else 'see above'}")
    for text in more:
        counts["skipped"] += 1
        print(f"skipped: {text}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
