#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
cli_options.py INGERO: a thousand wrong command lines, most of them made from the tables of options, each with one thing
wrong; each must end with status 2, one line on stderr and nothing on stdout. So must right ones whose environment does not say who asks.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

LINES = 1000
# What no value of a kind looks like, with the option's own limits beside it.
BAD_VALUES = {
    "number": ["", "x", "1.5", "-3", "0x10", "99999999999999999999", " 5", "5 ", "\u0663"],
    "size": ["", "big", "-1m", "5q", "1 m", "99999999999999999999g"],
    "duration": ["", "30", "-1s", "5 s", "99999999999999w", "1h30", "m", "5m3"],
    "time": ["", "25:00", "2026-02-30", "14", "5m", "yesterday", "14:03 ", "\u0661\u0664:03"],
    "text": [""],
    "pids": ["", "x", "0", "1,,2", "99999999999999999999", "-1", "\u0663"],
    "users": ["", "no-such-user-here", "root,", "4294967295"],
    "choice": ["", "everything", "Slow"],
}
UNKNOWN_OPTIONS = ["--dration", "--Json", "-Z", "--pid-", "--\x1b[2J", "--\u25b2", "--a b", "--=", "---", "-\n", "--help=1"]
# Right by their form and refused for what they mean together.
BAD_TOGETHER = [
    ["trace", "--ringbuf-size", "3m"], ["trace", "--pid", "1", "--user", "root"], ["trace", "--pid", "1", "--", "true"],
    ["trace", "--all", "--", "true"], ["trace", "--user", "root", "--", "true"], ["trace", "--"], ["trace", "--", ""], ["trace", "python"],
    ["trace", "--duration", "0"], ["trace", "-d0s", "--json"], ["query", "SELECT 1", "--timeout", "0"],
    ["trace", "--stack", "maybe"], ["trace", "--stack=maybe"], ["trace", "--py-walker", "userspace"], ["trace", "--record=no"], ["trace", "--json=no"], ["export", "-d"], ["trace", "--inference-warmup", "3"], ["explain", "--nodes=a"], ["query", "--include-rolled"],
    ["completion"], ["completion", "tcsh"], ["help", "frobnicate"], ["help", "--man", "--json"],
    ["explain", "--since", "0"], ["blame", "--since", "0s"], ["explain", "--since", "5"], ["explain", "--since", "yesterday"], ["explain", "--from", "5m"], ["explain", "--from", "25:00"],
    ["explain", "--from", "2026-02-30"], ["explain", "--to", "14"], ["explain", "--from=14:03 "], ["explain", "--from", "\u0661\u0664:03"],
    ["explain", "--from", "2026-01-31", "--to", "2026-01-30"], ["explain", "--since", "5m", "--from", "10:00"],
    ["explain", "--last", "0"], ["explain", "--last", "5", "--since", "5m"], ["explain", "xyz"], ["explain", ""],
    ["explain", "8f3a2c", "--since", "5m"], ["explain", "8f3a2c", "8f3a2d"], ["explain", "--db="],
    ["query", "DROP TABLE events"], ["query", "SELECT", "op", "FROM", "operations"], ["config"], ["config", "show", ""], ["query", "selection"], ["query", "--sql", "SELECT 1", "SELECT 2"], ["query", "--sql="],
    ["query", "SELECT 1", "--pid", "1"], ["query", "--timeout", "5s"], ["query", "--limit", "-1"], ["query", "--min-duration", "5"],
    ["export"], ["export", "-o"], ["export", "-o", "x", "--format", "perfetto"], ["export", "-o", "x", "y"],
    ["export", "-o", "x", "--since", "1h", "--to", "now"],
    ["stacks", "--json", "--format", "svg"], ["stacks", "--force"], ["stacks", "--output", "-", "--force"], ["stacks", "--before-db", "x.db"],
    ["stacks", "--format", "svg", "--before-from", "10:00"], ["stacks", "--format", "folded", "--before-to", "10:00"],
    ["stacks", "--format", "pprof", "--before-from", "2026-01-30", "--before-to", "2026-01-31"],
    ["stacks", "--format", "svg", "--before-from", "2026-01-31", "--before-to", "2026-01-30"],
    ["stacks", "--format", "svg", "--before-db", "x.db", "--limit", "3"], ["stacks", "--measure", "blame"], ["stacks", "--since", "0"],
    ["compare"], ["compare", "5m"], ["compare", "10m", "5m"], ["compare", "5m..10m", "2m"], ["compare", "10m..soon", "5m"], ["compare", "pid:0", "pid:1"],
    ["compare", "a.db", "5m"], ["compare", "a.db", "b.db", "--db", "c.db"], ["compare", "10m..5m", "5m", "1m"], ["compare", "10m..5m", "5m", "--fail-over", "lots"],
]
# What Ingero's users know and this version lacks: refused by name, with a way out behind the semicolon.
ABSENT = [
    (["check", "--support-bundle", "x"], "--support-bundle"), (["check", "--support-bundle=x"], "--support-bundle"),
    (["trace", "--py-walker=userspace"], "--py-walker=userspace"), (["trace", "--stack-samples", "5"], "--stack-samples"), (["demo", "--stack"], "--stack"),
    (["trace", "-v"], "-v"), (["trace", "--verbose"], "--verbose"), (["demo", "-v"], "-v"), (["demo", "-d", "5s"], "-d"),
    (["demo", "cold-start", "-d5s"], "-d"),
    (["--debug", "trace"], "--debug"), (["--config", "x", "trace"], "--config"), (["--config=x", "trace"], "--config"),
    (["trace", "--config=x"], "--config"), (["--fleet-require-tls", "query"], "--fleet-require-tls"),
    (["export", "-o", "x", "--format", "perfetto"], "--format=perfetto"), (["export", "--format=perfetto"], "--format=perfetto"),
    (["explain", "--nodes=a"], "--nodes"), (["trace", "--nccl-lib", "x"], "--nccl-lib"), (["trace", "--nccl=false"], "--nccl"), (["fleet-push"], "fleet-push"),
]
# Slips that come naturally: the way out is what was meant. Of the two files, one has the name of a database and the other exists.
MEANT = [
    (["explain", "lock.db"], "'lock.db' is no id; to read that file: --db 'lock.db'"),
    (["explain", "lock.db", "--since", "5m"], "'lock.db' is no id; to read that file: --db 'lock.db'"),
    (["explain", "a recording"], "'a recording' is no id; to read that file: --db 'a recording'"),
    (["blame", "lock.db"], "blame takes no argument 'lock.db'; to read that file: --db 'lock.db'"),
    (["export", "-o", "x", "a recording"], "export takes no argument 'a recording'; to read that file: --db 'a recording'"),
    (["query", "lock.db"], "query takes one SELECT in quotes or .tables, not 'lock.db'; to read that file: --db 'lock.db'"),
    (["query", "lock.db", "SELECT 1"], "query takes one SELECT in quotes or .tables, not 'lock.db'; to read that file: --db 'lock.db'"),
    (["query", "SELECT", "a recording"], "the shell needs quotes around a SELECT: ingero query 'SELECT ...'"),
    (["status", "lock.db"], "status takes no argument 'lock.db'; 'ingero help status' shows what it takes"),
    (["trace", "lock.db"], "trace takes no argument 'lock.db'; a program to start goes after '--': ingero trace -- PROGRAM"),
    (["flame"], "unknown command 'flame'; 'ingero stacks --format svg' draws a flame graph of recorded calls"),
    (["stacks", "lock.db"], "stacks takes no argument 'lock.db'; to read that file: --db 'lock.db'"),
    (["account"], "unknown command 'account'; 'ingero blame' shows where the time of each thread went"),
    (["help", "account"], "there is no command 'account' to help with; 'ingero blame' shows where the time of each thread went"),
    (["lock.db"], "unknown command 'lock.db'; a command reads files: ingero explain --db FILE"),
    (["diff"], "unknown command 'diff'; 'ingero compare A B' shows what got slower"),
    (["report"], "unknown command 'report'; 'ingero explain' reports what went wrong"),
    (["sql"], "unknown command 'sql'; SQL goes to query: ingero query 'SELECT ...'"),
]
# What root's environment may say of who typed sudo, and none of it is a user: no command takes root for him.
UNCLEAR = [
    {"SUDO_UID": "abc", "SUDO_GID": "100"}, {"SUDO_UID": "", "SUDO_GID": ""}, {"SUDO_UID": "1000", "SUDO_GID": "-1"},
    {"SUDO_UID": "1000"}, {"SUDO_GID": "1000"}, {"SUDO_UID": "4294967295", "SUDO_GID": "1"}, {"SUDO_UID": " 0", "SUDO_GID": "0"},
    {"SUDO_UID": "0x0", "SUDO_GID": "0"}, {"SUDO_UID": "99999999999999999999", "SUDO_GID": "0"},
]
# Options with a value that Ingero's users type without one (cli/absent.def, and .bare in rows).
BARE = {("trace", "record"), ("trace", "stack")}
UNKNOWN_COMMANDS = ["dashboard", "merge", "fleet-push",
                    "trcae", "Trace", "", " ", "--frobnicate", "-x", "\x1b[31m", "a" * 5000, "stats\nus"]


