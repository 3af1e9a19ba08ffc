#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev says in 80 columns what it can do, can do what it says, and refuses the rest with one sentence."""
import re
import subprocess

import tree


def call(files_tree, *arguments):
    return subprocess.run(["bash", files_tree.path("dev"), *arguments], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def check(files_tree):
    problems = []
    told = call(files_tree, "help")
    if told.returncode:
        problems.append(f"dev help: exit status {told.returncode}: {told.stderr}")
    problems += [f"dev help: wider than 80 columns: {line}" for line in told.stdout.splitlines() if len(line) > 80]
    commands = re.findall(r"^  ([a-z]+)\b", told.stdout, re.M)
    functions = re.findall(r"^command_([a-z]+)\(\)", files_tree.text("dev"), re.M)
    problems += [f"dev: {name} is not in its help" for name in functions if name not in commands]
    problems += [f"dev help: {name} does not exist" for name in commands if name not in functions and name != "help"]
    refused = call(files_tree, "no-such-command")
    if refused.returncode != 2 or refused.stdout or len(refused.stderr.splitlines()) != 1:
        problems.append(f"dev no-such-command: exit status {refused.returncode}, said '{refused.stdout}{refused.stderr}'; wanted 2 and one sentence")
    return problems


DEV = '''case $1 in
help) echo "  build  compiles"%s ;;
*) echo "no" >&2; exit %d ;;
esac
%s()
{
	:
}
'''
tree.run(check, [
    ("takes any word", {"dev": DEV % ("", 0, "command_build")}, "wanted 2"),
    ("offers what it lacks", {"dev": DEV % ('; echo "  vm  boots"', 2, "command_build")}, "vm does not exist"),
    ("hides what it has", {"dev": DEV % ("", 2, "command_lint") + "command_build()\n{\n\t:\n}\n"}, "lint is not in its help"),
    ("too wide", {"dev": DEV % (f'; echo "{"x" * 81}"', 2, "command_build")}, "wider"),
    ("as it should be", {"dev": DEV % ("", 2, "command_build")}, None),
])
