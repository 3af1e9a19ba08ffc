#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files and functions that the map and the pages of the rooms name are there, and the map is one page: pages.py ROOT."""
import os
import re

import tree

MAP = "docs/architecture.md"
MAP_LINES_MOST = 150
GENERATED = ("ingero/v1/methods.def",)
TOKEN = re.compile(r"`([^`\s]+)`")
FILE = re.compile(r"^[\w*][\w./*-]*(?:/|\.(?:c|h|def|proto|py|md|txt|cmake|bpf\.c))$")
FUNCTION = re.compile(r"^(\w+)\(\)$")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def found(files, directories, name, is_map):
    """Files that a page means by a name: whole paths on the map, their ends on the page of a room; NAME stands for any."""
    pattern = r"[\w.-]+".join(re.escape(part) for part in name.rstrip("/").replace("NAME", "*").split("*"))
    pattern = re.compile(("^" if is_map else "(^|/)") + pattern + "$")
    return [one for one in (directories if name.endswith("/") else files) if pattern.search(one)]


def check(files_tree):
    files = files_tree.files("*")
    directories = {os.path.dirname(file) for file in files}
    directories |= {"/".join(one.split("/")[:n]) for one in directories for n in range(1, one.count("/") + 2)}
    problems = []
    for page in [MAP, *files_tree.files("docs/rooms/*.md")]:
        lines = files_tree.lines(page)
        if page == MAP and len(lines) > MAP_LINES_MOST:
            problems.append(f"{page}: {len(lines)} lines; a map has at most {MAP_LINES_MOST}")
        for number, line in enumerate(lines, 1):
            where = f"{page}:{number}"
            named = []
            for token in TOKEN.findall(line):
                if "/" in token and FILE.match(token):
                    those = found(files, directories, token, page == MAP)
                    named += those
                    if not those and token not in GENERATED:
                        problems.append(f"{where}: there is no {token}")
            functions = [match[1] for match in map(FUNCTION.match, TOKEN.findall(line)) if match]
            for name in functions if page == MAP else ():
                if not any(f"{name}(" in files_tree.text(file) for file in named if file in files):
                    problems.append(f"{where}: none of the files of this line has {name}()")
            for link in LINK.findall(line):
                target = os.path.normpath(os.path.join(os.path.dirname(page), link))
                if target not in files and target not in directories:
                    problems.append(f"{where}: the link leads to no file: {link}")
    return problems


def sample(text, **more):
    return {MAP: text, "collectord/pipeline.c": "void pipeline_call(void);\n", "cli/list.h": "", "docs/a.md": "", **more}


tree.run(check, [
    ("no such file", sample("`collectord/gone.c`\n"), "there is no collectord/gone.c"),
    ("no such folder", sample("`collectord/gone/`\n"), "there is no collectord/gone/"),
    ("no such function", sample("`collectord/pipeline.c` `pipeline_gone()`\n"), "has pipeline_gone()"),
    ("a second function that does not exist", sample("`collectord/pipeline.c` `pipeline_call()`, `gone()`\n"), "has gone()"),
    ("no file of that kind", sample("`cli/commands/NAME.c`\n"), "there is no cli/commands/NAME.c"),
    ("a link to nothing", sample("[page](b.md)\n"), "leads to no file: b.md"),
    ("too long", sample("\n" * 151), "151 lines"),
    ("a room's page", sample("", **{"docs/rooms/a.md": "`rpc/gone.c`\n"}), "docs/rooms/a.md:1: there is no rpc/gone.c"),
    ("the end of a path", sample("", **{"docs/rooms/a.md": "`pipeline.c`, `commands/`, `cli/list.h`\n", "cli/commands/a.c": ""}), None),
    ("all in order", sample("`collectord/pipeline.c` `pipeline_call()` `cli/NAME.h` `cli/` [page](a.md) `a/b c`\n"), None),
])
