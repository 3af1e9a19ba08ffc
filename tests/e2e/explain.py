#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
explain.py BUILD: what a demo recorded, asked in every way: the report names its cause, JSON fits its
schema and says the same, kept calls come in three forms, an export is a plain SQLite file and whole.
"""
import contextlib
import datetime
import gzip
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from cli_screen import Terminal  # noqa: E402

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "ingero-db"
problems = []


def check(name, is_ok, shown=""):
    if not is_ok:
        problems.append(name)
        print(f"{name}: {shown!r}", file=sys.stderr)


def main(build):
    ingero = os.path.join(build, "bin", "ingero")
    validate = pathlib.Path(__file__).with_name("validate_json.py")
    with tempfile.TemporaryDirectory(prefix="ingero-explain-") as home:
        db = os.path.join(home, "demo.db")
        environment = {**os.environ, "HOME": home, "TZ": "UTC", "LC_ALL": "C.UTF-8"}

        def run(*arguments, **more):
            return subprocess.run([ingero, *arguments], env=environment, capture_output=True, text=True, check=False, **more)

        def out(*arguments):
            done = run(*arguments)
            check(f"{arguments[0]} ends with 0", done.returncode == 0, done.stderr)
            return done.stdout

        def on_screen(columns, rows, *arguments):
            with Terminal([ingero, *arguments], {**environment, "TERM": "xterm", "NO_COLOR": "1"}, rows, columns) as terminal:
                check(f"{arguments} on {columns}x{rows} ends with 0", terminal.wait() == 0, terminal.raw)
                shown = terminal.raw.decode().replace("\r\n", "\n").splitlines()
            check(f"{arguments} on {columns}x{rows}: no line wraps", all(len(line) <= columns for line in shown), shown)
            return shown

        def fits(name, text, *schema):
            done = subprocess.run([sys.executable, validate, *schema], input=text, capture_output=True, text=True, check=False)
            check(f"{name}: schema", done.returncode in (0, 77), done.stderr)

        done = run("demo", "cpu-contention", "--speed", "10", "--db", db)
        check("the demo plays", done.returncode == 0, done.stderr)

        report = out("explain", "--db", db)
        check("the cause is named", "behind ffmpeg (pid " in report, report)
        check("80 columns", max(map(len, report.splitlines())) <= 80, report)
        text = out("explain", "--db", db, "--json")
        fits("explain", text)
        answer = json.loads(text)
        worst = answer["findings"][0]
        check("the kind", worst["kind"] == worst["cause"]["kind"] == "cpu_contention", worst)
        check("the same again", json.loads(out("explain", "--db", db, "--json"))["findings"] == answer["findings"])
        check("one finding", f"id       {worst['id']}" in out("explain", "--db", db, worst["id"][:8]))
        check("a line each", out("explain", "--db", db, "--chains").count(worst["id"][:6]) == 1)
        check("not there", out("explain", "--db", db, "-p", "1").startswith("No CUDA calls: no process of pid 1 "))
        check("before it", out("explain", "--db", db, "--from", "2001-01-01", "--to", "2001-01-02").startswith("nothing was recorded"))
        page = os.path.join(home, "report.html")
        done = run("explain", "--db", db, "--html", page)
        check("a page is written", done.returncode == 0 and done.stdout == "" and "wrote the report" in done.stderr, done.stderr)
        with open(page, encoding="utf-8") as file:
            html = file.read()
        check("the page", html.startswith("<!doctype html>") and "behind ffmpeg (pid " in html and "<script" not in html, html)
        check("the same page for a pipe", out("explain", "--db", db, "--html", "-").count("<pre>") == html.count("<pre>") > 0)
        done = run("explain", "--db", db, "--html", page)
        check("not over a file", done.returncode == 1 and "'--force' overwrites it" in done.stderr, done.stderr)
        check("unless told to", run("explain", "--db", db, "--html", page, "--force").returncode == 0)
        check("nothing beside it", [name for name in os.listdir(home) if "report" in name] == ["report.html"], os.listdir(home))
        done = run("explain", "--db", db, "--html", page, "--json")
        check("one form", done.returncode == 2 and "'--html' writes the whole report" in done.stderr, done.stderr)
        done = run("explain", "--db", db, "0000000000000000")
        check("no such finding", done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr)

        lines = out("query", "--db", db, "--json", "--limit", "100000").splitlines()
        fits("query", "\n".join(lines))
        check("all that are kept", len(lines) == answer["window"]["events"], len(lines))
        times = [json.loads(line)["timestamp"] for line in lines]
        call = json.loads(lines[len(lines) // 2])
        shown = json.loads(out("explain", "--db", db, "--json", call["id"]))["call"]
        check("one call by its id", shown == {key: value for key, value in call.items() if key != "type"}, shown)
        check("in order", times == sorted(times))
        for sql in ("SELECT 1 a, 1.5 b, 'x' c, NULL d, x'00ff' e, 9e999 f, 2 a", "SELECT * FROM operations", "SELECT * FROM events LIMIT 9",
                    "SELECT * FROM processes", "SELECT * FROM findings"):
            fits(sql, out("query", "--db", db, "--json", sql), "--schema", "query-row")
        rows = out("query", "--db", db, "--limit", "5").splitlines()
        check("lines with tabs", len(rows) == 6 and rows[0].startswith("timestamp\tpid\t"), rows)
        check("the newest", [row.split("\t")[0] for row in rows[1:]] == times[-5:], rows)

        # rows of figures are told whole: that is said, and nothing that touches them is hidden
        first = datetime.datetime.fromisoformat(worst["start"][:26] + "+00:00")
        asked = [(first + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S") + "Z" for seconds in (1, 3)]
        old = os.path.join(home, "old.db")  # as after two minutes: rows of 10 s are left
        with contextlib.closing(sqlite3.connect(db)) as source, contextlib.closing(sqlite3.connect(old)) as copy:
            source.backup(copy)
            copy.execute("DELETE FROM figures WHERE level = 1")
            copy.commit()
        part = json.loads(out("explain", "--db", old, "--json", "--from", asked[0], "--to", asked[1]))["window"]
        told = part.get("widened", {})
        check("what was asked for", [told.get(key, "")[:19].replace("T", " ") + "Z" for key in ("asked_from", "asked_to")] == asked, part)
        check("lies within what is told", part["from"] <= told["asked_from"] < told["asked_to"] <= part["to"], part)
        said = f"wider than asked ({asked[0][11:19]} to {asked[1][11:19]}): figures of that time are stored in spans of {round(told['row_ns'] / 1e9)} s"
        for command in (["explain"], ["query", "--limit", "1"]):
            done = run(*command, "--db", old, "--from", asked[0], "--to", asked[1])
            text = " ".join((done.stdout + done.stderr).split())
            check(f"{command} says so", said in text, text)
            done = run(*command, "--db", old)
            check(f"{command} without a time is never wider", "wider" not in done.stdout + done.stderr, done)
        fine = json.loads(out("explain", "--db", db, "--json", "--from", asked[0], "--to", asked[1]))["window"]
        check("seconds are told closer", part["from"] <= fine["from"] and fine["to"] <= part["to"] and fine["calls"] < part["calls"], (fine, part))
        for n in (1, 100, 1000, 2000, 3000, 4000, 6000, 8000):
            last = json.loads(out("explain", "--db", db, "--json", "--last", str(n)))
            touched = {f["id"] for f in answer["findings"] if f["start"] < last["window"]["to"] and f["end"] > last["window"]["from"]}
            check(f"--last {n} hides nothing that touches its window", touched <= {f["id"] for f in last["findings"]}, last["window"])
            check(f"--last {n}: as many", last["window"]["events"] == n <= last["window"]["calls"], last["window"])
        recorded = os.path.join(home, "recorded.db")
        with gzip.open(DATA / "sample-gpu-node-01.db.gz") as packed, open(recorded, "wb") as file:
            shutil.copyfileobj(packed, file)
        for path in (db, recorded):
            for columns, height in ((80, 24), (100, 30), (200, 50)):
                shown = on_screen(columns, height, "explain", "--db", path)
                check(f"the first line and the first finding stay on {columns}x{height}", len(shown) < height and any(row.startswith("1 HIGH  ") for row in shown), shown)
        foreign = json.loads(out("explain", "--db", recorded, "--json"))
        fits("explain of a file of Ingero's", json.dumps(foreign))
        check("what it lost is not known", "losses" not in foreign, foreign.keys())
        for words in (["explain"], ["explain", "-p", "1887"], ["explain", foreign["findings"][0]["id"]], ["query", "--limit", "1"]):
            done = run(*words, "--db", recorded)
            text = done.stdout + done.stderr
            check(f"{words} claims nothing", done.returncode == 0 and "every call counted" not in text and "nothing lost" not in text and
                  "the recording has no data on losses; calls may be missing" in text, text)
        last = json.loads(out("explain", "--db", recorded, "--json", "--last", "1"))["window"]
        check("the last call of a file of Ingero's, with the second around it", last["events"] == 1 < last["calls"], last)

        ids = [json.loads(line)["id"] for line in lines]
        for columns, height in ((80, 24), (100, 30), (200, 50)):
            shown = on_screen(columns, height, "query", "--db", db)
            check(f"the newest 30 on {columns} columns, each with its id", [row.split()[-1] for row in shown[1:31]] == ids[-30:], shown)
            check("says that there are more", f"the newest 30 of {len(lines):,} recorded events".replace(",", " ") in " ".join(shown[31:]), shown)
        check("more where they are asked for", sum(row.split()[-1] in ids for row in on_screen(80, 24, "query", "--db", db, "--limit", "700")) == 700)
        examples = on_screen(80, 24, "explain", "--db", db, worst["id"])
        check("calls of a finding by their ids", sum(word in ids for row in examples for word in row.split()) ==
              sum(bool(call.get("id")) for call in worst["examples"]) > 0, examples)

        named = [out("query", "--db", db, "--json", "--op", name, "--limit", "3")
                 for name in ("cudaStreamSynchronize", "cudaStreamSync", "cudastreamsync", "CUDASTREAMSYNCHRONIZE")]
        check("an operation by any of its names", named[0].count("\n") == 3 and len(set(named)) == 1, named)
        done = run("query", "--db", db, "--op", "cudaStreamSnyc")
        check("a name that is none", done.returncode == 1 and not done.stdout and "did you mean 'cudaStreamSync'?" in done.stderr, done.stderr)
        done = run("query", "--db", db, "SELECT count(*) FROM operations WHERE op_name = 'cudaStreamSnyc'")
        check("the same in SQL", done.stdout == "count(*)\n0\n" and done.stderr.count("did you mean 'cudaStreamSync'?") == 1, done)

        tables = out("query", "--db", db, ".tables").splitlines()
        check("tables are listed", tables[0] == "name" and "operations" in tables, tables)
        for table in tables[1:]:
            columns = [row.split("\t")[1] for row in out("query", "--db", db, f"pragma table_info({table})").splitlines()[1:]]
            check(f"columns of {table}", columns == out("query", "--db", db, "--limit", "1", f"SELECT * FROM {table}").splitlines()[0].split("\t"), columns)
        done = run("query", "--db", db, "SELECT * FROM operatons")
        check("no such table", done.returncode == 1 and "did you mean 'operations'? There are events, " in done.stderr and done.stderr.count("\n") == 1, done.stderr)

        copy = os.path.join(home, "copy.db")
        out("export", "--db", db, "-o", copy)
        done = run("export", "--db", db, "-o", copy)
        check("not overwritten", done.returncode == 1 and "--force" in done.stderr, done.stderr)
        out("export", "--db", db, "-o", copy, "--force")
        with sqlite3.connect(copy) as connection:
            count = connection.execute("SELECT count(*) FROM events").fetchone()[0]
            check("whole", connection.execute("PRAGMA integrity_check").fetchone() == ("ok",))
        check("every kept call is in it", count == len(lines), count)
        check("nothing left behind", not os.path.exists(copy + ".partial"))
        piped = subprocess.run([ingero, "export", "--db", db, "-o", "-"], env=environment, capture_output=True, check=False)
        check("into a pipe", piped.stdout.startswith(b"SQLite format 3\0"), piped.stderr)

    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
