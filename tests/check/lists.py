#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables are complete: every command is in its list, operations have ids of their own, packages are named once."""
import os
import re

import tree

OP = re.compile(r"^OP\((\d+),\s*(\w+),\s*(\w+)\s*,\s*\"(\w+)\"", re.M)
EVENT = re.compile(r"^EVENT\((\d+), (\w+), (\w+),", re.M)  # the shape of the rest is operations.py's matter


def check_lists(files_tree):
    for _, (directory, name, macro, *further) in tree.table(files_tree.text("tests/check/lists.txt")):
        companions = [word for word in further if "%" in word]
        no_rows = set(further) - set(companions)
        if not os.path.exists(files_tree.path(name)):
            if files_tree.files(directory + "/*.c"):
                yield f"{directory}: has files, and {name} does not exist"
            continue
        listed = re.findall(rf"^{macro}\((\w+)\)", files_tree.text(name), re.M)
        present = {os.path.basename(file)[:-2] for file in files_tree.files(directory + "/*.c")} - no_rows
        for file in sorted(present - set(listed)):
            yield f"{directory}/{file}.c: not named in {name}"
        for word in sorted(set(listed) - present):
            yield f"{name}: names '{word}', and there is no {directory}/{word}.c"
        for word in sorted({word for word in listed if listed.count(word) > 1}):
            yield f"{name}: names '{word}' twice"
        for path in [companion.replace("%", word) for companion in companions for word in sorted(set(listed))]:
            if not os.path.exists(files_tree.path(path)):
                yield f"{name}: what it names needs {path}, and there is none"


def check_operations(files_tree):
    if not os.path.exists(files_tree.path("bpf/ops.def")):
        return
    limit = int(re.search(r"#define OP_ID_MAX (\d+)", files_tree.text("bpf/ops.h"))[1])
    text = files_tree.text("bpf/ops.def")
    rows = OP.findall(text)
    if len(rows) != len(re.findall(r"^OP\(", text, re.M)):
        yield "bpf/ops.def: a row is not of the shape OP(id, LAYER, name, \"short name\", ...)"
    ids, names = set(), set()
    for number, name in [(row[0], row[2]) for row in rows + EVENT.findall(text)]:
        number = int(number)
        if not 1 <= number < limit:
            yield f"bpf/ops.def: id {number} of {name} is not between 1 and {limit - 1}"
        if number in ids:
            yield f"bpf/ops.def: id {number} of {name} is given twice"
        if name in names:
            yield f"bpf/ops.def: {name} has two rows"
        ids.add(number)
        names.add(name)


def check_packages(files_tree):
    if not os.path.exists(files_tree.path("cmake/packages.txt")):
        return
    seen = set()
    for number, words in tree.table(files_tree.text("cmake/packages.txt")):
        if len(words) < 3:
            yield f"cmake/packages.txt:{number}: needs who, package and what for"
        elif words[1] in seen:
            yield f"cmake/packages.txt:{number}: {words[1]} is named twice"
        seen.add(words[1] if len(words) > 1 else "")


def check(files_tree):
    return [*check_lists(files_tree), *check_operations(files_tree), *check_packages(files_tree)]


LISTS = {"tests/check/lists.txt": "cli/commands cli/list.h COMMAND\n"}
PAGES = {"tests/check/lists.txt": "detect detect/list.h DETECTOR docs/%.md engine\n", "detect/a.c": "", "detect/list.h": "DETECTOR(a)\n"}
OPS = {**LISTS, "bpf/ops.h": "#define OP_ID_MAX 8 /* x */\n"}
tree.run(check, [
    ("a command that nobody finds", {**LISTS, "cli/commands/a.c": "", "cli/commands/b.c": "", "cli/list.h": "COMMAND(a)\n"}, "b.c: not named"),
    ("a name without a file", {**LISTS, "cli/commands/a.c": "", "cli/list.h": "COMMAND(a)\nCOMMAND(b)\n"}, "names 'b'"),
    ("named by another macro", {**LISTS, "cli/commands/a.c": "", "cli/list.h": "ABSENT(a)\n"}, "a.c: not named"),
    ("no list at all", {**LISTS, "cli/commands/a.c": ""}, "does not exist"),
    ("a detector without its page", PAGES, "needs docs/a.md"),
    ("a file beside the rows", {**PAGES, "docs/a.md": "", "detect/engine.c": ""}, None),
    ("an id twice", {**OPS, "bpf/ops.def": 'OP(1, A, x, "x", NONE)\nOP(1, A, y, "y", NONE)\n'}, "given twice"),
    ("an event's id twice", {**OPS, "bpf/ops.def": 'OP(1, A, x, "x", NONE)\nEVENT(1, HOST, y, NONE)\n'}, "given twice"),
    ("an id too high", {**OPS, "bpf/ops.def": 'OP(8, A, x, "x", NONE)\n'}, "not between"),
    ("a name twice", {**OPS, "bpf/ops.def": 'OP(1, A, x, "x", NONE)\nOP(2, A, x, "y", NONE)\n'}, "two rows"),
    ("a row of another shape", {**OPS, "bpf/ops.def": "OP(ONE, A, x, NONE)\n"}, "shape"),
    ("a package twice", {**LISTS, "cmake/packages.txt": "build gcc c\ntest gcc c\n"}, "named twice"),
    ("complete", {**OPS, "cli/commands/a.c": "", "cli/list.h": "COMMAND(a)\n", "bpf/ops.def": 'OP(1, A, x, "x", NONE)\n'}, None),
])