def broken_value(choose, command):
    """An option of the command with a value that is none of its kind, or with one too many, or without one."""
    option = choose.choice(command["options"])
    name = "--" + option["name"]
    if option["kind"] == "flag":
        return [name + "=" + choose.choice(["1", "yes", "", "\u25b2"])]
    bad = list(BAD_VALUES[option["kind"]])
    if option["min"]:
        bad.append(str(option["min"] - 1))
    if option["max"]:
        bad.append(str(option["max"] + 1))
    value = choose.choice(bad if (command["name"], option["name"]) in BARE else bad + [None])
    if value is None:
        return [name]  # the last word: nothing follows
    if option["letter"] and value and choose.random() < 0.3:
        return ["-" + option["letter"], value]
    return [name + "=" + value] if choose.random() < 0.5 else [name, value]


def broken(choose, commands):
    kind = choose.randrange(5)
    command = choose.choice([command for command in commands if command["options"]])
    if kind == 0:
        return [choose.choice(UNKNOWN_COMMANDS)]
    if kind == 1:
        return [command["name"], choose.choice(UNKNOWN_OPTIONS)]
    if kind == 2:
        return [command["name"]] + broken_value(choose, command)
    if kind == 3:
        return list(choose.choice(BAD_TOGETHER))
    # a random word where none belongs
    word = "".join(choose.choice("abcdefgh\u00e9\u25b2%$\\'\"\t") for _ in range(choose.randrange(1, 40)))
    return [choose.choice([command["name"] for command in commands if not command["takes"]]), word]


