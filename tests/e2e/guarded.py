#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
guarded.py BUILD: a process that ptrace(2) would refuse to its own user is root's alone: undumpable, with another's rights,
with capabilities, once root's; from its start, since a moment, or since an exec. What was its user's before stays so.

Needs root (or it is skipped): has users and groups that only it sees.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import ingero  # noqa: E402
import kept  # noqa: E402
import service_users  # noqa: E402

UID = service_users.USERS["first"]
OP = "cudaDeviceSynchronize"
BEFORE, AFTER = 7, 13  # calls of what it is at first, and of what it becomes
PYTHON = "/usr/bin/python3"  # the machine's own, which any user may run: not one of root's home
EVER = ("--from", "2001-01-01")

# Does what its standard input says, line by line. The library is a path: programs with another's rights ignore the environment.
SUBJECT = """
import ctypes, os, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
def runtime():
    return ctypes.CDLL(sys.argv[1])
def call(n):
    for _ in range(int(n)):
        runtime().cudaDeviceSynchronize()
def dumpable(yes):
    libc.prctl(4, int(yes), 0, 0, 0)  # PR_SET_DUMPABLE
def leave():
    libc.unshare(0x10000000)  # CLONE_NEWUSER
def become(uid):
    os.setgroups([])
    os.setresgid(*3 * [int(uid)])
    os.setresuid(*3 * [int(uid)])
def thread(uid, n):
    def run():
        libc.syscall(117, *3 * [int(uid)])  # setresuid, of this thread alone
        call(n)
    one = threading.Thread(target=run)
    one.start()
    one.join()
def execute(program):
    os.execv(program, [program, "-S", "-c", open(sys.argv[2]).read(), *sys.argv[1:]])
print("ready", flush=True)
for line in sys.stdin:
    word, *rest = line.split()
    globals()[word](*rest)
    print("done", flush=True)
"""


