#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
demo.py BUILD: each demo plays and ends by itself for a user without any privilege, says
what is valid and true, keeps nothing, and whatever cannot be played is refused by name.

Under root it plays as nobody, where nobody may run the build.
"""
import collections
import datetime
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
INGERO = str(BUILD / "bin" / "ingero-cli")
VALIDATE = str(pathlib.Path(__file__).resolve().parent / "validate_json.py")
DEMOS = ["incident", "cold-start", "cpu-contention", "memcpy-bottleneck"]
CAUSES = {  # of the finding that comes first, and of all above LOW
    "incident": ("cpu_contention", "logrotate"),
    "cold-start": ("cold_start", ""),
    "cpu-contention": ("cpu_contention", "ffmpeg"),
    "memcpy-bottleneck": ("memcpy_share", ""),
}
LATER = ["gpu-steal", "gpu-contention", "contention", "periodic-spike"]
PID_MAX_LIMIT = 4 << 20  # include/linux/threads.h on 64 bits: no live process has such a pid
NOBODY = 65534
AS_NOBODY = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]

failed = []


def expect(what, is_true, *shown):
    if not is_true:
        failed.append(what)
        print(f"{what}: {' '.join(str(s)[-600:] for s in shown)}", file=sys.stderr)


def drop():
    """The command that takes every privilege away, or nothing where there is none or it cannot be done."""
    if os.geteuid() != 0:
        return []
    done = subprocess.run([*AS_NOBODY, INGERO, "version"], capture_output=True, check=False)
    return AS_NOBODY if done.returncode == 0 else []


def run(home, *arguments):
    environment = {"PATH": os.environ["PATH"], "HOME": home, "TMPDIR": home, "LC_ALL": "C.UTF-8"}
    done = subprocess.run([*PREFIX, INGERO, "demo", *arguments], env=environment, cwd="/", stdin=subprocess.DEVNULL,
                          capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def nanoseconds(text):
    """A time of a line; floating point has no room for it."""
    seconds, fraction = text.rstrip("Z").split(".")
    return int(datetime.datetime.fromisoformat(seconds + "+00:00").timestamp()) * 10**9 + int(fraction)


def check_seconds(name, figures, summary, events):
    """Lines of a second each: end to end, together the summary, and each true of its own calls."""
    expect(f"{name}: a line each second", len(figures) in (summary["window_ns"] // 10**9, summary["window_ns"] // 10**9 + 1), len(figures))
    expect(f"{name}: end to end", all(a["to"] == b["from"] for a, b in zip(figures, figures[1:])),
           [(line["from"], line["to"]) for line in figures])
    expect(f"{name}: from the beginning to the end", figures and sum(line["window_ns"] for line in figures) == summary["window_ns"] and
           figures[-1]["to"] == summary["timestamp"], [line["window_ns"] for line in figures], summary["window_ns"])
    added = collections.defaultdict(lambda: collections.defaultdict(int))
    waits = sorted((nanoseconds(e["timestamp"]) + e["duration_raw_ns"], e["duration_ns"]) for e in events if e["op"] == "cudaStreamSynchronize")
    for line in figures:
        begin, end = nanoseconds(line["from"]), nanoseconds(line["to"])
        for row in line["operations"]:
            expect(f"{name}: only what was called", row["count"] or row["abandoned"], row)
            expect(f"{name}: rate and rung", abs(row["rate"] - row["count"] * 1e9 / line["window_ns"]) < 1e-6 * row["rate"] and
                   row["rung"] == "exact", row)
            expect(f"{name}: {row['op']} of a second adds up", sum(row["blame_ns"].values()) == row["total_raw_ns"], row)
            for key in ("count", "errors", "bytes", "total_ns", "total_raw_ns", "untimed", "abandoned"):
                added[row["pid"], row["op"]][key] += row[key]
            took = sorted(ns for at, ns in waits if begin < at <= end)
            if row["op"] != "cudaStreamSynchronize" or not took:
                continue
            expect(f"{name}: each of its calls", len(took) == row["count"], len(took), row)
            for key, want in (("p50_ns", took[(len(took) - 1) // 2]), ("p99_ns", took[math.ceil(len(took) * 0.99) - 1]), ("max_ns", took[-1])):
                near = [ns for ns in took if abs(ns - row[key]) <= ns / 16 + 64]
                expect(f"{name}: {key} of its own calls", abs(row[key] - want) <= want / 8 + 64 or (key == "p50_ns" and near), key, want, row)
    total = {(row["pid"], row["op"]): row for row in summary["operations"]}
    expect(f"{name}: seconds of every operation", set(added) == set(total), set(added) ^ set(total))
    for key, sums in added.items():
        expect(f"{name}: seconds of {key} add up", all(total[key][k] == n for k, n in sums.items()), dict(sums), total.get(key))
    behind = collections.Counter()
    for line in figures:
        for who in line["behind"]:
            behind[who["victim_pid"], who["pid"]] += who["ns"]
    expect(f"{name}: seconds of who ran add up", behind == {(who["victim_pid"], who["pid"]): who["ns"] for who in summary["behind"]}, behind)
    expect(f"{name}: a longest call is in its second", all(max(row["max_ns"] for line in figures for row in line["operations"] if
           (row["pid"], row["op"]) == key) == total[key]["max_ns"] for key in added), total)


def check_accounts(name, summary):
    """Of each thread, down to the nanosecond; and the one that loses its CPU loses it between its calls as well."""
    accounts = summary["accounts"]
    expect(f"{name}: a driving thread has an account", accounts and accounts[0]["is_driving"], accounts)
    for account in accounts:
        added = sum(part["ns"] for part in account["parts"])
        expect(f"{name}: the account of {account['tid']} is its clock", added == account["wall_ns"], added, account)
    hog = CAUSES[name][1]
    behind = [part for part in accounts[0]["parts"] if part["where"] == "between" and part["class"] == "runnable" and
              part.get("by", {}).get("comm") == hog] if accounts and hog else []
    expect(f"{name}: ready between calls behind {hog or 'nobody'}", bool(behind) == bool(hog), accounts)


def check_explained(home, name):
    """What is said of a database that was kept begins with where the time went."""
    kept = os.path.join(home, "kept.db")
    status, _, error = run(home, name, "--speed", "100", "--db", kept)
    expect(f"{name}: kept", status == 0 and not error, status, error)
    environment = {"PATH": os.environ["PATH"], "HOME": home, "TMPDIR": home, "LC_ALL": "C.UTF-8"}
    done = subprocess.run([*PREFIX, INGERO, "explain", "--db", kept], env=environment, cwd="/", stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line]
    expect(f"{name}: explained", done.returncode == 0 and len(lines) > 3, done)
    expect(f"{name}: the account opens it", len(lines) > 3 and " · main thread · " in lines[1] and " %  " in lines[2], lines[:4])
    for file in pathlib.Path(home).glob("kept.db*"):
        file.unlink()


def check_json(home, name):
    status, out, error = run(home, name, "--speed", "20", "--json")
    expect(f"{name}: ends well", status == 0 and not error, status, error)
    valid = subprocess.run([sys.executable, VALIDATE], input=out.encode(), capture_output=True, check=False)
    expect(f"{name}: valid lines", valid.returncode in (0, 77), valid.stderr.decode())
    lines = [json.loads(line) for line in out.splitlines()]
    kinds = [line["type"] for line in lines]
    expect(f"{name}: start first, summary last", kinds[:1] == ["start"] and kinds[-1:] == ["summary"], kinds[:1], kinds[-1:])
    if kinds[-1:] != ["summary"]:
        return
    start, summary = lines[0], lines[-1]
    uid = NOBODY if PREFIX else os.getuid()
    expect(f"{name}: says that it is a demo", start["back_end"] == "demo" and not start["libraries"], start)
    expect(f"{name}: of the caller, of no live process",
           {(row["pid"] >= PID_MAX_LIMIT, row["uid"]) for row in summary["operations"]} == {(True, uid)}, summary["operations"])
    expect(f"{name}: the whole of it", 8e9 < summary["window_ns"] < 16e9, summary["window_ns"])
    unread = summary["lost"].pop("subscriber_slow")  # on a busy machine we are slow ourselves
    expect(f"{name}: nothing lost", not any(summary["lost"].values()), summary["lost"])
    for row in summary["operations"]:
        expect(f"{name}: {row['op']} adds up", sum(row["blame_ns"].values()) == row["total_raw_ns"], row)
    found = summary["findings"]
    expect(f"{name}: its own cause first", found and (found[0]["kind"], found[0]["cause"]["comm"]) == CAUSES[name], found)
    expect(f"{name}: nothing else above LOW",
           all(f["severity"] == "LOW" or (f["kind"], f["cause"]["comm"]) == CAUSES[name] for f in found), found)
    expect(f"{name}: nothing goes on", all(f["end"] for f in found), found)
    check_accounts(name, summary)
    told = {line["id"] for line in lines if line["type"] == "finding"}
    expect(f"{name}: findings as they come", told >= {f["id"] for f in found}, told)
    counted = {row["op"]: row["count"] for row in summary["operations"]}
    events = [line for line in lines if line["type"] == "event"]
    check_seconds(name, [line for line in lines if line["type"] == "figures"], summary, [] if unread else events)
    waits = sum(event["op"] == "cudaStreamSynchronize" for event in events)
    expect(f"{name}: each wait is a record", counted["cudaStreamSynchronize"] - unread <= waits <= counted["cudaStreamSynchronize"],
           waits, counted, unread)
    expect(f"{name}: fewer records than calls", len(events) < sum(counted.values()), len(events), counted)
    return [{key: value for key, value in row.items() if key != "start_time"} for row in summary["operations"]]


def check_lines(home):
    status, out, error = run(home, "all", "--speed", "100")
    expect("all: ends well", status == 0 and not error, status, error)
    heads = [line for line in out.splitlines() if line.startswith("demo ") and " played for " in line]
    expect("all: each in turn", [head.split()[1].rstrip(":") for head in heads] == DEMOS, heads)
    expect("all: says that nothing is real", " ".join(out.split()).count("a demo: simulated data") == len(DEMOS), out)
    expect("all: names who is to blame", "logrotate" in out and "ffmpeg" in out, out)
    expect("all: says what was kept", "temporary file" in " ".join(out.split()), out)


def check_refusals(home):
    status, out, error = run(home)
    expect("list: each by name", status == 0 and not error and all(f"  {name} " in out for name in DEMOS), out, error)
    expect("list: no more", not any(f"  {name} " in out for name in LATER), out)
    for name in LATER:
        status, out, error = run(home, name)
        expect(f"{name}: refused by name", status == 2 and not out and error.count("\n") == 1 and name in error and
               all(demo in error for demo in DEMOS) and "not supported" in error, status, out, error)
    for arguments in (["nope"], [""], ["inciden"], ["incident", "--speed", "0"], ["incident", "--speed", "fast"],
                      ["incident", "--speed", "nan"], ["incident", "--speed", "1e9"], ["incident", "cold-start"], ["--json"],
                      ["incident", "--db="], ["incident", "--duration", "5s"]):
        status, out, error = run(home, *arguments)
        expect(f"{arguments}: one line", status == 2 and not out and error.count("\n") == 1, status, out, error)


def check_not_kept(home):
    status, out, error = run(home, "incident", "--speed", "1000", "--db", home)
    expect("not kept: says why, once", status == 1 and error.count("\n") == 1 and "no regular file" in error and error.count("--db") == 1, status, error)
    expect("not kept: nothing is played", not out, out)


def check_full(home):
    """A disk without room: whatever was to be written, one sentence says so."""
    for line in ("help", "help trace", "help --man", "help --json", "version", "completion zsh", "config show", "config check", "demo",
                 "demo incident --speed 1000", "demo incident --speed 1000 --json", f"explain --db {home}/full.db", f"query --db {home}/full.db",
                 f"query --db {home}/full.db --json", f"explain --db {home}/full.db --json"):
        if "full.db" in line and not os.path.exists(f"{home}/full.db"):
            run(home, "incident", "--speed", "1000", "--db", f"{home}/full.db")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([*PREFIX, INGERO, *line.split()], env={"PATH": os.environ["PATH"], "HOME": home, "TMPDIR": home}, cwd="/",
                                  stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, check=False)
        said = done.stderr.decode()
        expect(f"no room, {line}: one sentence", done.returncode == 1 and said.count("\n") == 1 and "No space left" in said, done.returncode, said)
    for name in os.listdir(home):
        if name.startswith("full.db"):
            os.remove(os.path.join(home, name))


def check_closed(home):
    """Started without standard output, or without errors: what is meant for people goes nowhere else."""
    for how, status, said in ((">&-", 1, "Bad file descriptor"), ("2>&-", 0, "")):
        done = subprocess.run([*PREFIX, "sh", "-c", f'exec "$0" demo incident --speed 1000 {how}', INGERO], cwd="/", stdin=subprocess.DEVNULL,
                              env={"PATH": os.environ["PATH"], "HOME": home, "TMPDIR": home}, capture_output=True, check=False)
        expect(f"closed {how}: status", done.returncode == status, done)
        expect(f"closed {how}: said", said in done.stderr.decode() and bool(done.stdout) == (how == "2>&-"), done)


with tempfile.TemporaryDirectory() as directory:
    PREFIX = drop()
    if PREFIX:
        os.chown(directory, NOBODY, NOBODY)
    for demo in DEMOS:
        first, second = check_json(directory, demo), check_json(directory, demo)
        expect(f"{demo}: the same each time", first and first == second, first, second)
        check_explained(directory, demo)
    check_lines(directory)
    check_refusals(directory)
    check_not_kept(directory)
    check_closed(directory)
    check_full(directory)
    expect("nothing is left", not os.listdir(directory), os.listdir(directory))
print(f"{len(DEMOS)} demos, {len(failed)} failed{'' if PREFIX else ', as ourselves'}")
sys.exit(1 if failed else 0)
