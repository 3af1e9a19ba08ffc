#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No #include points up: layers.txt says which part may include which, rooms.txt which room lies below which."""
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


def circles_of(arrows):
    """Sets of rooms that reach each other. arrows: {room: rooms that it includes}"""
    def reached(room):
        found, todo = set(), [room]
        while todo:
            for other in arrows.get(todo.pop(), ()):
                if other not in found:
                    found.add(other)
                    todo.append(other)
        return found

    reach = {room: reached(room) for room in arrows}
    circles = {frozenset(other for other in reach[room] if room in reach.get(other, ())) for room in arrows if room in reach[room]}
    return sorted(sorted(circle) for circle in circles)


def house(files_tree, includes):
    """Circles and arrows that point up among the rooms, (limit, what each is) by kind. includes: (file, line, file it includes)"""
    rooms, limits, arrows, upward = [], {}, {}, []
    for _, (kind, *words) in tree.table(files_tree.text("tests/check/rooms.txt")):
        if kind == "limit":
            limits[words[0]] = int(words[1])
        else:
            rooms.append(words[0])
    for includer, number, target in includes:
        room, other = part_of(rooms, includer), part_of(rooms, target)
        if None in (room, other):
            upward.append(f"{includer if room is None else target}: is in no room of tests/check/rooms.txt")
        elif room != other:
            arrows.setdefault(room, set()).add(other)
            if rooms.index(other) > rooms.index(room):
                upward.append(f"{includer}:{number}: {room} lies below {target}")
    circles = circles_of(arrows)
    # a circle of three rooms takes two arrows away to open, at least
    return {"circles": (limits["circles"], sum(len(circle) - 1 for circle in circles), [" - ".join(circle) for circle in circles]),
            "upward": (limits["upward"], len(upward), upward)}


def check(files_tree):
    rows = {}
    problems, includes = [], []
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
            if target not in ("messages", "skeleton"):
                includes.append((includer, number, target))
            other = target if target in ("messages", "skeleton") else part_of(rows, target)
            # a row may allow one file of a part: named with its ending
            if other != part and "*" not in rows[part] and other not in rows[part] and target not in rows[part]:
                problems.append(f"{includer}:{number}: {part} must not include {target}")
    for kind, (limit, n, lines) in house(files_tree, includes).items():
        if n > limit:
            problems += [f"{kind}: {n}, tests/check/rooms.txt has {limit}"] + lines
        elif os.path.realpath(files_tree.root) == os.path.realpath(os.path.join(os.path.dirname(__file__), "../..")):
            print(f"{kind}: {n}, at most {limit}")
            print("\n".join(f"  {line}" for line in lines), end="\n" if lines else "")
    return problems


def sample(files, rooms="", allowed="*", circles=0, upward=0):
    """A tree whose rows allow everything, so that the order of its rooms is all that speaks."""
    names = sorted({name.split("/")[0] for name in files})
    return {**files, "tests/check/layers.txt": "".join(f"{name} {allowed}\n" for name in names),
            "tests/check/rooms.txt": f"limit circles {circles}\nlimit upward {upward}\n" + "".join(f"room {name}\n" for name in rooms.split())}


TABLE = "base\na base\nb base a/one.h\nc messages\nm *\n"
ROOMS = "limit circles 0\nlimit upward 0\nroom base\nroom a\nroom b\nroom c\nroom m\n"
UP = {"a/x.c": '#include "b/y.h"\n', "b/y.h": ""}
CIRCLE = {"a/x.h": "", "a/y.h": '#include "b/y.h"\n', "b/y.h": '#include "c/z.h"\n', "c/z.h": '#include "a/x.h"\n'}
tree.run(check, [
    ("points up", {"tests/check/layers.txt": TABLE, "tests/check/rooms.txt": ROOMS, "base/x.h": '#include "a/y.h"\n', "a/y.h": ""}, "base must not include a/y.h"),
    ("by a path through the parent", {"tests/check/layers.txt": TABLE, "tests/check/rooms.txt": ROOMS, "base/x.c": '#include "../a/y.h"\n', "a/y.h": ""}, "must not include"),
    ("one file is allowed, its sibling not", {"tests/check/layers.txt": TABLE, "tests/check/rooms.txt": ROOMS, "b/x.c": '#include "a/one.h"\n#include "a/two.h"\n', "a/one.h": "", "a/two.h": ""}, "b/x.c:2"),
    ("generated, not allowed", {"tests/check/layers.txt": TABLE, "tests/check/rooms.txt": ROOMS, "a/x.c": '# include "v.pb-c.h"\n'}, "must not include messages"),
    ("no row", {"tests/check/layers.txt": TABLE, "tests/check/rooms.txt": ROOMS, "z/x.c": ""}, "belongs to no row"),
    ("missing file", {"tests/check/layers.txt": TABLE, "tests/check/rooms.txt": ROOMS, "a/x.c": '#include "gone.h"\n'}, "no file of the tree"),
    ("generated beside it", {"tests/check/layers.txt": TABLE, "tests/check/rooms.txt": ROOMS, "a/x.c": '#include "made.h"\n', "a/CMakeLists.txt": "OUTPUT made.h"}, None),
    ("all in order", {"tests/check/layers.txt": TABLE, "tests/check/rooms.txt": ROOMS, "a/x.c": '#include "base/x.h"\n', "base/x.h": "", "b/b.c": '#include "a/one.h"\n', "a/one.h": "", "m/m.c": '#include "b/b.h"\n', "b/b.h": ""}, None),
    ("up a floor", sample(UP, "a b"), "a/x.c:1: a lies below b/y.h"),
    ("down a floor", sample(UP, "b a"), None),
    ("up, as many as are known", sample(UP, "a b", upward=1), None),
    ("no room", sample(UP, "a"), "b/y.h: is in no room"),
    ("a room in a room", sample({"a/in/x.c": '#include "a/y.h"\n', "a/y.h": ""}, "a/in a"), "a/in lies below a/y.h"),
    ("a circle of three", sample(CIRCLE, "a b c", upward=9, circles=1), "a - b - c"),
    ("a circle that is known", sample(CIRCLE, "a b c", upward=9, circles=2), None),
])
