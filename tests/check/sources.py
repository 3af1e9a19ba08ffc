#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Licence lines come first, nothing in the tree belongs to one machine or one moment, its rooms are known, and no product file is too long."""
import re

import tree

KERNEL_LICENCE = "SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause"
LICENCE = "SPDX-License-Identifier: Apache-2.0"
CODE = ("*.c", "*.h", "*.def", "*.cc", "*.proto", "*.py", "*.sh", "*.cmake", "*CMakeLists.txt", "*.txt", "*.map",
        "dev", ".ci/run", "tests/vm/vm", "tests/check/lint")
DATA = ("tests/support/exports/*", "tests/fuzz/corpus/*", "*/expected/*", "docs/measurements/*", "tests/data/golden/*", "tests/data/screens/*")
TEXT = CODE + ("*.md", "*.json", "*.in", "*.service", "*.socket")

PRODUCT = ("*.c", "*.h", "*.def", "*.proto")
LINES_MOST = 600

# what, why not; spelled in pieces, so that this file is not found
NOT_HERE = (
    (r"(?<![\w.])/" + r"(work|farm|home/\w+|root)/", "a path of one machine"),
    (r"/tmp" + r"/[A-Za-z0-9]", "a fixed name in a directory that everybody shares: use mktemp"),
    (r"\b(deb|ftp|security|snapshot)\." + r"debian\.org|py" + r"pi\.org|crates" + r"\.io|npm" + r"js\.|proxy\.go" + r"lang", "a registry's host: the machine's own settings say it"),
    (r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b(?! when)", "unfinished: do it, or say 'when' it can be done"),
    (r"\b(clau" + r"de|chat" + r"gpt|large language " + r"model|AI assis" + r"tant|AI-gene" + r"rated)\b", "who wrote it is not the tree's business"),
    (r"\.\./" + r"shared\b", "outside the tree"),
    (r"[ \t]+$", "blanks at the end of the line"),
)

# Snippets for editors name the editors.
EDITORS = ("mcp-server/editors.def", "docs/editors.md", "tests/e2e/mcp_editors.py", "tests/support/mcp_programs.py")

# where, but not where, what, why not
NOT_THERE = (
    ("collectord/", "collectord/procs/", r'"/proc(/%|/"|")', "what /proc says of processes is read through procs/procfs.h"),
)

# what lies at the top; a directory that a test left there is none of them
ROOMS = {"base", "bpf", "cli", "cmake", "collectord", "docs", "libingero", "mcp-server", "proto", "systemd", "tests", "web", ".ci"}


def first_lines(files_tree, name):
    return files_tree.lines(name)[:2]


def check(files_tree):
    problems = []
    data = set(files_tree.files(*DATA))
    for name in files_tree.files(*CODE):
        if name in data:
            continue
        is_kernel_side = name.startswith("bpf/") and not name.endswith("CMakeLists.txt") or name.endswith(".bpf.c")
        want = KERNEL_LICENCE if is_kernel_side else LICENCE
        lines = first_lines(files_tree, name)
        if lines and lines[0].startswith("#!"):
            lines = lines[1:]
        if not lines or want not in lines[0]:
            problems.append(f"{name}: the first line is not '{want}'")
    for name in files_tree.files("*"):
        if "/" in name and name.split("/")[0] not in ROOMS:
            problems.append(f"{name}: '{name.split('/')[0]}' is no room of the tree")
    for name in files_tree.files(*PRODUCT):
        if not name.startswith("tests/") and len(files_tree.lines(name)) > LINES_MOST:
            problems.append(f"{name}: {len(files_tree.lines(name))} lines; a file of the product has at most {LINES_MOST}")
    patterns = [(re.compile(pattern, re.I if "clau" in pattern else 0), why) for pattern, why in NOT_HERE]
    for name in files_tree.files(*TEXT):
        if name in data or name == "LICENSE":
            continue
        for number, line in enumerate(files_tree.lines(name), 1):
            for pattern, why in patterns:
                if pattern.search(line) and not (name in EDITORS and why.startswith("who wrote")):
                    problems.append(f"{name}:{number}: {why}: {line.strip()[:80]}")
            for where, but, pattern, why in NOT_THERE:
                if name.startswith(where) and not name.startswith(but) and re.search(pattern, line):
                    problems.append(f"{name}:{number}: {why}: {line.strip()[:80]}")
    return problems


SPDX = "// SPDX-License-" + "Identifier: Apache-2.0\n"
tree.run(check, [
    ("left by a test", {"target-XY/lib.so": ""}, "target-XY/lib.so: 'target-XY' is no room"),
    ("no licence", {"base/a.c": "int a;\n"}, "base/a.c: the first line"),
    ("wrong licence for the kernel side", {"bpf/a.h": SPDX}, "bpf/a.h: the first line"),
    ("licence on line 2 of C", {"a.c": "\n" + SPDX}, "a.c: the first line"),
    ("one machine's path", {"a.c": SPDX + 'open("/' + 'root/x");\n'}, "a.c:2: a path of one machine"),
    ("shared directory", {"a.c": SPDX + 'open("/tmp' + '/x");\n'}, "use mktemp"),
    ("registry", {"a.md": "http://deb." + "debian.org\n"}, "a registry's host"),
    ("unfinished", {"a.c": SPDX + "// TO" + "DO: all of it\n"}, "unfinished"),
    ("blanks at the end", {"a.c": SPDX + "int a; \n"}, "blanks"),
    ("/proc beside its room", {"collectord/a.c": SPDX + 'open("/proc", O_PATH);\n'}, "collectord/a.c:2: what /proc says"),
    ("a process in it", {"collectord/rpc/a.c": SPDX + 'snprintf(path, n, "/proc/%u/exe", pid);\n'}, "what /proc says"),
    ("in its room, and our own", {"collectord/procs/a.c": SPDX + 'open("/proc");\n', "collectord/a.c": SPDX + 'open("/proc/self/exe");\n'}, None),
    ("too long", {"base/a.c": SPDX + "int a;\n" * LINES_MOST}, "base/a.c: 601 lines"),
    ("as expected", {"a.c": SPDX + "int a;\n", "s.sh": "#!/bin/bash\n" + SPDX.replace("//", "#"), "a.md": "text\n"}, None),
])
