#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
A file of ours, exported and opened as Ingero's, tells the same calls, counts and findings; the sqlite3 module says the same; and
every number in it fits what Ingero's own program reads it into.
"""
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
# Source and number as Ingero gives them; it holds both in a byte.
KNOWN = {"cudaMalloc": (1, 1), "cudaFree": (1, 2), "cudaLaunchKernel": (1, 3), "cudaMemcpy": (1, 4), "cudaStreamSync": (1, 5), "cudaDeviceSync": (1, 6),
         "cudaMemcpyAsync": (1, 7), "cudaMallocManaged": (1, 8), "cudaMemcpy2D": (1, 9), "cudaMemcpy2DAsync": (1, 10), "cudaMemcpyPeer": (1, 11),
         "cudaMemcpyPeerAsync": (1, 12), "sched_switch": (3, 1), "mm_page_alloc": (3, 3), "oom_kill": (3, 4), "process_exec": (3, 5), "process_exit": (3, 6),
         "process_fork": (3, 7), "cuLaunchKernel": (4, 1), "cuMemcpy": (4, 2), "cuMemcpyAsync": (4, 3), "cuCtxSynchronize": (4, 4), "cuMemAlloc": (4, 5),
         "cuMemAllocManaged": (4, 6), "graphBeginCapture": (8, 1), "graphEndCapture": (8, 2), "graphInstantiate": (8, 3), "graphLaunch": (8, 4)}
BYTE, INT32, UINT32 = (0, 2**8 - 1), (-2**31, 2**31 - 1), (0, 2**32 - 1)
HELD_IN = {"ops.source_id": BYTE, "ops.op_id": BYTE, "events.source": BYTE, "events.op": BYTE, "events.pid": UINT32, "events.tid": UINT32,
           "events.gpu_id": UINT32, "events.ret_code": INT32, "events.duration": (0, 2**63 - 1), "events.timestamp": (1, 2**63 - 1),
           "event_aggregates.source": BYTE, "event_aggregates.op": BYTE, "event_aggregates.pid": UINT32, "process_names.pid": UINT32,
           "causal_chains.cuda_p99_us": (1, 2**63 - 1), "causal_chains.cuda_p50_us": (0, 2**63 - 1)}


def run(*command, home, error=None):
    environment = {**os.environ, "HOME": home, "NO_COLOR": "1"}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: exit status {result.returncode}: {result.stderr[-500:]}")
    if error is not None and not re.fullmatch(error, result.stderr):
        sys.exit(f"{' '.join(command)}: said {result.stderr!r}, wanted {error!r}")
    return result.stdout


def numbers(db):
    """What Ingero could not hold, one sentence each."""
    for name, (least, most) in HELD_IN.items():
        table, column = name.split(".")
        found = db.execute(f"SELECT min({column}), max({column}) FROM {table}").fetchone()
        if found[0] is None or found[0] < least or found[1] > most:
            yield f"{name} is from {found[0]} to {found[1]}, wanted {least} to {most}"
    ops = db.execute("SELECT name, source_id, op_id FROM ops").fetchall()
    for name, numbers_of in KNOWN.items():
        found = [row[1:] for row in ops if row[0] == name]
        if found != [numbers_of]:
            yield f"{name} is {found}, for Ingero it is {numbers_of}"


def chains(db):
    """The finding of the demo, as Ingero reads it."""
    rows = db.execute("SELECT id, severity, summary, root_cause, cuda_op, tail_ratio, timeline, recommendations, detected_at FROM causal_chains").fetchall()
    found = [row for row in rows if row[1] == "HIGH" and row[4] == "cudaStreamSync" and "logrotate" in row[3] and row[5] > 2]
    if not found:
        yield f"the demo's finding is not among {rows}"
    begin, end = db.execute("SELECT min(timestamp), max(timestamp) FROM events").fetchone()
    for row in rows:
        layers = json.loads(row[6])
        if not layers or any(set(layer) - {"layer", "op", "detail", "dur_us"} or not isinstance(layer.get("dur_us", 0), int) for layer in layers):
            yield f"timeline of {row[0]}: {row[6]}"
        if not all(isinstance(text, str) for text in json.loads(row[7])) or not begin <= row[8] <= end:
            yield f"{row[0]}: {row[7]}, at {row[8]} of {begin} to {end}"


def shown(db):
    """The statements that docs show for this file run on it without us."""
    text = (DOCS / "foreign-files.md").read_text(encoding="utf-8").partition("## The other way: export\n")[2]
    statements = [found for found in re.findall(r"(?:^    .+\n)+", text, re.M) if found.lstrip().startswith("SELECT")]
    statements += [found for found in re.findall(r"(?:^    .+\n)+", (DOCS / "sql.md").read_text(encoding="utf-8"), re.M)
                   if re.search(r"FROM (accounts|waits|events e JOIN stack_traces)\b", found)]
    if len(statements) != 5:
        yield f"docs show {len(statements)} statements, wanted 5"
    for statement in statements:
        try:
            rows = db.execute(statement).fetchall()
        except sqlite3.Error as error:
            yield f"{statement}: {error}"
            continue
        if not rows and "WHERE e.pid" not in statement:
            yield f"{statement}: no row"


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
        run(cli, "export", "--db", own, "-o", exported, home=home, error=rf"ingero: wrote [\d ]+ calls \([\d.]+ [KM]iB\) to '{re.escape(exported)}'\n")
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
            asked = [json.loads(line)["name"] for line in run(cli, "query", "--db", own, "--json", "--sql", "SELECT DISTINCT name FROM ops",
                                                              home=home).splitlines()]
            named = [row[0] for row in db.execute("SELECT name FROM ops")]
            if sorted(set(asked)) != sorted(set(named)):
                problems.append(f"operations without a number of their own: {sorted(set(asked) - set(named))}")
            counted = db.execute("SELECT sum(count), min(count >= stored) FROM event_aggregates").fetchone()
            if counted != (sum(before["counts"].values()), 1):
                problems.append(f"aggregates count {counted}, want {sum(before['counts'].values())}")
            tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            says = "but not what was lost" not in " ".join(run(cli, "export", "--help", home=home).split())
            if says != bool(tables & {"gaps", "losses"}):
                problems.append(f"the help text says {'that losses are in it' if says else 'that losses are not in it'}: {sorted(tables)}")
            problems += [*numbers(db), *chains(db), *shown(db)]
            if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                problems.append("the exported file is damaged")
    sys.exit("\n".join(problems) or 0)


if __name__ == "__main__":
    main()
