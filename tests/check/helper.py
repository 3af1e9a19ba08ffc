#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev says in 80 columns what it can do, can do what it says, and refuses the rest with one sentence."""
import os
import re
import subprocess
import tempfile

import tree

# What a machine lacks, told by programs that come first in PATH: what is called, its stand-ins, what the sentence says.
# root's are not root's: nothing is installed and nothing is changed.
NOTHING_INSTALLED = {"dpkg-query": "exit 1", "apt-get": "echo apt-get >&2; exit 1"}
ROOT = {"id": "echo 0", "stat": "echo 0", "chown": "exit 1", **NOTHING_INSTALLED}
OLD_KERNEL = {"uname": "echo 5.10.0-8-amd64"}
ANOTHER = {"sed": 'case $2 in *VERSION*) echo 42 ;; *NAME*) echo "Another 42" ;; *) echo another ;; esac'}
DEBIAN = {"sed": "case $2 in *VERSION*) echo 12 ;; *) echo debian ;; esac"}
NO_BTF = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "sh"]  # as long as the command lasts
REFUSALS = [
    (["run"], {"id": "echo 1000", **NOTHING_INSTALLED}, "sudo ./dev run"),
    (["run"], {**ROOT, **OLD_KERNEL}, "5.15"),
    (["test"], {**ROOT, **OLD_KERNEL}, "5.15"),  # before it installs anything
    (["setup", "build"], {**ROOT, **ANOTHER}, "Another 42"),
    (["setup", "build"], {**NOTHING_INSTALLED, **DEBIAN, "id": "echo 1000"}, "sudo ./dev setup build"),
]


def call(files_tree, *arguments, stand_ins=None, prefix=()):
    with tempfile.TemporaryDirectory() as directory:
        for name, script in (stand_ins or {}).items():
            path = os.path.join(directory, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n{script}\n")
            os.chmod(path, 0o755)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SUDO_")}
        environment["PATH"] = f"{directory}:{environment['PATH']}"
        return subprocess.run([*prefix, "bash", files_tree.path("dev"), *arguments], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                              env=environment, timeout=60)


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
    rows = [((), *row) for row in REFUSALS]
    if os.geteuid() == 0:  # or nothing can be hidden
        rows += [(NO_BTF, [command], ROOT, "/sys/kernel/btf/vmlinux is missing") for command in ("run", "test")]
    for prefix, arguments, stand_ins, part in rows:
        refused = call(files_tree, *arguments, stand_ins=stand_ins, prefix=prefix)
        if not refused.returncode or refused.stdout or len(refused.stderr.splitlines()) != 1 or part not in refused.stderr:
            problems.append(f"dev {' '.join(arguments)}: exit status {refused.returncode}, said '{refused.stdout}{refused.stderr}'; "
                            f"wanted one sentence with '{part}'")
    refused = call(files_tree, "run", "--secs", "3", stand_ins=ROOT)
    if refused.returncode != 2 or "--secs" not in refused.stderr or "apt-get" in refused.stderr or refused.stdout:
        problems.append(f"dev run --secs 3: exit status {refused.returncode}, said '{refused.stdout}{refused.stderr}'; wanted 2, before anything is built")
    other = call(files_tree, "format", "--check", stand_ins={"python3": "exit 42", "clang-format": "exit 0", "dpkg-query": "echo installed"})
    if other.returncode == 42:
        problems.append("dev format --check: takes whatever python3 is first in PATH; the modules are the system's")
    return problems


DEV = '''case "$*" in
"run --secs 3") echo "unknown option --secs" >&2; exit 2 ;;
esac
case $1 in
help) echo "  build  compiles"%s ;;
test) %secho "5.15, /sys/kernel/btf/vmlinux is missing" >&2; exit 1 ;;
format) %s ;;
*) echo "no: sudo ./dev run, sudo ./dev setup build, 5.15, Another 42, /sys/kernel/btf/vmlinux is missing" >&2; exit %d ;;
esac
%s()
{
	:
}
'''
tree.run(check, [
    ("takes any word", {"dev": DEV % ("", "", "", 0, "command_build")}, "wanted 2"),
    ("offers what it lacks", {"dev": DEV % ('; echo "  vm  boots"', "", "", 2, "command_build")}, "vm does not exist"),
    ("hides what it has", {"dev": DEV % ("", "", "", 2, "command_lint") + "command_build()\n{\n\t:\n}\n"}, "lint is not in its help"),
    ("installs before it asks", {"dev": DEV % ("", "apt-get update; ", "", 2, "command_build")}, "dev test"),
    ("builds before it reads options", {"dev": (DEV % ("", "", "", 2, "command_build")).replace("echo \"unknown option --secs", "echo building; echo \"x --secs")},
     "before anything is built"),
    ("too wide", {"dev": DEV % (f'; echo "{"x" * 81}"', "", "", 2, "command_build")}, "wider"),
    ("any python", {"dev": DEV % ("", "", "python3 layout.py; exit", 2, "command_build")}, "whatever python3"),
    ("as expected", {"dev": DEV % ("", "", "", 2, "command_build")}, None),
])
