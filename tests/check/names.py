#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No more names of static functions stand in several files than names.txt allows; roles that files of a list fill in are none; names.py ROOT."""
import collections
import re

import tree

LIST = "tests/check/names.txt"
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
STATIC = re.compile(r"^static (?:\w+ )*\w+ \**((?!__)[a-z]\w*)\([^;{]*\)\n\{", re.M)
NOT_HERE = ("tests/", "docs/", "bpf/")


def shared(files_tree, roles):
    """{name: files} of those that stand in more than one."""
    places = collections.defaultdict(set)
    for name in files_tree.files("*.c"):
        if not name.startswith(NOT_HERE):
            for function in STATIC.findall(COMMENT.sub("", files_tree.text(name))):
                places[function].add(name)
    return {function: sorted(files) for function, files in places.items() if len(files) > 1 and function not in roles}


def check(files_tree):
    rows = {kind: words for _, (kind, *words) in tree.table(files_tree.text(LIST))}
    found, limit = shared(files_tree, rows.get("role", ())), int(rows["limit"][0])
    if len(found) <= limit:
        return []
    return [f"{len(found)} names of static functions stand in several files, {LIST} has {limit}"] + \
        [f"{function}: {', '.join(files)}" for function, files in sorted(found.items())]


ONE = "static int look(void)\n{\n}\n"
tree.run(check, [
    ("one name in two files", {"a/one.c": ONE, "a/two.c": ONE, LIST: "limit 0\n"}, "look: a/one.c, a/two.c"),
    ("a role", {"a/one.c": ONE, "a/two.c": ONE, LIST: "limit 0\nrole look\n"}, None),
    ("in a comment", {"a/one.c": ONE, "a/two.c": "/*\n" + ONE + "*/\n", LIST: "limit 0\n"}, None),
    ("declared alone", {"a/one.c": ONE, "a/two.c": "static int look(void);\n", LIST: "limit 0\n"}, None),
    ("as many as before", {"a/one.c": ONE, "a/two.c": ONE, LIST: "limit 1\n"}, None),
])
