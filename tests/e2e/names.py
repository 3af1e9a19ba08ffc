#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
A call has one process_name, whoever tells of it, and so has what tells it from others of that name: names.py BUILD.

A program that names itself, and calls on a thread with a name of its own; another that it becomes, which names itself, too; both
are gone when they are asked for. Two of one script, each with a rank. Needs root (or it is skipped).
"""
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import ingero  # noqa: E402
import kept  # noqa: E402

FIRST, SECOND, THREAD, LATER = "first-name", "second-name", "a-thread", "later-name"
OF_FIRST = "cudaDeviceSynchronize"
PROGRAM = f"""
import ctypes, os, sys, threading
name = ctypes.CDLL(None).prctl
name(15, b"{FIRST}")  # PR_SET_NAME
runtime = ctypes.CDLL(sys.argv[1])
def calls():
    name(15, b"{THREAD}")
    for _ in range(20):
        runtime.{OF_FIRST}()
thread = threading.Thread(target=calls)
thread.start()
thread.join()
name(15, b"{LATER}")
runtime.{OF_FIRST}()
os.execv(sys.argv[2], sys.argv[2:])
"""


def names_by_op(rows, op, name):
    """What each operation of the runtime is told with."""
    names = {}
    for row in rows:
        names.setdefault(FIRST if row[op] == OF_FIRST else SECOND, set()).add(row[name])
    return names


# Both are there at once, as in a run; each says who it is by its environment alone.
SCRIPT = f"""
import ctypes, os, sys, time
runtime = ctypes.CDLL(sys.argv[1])
for _ in range(20):
    runtime.{OF_FIRST}()
    time.sleep(0.05)
"""
RANKS = 2


def check_ranks(check, home):
    db, script = home.path("ranks.db"), home.path("train.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    one = f"RANK=$rank LOCAL_RANK=$rank WORLD_SIZE={RANKS} SECRET=hidden {sys.executable} -u {script} {home.programs.library('libcudart.so.12')} --secret &"
    trace = ingero.trace(home.programs, "--db", db, "--record", "all", command=["sh", "-c", f"for rank in 0 1; do {one} done; wait"],
                         environment={"INGERO_STANDIN_QUIET": "1"})
    want = sorted((rank, "train.py", RANKS) for rank in range(RANKS))

    def told(rows):
        return sorted({(row["program"].get("rank"), row["program"].get("script"), row["program"].get("world_size"))
                       for row in rows if row["source"] == "cuda" and "program" in row})

    explained = home.explain("--db", db, "--per-process")
    stored = [json.loads(line) for line in home.answer("query", "--json", "--db", db, "--limit", 1000).splitlines()]
    for who, rows in (("live", trace.events), ("live figures", trace.operations(source="cuda")), ("stored", stored),
                      ("explain", explained["operations"])):
        check(f"ranks: {who}", told(rows) == want, told(rows))
    rows = home.sql("SELECT pid, name, script, executable, rank, local_rank, world_size, node FROM processes WHERE script = 'train.py' ORDER BY rank",
                    "--db", db)
    check("ranks: SQL processes", [(row["rank"], row["local_rank"], row["world_size"], row["executable"], row["node"]) for row in rows] ==
          [(rank, rank, RANKS, os.path.basename(os.path.realpath(sys.executable)), os.uname().nodename) for rank in range(RANKS)], rows)
    rows = home.sql("SELECT DISTINCT rank, local_rank, world_size FROM events WHERE source_name = 'cuda' ORDER BY rank", "--db", db)
    check("ranks: SQL events", [tuple(row.values()) for row in rows] == [(rank, rank, RANKS) for rank in range(RANKS)], rows)
    text = kept.words_of(home.answer("explain", "--db", db, "--per-process"))
    check("ranks: in words", all(f"train.py rank {rank}" in text for rank in range(RANKS)), text)
    with open(db, "rb") as file:
        check("nothing else of arguments and environment is kept", b"secret" not in file.read())


def main(build):
    if os.geteuid() != 0:
        kept.skip("capture needs root")
    check = kept.Checks()
    with kept.Kept(build) as home:
        check_ranks(check, home)
        second = [home.programs.path("cudaload"), "--comm", SECOND, "--mix", "malloc=1,free=1", "--calls", "40"]
        command = [sys.executable, "-c", PROGRAM, home.programs.library("libcudart.so.12"), *second]
        trace = ingero.trace(home.programs, "--db", home.db, "--record", "all", command=command, environment={"INGERO_STANDIN_QUIET": "1"})
        check("all of it was seen", trace.status == 0 and not trace.lost(), trace.status, trace.stderr[-500:], trace.lost())
        events = [event for event in trace.events if event["source"] == "cuda"]
        kept_calls = [json.loads(line) for line in home.answer("query", "--json", "--db", home.db, "--limit", 1000).splitlines()]
        explained = home.explain("--db", home.db, "--per-process")
        told = {
            "live": names_by_op(events, "op", "process_name"),
            "live figures": names_by_op(trace.operations(source="cuda"), "op", "process_name"),
            "stored": names_by_op([row for row in kept_calls if row["source"] == "cuda"], "op", "process_name"),
            "explain": names_by_op([row for row in explained["operations"] if row["source"] == "cuda"], "op", "process_name"),
            "explain of a call": names_by_op([home.explain("--db", home.db, event["id"])["call"] for event in (events[0], events[-1])],
                                             "op", "process_name"),
        }
        for table in ("events", "operations", "event_aggregates"):
            told[f"SQL {table}"] = names_by_op(home.sql(f"SELECT op_name, comm FROM {table} WHERE source_name = 'cuda'", "--db", home.db),
                                               "op_name", "comm")
        for who, names in told.items():
            check(who, names == {FIRST: {FIRST}, SECOND: {SECOND}}, names)
        pid = events[0]["pid"]
        names = [row["name"] for row in home.sql(f"SELECT name FROM processes WHERE pid = {pid} ORDER BY exec_generation", "--db", home.db)]
        check("SQL processes: a row for each program", names[-2:] == [FIRST, SECOND], names)
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
