#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
kept_scope.py BUILD: through a service, sudo shows what the one who typed it may see, and with --all everybody's;
plain root and members of ingero-read see everybody's anyway.

Needs root (or it is skipped): has users and a group that only it sees.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import books_of  # noqa: E402
import ingero  # noqa: E402
import kept  # noqa: E402

KNOWN = books_of.known_operations(HERE.parents[1] / "bpf" / "ops.def")
# nobody's, as a rule: no test depends on what they own besides
USERS = {"first": 54331, "second": 54332, "reader": 54333}
EVER = ("--from", "2001-01-01")


def add_people(home):
    """Three users and a group more, for this test alone."""
    for name, lines in (("passwd", [f"ingero-{name}:x:{uid}:{uid}::{home.path(name)}:/bin/sh" for name, uid in USERS.items()]),
                        ("group", ["ingero-read:x:54330:ingero-reader"])):
        shutil.copyfile(f"/etc/{name}", home.path(name))
        with open(home.path(name), encoding="utf-8") as file:
            kept_lines = [line for line in file.read().splitlines() if not line.startswith("ingero-")]
        pathlib.Path(home.path(name)).write_text("\n".join(kept_lines + lines) + "\n", encoding="utf-8")
        os.chmod(home.path(name), 0o644)
        subprocess.run(["mount", "--bind", home.path(name), f"/etc/{name}"], check=True)
    for name, uid in USERS.items():
        os.mkdir(home.path(name), 0o700)
        os.chown(home.path(name), uid, uid)


def way(home, service, kind, name):
    """How a question is asked: plainly by a user, by that user with sudo, or by root."""
    if kind == "root":
        return {"environment": {"HOME": "/root"}}
    uid = str(USERS[name])
    if kind == "sudo":
        return {"environment": {"SUDO_UID": uid, "SUDO_GID": uid, "SUDO_USER": f"ingero-{name}", "HOME": "/root"}}
    return {"prefix": [*service.kept.prefix, "setpriv", "--reuid", uid, "--regid", uid, "--init-groups", "--no-new-privs"],
            "environment": {"HOME": home.path(name)}}


def record(home, service, name):
    """One program of that user, traced with sudo; answers with what it called."""
    command, report = home.load("--calls", 60)
    os.chmod(home.directory, 0o777)  # the program reports as the user
    home.answer("trace", "--record", "all", "--json", "--", *command, **way(home, service, "sudo", name))
    os.chmod(home.directory, 0o755)
    made = books_of.operations(json.loads(pathlib.Path(report).read_text(encoding="utf-8"))["books"], KNOWN)
    os.unlink(report)
    return sum(made.values())


def by_user(rows, count=lambda row: 1):
    """CUDA calls of each user; what else the host is seen doing is not made by the program's own will."""
    sums = {}
    for row in rows:
        if row["op"] in KNOWN:
            sums[row["uid"]] = sums.get(row["uid"], 0) + count(row)
    return sums


def calls(home, *options, **more):
    return [json.loads(line) for line in home.answer("query", "--json", *options, **more).splitlines()]


def seen(home, way_of_asking, *options):
    """Calls of each user, as three commands tell of them; an export does not say whose they are."""
    explained = home.explain("--per-process", *EVER, *options, **way_of_asking)["operations"]
    queried = calls(home, *EVER, *options, **way_of_asking)
    done = home.run("export", "-o", "-", *options, text=False, **way_of_asking)
    with open(home.path("exported.db"), "wb") as file:
        file.write(done.stdout)
    exported = calls(home, "--db", home.path("exported.db"), prefix=[])
    return by_user(explained, lambda row: row["count"]), by_user(queried), sum(row["op"] in KNOWN for row in exported)


def test_reading(check, home, service, made):
    mine, yours = {USERS["first"]: made["first"]}, {USERS["second"]: made["second"]}
    everybody = {**mine, **yours}
    for name, kind, user, options, wanted in (
            ("plain", "plain", "first", (), mine),
            ("the other, plain", "plain", "second", (), yours),
            ("sudo", "sudo", "first", (), mine),
            ("the other with sudo", "sudo", "second", (), yours),
            ("sudo --all", "sudo", "first", ("--all",), everybody),
            ("root", "root", None, (), everybody),
            ("root --all", "root", None, ("--all",), everybody),
            ("in ingero-read, plain", "plain", "reader", (), everybody),
            ("in ingero-read, sudo", "sudo", "reader", (), everybody),
            ("in ingero-read --all", "plain", "reader", ("--all",), everybody)):
        explained, queried, exported = seen(home, way(home, service, kind, user), *options)
        check(f"{name}: explain", explained == wanted, explained, wanted)
        check(f"{name}: query", queried == wanted, queried, wanted)
        check(f"{name}: export", exported == sum(wanted.values()), exported, wanted)
    for command in (("explain",), ("query",), ("export", "-o", "-"), ("status",)):
        done = home.run(*command, "--all", **way(home, service, "plain", "first"))
        check(f"{command[0]} --all by a user: one sentence", done.returncode == 1 and not done.stdout and done.stderr.count("\n") == 1 and
              "ingero-read" in done.stderr and f"sudo ingero {command[0]} --all" in done.stderr, done.returncode, done.stdout, done.stderr)


