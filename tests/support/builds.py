#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that a build leaves to the other build, by tests/builds.txt: builds.py BUILD DIRECTORY prints a pattern for ctest -E."""
import json
import os
import re
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
BUILDS = {"debug": ("debug",), "release": ("release",), "both": ("debug", "release"), "long": ()}


def rows_of(text):
    """(pattern, builds that run it) of each row, in order; ValueError says what is wrong with one."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split(None, 2)
        if not words or words[0].startswith("#"):
            continue
        if len(words) < 3 or words[1] not in BUILDS:
            raise ValueError(f"line {number}: a pattern, one of {', '.join(BUILDS)}, and why")
        rows.append((words[0], BUILDS[words[1]]))
    return rows


def row_of(rows, name):
    """Index of the row that applies to a test; None: no row."""
    return next((i for i, (pattern, _) in enumerate(rows) if re.fullmatch(pattern, name)), None)


def tests_of(directory):
    done = subprocess.run(["ctest", "--test-dir", directory, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    return [test["name"] for test in json.loads(done.stdout)["tests"]]


def main():
    build, directory = sys.argv[1:]
    with open(os.path.join(ROOT, "tests/builds.txt"), encoding="utf-8") as file:
        rows = rows_of(file.read())
    left = []
    for name in tests_of(directory):
        i = row_of(rows, name)
        if i is not None and build not in rows[i][1]:
            left.append(re.escape(name))
    print("^(" + "|".join(left) + ")$" if left else "^$")
    return 0


if __name__ == "__main__":
    sys.exit(main())
