#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
several_files.py BUILD: '--db' given several times answers as the files answer one by one, each row of its own machine; what cannot be
read is named; nobody sees more by it than each file shows alone.
"""
import gzip
import json
import os
import shutil
import sqlite3
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
import ingero  # noqa: E402
import kept  # noqa: E402

RECORDINGS = os.path.join(HERE, "../data/ingero-db")
FILES_MAX = 16


def demo(home, name, node):
    """A demo's database, as if it had been recorded on that machine."""
    path = home.path(name)
    home.answer("demo", "incident", "--speed", "1000", "--db", path)
    with kept.tables(path) as connection:
        connection.execute("UPDATE session SET node = ?", (node,))
    return path


def recording(home, name):
    path = home.path(name)
    with gzip.open(os.path.join(RECORDINGS, name + ".gz")) as packed, open(path, "wb") as plain:
        shutil.copyfileobj(packed, plain)
    return path


def named(*paths):
    return [word for path in paths for word in ("--db", path)]


def without_node(rows):
    return [{key: value for key, value in row.items() if key != "node"} for row in rows]


def rows_of(home, sql, *paths):
    return sorted((tuple(row.values()) for row in home.sql(sql, *named(*paths), "--limit", "100000")), key=str)


# Every row of a table by what tells it apart; several files have the union of what each has alone.
UNIONS = [
    "SELECT node, timestamp, pid, tid, op_name, duration, ret_code, comm, stack_hash <> 0 FROM events",
    "SELECT node, pid, start_time, comm, op_name, count, sum_dur, max_dur, p50, p99, bytes FROM operations",
    "SELECT node, bucket, pid, op_name, count, sum_dur, p99 FROM event_aggregates",
    "SELECT node, pid, comm, ns, behind_comm, behind_pid FROM behind",
    "SELECT node, pid, tid, \"where\", class, op_name, ns, wall_ns FROM accounts",
    "SELECT node, pid, tid, op_name, resource_name, by_comm, count, ns FROM waits",
    "SELECT node, pid, start_time, name, uid FROM processes",
    "SELECT node, pid, name FROM process_names",
    "SELECT node, kind, pid, op_name, started_at, lost_ns FROM findings",
    "SELECT started_at, stopped_at, node FROM sessions",
    "SELECT node, timestamp, cpu_pct, mem_avail FROM system_snapshots",
    "SELECT node, from_time, to_time, reason, count FROM gaps",
    "SELECT frames FROM stack_traces",
]


def tables_check(check, home, files):
    for sql in UNIONS:
        together = rows_of(home, sql, *files)
        alone = sorted((row for path in files for row in rows_of(home, sql, path)), key=str)
        check.same(sql, together, alone)
    joined = home.sql("SELECT count(*) AS n FROM events e JOIN stack_traces s ON e.stack_hash = s.hash JOIN processes p "
                      "ON p.node = e.node AND p.pid = e.pid AND p.start_time = e.start_time", *named(*files))
    alone = [home.sql("SELECT count(*) AS n FROM events e JOIN stack_traces s ON e.stack_hash = s.hash", "--db", path)[0]["n"] for path in files]
    check("stacks and processes of their own file", joined == [{"n": sum(alone)}], joined, alone)
    hidden = home.sql("SELECT * FROM operations LIMIT 1", "--db", files[0])[0]
    shown = home.sql("SELECT * FROM operations LIMIT 1", *named(*files))[0]
    check("SELECT * names the machine where there are several", "node" not in hidden and "node" in shown, hidden, shown)


def calls_check(check, home, files):
    together = [json.loads(line) for line in home.answer("query", *named(*files), "--json", "--limit", "100000").splitlines()]
    times = [call["timestamp"] for call in together]
    check("calls are in the order of the wall clock", times == sorted(times), times[:3])
    nodes = {path: home.sql("SELECT DISTINCT node FROM events", "--db", path)[0]["node"] for path in files}
    for path in files:
        alone = [json.loads(line) for line in home.answer("query", "--db", path, "--json", "--limit", "100000").splitlines()]
        node = nodes[path] or os.path.basename(path)
        own = [call for call in together if call["node"] == node]
        check("calls of one machine", len(own) == len(alone) and alone, len(own), len(alone))
        check("ids begin with the machine", all(call["id"] == f"{node}:{other['id']}" for call, other in zip(own, alone)), own[:1], alone[:1])
        check("one file names no machine", all("node" not in call for call in alone), alone[:1])
        asked = home.explain(own[-1]["id"], *named(*files))["call"]
        check.same("a call by its id", asked, own[-1] if "type" not in own[-1] else {k: v for k, v in own[-1].items() if k != "type"})
    newest = [json.loads(line) for line in home.answer("query", *named(*files), "--json", "--limit", "7").splitlines()]
    check("the newest of all", [call["id"] for call in newest] == [call["id"] for call in together[-7:]], newest)