def test_tracing(check, home, service):
    """A lease, too: a stranger's process is named under sudo, or it is not traced."""
    other = USERS["second"]
    with subprocess.Popen(["setpriv", "--reuid", str(other), "--regid", str(other), "--clear-groups", "sleep", "600"],
                          stdin=subprocess.DEVNULL) as sleeper:
        try:
            # it is the other's once it is the program
            ingero.wait_for(lambda: pathlib.Path(f"/proc/{sleeper.pid}/comm").read_text(encoding="utf-8") == "sleep\n", "a process of the other user")
            for name, kind, options, status in (("sudo", "sudo", (), 0), ("sudo --all", "sudo", ("--all",), 0), ("plain", "plain", (), 1),
                                                ("plain --all", "plain", ("--all",), 1), ("root", "root", (), 0)):
                done = home.run("trace", "--json", "--duration", "100ms", "--pid", sleeper.pid, *options, **way(home, service, kind, "first"))
                check(f"trace --pid of another's, {name}", done.returncode == status, done.returncode, done.stderr)
                if status:
                    wanted = "--all" if options else "sudo ingero trace --pid"
                    check(f"{name}: the way out", wanted in done.stderr and done.stderr.count("\n") == 1, done.stderr)
        finally:
            sleeper.kill()


NOBODYS = "0123456789abcdef"  # an id that no finding and no call has


def test_findings(check, home):
    """What was found of one user's, asked for by its id: for another user it is an id that does not exist."""
    db = home.path("first/demo.db")
    uid = str(USERS["first"])
    home.answer("demo", "cpu-contention", "--speed", "100", "--db", db, prefix=["setpriv", "--reuid", uid, "--regid", uid, "--clear-groups"])
    found = [one["id"] for one in home.explain("--db", db)["findings"]]
    for name in os.listdir(home.path("first")):  # from now on the service's, which may write root's alone
        os.chown(home.path(os.path.join("first", name)), 0, 0)
    os.chown(home.path("first"), 0, 0)
    check("the demo found something", found)
    with kept.Service(home, "--db", db) as service:
        for identity in found:
            for kind, user in (("plain", "first"), ("sudo", "first"), ("plain", "reader"), ("root", None)):
                told = home.run("explain", "--json", identity, **way(home, service, kind, user))
                check(f"{kind} {user}: a finding by its id", told.returncode == 0 and identity in told.stdout, told.returncode, told.stderr)
            for kind in ("plain", "sudo"):
                for options in ((), ("--json",)):
                    for asked, unknown in ((identity, NOBODYS), (identity[:8], NOBODYS[:8])):
                        others, nobodys = (home.run("explain", *options, one, **way(home, service, kind, "second")) for one in (asked, unknown))
                        check(f"another's finding, {kind} {options} {len(asked)}: as one that does not exist",
                              nobodys.returncode == 1 and unknown in nobodys.stderr and others.returncode == 1 and
                              (others.stdout, others.stderr) == (nobodys.stdout, nobodys.stderr.replace(unknown, asked)), others, nobodys)


def main(build):
    kept.in_own_mounts("a service for several users needs root")
    check = kept.Checks()
    with kept.Kept(build) as home:
        add_people(home)
        with kept.lists_given_back():
            with kept.Service(home, "--db", home.db) as service:
                if home.run("version", **way(home, service, "plain", "first")).returncode:
                    kept.skip(f"{build} cannot be run by other users")
                made = {name: record(home, service, name) for name in ("first", "second")}
                ingero.wait_for(lambda: sum(by_user(calls(home, *EVER, **way(home, service, "root", None))).values()) == sum(made.values()),
                                "every call to be kept")
                test_reading(check, home, service, made)
                test_tracing(check, home, service)
            home.prefix = []
            test_findings(check, home)
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