class Subject:
    """A process that does as it is told."""

    def __init__(self, world, program, prefix=(), library=None):
        self.process = subprocess.Popen([*prefix, program, "-S", "-c", SUBJECT, library or world.library, world.script], text=True,
                                        env={"INGERO_STANDIN_QUIET": "1"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.hear()
        self.pid = self.process.pid

    def hear(self):
        line = self.process.stdout.readline()
        if not line:
            raise ingero.Failed("a subject ended before its time")

    def tell(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        self.hear()

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class World:
    """Copies of the interpreter, with and without power."""

    def __init__(self, home):
        self.directory = home.path("programs")
        os.mkdir(self.directory, 0o755)
        self.library = home.programs.library("libcudart.so.12")
        self.script = self.path("subject")
        pathlib.Path(self.script).write_text(SUBJECT, encoding="utf-8")
        self.plain = os.path.realpath(PYTHON)
        self.user = ["setpriv", "--reuid", str(UID), "--regid", str(UID), "--clear-groups"]
        self.setuid = self.copy("setuid", 0o4755)
        self.setgid = self.copy("setgid", 0o2755)
        self.setcap = self.copy("setcap", 0o755)
        # the layout of vfs_ns_cap_data's second revision, effective: CAP_NET_BIND_SERVICE
        os.setxattr(self.setcap, "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0))

    def path(self, name):
        return os.path.join(self.directory, name)

    def copy(self, name, mode):
        shutil.copyfile(self.plain, self.path(name))
        os.chmod(self.path(name), mode)
        return self.path(name)


def ordinary(world):
    yield Subject(world, world.plain, world.user)


def in_namespace(world):
    """As in a container that a user runs without root: has every capability, where the user could give himself each."""
    yield Subject(world, world.plain, [*world.user, "unshare", "--user", "--map-root-user"])


def in_roots_namespace(world):
    subject = Subject(world, world.plain)
    subject.tell("leave")
    for name in ("uid_map", "gid_map"):
        pathlib.Path(f"/proc/{subject.pid}/{name}").write_text(f"{UID} {UID} 1\n", encoding="ascii")
    subject.tell("become", UID)
    subject.tell("execute", world.plain)
    yield subject


def undumpable(world):
    subject = Subject(world, world.plain, world.user)
    subject.tell("dumpable", 0)
    yield subject


def set_user(world):
    yield Subject(world, world.setuid, world.user)


def set_group(world):
    yield Subject(world, world.setgid, world.user)


def capable(world):
    """It says itself that it may be dumped: its capabilities are left."""
    subject = Subject(world, world.setcap, world.user)
    subject.tell("dumpable", 1)
    yield subject


def capable_undumpable(world):
    yield Subject(world, world.setcap, world.user)


def root_once(world):
    subject = Subject(world, world.plain)
    subject.tell("become", UID)
    yield subject


def given(world):
    """Of root, that gave it to the user: no call was made before."""
    subject = Subject(world, world.plain)
    subject.tell("become", UID)
    subject.tell("dumpable", 1)
    yield subject


def late(world):
    subject = Subject(world, world.plain, world.user)
    yield subject
    subject.tell("dumpable", 0)


def late_and_back(world):
    subject = Subject(world, world.plain, world.user)
    yield subject
    subject.tell("dumpable", 0)
    subject.tell("call", 1)
    subject.tell("dumpable", 1)


def executed(world):
    subject = Subject(world, world.plain, world.user)
    yield subject
    subject.tell("execute", world.setuid)


def left(world):
    """The other way round: what a powerful program executes without its power is the user's."""
    subject = Subject(world, world.setcap, world.user)
    yield subject
    subject.tell("execute", world.plain)


def was_root(world):
    """Calls as root, then as the user, and may be dumped."""
    subject = Subject(world, world.plain)
    yield subject
    subject.tell("become", UID)
    subject.tell("dumpable", 1)


# How it comes to be, calls of the user's before what it does then, and after; None: it does nothing more. What was guarded
# keeps its calls to root until its next exec, also where its user may look into it again.
AGAIN = ("undumpable for a moment", "root, later the user")
CASES = (
    ("an ordinary one", ordinary, BEFORE, None),
    ("in a user namespace of his", in_namespace, BEFORE, None),
    ("in a user namespace of root's", in_roots_namespace, 0, None),
    ("given by root", given, BEFORE, None),
    ("undumpable", undumpable, 0, None),
    ("setuid", set_user, 0, None),
    ("setgid", set_group, 0, None),
    ("with a capability", capable, 0, None),
    ("with a capability, undumpable", capable_undumpable, 0, None),
    ("root that became the user", root_once, 0, None),
    ("undumpable since a moment", late, BEFORE, 0),
    ("undumpable for a moment", late_and_back, BEFORE, 0),
    ("setuid since an exec", executed, BEFORE, 0),
    ("ordinary since an exec", left, 0, AFTER),
    ("root, later the user", was_root, 0, 0),
)


def counted(home, who, pid):
    """Calls of a process as three commands tell of them."""
    explained = json.loads(service_users.ask(home, who, "explain", "--json", "--per-process", *EVER).stdout)["operations"]
    sql = {}
    for table, value in (("operations", "sum(count)"), ("events", "count(*)")):
        done = service_users.ask(home, who, "query", "--json", "--sql", f"SELECT {value} AS n FROM {table} WHERE pid = {pid} AND op_name = '{OP}'")
        sql[table] = json.loads(done.stdout.splitlines()[0]).get("n") or 0
    return {"explain": sum(row["count"] for row in explained if row["pid"] == pid and row["op"] == OP), **sql}


def is_in_status(home, who, pid):
    said = json.loads(service_users.ask(home, who, "status", "--json").stdout)
    return any(one["pid"] == pid for one in said["cuda_processes"]) or any(pid in one["pids"] for one in said["libraries"])


def normal(text):
    return re.sub(r"\d+", "N", text)


def is_refused(home, who, pid, gone):
    """Whether a trace of it is answered as one of a process that does not exist."""
    one, other = (service_users.ask(home, who, "trace", "--json", "--duration", "100ms", "--pid", str(each)) for each in (pid, gone))
    return one.returncode == other.returncode != 0 and normal(one.stderr + one.stdout) == normal(other.stderr + other.stdout)


def is_streamed(home, subject, who):
    """Whether a trace of all that is one's own has its calls while it runs."""
    command = [*home.prefix, *service_users.become(who), home.programs.path("ingero"), "trace", "--json", "--record", "all", "--duration", "1s"]
    with subprocess.Popen(command, env={**home.environment, "HOME": home.path(who)}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as trace:
        trace.stdout.readline()  # it has begun
        subject.tell("call", 1)
        lines = [json.loads(line) for line in trace.stdout]
        return any(line["type"] == "event" and line["pid"] == subject.pid and line["op"] == OP for line in lines)


def settled(home, pid, n):
    ingero.wait_for(lambda: set(counted(home, "reader", pid).values()) == {n}, f"{n} calls of process {pid} to be kept: {counted(home, 'reader', pid)}", limit_s=20)


def test_case(check, home, world, case, gone):
    name, make, before, after = case
    steps = make(world)
    subject = next(steps)
    try:
        subject.tell("call", BEFORE)
        made, own = BEFORE, before
        if after is not None:
            settled(home, subject.pid, made)  # on this side of the change, for good
            check(f"{name}, before: the user's", set(counted(home, "first", subject.pid).values()) == {before}, counted(home, "first", subject.pid))
            with contextlib.suppress(StopIteration):
                next(steps)
            made += name == AGAIN[0]
            subject.tell("call", AFTER)
            made, own = made + AFTER, before + after
        settled(home, subject.pid, made)
        shows_calls = before if after is None else after
        is_own = shows_calls or name in AGAIN
        got = counted(home, "first", subject.pid)
        check(f"{name}: its user sees {own} calls", set(got.values()) == {own}, got)
        got = counted(home, "second", subject.pid)
        check(f"{name}: another user none", set(got.values()) == {0}, got)
        check(f"{name}: status of its user", is_in_status(home, "first", subject.pid) == bool(is_own))
        check(f"{name}: status of a reader", is_in_status(home, "reader", subject.pid))
        check(f"{name}: a trace of it", is_refused(home, "first", subject.pid, gone) == (not is_own))
        check(f"{name}: a trace of all", is_streamed(home, subject, "first") == bool(shows_calls))
    finally:
        subject.end()


def test_path(check, home, world):
    """Where the libraries lie that such a process alone maps."""
    directory = world.path("hidden")
    os.mkdir(directory)
    for name in ("libcudart.so.12", "libcuda.so.1", "libingero-standin.so"):
        shutil.copyfile(home.programs.library(name), os.path.join(directory, name))
    library = os.path.join(directory, "libcudart.so.12")
    subject = Subject(world, world.plain, world.user, library=library)
    try:
        subject.tell("dumpable", 0)
        subject.tell("runtime")
        ingero.wait_for(lambda: library in service_users.ask(home, "reader", "status", "--json").stdout, "a library of an undumpable process")
        for who in ("first", "second"):
            check(f"{who}: not where it lies", directory not in service_users.ask(home, who, "status", "--json").stdout)
    finally:
        subject.end()


def test_own_file(check, home, world):
    """What sudo keeps in the user's own file: he may read that by any means."""
    sudo = {"SUDO_UID": str(UID), "SUDO_GID": str(UID), "SUDO_USER": "first"}
    told = f"call {BEFORE}\ndumpable 0\ncall {AFTER}\n"
    for options in (), ("--all",):
        shutil.rmtree(home.path("first/.ingero"), ignore_errors=True)
        program = [world.plain, "-S", "-c", SUBJECT, world.library, world.script]
        if options:  # who is traced with --all runs already
            subject = Subject(world, world.plain, world.user)
            subject.tell("dumpable", 0)
            trace = subprocess.Popen([home.programs.path("ingero"), "trace", "--json", "--record", "all", "--all", "--duration", "1s"],
                                     env={**home.environment, **sudo, "INGERO_DB": ""}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            trace.stdout.readline()
            subject.tell("call", AFTER)
            said = trace.communicate()[0]
            subject.end()
            check("--all shows it", f'"pid":{subject.pid},' in said.replace(" ", ""), said[-500:])
        else:
            done = home.run("trace", "--json", "--record", "all", "--", *program, environment={**sudo, "INGERO_DB": ""}, input=told, stdin=None)
            check("traced", done.returncode == 0, done.stderr)
        file = home.path("first/.ingero/ingero.db")
        rows = home.sql(f"SELECT count(*) AS n FROM events WHERE op_name = '{OP}'", "--db", file)
        # calls that were just made when it became so go with it
        check(f"his own file, {options}", rows[0]["n"] <= (0 if options else BEFORE), rows)


def main(build):
    kept.in_own_mounts("users of a service need root")
    if not os.path.exists(PYTHON):
        kept.skip(f"there is no {PYTHON}")
    check = kept.Checks()
    with kept.Kept(build) as home:
        service_users.add_people(home)
        world = World(home)
        gone = subprocess.Popen(["true"])
        gone.wait()
        with kept.lists_given_back(), service_users.job_that_runs(home), service_users.service(home, "everyone", "--record", "all") as service:
            if json.loads(home.answer("status", "--json"))["back_end"] == "none":
                kept.skip("nothing can be captured here")
            service_users.wait_for_libraries(home)
            for case in CASES:
                if len(sys.argv) < 3 or sys.argv[2] == case[0]:
                    test_case(check, home, world, case, gone.pid)
            if len(sys.argv) < 3:
                test_path(check, home, world)
            check("nothing to complain of", not service.said(), service.said())
            if len(sys.argv) < 3:
                home.prefix = []
                test_own_file(check, home, world)
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
