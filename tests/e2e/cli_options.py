#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
cli_options.py INGERO: a thousand wrong command lines, each a right one with one thing
broken; each must end with status 2, one line on stderr and nothing on stdout.
"""
import random
import subprocess
import sys

LINES = 1000
RIGHT = [
    ["trace", "--duration", "5s"],
    ["trace", "-p", "4711", "--json"],
    ["trace", "--pid=1,2,3", "--record", "all"],
    ["trace", "--user", "root", "--no-color"],
    ["trace", "--sampling-rate", "64", "--all"],
    ["trace", "--ringbuf-size=8m"],
    ["trace", "--back-end", "multi", "--", "true"],
    ["status", "--json"],
    ["explain", "--since", "1h30m", "-p", "4711"],
    ["explain", "--json", "8f3a2c"],
    ["query", "--from", "2026-01-31 14:03", "--to=now", "--limit", "5"],
    ["query", "SELECT 1"],
    ["export", "-o", "/nowhere/x.db", "--force"],
    ["demo", "cold-start", "--speed", "20"],
    ["version"],
    ["version", "--json"],
    ["help", "trace"],
]
UNKNOWN_OPTIONS = ["--dration", "--Json", "--", "-Z", "--pid-", "--\x1b[2J", "--\u25b2", "--a b", "--=", "---", "-\n", "--help=1"]
BAD_VALUES = [
    ["--duration", "30"], ["--duration=-1s"], ["--duration", "5 s"], ["--duration="], ["-d", "99999999999999w"],
    ["--pid", "x"], ["--pid", "0"], ["--pid=1,,2"], ["--pid", "99999999999999999999"], ["-p", "-1"], ["-p", "\u0663"],
    ["--user", "no-such-user-here"], ["--user="], ["--user", "4294967295"],
    ["--record", "everything"], ["--record="], ["--record-all=yes"],
    ["--sampling-rate", "1.5"], ["--sampling-rate", "4294967296"], ["--sampling-rate", "-3"],
    ["--ringbuf-size", "3m"], ["--ringbuf-size", "1"], ["--ringbuf-size", "1t"], ["--ringbuf-size", "big"],
    ["--back-end", "ebpf"], ["--back-end"], ["--json=1"], ["--no-color=x"],
    ["--pid", "1", "--user", "root"], ["--pid", "1", "--", "true"], ["--all", "--", "true"], ["--user", "root", "--", "true"],
    ["--"], ["--", ""], ["python"],
]
BAD_READS = [
    ["explain", "--since", "5"], ["explain", "--since", "yesterday"], ["explain", "--from", "5m"], ["explain", "--from", "25:00"],
    ["explain", "--from", "2026-02-30"], ["explain", "--to", "14"], ["explain", "--from=14:03 "], ["explain", "--from", "\u0661\u0664:03"],
    ["explain", "--from", "2026-01-31", "--to", "2026-01-30"], ["explain", "--since", "5m", "--from", "10:00"],
    ["explain", "--last", "0"], ["explain", "--last", "5", "--since", "5m"], ["explain", "xyz"], ["explain", ""],
    ["explain", "8f3a2c", "--since", "5m"], ["explain", "8f3a2c", "8f3a2d"], ["explain", "--db="],
    ["query", "DROP TABLE events"], ["query", "selection"], ["query", "--sql", "SELECT 1", "SELECT 2"], ["query", "--sql="],
    ["query", "SELECT 1", "--pid", "1"], ["query", "--timeout", "5s"], ["query", "--limit", "-1"], ["query", "--min-duration", "5"],
    ["export"], ["export", "-o"], ["export", "-o", "x", "--format", "perfetto"], ["export", "-o", "x", "y"],
    ["export", "-o", "x", "--since", "1h", "--to", "now"],
]
UNKNOWN_COMMANDS = ["check", "mcp", "dashboard", "merge", "fleet-push",
                    "trcae", "Trace", "", " ", "--frobnicate", "-x", "\x1b[31m", "a" * 5000, "stats\nus"]


def broken(choose):
    line = list(choose.choice(RIGHT))
    kind = choose.randrange(4)
    if kind == 0:
        line[0] = choose.choice(UNKNOWN_COMMANDS)
    elif kind == 1:
        option = choose.choice(UNKNOWN_OPTIONS)
        if option == "--" and line[0] == "trace":
            option = "--nothing"
        line.insert(choose.randrange(1, 2), option)
    elif kind == 2:
        line = choose.choice([["trace"] + choose.choice(BAD_VALUES), list(choose.choice(BAD_READS))])
    else:
        # a random word where none belongs
        word = "".join(choose.choice("abcdefgh\u00e9\u25b2%$\\'\"\t") for _ in range(choose.randrange(1, 40)))
        line = [choose.choice(["trace", "status", "version"]), word]
    return line


def main(ingero):
    choose = random.Random(20260101)  # the same lines each time
    problems = 0
    for number in range(LINES):
        line = broken(choose)
        done = subprocess.run([ingero, *line], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        text = done.stderr.decode(errors="replace")
        if done.returncode != 2 or done.stdout or text.count("\n") != 1 or not text.startswith("ingero: ") or \
                any(ord(c) < 32 for c in text[:-1]):
            problems += 1
            print(f"line {number} {line!r}: status {done.returncode}, stdout {done.stdout[:200]!r}, stderr {text[:400]!r}",
                  file=sys.stderr)
    print(f"{LINES} wrong command lines, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
