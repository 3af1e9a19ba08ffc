#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
waits_users.py BUILD shown|hidden: the first user's program waits for the second one's through a pipe, a socket and a lock. The first
user is told by whom its waits were ended: number, name and user where /proc shows these, only the user where it is mounted with hidepid.
The same of a
process of the first user's own that may not be inspected. Of what that process did, waited for and had open nothing; and the second user is told nothing of the first one's. Live, stored, in SQL
and exported. Needs root (or it is skipped): has users and groups that only it sees.
"""
import contextlib
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE)]
import ingero  # noqa: E402
import kept  # noqa: E402
import service_users  # noqa: E402

PAIR = HERE.parent / "workloads" / "pair.py"
KINDS = {"pipe": ("other", "pipe"), "socket": ("network", "peer"), "lock": ("lock", "futex")}
SECONDS = 4
WAITS, GIVES = "first", "second"
SQL = ('SELECT pid, "where", class, resource_kind, resource_name, by_pid, by_tid, by_comm, by_uid, count, ns FROM waits',
       "SELECT * FROM accounts", "SELECT * FROM behind", "SELECT * FROM host_operations", "SELECT * FROM operations")


class Loop:
    """One role of a pair, by its user, in his home."""

    def __init__(self, home, name, through, role, *more):
        self.name, self.uid = name, service_users.USERS[name]
        self.process = subprocess.Popen(
            [*service_users.become(name), "/usr/bin/python3", "-S", str(PAIR), "--libraries", os.path.dirname(home.programs.library("libcuda.so.1")),
             "--place", home.path("place"), "--through", through, "--role", role, *more],
            env=home.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=home.path(name))
        self.pid = self.process.pid
        self.comm = "python3"

    def runs(self):
        if self.process.stdout.readline() != "runs\n":
            raise ingero.Failed(f"{self.name}'s loop ended with {self.process.wait()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(1)
        except subprocess.TimeoutExpired:  # nobody gives any more
            self.process.kill()
            self.process.wait()


def answers_of(home, name):
    """Everything that this user is told, as text: by each way."""
    told = {f"explain {more}": service_users.ask(home, name, "explain", *more.split()).stdout for more in ("--json --per-process", "--per-process")}
    told["blame"] = service_users.ask(home, name, "blame").stdout
    told["blame --json"] = service_users.ask(home, name, "blame", "--json").stdout
    for sql in SQL:
        told[sql] = service_users.ask(home, name, "query", "--json", "--sql", sql).stdout
    done = service_users.ask(home, name, "export", "--format", "db", "-o", os.path.join(home.path(name), "exported.db"))
    if done.returncode:
        raise ingero.Failed(f"export: {done.stderr}")
    with sqlite3.connect(f"file:{home.path(name)}/exported.db?mode=ro", uri=True) as connection:
        connection.row_factory = sqlite3.Row
        for table in [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")]:
            told[f"exported {table}"] = "\n".join(json.dumps(dict(row), default=repr) for row in connection.execute(f'SELECT * FROM "{table}"'))
    os.unlink(os.path.join(home.path(name), "exported.db"))
    told["status"] = service_users.ask(home, name, "status", "--json").stdout
    return told


def processes_in(text):
    """Numbers where answers have those of processes and threads: keys of JSON, the end of a call's id, and words. Others may be equal."""
    found = re.findall(r'"\w*[pt]ids?": ?\[?([\d, ]+)', text) + re.findall(r'\.(\d+)"', text) + re.findall(r"(?:pid |\()(\d+)", text)
    return {int(number) for numbers in found for number in re.findall(r"\d+", numbers)}


def waits_in(rows, through, pid):
    """Of rows with names as in SQL: what this process waited for through the pair."""
    class_, kind = KINDS[through]
    return [row for row in rows if (row["pid"], row["where"], row["class"], row["resource_kind"]) == (pid, "between", class_, kind)]


def parts_in(accounts):
    """The same of JSON."""
    for account in accounts:
        for part in account["parts"]:
            if part.get("resource"):
                by = part.get("by", {})
                yield {"pid": account["pid"], "where": part["where"], "class": part["class"], "resource_kind": part["resource"]["kind"],
                       "resource_name": part["resource"].get("name"), "by_pid": by.get("pid") or None, "by_tid": by.get("tid") or None,
                       "by_comm": by.get("comm") or None, "by_uid": by.get("uid"), "ns": part["ns"]}


def check_told(check, what, rows, gives, is_shown):
    """Of the waits for the pair: who ended them, exactly as far as the caller could read that in /proc."""
    longest = max(rows, key=lambda row: row["ns"], default=None)
    if not check(f"{what}: the wait is told", longest, rows):
        return
    wanted = (gives.pid, gives.pid, gives.comm, gives.uid) if is_shown else (None, None, None, gives.uid)
    got = tuple(longest[name] for name in ("by_pid", "by_tid", "by_comm", "by_uid"))
    check(f"{what}: who ended it", got == wanted, got, wanted)


def check_silent(check, what, text, loop, is_pid_known, home):
    """Nothing of a loop in somebody else's answer but, where /proc shows it, its number: it may have had the CPU."""
    check(f"{what}: no path of {loop.name}'s", "secret-" + loop.name not in text and home.path(loop.name) not in text, text)
    if not is_pid_known:
        check(f"{what}: not even its number", loop.pid not in processes_in(text), text)


def rows_of(text):
    return [json.loads(line) for line in text.splitlines()]


