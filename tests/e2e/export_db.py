#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A file of ours, exported and opened as Ingero's, tells the same calls and the same counts; and so does the sqlite3 module."""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile


def run(*command, home):
    environment = {**os.environ, "HOME": home, "NO_COLOR": "1"}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: exit status {result.returncode}: {result.stderr[-500:]}")
    return result.stdout


def told(cli, path, home):
    answer = json.loads(run(cli, "explain", "--db", path, "--per-process", "--json", home=home))
    calls = [json.loads(line) for line in run(cli, "query", "--db", path, "--limit", "1000000", "--json", home=home).splitlines()]
    return {
        "counts": {(row["pid"], row["op"]): row["count"] for row in answer["operations"]},
        "calls": sorted((c["timestamp"], c["pid"], c["tid"], c["source"], c["op"], c["duration_ns"], c["ret_code"]) for c in calls),
        "findings": sorted((f["op"], f["severity"], f["start"]) for f in answer["findings"]),
    }


def main():
    cli = sys.argv[1]
    with tempfile.TemporaryDirectory() as home:
        own, exported = os.path.join(home, "own.db"), os.path.join(home, "exported.db")
        run(cli, "demo", "incident", "--speed", "20", "--db", own, home=home)
        run(cli, "export", "--db", own, "-o", exported, home=home)
        before, after = told(cli, own, home), told(cli, exported, home)
        problems = [f"{what}: {len(before[what])} before, {len(after[what])} after, first difference "
                    f"{next(((b, a) for b, a in zip(before[what], after[what]) if b != a), 'none')}"
                    for what in before if before[what] != after[what] or not before[what]]
        if sum(before["counts"].values()) <= len(before["calls"]):
            problems.append("every call was kept: this shows nothing of counts")
        with sqlite3.connect(f"file:{exported}?mode=ro", uri=True) as db:
            rows = db.execute("SELECT count(*), sum(duration) FROM events JOIN ops ON source_id = source AND op_id = op").fetchone()
            if rows != (len(before["calls"]), sum(call[5] for call in before["calls"])):
                problems.append(f"joined with ops there are {rows}")
            counted = db.execute("SELECT sum(count), min(count >= stored) FROM event_aggregates").fetchone()
            if counted != (sum(before["counts"].values()), 1):
                problems.append(f"aggregates count {counted}, want {sum(before['counts'].values())}")
            if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                problems.append("the exported file is damaged")
    sys.exit("\n".join(problems) or 0)


if __name__ == "__main__":
    main()