def explain_check(check, home, files):
    """Windows are of all files together; what one lost is said of it."""
    together = home.explain("--from", "2026-01-01", *named(*files))
    alone = [home.explain("--from", "2026-01-01", "--db", path) for path in files]
    check("all calls", together["window"]["calls"] == sum(one["window"]["calls"] for one in alone), together["window"])
    check("all processes", together["window"]["processes"] == sum(one["window"]["processes"] for one in alone), together["window"])
    check("from the first to the last", (together["window"]["from"], together["window"]["to"]) ==
          (min(one["window"]["from"] for one in alone), max(one["window"]["to"] for one in alone)), together["window"])
    check("all findings", sorted(f["id"].rpartition(":")[2] for f in together["findings"]) ==
          sorted(f["id"] for one in alone for f in one["findings"]), together["findings"])
    check("findings name their machine", all(f["id"].startswith(f["node"] + ":") for f in together["findings"]), together["findings"])
    check("gaps name theirs", {gap["node"] for gap in together["gaps"]} == {"gpu-node-01"}, together["gaps"])
    check("losses of one are not known", "losses" not in together, together.get("losses"))
    for finding in together["findings"]:
        check("a finding by its id", home.explain(finding["id"], *named(*files))["findings"] == [finding], finding["id"])
        for example in finding["examples"]:
            check("its example", home.explain(example["id"], *named(*files))["call"]["duration_ns"] == example["duration_ns"], example)
    newest = home.explain(*named(*files[:2]))
    check("the last five minutes of both", newest["window"]["calls"] == sum(one["window"]["calls"] for one in alone[:2]), newest["window"])
    check("nothing was lost on either", newest["losses"] and not any(newest["losses"].values()), newest["losses"])
    accounts = json.loads(home.answer("blame", "--json", *named(*files[:2])))["accounts"]
    check("threads of both machines", {account["node"] for account in accounts} == {"node-a", "node-b"}, accounts)
    text = home.answer("explain", *named(*files[:2]))
    check("people are told the machine", " on node-a" in text and " on node-b" in text and "several machines" in text, text)


def export_check(check, home, files):
    """An exported file of several machines is one of Ingero's, and tells the same."""
    path = home.path("exported.db")
    home.answer("export", *named(*files), "-o", path)
    for sql in ("SELECT node, timestamp, pid, tid, op_name, duration FROM events", "SELECT node, pid, op_name, count FROM operations"):
        check.same(f"exported: {sql}", rows_of(home, sql, path), rows_of(home, sql, *files))
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        numbers = db.execute("SELECT node, count(*), count(DISTINCT id), max(CAST(substr(id, length(node) + 2) AS INTEGER)) FROM events GROUP BY node").fetchall()
        check("calls are numbered by machine", len(numbers) == 3 and all(n == ids == most for _, n, ids, most in numbers), numbers)
        chains = db.execute("SELECT id, node FROM causal_chains").fetchall()
        check("chains are of their machine", chains and all(id_.startswith(node + ":") and id_.count(":") == 1 for id_, node in chains), chains)
        check("the file is whole", db.execute("PRAGMA integrity_check").fetchone() == ("ok",))
    check("nothing is missing in it", not [row for row in home.sql("SELECT reason FROM gaps", "--db", path) if row["reason"] == "retention"])


