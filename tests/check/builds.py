#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each test has a row in tests/builds.txt, and each row a test: builds.py ROOT BUILD."""
import os
import sys

import tree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import builds  # noqa: E402


def check(files_tree, build):
    names = files_tree.lines("names") if "names" in files_tree.files("names") else builds.tests_of(build)
    try:
        rows = builds.rows_of(files_tree.text("tests/builds.txt"))
    except ValueError as error:
        return [f"tests/builds.txt, {error}"]
    met = {name: builds.row_of(rows, name) for name in names}
    problems = [f"{name}: no row of tests/builds.txt says which build runs it" for name, i in met.items() if i is None]
    # a machine may have no PyTorch, and so none of its tests
    return problems + [f"tests/builds.txt: no test is {pattern}" for i, (pattern, _) in enumerate(rows) if i not in met.values() and "torch" not in pattern]


def sample(table, names):
    return {"tests/builds.txt": table, "names": names}


tree.run(check, [
    ("no row", sample("a debug why\n", "a\nb\n"), "b: no row"),
    ("the beginning of a name is not the name", sample("a debug why\n", "a\na.b\n"), "a.b: no row"),
    ("a row without a test", sample("a debug why\nc both why\n", "a\n"), "no test is c"),
    ("a row behind one that takes all", sample(".* debug why\na both why\n", "a\n"), "no test is a"),
    ("no reason", sample("a debug\n", "a\n"), "and why"),
    ("no such build", sample("a nightly why\n", "a\n"), "one of debug"),
    ("all in order", sample("# c\na.* both why it is\nb long rare\n", "a1\na2\nb\n"), None),
])
