#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
first_contact.py BUILD: every command of the table of commands, met for the first time: bare, without data, without root, without
a service, with a wrong argument. Exit status 2 for misuse, 1 for a file, service or right that is missing, 0 otherwise; a
refusal is one or two lines that name the thing and the way out. A command without a row here fails.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import kept  # noqa: E402

OK, MISSING, MISUSE = 0, 1, 2
COLUMNS = 80
ROWS = 2  # lines of a refusal
# Of each command, without anything: the exit status, and what the answer names.
BARE = {
    "trace": (MISSING, r"start the service|sudo"),
    "explain": (MISSING, r"sudo ingero trace|ingero trace"),
    "blame": (MISSING, r"ingero trace"),
    "compare": (MISUSE, r"10m\.\.5m 5m"),
    "stacks": (MISSING, r"ingero trace"),
    "query": (MISSING, r"ingero trace"),
    "export": (MISUSE, r"-o FILE"),
    "demo": (OK, "cold-start"),
    "status": (MISSING, r"start the service|sudo"),
    "config": (MISUSE, r"'check' or 'show'"),
    "check": ((OK, MISSING), "kernel"),
    "mcp": (OK, ""),
    "completion": (MISUSE, "bash, zsh"),
    "version": (OK, r"\d"),
    "help": (OK, "usage"),
}
# Further words that a command needs before anything else can be wrong with it.
NEEDS = {"export": ["-o", "out.db"], "compare": ["10m..5m", "5m"], "query": ["SELECT 1"]}
# A word that is none of those a command takes.
WORDS = {
    "blame": (MISUSE, "'frobnicate'"), "explain": (MISUSE, "'frobnicate'"), "query": (MISUSE, "'frobnicate'"), "demo": (MISUSE, "'frobnicate'.*cpu-contention"),
    "config": (MISUSE, "'check' or 'show'.*'frobnicate'"), "completion": (MISUSE, "'frobnicate'.*bash"), "help": (MISUSE, "'frobnicate'"),
}
DATABASES = {
    "not there": ("gone.db", r"gone\.db"),
    "in no directory": ("gone/x.db", r"gone/x\.db"),
    "a directory": (".", r"'?\.'?|directory|/"),
    "no database": ("text.db", r"text\.db"),
    "empty": ("empty.db", r"empty\.db"),
    "not to be read": ("closed.db", r"closed\.db"),
}
WAY_OUT = re.compile(r"; |'ingero |--help|did you mean|such as|takes |needs|only for")


class World:
    """A user without rights in an empty home, on a machine without the service."""

    def __init__(self, check, build, directory):
        self.check, self.directory = check, directory
        self.program = os.path.join(build, "bin", "ingero")
        self.become = ["setpriv", "--reuid", str(kept.NOBODY), "--regid", str(kept.NOBODY), "--clear-groups"] if os.geteuid() == 0 else []
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("SUDO_", "INGERO_"))}
        self.environment |= {"HOME": directory, "COLUMNS": str(COLUMNS)}

    def run(self, *words):
        return subprocess.run([*self.become, self.program, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                              env=self.environment, cwd=self.directory, timeout=60)

    def meet(self, situation, words, status, said):
        done = self.run(*words)
        name = f"{situation}: ingero {' '.join(words)}"
        wanted = status if isinstance(status, tuple) else (status,)
        both = " ".join((done.stdout + done.stderr).split())
        self.check(f"{name}: exit status", done.returncode in wanted, done.returncode, done.stderr)
        self.check(f"{name}: names the thing", re.search(said, both), both[:400])
        if done.returncode and words[0] != "check":  # that is a report, whatever it says
            lines = done.stderr.splitlines()
            self.check(f"{name}: a sentence", 1 <= len(lines) <= ROWS and not done.stdout and lines[0].startswith("ingero: "), done.stderr, done.stdout[:200])
            self.check(f"{name}: the way out", WAY_OUT.search(done.stderr.removeprefix("ingero: ")), done.stderr)


def test_arguments(world, command):
    name, needs = command["name"], NEEDS.get(command["name"], [])
    world.meet("an unknown option", [name, "--frobnicate"], MISUSE, f"'--frobnicate' .*ingero help {name}|'--frobnicate'.*'ingero help'")
    world.meet("an unknown letter", [name, "-Z"], MISUSE, "'-Z'")
    world.meet("a word", [name, "frobnicate"], *(WORDS[name] if name in WORDS else (MISUSE, "'frobnicate'")))
    world.meet("help", [name, "--help"], OK, f"usage: ingero {name}")
    for option in command["options"]:
        if option["value"]:
            is_optional = option["name"] == "record" or option["value"].startswith("[")
            world.meet("no value", [name, *needs, "--" + option["name"]], (OK, MISSING, MISUSE) if is_optional else MISUSE, f"'--{option['name']}'|sudo")


def test_databases(world, command):
    # an editor starts mcp before anything is recorded; its answers say so
    if command["name"] in ("trace", "mcp") or not any(option["name"] == "db" for option in command["options"]):
        return
    for what, (path, said) in DATABASES.items():
        if what == "not to be read" and os.geteuid() != 0:
            continue  # it would be one's own
        if command["name"] == "demo":
            continue  # it makes one
        world.meet(f"a database that is {what}", [command["name"], *NEEDS.get(command["name"], []), "--db", path], MISSING, said)


def main(build):
    if os.geteuid() == 0:
        kept.in_own_mounts("")
        subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)  # no service
    check = kept.Checks()
    with tempfile.TemporaryDirectory(prefix="ingero-first-") as directory:
        os.chmod(directory, 0o777)
        pathlib.Path(directory, "text.db").write_text("this is no database\n" * 100, encoding="utf-8")
        pathlib.Path(directory, "empty.db").touch()
        pathlib.Path(directory, "closed.db").write_text("x", encoding="utf-8")
        os.chmod(os.path.join(directory, "closed.db"), 0)
        world = World(check, build, directory)
        world.meet("nothing", [], OK, "usage")
        world.meet("no command", ["frobnicate"], MISUSE, "'frobnicate'.*ingero help")
        world.meet("an option first", ["--frobnicate"], MISUSE, "'--frobnicate'.*ingero help")
        commands = json.loads(world.run("help", "--json").stdout)["commands"]
        check("commands are listed", len(commands) > 5, commands)
        for command in commands:
            name = command["name"]
            if not check(f"{name} has a row here", name in BARE):
                continue
            world.meet("bare, without data, root and service", [name], *BARE[name])
            test_arguments(world, command)
            test_databases(world, command)
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
