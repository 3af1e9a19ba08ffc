# SPDX-License-Identifier: Apache-2.0
"""Questions to a file with ten million recorded calls: time from start to end of the command, and memory of all its processes."""
import os
import subprocess
import tempfile

import ingero
import programs

CALLS = 10_000_000
QUESTIONS = {
    # name: (arguments, limit in seconds, limit in MiB of all started processes)
    "explain --since 1h": (["explain", "--since", "1h", "--json"], 1, 200),
    "query of 100 calls": (["query", "--limit", "100", "--json"], 0.05, None),
    "newest 100 by SQL": (["query", "SELECT * FROM events ORDER BY timestamp DESC LIMIT 100"], 0.05, None),
    "exact figures by SQL": (["query", "SELECT * FROM operations"], 0.05, None),
    "count of all calls": (["query", "SELECT count(*) FROM events"], None, None),
    "GROUP BY over all": (["query", "SELECT pid, op, count(*), sum(duration) FROM events GROUP BY pid, op"], None, None),
}
ACCOUNTS_RATIO_MAX = 3
ACCOUNTS_MIB_MAX = 64
ACCOUNT_QUESTIONS = {
    # 50 minutes, so that no row of an hour is in the window: both files answer from the same rows
    "explain --since 50m": ["explain", "--since", "50m", "--json"],
    "explain of all": ["explain", "--json"],
    "blame --since 50m": ["blame", "--since", "50m", "--json"],
    "accounts by SQL": ["query", "SELECT * FROM accounts"],
    "waits by SQL": ["query", "SELECT * FROM waits"],
}


def ask(bench, command):
    """(seconds, largest resident set of any process of the command in MiB)"""
    seconds, _, mib, out = programs.used(bench, command)
    if not out:
        raise ingero.Failed(f"{' '.join(command)}: printed nothing")
    return seconds, mib


def accounts_measure(bench, directory, plain):
    """The same file with accounts of ten threads of each process, and with waits, some of which occur once."""
    path = os.path.join(directory, "accounts.db")
    subprocess.run([bench.programs.path("make_db"), path, str(CALLS), str(os.getuid()), "accounts"], check=True)
    bench.row("bytes per stored call, with accounts and waits", os.path.getsize(path) / CALLS, "B")
    for name, arguments in ACCOUNT_QUESTIONS.items():
        commands = {which: [bench.programs.path("ingero-cli"), *arguments[:1], "--db", db, *arguments[1:]]
                    for which, db in (("with", path), ("without", plain))}
        for command in commands.values():
            ask(bench, command)
        rounds = bench.in_turns(**{which: lambda command=command: ask(bench, command) for which, command in commands.items()})
        bench.row(f"{name}, with accounts and waits", [seconds for seconds, _ in rounds["with"]], "s")
        bench.row(f"{name}, with accounts / without", [a[0] / b[0] for a, b in zip(rounds["with"], rounds["without"])], "ratio",
                  limit=ACCOUNTS_RATIO_MAX if name.startswith("explain") else None)
        bench.row(f"{name}, with accounts: memory", max(mib for _, mib in rounds["with"]), "MiB", limit=ACCOUNTS_MIB_MAX)


def measure(bench):
    with tempfile.TemporaryDirectory(prefix="ingero-bench-") as directory:
        path = os.path.join(directory, "ten.db")
        subprocess.run([bench.programs.path("make_db"), path, str(CALLS)], check=True)
        bench.row("bytes per stored call, everything in the file", os.path.getsize(path) / CALLS, "B")
        for name, (arguments, limit_s, limit_mib) in QUESTIONS.items():
            command = [bench.programs.path("ingero-cli"), *arguments[:1], "--db", path, *arguments[1:]]
            ask(bench, command)  # not measured: the first command reads the file from the disk
            rounds = [ask(bench, command) for _ in range(bench.pairs)]
            bench.row(name, [seconds for seconds, _ in rounds], "s", limit=limit_s)
            if limit_mib:
                bench.row(f"{name}: memory", max(mib for _, mib in rounds), "MiB", limit=limit_mib,
                          note="the largest of the client, its daemon and the reader")
        if bench.programs.has_option("blame"):
            accounts_measure(bench, directory, path)
