#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
service_users.py BUILD: a daemon that was started as root with --foreground keeps little of it, and answers each user
with what is his: his own calls to the call, nobody else's, everything to members of ingero-read.

Needs root (or it is skipped): has users and groups that only it sees.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import books_of  # noqa: E402
import ingero  # noqa: E402
import kept  # noqa: E402

KNOWN = books_of.known_operations(HERE.parents[1] / "bpf" / "ops.def")
CALLS = 500
SERVICE = 54320
USERS = {"first": 54321, "second": 54322, "reader": 54323, "other": 54324}  # nobody's, as a rule
GROUPS = {"ingero-read": (54330, "reader")}
# bpf, perfmon, sys_ptrace, dac_read_search, checkpoint_restore; sys_admin where probes are perf events
CAPABILITIES = 1 << 39 | 1 << 38 | 1 << 19 | 1 << 2 | 1 << 40
SYS_ADMIN = 1 << 21
KILL = 1 << 5


def add_people(home):
    """Lines more in the lists of users and groups, for this test alone, and a directory for the databases of their service."""
    lines = {"passwd": [f"ingero:x:{SERVICE}:{SERVICE}::/nonexistent:/usr/sbin/nologin"] +
             [f"{name}:x:{uid}:{uid}::{home.path(name)}:/bin/sh" for name, uid in USERS.items()],
             "group": [f"{name}:x:{gid}:{member}" for name, (gid, member) in GROUPS.items()]}
    for name, uid in (*USERS.items(), ("state", SERVICE)):
        os.mkdir(home.path(name), 0o700)
        os.chown(home.path(name), uid, uid)
    for name, more in lines.items():
        own = {line.split(":")[0] for line in more}
        with open(f"/etc/{name}", encoding="utf-8") as file:
            others = [line for line in file.read().splitlines() if line.split(":")[0] not in own]
        path = home.path(name)
        pathlib.Path(path).write_text("\n".join(others + more) + "\n", encoding="utf-8")
        os.chmod(path, 0o644)
        subprocess.run(["mount", "--bind", path, f"/etc/{name}"], check=True)


@contextlib.contextmanager
def place(build):
    """Starts the test in mounts of its own and yields its directory, with these people."""
    kept.in_own_mounts("users of a service need root")
    with kept.Kept(build) as home:
        add_people(home)
        with kept.lists_given_back():
            yield home


def service(home, whom, *options, database="ingero"):
    """A service that runs as its own user and records the calls of some users (whom)."""
    return kept.Service(home, "--foreground", "--config", "none", "--capture", whom, "--db", home.path(f"state/{database}.db"), *options)


def become(name):
    return ["setpriv", "--reuid", name, "--regid", str(USERS[name]), "--init-groups", "--no-new-privs"]


def ask(home, name, *arguments):
    """As this user, of the service."""
    return home.run(*arguments, prefix=[*home.prefix, *become(name)], environment={"HOME": home.path(name)})


def load(home, name):
    report = os.path.join(home.path(name), "report")
    command, _ = home.load("--calls", CALLS)
    subprocess.run([*become(name), *command[:-1], report], env=home.environment, check=True, stdin=subprocess.DEVNULL)
    return json.loads(pathlib.Path(report).read_text(encoding="utf-8"))


def status_of(path):
    return dict(line.split(":\t", 1) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines() if ":\t" in line)