def merged_check(check, home):
    """In a file that Ingero merged, each process is of its own machine, whoever recorded last."""
    path = home.path("merged.db")
    with sqlite3.connect(path) as db:
        db.executescript(
            "CREATE TABLE events (id TEXT PRIMARY KEY, timestamp INTEGER, pid INTEGER, tid INTEGER, source INTEGER, op INTEGER, duration INTEGER, node TEXT);"
            "CREATE TABLE sessions (id INTEGER PRIMARY KEY, started_at INTEGER, node TEXT);"
            "INSERT INTO sessions VALUES (1, 5, 'one'), (2, 6, 'two');"
            "INSERT INTO events VALUES ('one:1', 1000000000, 7, 7, 1, 1, 5, 'one'), ('two:1', 2000000000, 7, 7, 1, 1, 6, 'two');")
    for table in ("events", "processes"):
        rows = home.sql(f"SELECT node FROM {table} ORDER BY 1", "--db", path)
        check(f"machines of a merged file, {table}", rows == [{"node": "one"}, {"node": "two"}], rows)
    counts = home.sql("SELECT node, count FROM operations ORDER BY 1", "--db", path)
    check("counts of a merged file", counts == [{"node": "one", "count": 1}, {"node": "two", "count": 1}], counts)


def wrong_check(check, home, right):
    """One that cannot be read: it is named, with the way out, and nothing is answered."""
    text, empty, other, newer = (home.path(name) for name in ("text.db", "empty.db", "other.db", "newer.db"))
    with open(text, "w", encoding="utf-8") as file:
        file.write("no database\n" * 100)
    open(empty, "w", encoding="utf-8").close()
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE something (else_)")
    shutil.copyfile(right, newer)
    with kept.tables(newer) as db:
        db.execute("PRAGMA user_version = 99")
    os.symlink(right, home.path("again.db"))
    cases = [
        ("absent", home.path("absent.db"), "No such file"), ("a directory", home.directory, "is a directory"),
        ("text", text, "is not a database; name another file"), ("empty", empty, "is empty"),
        ("somebody else's", other, "neither ingero's nor Ingero's; leave it out to read the others"),
        ("a newer version's", newer, "recorded by a newer ingero"), ("the same again", right, "are one file: leave out one of them"),
        ("the same by another name", home.path("again.db"), "are one file: leave out one of them"),
    ]
    for name, wrong, why in cases:
        for command in (["explain"], ["query", "--json"], ["query", "SELECT 1"], ["blame"], ["export", "-o", home.path("none.db")]):
            done = home.run(*command, *named(right, wrong))
            check(f"{name}, {command[0]}", done.returncode == 1 and not done.stdout and why in kept.words_of(done.stderr) and
                  os.path.basename(wrong) in done.stderr, done.returncode, done.stdout, done.stderr)
        check("no file is left", not os.path.exists(home.path("none.db")))
    done = home.run("explain", *named(*[right] * (FILES_MAX + 1)))
    check("too many", done.returncode == 2 and f"'--db' can be given {FILES_MAX} times, not more" in done.stderr, done.returncode, done.stderr)
    done = home.run("explain", "node-z:1.2.3", "--db", right)
    check("a call of no machine here", done.returncode == 1 and "there is no call 'node-z:1.2.3'" in done.stderr, done.stderr)


def many_check(check, home, ours, theirs):
    """As many as may be, half of them to be imported: within the memory and the descriptors of one question."""
    files = []
    for i in range(FILES_MAX):
        files.append(home.path(f"copy-{i}.db"))
        shutil.copyfile(theirs if i % 2 else ours, files[-1])
        with kept.tables(files[-1]) as db:
            if i % 2:
                db.execute("UPDATE events SET node = ?", (f"node-{i}",))
            else:
                db.execute("UPDATE session SET node = ?", (f"node-{i}",))
    rows = home.sql("SELECT node, count(*) AS n, sum(duration) AS ns FROM events GROUP BY 1 ORDER BY ns DESC", *named(*files))
    check("sixteen files", len(rows) == FILES_MAX and len({row["n"] for row in rows}) == 2, rows)
    check("sixteen files, explained", home.explain("--from", "2026-01-01", *named(*files))["findings"])


def main(build):
    check = kept.Checks()
    with kept.Kept(build) as home:
        files = [demo(home, "a.db", "node-a"), demo(home, "b.db", "node-b"), recording(home, "sample-gpu-node-01.db")]
        tables_check(check, home, files)
        calls_check(check, home, files)
        calls_check(check, home, [files[0], recording(home, "pytorch-dataloader-starvation.db")])  # which names no machine
        explain_check(check, home, files)
        export_check(check, home, files)
        merged_check(check, home)
        wrong_check(check, home, files[0])
        many_check(check, home, files[0], files[2])
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
