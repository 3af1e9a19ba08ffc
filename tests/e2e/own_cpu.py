#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
own_cpu.py BUILD: a service whose records cost more than its limit of CPU time allows keeps the limit at the expense of whoever's
cost most: others keep every record, counts stay exact, and what is left out is told to its user alone.

Needs root (or it is skipped): has users that only it sees.
"""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import ingero  # noqa: E402
import kept  # noqa: E402
import service_users  # noqa: E402

LIMIT = 0.05
ALLOWED = 3  # times the limit: it is of records alone, and a second is measured before anything is decided
FLOOD, VICTIM, CALLS = "first", "second", 1009
BEGIN, END = "of the users whose records cost most a sample is kept", "no call is left out"
BUSY_RATE = 2000  # calls a second that cost less than half of LIMIT, and more than anybody has in any case
TICKS = os.sysconf("SC_CLK_TCK")
OP = "cudaStreamSynchronize"


def used(service):
    """CPU time of the daemon's threads, seconds."""
    fields = pathlib.Path(f"/proc/{service.process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def uptime():
    return float(pathlib.Path("/proc/uptime").read_text(encoding="utf-8").split()[0])


def is_attached(home, name, pid):
    processes = status(home, name)["cuda_processes"]
    return any(one["pid"] == pid and one["coverage"] == "full" for one in processes)


def start(home, name, *arguments):
    report = os.path.join(home.path(name), "report")
    command, _ = home.load(*arguments)
    process = subprocess.Popen([*service_users.become(name), *command[:-1], report, "--wait-for-stdin"], env=home.environment,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    ingero.wait_for(lambda: is_attached(home, name, process.pid), "the attach of its libraries")
    process.stdin.write("\n")
    process.stdin.flush()
    return process, report


def made(path):
    """Calls of OP, as the program counted them."""
    return next(row["entries"] for row in json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["books"] if row["function"] == OP)


def ask(home, name, *arguments):
    done = service_users.ask(home, name, *arguments)
    if done.returncode:
        raise ingero.Failed(f"{name}, ingero {' '.join(arguments)}: {done.stderr[-1000:]}")
    return done.stdout


def status(home, name):
    return json.loads(ask(home, name, "status", "--json"))


def lost(home, name):
    return status(home, name)["lost"]


def counted(home, name, pid):
    rows = json.loads(ask(home, name, "explain", "--json", "--per-process"))["operations"]
    return sum(row["count"] for row in rows if row["pid"] == pid and row["op"] == OP)


def stored(home, name, pid):
    text = f"SELECT count(*) AS n FROM events WHERE pid = {pid} AND op_name = '{OP}'"
    return json.loads(ask(home, name, "query", "--json", "--sql", text))["n"]


def test_requests(check, home, service):
    """What others' requests take is no reason to leave out records."""
    n = BUSY_RATE * 4
    busy, busy_report = start(home, VICTIM, "--rate", BUSY_RATE, "--calls", n, "--op", "sync")
    begin, cpu = uptime(), used(service)
    while busy.poll() is None:
        ask(home, FLOOD, "status", "--json")
    share = (used(service) - cpu) / (uptime() - begin)
    check("the daemon is busy beyond the limit", share > LIMIT, share)
    check("each call beside requests has a record", stored(home, VICTIM, busy.pid) == made(busy_report) == n, stored(home, VICTIM, busy.pid), n)
    check("nothing was thinned", BEGIN not in service.said(), service.said())


def test_flood(check, home, service):
    flood, flood_report = start(home, FLOOD, "--duration", "12s", "--op", "sync")
    with flood:
        ingero.wait_for(lambda: BEGIN in service.said(), "a limit that is exceeded")
        begin, cpu = uptime(), used(service)
        victim, victim_report = start(home, VICTIM, "--rate", 200, "--calls", CALLS, "--op", "sync")
        victim.communicate()
        shown = status(home, VICTIM)
        share = (used(service) - cpu) / (uptime() - begin)
        flood.communicate()
    check("the limit is kept", share <= ALLOWED * LIMIT, share)
    check("and shown", shown["record_cpu_limit_ratio"] == LIMIT, shown)
    check("with what records take", 0.1 * LIMIT < shown["record_cpu_ratio"] <= ALLOWED * LIMIT, shown)
    check("each call of another user has a record", stored(home, VICTIM, victim.pid) == made(victim_report) == CALLS, stored(home, VICTIM, victim.pid))
    check("nothing of his is lost", not lost(home, VICTIM)["thinned"] and not lost(home, VICTIM)["ring_full"], lost(home, VICTIM))
    n, kept_calls = made(flood_report), stored(home, FLOOD, flood.pid)
    check("every call is counted", counted(home, FLOOD, flood.pid) == n, counted(home, FLOOD, flood.pid), n)
    check("some have a record", 0 < kept_calls < n, kept_calls, n)
    check("what was left out is told to its user", n / 2 < lost(home, FLOOD)["thinned"], lost(home, FLOOD), n)
    text = kept.words_of(ask(home, FLOOD, "explain"))
    check("with what to do", "limit of the daemon's CPU time: try '--record slow'" in text, text)
    ingero.wait_for(lambda: END in service.said(), "the end of it")


def test_moderate(check, home, service):
    """A user whose records cost less than a fair part keeps them all, although they are many."""
    n = BUSY_RATE * 3
    flood, _ = start(home, FLOOD, "--duration", "8s", "--op", "sync")
    with flood:
        ingero.wait_for(lambda: service.said().count(BEGIN) == 2, "a limit that is exceeded")
        busy, busy_report = start(home, VICTIM, "--rate", BUSY_RATE, "--calls", n, "--op", "sync")
        busy.communicate()
        flood.communicate()
    check("each call of a moderate user has a record", stored(home, VICTIM, busy.pid) == made(busy_report) == n, stored(home, VICTIM, busy.pid), n)


def main(build):
    check = kept.Checks()
    with service_users.place(build) as home, service_users.service(home, "everyone", "--record", "all", "--cpu", f"{LIMIT:.0%}") as service:
        if json.loads(home.answer("status", "--json"))["back_end"] == "none":
            kept.skip("nothing can be captured here")
        test_requests(check, home, service)
        test_flood(check, home, service)
        test_moderate(check, home, service)
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