def test_pair(check, home, through, is_shown):
    with Loop(home, GIVES, through, "gives") as gives, Loop(home, WAITS, through, "waits") as waits:
        gives.runs()
        waits.runs()
        live = {name: service_users.ask(home, name, "trace", "--json", "--duration", f"{SECONDS}s") for name in (WAITS, GIVES)}
        for name, traced in live.items():
            check(f"{through}: {name} traces", traced.returncode == 0, traced.stderr)
        told = {name: answers_of(home, name) for name in (WAITS, GIVES)}
    summaries = {name: json.loads(traced.stdout.splitlines()[-1]) for name, traced in live.items()}
    own = {waits.name: waits, gives.name: gives}
    for name, other in ((WAITS, gives), (GIVES, waits)):
        mine = own[name]
        for way, text in {"live": live[name].stdout, **told[name]}.items():
            what = f"{through}, {name}, {way}"
            check_silent(check, what, text, other, is_shown, home)
        accounts = [summaries[name]["accounts"], json.loads(told[name]["blame --json"])["accounts"]]
        for way, rows in zip(("live", "blame"), accounts):
            check(f"{through}, {name}, {way}: only one's own threads", {row["pid"] for row in rows} == {mine.pid}, rows)
            check(f"{through}, {name}, {way}: uid", {row["uid"] for row in rows} == {mine.uid}, rows)
        for sql in SQL:
            rows = rows_of(told[name][sql])
            check(f"{through}, {name}, {sql}: one's own rows", {row.get("pid") for row in rows} <= {mine.pid}, rows)
            check(f"{through}, {name}, {sql}: rows", rows or "behind" in sql, rows)
    sql_waits = waits_in(rows_of(told[WAITS][SQL[0]]), through, waits.pid)
    check_told(check, f"{through}, SQL", sql_waits, gives, is_shown)
    check_told(check, f"{through}, exported", waits_in(rows_of(told[WAITS]["exported waits"]), through, waits.pid), gives, is_shown)
    for way, rows in (("live", summaries[WAITS]["accounts"]), ("blame", json.loads(told[WAITS]["blame --json"])["accounts"]),
                      ("explain", json.loads(told[WAITS]["explain --json --per-process"]).get("accounts", []))):
        check_told(check, f"{through}, {way}", waits_in(parts_in(rows), through, waits.pid), gives, is_shown)
    # what the one that gives waits for itself: its user alone is told
    check(f"{through}: {GIVES} is told of his own file", any(row["resource_kind"] in ("inode", "written") for row in rows_of(told[GIVES][SQL[0]])),
          told[GIVES][SQL[0]])


def test_guarded(check, home, is_shown):
    """Waits for a process of one's own user that cannot be dumped: number and name as /proc shows them."""
    with Loop(home, WAITS, "pipe", "gives", "--undumpable") as gives, Loop(home, WAITS, "pipe", "waits") as waits:
        gives.runs()
        waits.runs()
        live = service_users.ask(home, WAITS, "trace", "--json", "--duration", f"{SECONDS}s")
        check("guarded: traces", live.returncode == 0, live.stderr)
        told = answers_of(home, WAITS)
    for way, text in {"live": live.stdout, **told}.items():
        if not is_shown:
            check(f"guarded, {way}: not even its number", gives.pid not in processes_in(text), text)
    for way, rows in (("live", parts_in(json.loads(live.stdout.splitlines()[-1])["accounts"])),
                      ("blame", parts_in(json.loads(told["blame --json"])["accounts"])),
                      ("SQL", rows_of(told[SQL[0]])), ("exported", rows_of(told["exported waits"]))):
        check_told(check, f"guarded, {way}", waits_in(rows, "pipe", waits.pid), gives, is_shown)


def main(build, proc):
    kept.in_own_mounts("users of a service need root")
    check = kept.Checks()
    if proc == "hidden":
        subprocess.run(["mount", "-t", "proc", "-o", "hidepid=invisible", "proc", "/proc"], check=True)
    with kept.Kept(build) as home:
        service_users.add_people(home)
        with kept.lists_given_back():
            if subprocess.run([*service_users.become(WAITS), home.programs.path("ingero"), "version"], check=False, capture_output=True).returncode:
                kept.skip(f"{build} cannot be run by other users")
            for through in KINDS:
                place = home.path("place")
                subprocess.run(["rm", "-rf", place], check=True)
                os.mkdir(place)
                os.chmod(place, 0o777)
                os.mkfifo(os.path.join(place, "pipe"))
                pathlib.Path(place, "lock").write_bytes(bytes(4096))
                for name in ("pipe", "lock"):
                    os.chmod(os.path.join(place, name), 0o666)
                with service_users.service(home, "everyone", database=through) as service:
                    # a busy machine takes its time to load what intercepts
                    answer = ingero.wait_for(lambda: (lambda done: done if done.returncode == 0 else None)(
                        service_users.ask(home, WAITS, "status", "--json")), "an answer of the service")
                    if json.loads(answer.stdout)["back_end"] == "none":
                        kept.skip("nothing can be captured here")
                    test_pair(check, home, through, proc == "shown")
                    if through == "pipe":
                        test_guarded(check, home, proc == "shown")
                    check(f"{through}: nothing to complain of", not service.said(), service.said())
                subprocess.run(["rm", "-rf", home.path("run")], check=True)
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(lambda build: main(build, sys.argv[2]))
