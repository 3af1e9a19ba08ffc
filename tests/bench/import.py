# SPDX-License-Identifier: Apache-2.0
"""
Size of Ingero's recordings in our packed form: columns of calls, and stacks with their frames; and time and memory of
explain on a recording repeated up to 1.2 million rows: the whole file is imported for each question.
"""
import glob
import gzip
import os
import sqlite3
import subprocess
import tempfile

import ingero
import programs

RECORDINGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/ingero-db/*.db.gz")
LIMIT_BYTES = 10
REPEATED = "pytorch-dataloader-starvation.db"
REPEATED_ROWS = 1200000
ROUNDS = 5
TIME_RATIO_MAX = 2  # newer build / older build
MEMORY_RATIO_MAX = 1
TEMPORARY = ("/tmp", "/var/tmp")
PAGES_CALLS_MIN = 1000  # with fewer calls most pages belong to empty tables


def repeat(path):
    """Repeats the rows of calls, one copy after another; aggregates are removed, since they would cover only the first minutes."""
    with sqlite3.connect(path) as db:
        (first, last, n), = db.execute("SELECT min(timestamp), max(timestamp), count(*) FROM events").fetchall()
        columns = [name for _, name, *_ in db.execute("PRAGMA table_info(events)") if name not in ("id", "timestamp")]
        db.execute("DELETE FROM event_aggregates")
        db.execute(f"WITH RECURSIVE again(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM again WHERE i < {REPEATED_ROWS // n}) "
                   f"INSERT INTO events (timestamp, {', '.join(columns)}) "
                   f"SELECT timestamp + i * {last - first + 1000}, {', '.join(columns)} FROM again, events WHERE id <= "
                   f"(SELECT max(id) FROM events) LIMIT {REPEATED_ROWS - n}")
    db.close()


def present(directory):
    """Everything that a command could leave behind: files in the directory, our temporary files, our processes."""
    return ({os.path.join(place, name) for place, _, names in os.walk(directory) for name in names}
            | {os.path.join(place, name) for place in TEMPORARY for name in os.listdir(place) if name.startswith(("ingero", "etilqs"))}
            | set(ingero.processes_named("ingero").items()))


def explain(bench, path):
    repeat(path)
    before = present(os.path.dirname(path))
    environment = bench.programs.environment(os.path.dirname(path))
    done = [programs.used(bench, [bench.programs.path("ingero"), "explain", "--db", path], env=environment) for _ in range(ROUNDS)]
    left = sorted(map(str, present(os.path.dirname(path)) - before))
    what = "explain of 1.2 million rows"
    bench.row(f"{what}: time", [seconds for seconds, *_ in done], "s", against=TIME_RATIO_MAX)
    bench.row(f"{what}: CPU time", [cpu_s for _, cpu_s, *_ in done], "s", against=TIME_RATIO_MAX)
    bench.row(f"{what}: memory of the largest process", [mib for *_, mib, _ in done], "MiB", against=MEMORY_RATIO_MAX)
    bench.row(f"{what}: files and processes left behind", len(left), "in number", limit=0, note=", ".join(left))


def measure(bench):
    with tempfile.TemporaryDirectory() as directory:
        paths = []
        for packed in sorted(glob.glob(RECORDINGS)):
            paths.append(os.path.join(directory, os.path.basename(packed)[:-len(".gz")]))
            with gzip.open(packed, "rb") as source, open(paths[-1], "wb") as target:
                target.write(source.read())
        result = subprocess.run([bench.programs.path("bench_import"), *paths], capture_output=True, text=True, check=False)
        if result.returncode or not paths:
            raise ingero.Failed(f"bench_import: exit status {result.returncode}: {result.stderr[-500:]}")
        for path, line in zip(paths, result.stdout.splitlines()):
            calls, columns, stacks, pages = map(int, line.split()[-4:])
            name = os.path.basename(path)
            bench.row(f"{name}: bytes a call, stacks included", (columns + stacks) / calls, "B", limit=LIMIT_BYTES,
                      note=f"{calls} calls, {columns} B of columns, {stacks} B of stacks; Ingero's file: {os.path.getsize(path) / calls:.0f} B a call")
            if calls >= PAGES_CALLS_MIN:
                bench.row(f"{name}: bytes a call, whole pages of these tables", pages / calls, "B", note="index pages of frames and stacks included")
        explain(bench, os.path.join(directory, REPEATED))