def test_sealed(check, name, pid, capabilities):
    """Of every thread: what it can still do."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        status = status_of(f"/proc/{pid}/task/{thread}/status")
        for field in ("CapEff", "CapPrm"):
            check(f"{name}, thread {thread}: {field}", int(status[field], 16) in (capabilities, 0), status[field])
        for field in ("CapInh", "CapAmb", "CapBnd"):
            check(f"{name}, thread {thread}: {field}", int(status[field], 16) == 0, status[field])
        check(f"{name}, thread {thread}: sealed", status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", status["NoNewPrivs"], status["Seccomp"])
    check(f"{name}: its capabilities", int(status_of(f"/proc/{pid}/status")["CapEff"], 16) == capabilities)
    check(f"{name}: not dumpable", os.stat(f"/proc/{pid}/mem").st_uid == 0)


def is_sealed(pid):
    """A child has what its parent has until it runs its own program, and gives things up one by one."""
    status = status_of(f"/proc/{pid}/status")
    return int(status["CapPrm"], 16) == 0 and status["NoNewPrivs"] == "1" and status["Seccomp"] == "2" and os.stat(f"/proc/{pid}/mem").st_uid == 0


def test_children(check, name, pid):
    children = ingero.children(pid)
    check(f"{name}: has children", children)
    for child in children:
        ingero.wait_for(lambda pid=child: is_sealed(pid), f"the seal of child {child}")
        test_sealed(check, f"{name}, child {child}", child, 0)


def test_power(check, service, back_end):
    pid = service.process.pid
    test_sealed(check, "service", pid, CAPABILITIES | (SYS_ADMIN if back_end == "perf" else 0))
    for thread in os.listdir(f"/proc/{pid}/task"):
        status = status_of(f"/proc/{pid}/task/{thread}/status")
        check(f"thread {thread}: its user", set(status["Uid"].split()) == {str(SERVICE)} and set(status["Gid"].split()) == {str(SERVICE)}, status["Uid"])
        check(f"thread {thread}: no groups", not status["Groups"].split(), status["Groups"])


def test_private(check, home, back_end):
    """The daemon that root's trace starts, while it traces."""
    command, _ = home.load("--calls", CALLS, "--wait-at-end")
    trace = subprocess.Popen([home.programs.path("ingero"), "trace", "--", *command[:-2]], env=home.environment, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        while trace.stdout.readline().strip() not in ("done", ""):
            pass
        pid = ingero.child_named(trace.pid, "ingero-collect")
        test_sealed(check, "private", pid, CAPABILITIES | KILL | (SYS_ADMIN if back_end == "perf" else 0))
        test_children(check, "private", pid)
    finally:
        said = trace.communicate("\n")
    check("private: traced", trace.returncode == 0, *said)


def operations(said, pid):
    """Calls of CUDA; what the machine did to a process is another matter."""
    return {row["op"]: row["count"] for row in json.loads(said.stdout)["operations"] if row["pid"] == pid and row["source"] in ("cuda", "driver")}


@contextlib.contextmanager
def job_that_runs(home):
    """One of the first user's that was there before the service, and still maps its libraries."""
    command, _ = home.load("--calls", CALLS, "--wait-at-end")
    job = subprocess.Popen([*become("first"), *command[:-2]], env=home.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        while job.stdout.readline().strip() not in ("done", ""):
            pass
        yield
    finally:
        job.communicate("\n")


def wait_for_libraries(home):
    """Calls that come before a library is found are missed; as long as a process has it, of others' none is."""
    ours = os.path.join(home.programs.build, "standins")

    def are_attached():
        return sum(bool(one["back_end"]) and one["path"].startswith(ours) for one in json.loads(home.answer("status", "--json"))["libraries"]) >= 2

    ingero.wait_for(are_attached, "the attach of runtime and driver")


def test_scope(check, home):
    reports = {name: load(home, name) for name in ("first", "second")}
    made = {name: books_of.operations(report["books"], KNOWN) for name, report in reports.items()}
    said = {name: ask(home, name, "explain", "--json", "--per-process") for name in USERS}
    for name, answer in said.items():
        if not check(f"{name} is answered", answer.returncode == 0, answer.stderr):
            return
    for name, other in (("first", "second"), ("second", "first")):
        pid = reports[name]["pid"]
        check(f"{name}: his calls, to the call", operations(said[name], pid) == made[name], operations(said[name], pid), made[name])
        check(f"{name}: nothing of the other", not operations(said[name], reports[other]["pid"]))
        rows = [json.loads(line) for line in ask(home, name, "query", "--json", "--sql", "SELECT DISTINCT pid FROM operations").stdout.splitlines()]
        check(f"{name}: nor by SQL", reports[other]["pid"] not in {row.get("pid") for row in rows} and rows, rows)
    for name in ("first", "second"):
        check(f"reader: {name}'s", operations(said["reader"], reports[name]["pid"]) == made[name], said["reader"].stdout[-500:])
        check(f"other: not {name}'s", not operations(said["other"], reports[name]["pid"]))
    for name in USERS:  # how much others called; not told is not zero
        cost = json.loads(ask(home, name, "status", "--json").stdout)["cost"]
        check(f"{name}: what bystanders paid", ("bystander_calls" in cost, "bystander_ns" in cost) == (name == "reader",) * 2, cost)


def test_live(check, home):
    """A lease of one's own, without root; another's process is as good as none."""
    command, _ = home.load("--calls", CALLS)
    for number in range(4):  # at once one behind the other: each has all of its own
        traced = ask(home, "first", "trace", "--json", "--", *command[:-2])
        rows = json.loads(traced.stdout.splitlines()[-1]).get("operations", []) if traced.returncode == 0 else []
        check(f"first traces a program, {number}", "cudaLaunchKernel" in {row["op"] for row in rows}, traced.returncode, traced.stderr, traced.stdout)
    sleeper = subprocess.Popen([*become("first"), "sleep", "1000"])
    gone = subprocess.Popen([*become("first"), "true"])
    gone.wait()
    try:
        refused = [ask(home, "second", "trace", "--json", "--duration", "1s", "--pid", str(pid)) for pid in (sleeper.pid, gone.pid)]
        words = [re.sub(r"\d+", "N", one.stderr + one.stdout) for one in refused]
        check("another's process is like one that is gone", words[0] == words[1] and refused[0].returncode == refused[1].returncode != 0, *words)
    finally:
        sleeper.kill()
        sleeper.wait()
    everybody = ask(home, "second", "trace", "--json", "--all", "--duration", "1s")
    check("not everybody's", everybody.returncode != 0 and "ingero-read" in everybody.stderr, everybody.stderr)
    everybody = ask(home, "reader", "trace", "--json", "--all", "--duration", "1s")
    check("but for a reader", everybody.returncode == 0, everybody.stderr)


def main(build):
    check = kept.Checks()
    with place(build) as home:
        db = home.path("state/ingero.db")
        if subprocess.run([*become("first"), home.programs.path("ingero"), "version"], check=False, capture_output=True).returncode:
            kept.skip(f"{build} cannot be run by other users")
        with job_that_runs(home), service(home, "everyone") as daemon:
            answer = ask(home, "first", "status", "--json")
            back_end = json.loads(answer.stdout)["back_end"] if check("status", answer.returncode == 0, answer.stderr, daemon.said()) else ""
            if back_end == "none":
                kept.skip("nothing can be captured here")
            test_power(check, daemon, back_end)
            about = os.stat(db)
            check("the database is the service's", (about.st_uid, stat.S_IMODE(about.st_mode)) == (SERVICE, 0o600), about)
            wait_for_libraries(home)
            test_children(check, "service", daemon.process.pid)
            test_scope(check, home)
            test_live(check, home)
            daemon.process.terminate()
            check("ends in peace", daemon.process.wait() == 0, daemon.said())
        test_private(check, home, back_end)
        shutil.rmtree(home.path("run"))
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
