#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/test-matrix.md lists the tests there are: matrix.py ROOT BUILD [--rewrite]."""
import json
import os
import re
import subprocess
import sys

import tree

TITLE = """# Tests

Generated from the names of the registered tests and the first sentence of their sources by
`tests/check/matrix.py . build-debug --rewrite`; the check of the same name fails when it is not up to date.

| test | kind | states |
| --- | --- | --- |
"""
ENDINGS = (".c", ".py", ".sh", "")


def source_of(files, name):
    """The file a test's name stands for: dots are directories; what is left over names a case of it."""
    parts = name.split(".")
    for length in range(len(parts), 1, -1):
        for ending in ENDINGS:
            path = "tests/" + "/".join(parts[:length]) + ending
            if path in files:
                return path
    return None


def first_sentence(text):
    """Of the first comment or docstring after the licence."""
    lines = [line for line in text.splitlines() if "SPDX-License" not in line and not line.startswith("#!")]
    text = "\n".join(lines)
    match = re.match(r'\s*(?:/\*+(.*?)\*/|"""(.*?)"""|((?:(?://|#)[^\n]*\n)+))', text, re.S)
    if not match:
        return None
    words = " ".join(re.sub(r"^\s*(\*|//|#)\s?", "", line) for line in next(filter(None, match.groups())).splitlines())
    words = " ".join(words.split())
    return re.split(r"(?<=[.])\s", words)[0].rstrip(":").replace("|", "\\|")


def rows_of(files_tree, tests):
    files = set(files_tree.files("tests/*"))
    rows, problems = [], []
    for name, labels in sorted(tests):
        source = source_of(files, name)
        sentence = first_sentence(files_tree.text(source)) if source else None
        if not sentence:
            problems.append(f"{name}: no file under tests/ with that name says in its first comment what it states")
            continue
        if not labels:
            problems.append(f"{name}: has no label of its kind")
        rows.append((name, ", ".join(labels), sentence))
    return rows, problems


def registered(build):
    result = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    for test in json.loads(result.stdout)["tests"]:
        properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
        yield test["name"], properties.get("LABELS", [])


def page(rows):
    return TITLE + "".join(f"| `{name}` | {labels} | {sentence} |\n" for name, labels, sentence in rows)


def check(files_tree, build):
    # a sample brings its own list of tests
    own = files_tree.path("tests.json")
    if os.path.exists(own):
        tests = json.loads(files_tree.text("tests.json"))
    else:
        tests = list(registered(build))
    rows, problems = rows_of(files_tree, tests)
    path = files_tree.path("docs/test-matrix.md")
    text = files_tree.text("docs/test-matrix.md") if os.path.exists(path) else ""
    if text != page(rows):
        stale = sorted(set(page(rows).splitlines()) ^ set(text.splitlines()))
        problems.append("docs/test-matrix.md is not up to date: run tests/check/matrix.py . BUILD --rewrite; "
                        f"first difference: {stale[0] if stale else 'order'}")
    return problems


def rewrite(root, build):
    files_tree = tree.Tree(root)
    rows, problems = rows_of(files_tree, registered(build))
    with open(files_tree.path("docs/test-matrix.md"), "w", encoding="utf-8") as file:
        file.write(page(rows))
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if sys.argv[-1] == "--rewrite":
    rewrite(*sys.argv[1:3])
WINDOW = {"tests/unit/a/window.c": "// SPDX-License-Identifier: x\n/*\n * Old values\n * leave. More.\n */\n"}
tree.run(check, [
    ("a test that the page lacks", {**WINDOW, "tests.json": '[["unit.a.window", ["unit"]]]', "docs/test-matrix.md": page([])}, "not up to date"),
    ("a test that states nothing", {"tests.json": '[["unit.a.window", ["unit"]]]', "docs/test-matrix.md": page([])}, "says in its first comment"),
    ("no label", {**WINDOW, "tests.json": '[["unit.a.window", []]]', "docs/test-matrix.md": page([])}, "no label"),
    ("up to date", {**WINDOW, "tests.json": '[["unit.a.window.case", ["unit"]]]',
                    "docs/test-matrix.md": page([("unit.a.window.case", "unit", "Old values leave.")])}, None),
])
