#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No #include points up: layers.txt says which part may include which."""
import os
import re

import tree

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
SEARCHED = ("", "collectord", "libingero/include", "bpf", "proto")


def part_of(rows, name):
    matching = [part for part in rows if name == part or name.startswith((part + "/", part + "."))]
    return max(matching, key=len, default=None)


def resolve(files, includer, name):
    """The file an #include means; generated ones are called by their kind; None: there is no such file."""
    if name.endswith((".pb-c.h", "/methods.def")):
        return "messages"
    if name.endswith(".skel.h"):
        return "skeleton"
    for directory in (os.path.dirname(includer),) + SEARCHED:
        candidate = os.path.normpath(os.path.join(directory, name))
        if candidate in files:
            return candidate
    return None


def generated(files_tree, includer):
    """Names that the build of the includer's directory mentions: it makes them."""
    top = includer.split("/")[0]
    return "\n".join(files_tree.text(name) for name in files_tree.files(top + "/*CMakeLists.txt", top + "/*.cmake"))


def check(files_tree):
    rows = {}
    problems = []
    for _, (part, *allowed) in tree.table(files_tree.text("tests/check/layers.txt")):
        rows[part] = allowed
    files = set(files_tree.files("*.h", "*.c", "*.def", "*.cc"))
    for includer in sorted(files):
        part = part_of(rows, includer)
        if part is None:
            problems.append(f"{includer}: belongs to no row of tests/check/layers.txt")
            continue
        for number, line in enumerate(files_tree.lines(includer), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = resolve(files, includer, match[1])
            if target is None:
                if part != "tests" and match[1] not in generated(files_tree, includer):
                    problems.append(f"{includer}:{number}: no file of the tree is \"{match[1]}\"")
                continue
            other = target if target in ("messages", "skeleton") else part_of(rows, target)
            # a row may allow one file of a part: named with its ending
            if other != part and "*" not in rows[part] and other not in rows[part] and target not in rows[part]:
                problems.append(f"{includer}:{number}: {part} must not include {target}")
    return problems


TABLE = "base\na base\nb base a/one.h\nc messages\nm *\n"
tree.run(check, [
    ("points up", {"tests/check/layers.txt": TABLE, "base/x.h": '#include "a/y.h"\n', "a/y.h": ""}, "base must not include a/y.h"),
    ("by a path through the parent", {"tests/check/layers.txt": TABLE, "base/x.c": '#include "../a/y.h"\n', "a/y.h": ""}, "must not include"),
    ("one file is allowed, its sibling not", {"tests/check/layers.txt": TABLE, "b/x.c": '#include "a/one.h"\n#include "a/two.h"\n', "a/one.h": "", "a/two.h": ""}, "b/x.c:2"),
    ("generated, not allowed", {"tests/check/layers.txt": TABLE, "a/x.c": '# include "v.pb-c.h"\n'}, "must not include messages"),
    ("no row", {"tests/check/layers.txt": TABLE, "z/x.c": ""}, "belongs to no row"),
    ("missing file", {"tests/check/layers.txt": TABLE, "a/x.c": '#include "gone.h"\n'}, "no file of the tree"),
    ("generated beside it", {"tests/check/layers.txt": TABLE, "a/x.c": '#include "made.h"\n', "a/CMakeLists.txt": "OUTPUT made.h"}, None),
    ("all in order", {"tests/check/layers.txt": TABLE, "a/x.c": '#include "base/x.h"\n', "base/x.h": "", "b/b.c": '#include "a/one.h"\n', "a/one.h": "", "m/m.c": '#include "b/b.h"\n', "b/b.h": ""}, None),
])
