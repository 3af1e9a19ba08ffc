# SPDX-License-Identifier: Apache-2.0
"""Questions to a file of ten million kept calls: time from the command's start to its end, and the memory it all takes."""
import os
import resource
import subprocess
import tempfile
import time

import ingero

CALLS = 10_000_000
QUESTIONS = {
    # name: arguments, limit in seconds, limit in MiB of everything that was started
    "explain --since 1h": (["explain", "--since", "1h", "--json"], 1, 200),
    "query of 100 calls": (["query", "--limit", "100", "--json"], 0.05, None),
    "newest 100 by SQL": (["query", "SELECT * FROM events ORDER BY timestamp DESC LIMIT 100"], 0.05, None),
    "exact figures by SQL": (["query", "SELECT * FROM operations"], 0.05, None),
    "count of all calls": (["query", "SELECT count(*) FROM events"], None, None),
    "GROUP BY over all": (["query", "SELECT pid, op, count(*), sum(duration) FROM events GROUP BY pid, op"], None, None),
}


def ask(command):
    """Seconds, and the largest resident set of any process that took part, MiB."""
    before = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, error = process.communicate()
    seconds = time.monotonic() - before
    if process.returncode or not out:
        raise ingero.Failed(f"{' '.join(command)}: exit status {process.returncode}: {error[-500:]}")
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def measure(bench):
    with tempfile.TemporaryDirectory(prefix="ingero-bench-") as directory:
        path = os.path.join(directory, "ten.db")
        subprocess.run([bench.programs.path("make_db"), path, str(CALLS)], check=True)
        bench.row("bytes a kept call, everything in the file", os.path.getsize(path) / CALLS, "B")
        for name, (arguments, limit_s, limit_mib) in QUESTIONS.items():
            command = [bench.programs.path("ingero-cli"), *arguments[:1], "--db", path, *arguments[1:]]
            ask(command)  # the first one reads the file from the disk
            rounds = [ask(command) for _ in range(bench.pairs)]
            bench.row(name, [seconds for seconds, _ in rounds], "s", limit=limit_s)
            if limit_mib:
                bench.row(f"{name}: memory", max(mib for _, mib in rounds), "MiB", limit=limit_mib,
                          note="the largest of the client, its daemon and the reader")