def refused(ingero, line, home, sudo=None):
    """Status, stdout and stderr, and whether it is one sentence and nothing else."""
    done = subprocess.run([ingero, *line], stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=home, env={**os.environ, "HOME": home, **(sudo or {})})
    text = done.stderr.decode(errors="replace")
    is_right = done.returncode == 2 and not done.stdout and text.count("\n") == 1 and text.startswith("ingero: ") and \
        not any(ord(c) < 32 for c in text[:-1])
    return is_right, f"status {done.returncode}, stdout {done.stdout[:200]!r}, stderr {text[:400]!r}", text


def main(ingero):
    choose = random.Random(20260101)  # the same lines each time
    commands = json.loads(subprocess.run([ingero, "help", "--json"], capture_output=True, check=True).stdout)["commands"]
    problems = 0
    home = tempfile.mkdtemp()
    for number in range(LINES):
        line = broken(choose, commands)
        is_right, said, _ = refused(ingero, line, home)
        if not is_right:
            problems += 1
            print(f"line {number} {line!r}: {said}", file=sys.stderr)
    for line in BAD_TOGETHER:  # by chance not all of them came
        is_right, said, _ = refused(ingero, line, home)
        if not is_right:
            problems += 1
            print(f"{line!r}: {said}", file=sys.stderr)
    for line, name in ABSENT:
        is_right, said, text = refused(ingero, line, home)
        if not is_right or not text.startswith(f"ingero: '{name}' is not supported; "):
            problems += 1
            print(f"{line!r}, which is known and absent: {said}", file=sys.stderr)
    recording = os.path.join(home, "a recording")
    with open(recording, "w", encoding="utf-8"):
        for line, want in MEANT:
            is_right, said, text = refused(ingero, line, home)
            if not is_right or text != f"ingero: {want}\n":
                problems += 1
                print(f"{line!r}, which is a slip: {said}", file=sys.stderr)
    os.unlink(recording)
    for sudo in UNCLEAR if os.geteuid() == 0 else ():
        for command in ("trace", "--", "id", "-u"), ("explain",), ("status",), ("query", "SELECT 1"), ("config", "show"):
            is_right, said, text = refused(ingero, command, home, sudo)
            if not is_right or "SUDO_" not in text:
                problems += 1
                print(f"{sudo!r} {command!r}: {said}", file=sys.stderr)
    written = os.listdir(home)
    shutil.rmtree(home)
    if written:
        problems += 1
        print(f"written: {written}", file=sys.stderr)
    print(f"{LINES + len(BAD_TOGETHER) + len(ABSENT)} wrong command lines, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
