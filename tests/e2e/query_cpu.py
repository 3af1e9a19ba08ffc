#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
query_cpu.py BUILD: what a user asks of a service computes at his expense: for a second like any program and then nice, until his CPU
time is used up; then he is told when to ask again, and others are answered as before.

Needs root (or it is skipped): several users ask.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import ingero  # noqa: E402
import kept  # noqa: E402
import service_users  # noqa: E402

# As long as it may; and what is answered at once.
LONG = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c"
SHORT = "SELECT 1 AS one"
NAME = "ingero query"
NICE = 10
CPU = min(os.sched_getaffinity(0))


def start(home, name, sql, *arguments):
    become = service_users.become(name) if name else []
    return subprocess.Popen([*home.prefix, *become, home.programs.path("ingero-cli"), *(arguments or ("query", sql))],
                            env={**home.environment, "HOME": home.path(name) if name else home.directory}, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)


def ask(home, name, sql):
    process = start(home, name, sql)
    out, error = process.communicate()
    return subprocess.CompletedProcess(sql, process.returncode, out, error)


def readers(service):
    """Processes of the daemon that answer questions: number, nice value."""
    found = {}
    pids = pathlib.Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children").read_text(encoding="utf-8").split()
    for pid in pids:
        try:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        except OSError:
            continue
        name, rest = re.match(r"\d+ \((.*)\) (.*)", fields).groups()
        if name == NAME:
            found[int(pid)] = int(rest.split()[16])
    return found


def test_nice(check, home, service):
    """One that computes for long gives way to others; its name says what it is."""
    with start(home, "first", LONG) as one:
        ingero.wait_for(lambda: readers(service), f"a process '{NAME}'")
        check("begins like any program", set(readers(service).values()) <= {0, NICE}, readers(service))
        ingero.wait_for(lambda: NICE in readers(service).values() or one.poll() is not None, "a nice one")
        check("and is nice after a while", list(readers(service).values()) == [NICE], readers(service), one.poll())
        one.terminate()
        one.communicate()


def test_used_up(check, home, name):
    stopped = ask(home, name, LONG)
    check(f"{name or 'root'} is stopped", stopped.returncode == 1 and "stopped: uid" in stopped.stderr, stopped.returncode, stopped.stderr)
    refused = ask(home, name, SHORT)
    wait = re.search(r"ask again in (\d+) s", refused.stderr)
    check(f"{name or 'root'} is told when to ask again", refused.returncode == 1 and wait and 1 <= int(wait.group(1)) <= 30, refused.returncode,
          refused.stdout, refused.stderr)
    check("in one line", len(refused.stderr.splitlines()) == 1, refused.stderr)
    other = ask(home, "second", SHORT)
    check("another one is answered", other.returncode == 0, other.stderr)
    ingero.wait_for(lambda: ask(home, name, SHORT).returncode == 0, f"an answer for {name or 'root'}, later")


def test_named(check, home, service):
    """Whoever had to wait for it is told that it was a question, and whose: not the user that all of them run as."""
    for task in os.listdir(f"/proc/{service.process.pid}/task"):
        os.sched_setaffinity(int(task), {CPU})  # and with it what it starts
    program, _ = home.load("--duration", "4s", "--inside-us", 2000)
    traced = start(home, "first", None, "trace", "--json", "--", "taskset", "--cpu-list", str(CPU), *program[:-2])
    with traced, start(home, "second", LONG) as one:
        out, error = traced.communicate()
        one.terminate()
        one.communicate()
    if "cannot capture" in error:
        return False
    behind = json.loads(out.splitlines()[-1])["behind"]
    ours = {row["uid"] for row in behind if row["comm"] == NAME}
    check("waits for a question are named, and who asked", ours == {service_users.USERS["second"]}, behind)
    others = [row for row in behind if row["uid"] == service_users.SERVICE]
    check("nothing is blamed on the user of all questions", not others, others)
    return True


def main(build):
    check = kept.Checks()
    with service_users.place(build) as home:
        with service_users.service(home, "nobody") as service:
            test_nice(check, home, service)
        with service_users.service(home, "nobody", "--query-cpu", "4s"):
            for name in ("first", "reader", None):
                test_used_up(check, home, name)
        with service_users.service(home, "nobody") as service:
            if not test_named(check, home, service):
                kept.skip("nothing can be captured here")
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
