#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
kept_owner.py BUILD: after `sudo ingero trace`, plain `ingero explain` works: the file is the caller's and nobody
else's, is asked by him with and without sudo, and no link leads the recorder elsewhere.

Needs root (or it is skipped): has two users that only it sees.
"""
import json
import os
import pathlib
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
USER, OTHER = 54321, 54322  # nobody's, as a rule: no test depends on what they own besides


def add_users(home):
    """Two lines more in the list of users, for this test alone."""
    passwd = home.path("passwd")
    shutil.copyfile("/etc/passwd", passwd)
    with open(passwd, "a", encoding="utf-8") as file:
        for uid, name in ((USER, "first"), (OTHER, "second")):
            os.mkdir(home.path(name), 0o700)
            os.chown(home.path(name), uid, uid)
            file.write(f"ingero-{name}:x:{uid}:{uid}::{home.path(name)}:/bin/sh\n")
    os.chmod(passwd, 0o644)
    subprocess.run(["mount", "--bind", passwd, "/etc/passwd"], check=True)


def as_user(uid, name, home):
    """How somebody without any privilege starts a command."""
    return {"prefix": ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "--no-new-privs"],
            "environment": {"HOME": home.path(name), "INGERO_DB": ""}}


def under_sudo(uid, name):
    return {"environment": {"SUDO_UID": str(uid), "SUDO_GID": str(uid), "SUDO_USER": f"ingero-{name}", "HOME": "/root", "INGERO_DB": ""}}


def test_his_own(check, home):
    file = home.path("first/.ingero/ingero.db")
    command, report = home.load("--calls", 200)
    os.chmod(home.directory, 0o777)  # the program reports as the user
    home.answer("trace", "--record", "all", "--json", "--", *command, **under_sudo(USER, "first"))
    os.chmod(home.directory, 0o755)
    made = books_of.operations(json.loads(pathlib.Path(report).read_text(encoding="utf-8"))["books"], KNOWN)

    for path in (file, os.path.dirname(file), file + ".lock"):
        is_directory = path == os.path.dirname(file)
        about = os.lstat(path)
        check(f"{path}: his", (about.st_uid, about.st_gid) == (USER, USER), about)
        check(f"{path}: nobody else's", stat.S_IMODE(about.st_mode) == (0o700 if is_directory else 0o600), oct(about.st_mode))

    plain = home.explain("--from", "2001-01-01", **as_user(USER, "first", home))
    counted = {row["op"]: row["count"] for row in
               books_of.calls(home.explain("--per-process", "--from", "2001-01-01", **as_user(USER, "first", home))["operations"])}
    check("plain explain counts what was called", counted == made, counted, made)
    sudo = home.explain("--from", "2001-01-01", **under_sudo(USER, "first"))
    check.same("explain under sudo", {key: value for key, value in sudo.items() if key != "cost"},
               {key: value for key, value in plain.items() if key != "cost"})
    check("the text, too", "of ingero-first" in home.answer("explain", **as_user(USER, "first", home)) or
          "No problem found" in home.answer("explain", **as_user(USER, "first", home)))
    kept_calls = books_of.calls(map(json.loads, home.answer("query", "--json", **as_user(USER, "first", home)).splitlines()))
    check("query, too", len(kept_calls) == sum(made.values()), len(kept_calls), made)

    # the next one goes on in the same file
    os.chmod(home.directory, 0o777)
    home.answer("trace", "--json", "--", *command, **under_sudo(USER, "first"))
    os.chmod(home.directory, 0o755)
    again = home.explain("--from", "2001-01-01", **as_user(USER, "first", home))
    check("goes on in his file", again["window"]["calls"] == 2 * sum(made.values()) and len(again["sessions"]) == 2, again["window"], made)


def test_others(check, home):
    """Whoever may not read the file is told so, in one line that names it; root may."""
    file = home.path("first/.ingero/ingero.db")
    os.chmod(home.path("first"), 0o755)
    os.chmod(os.path.dirname(file), 0o755)
    for command in (("explain",), ("query",), ("export", "-o", home.path("second/copy.db"))):
        done = home.run(*command, "--db", file, **as_user(OTHER, "second", home))
        check(f"{command[0]}: refused", done.returncode == 1 and not done.stdout and done.stderr.count("\n") == 1 and
              file in done.stderr and "ermission" in done.stderr, done.returncode, done.stdout, done.stderr)
    done = home.run("explain", **as_user(OTHER, "second", home))
    check("his own: nothing yet", done.returncode == 1 and "nothing was recorded yet" in done.stderr and "sudo ingero trace" in done.stderr, done.stderr)
    check("under sudo he is still he", home.run("explain", "--db", file, **under_sudo(OTHER, "second")).returncode == 1)
    done = home.run("explain", "--db", file)
    check("root", done.returncode == 0, done.stderr)


def test_links(check, home):
    """He cannot lead root's daemon to what is not his."""
    secret = home.path("secret")
    pathlib.Path(secret).write_text("root's own\n", encoding="utf-8")
    os.chmod(secret, 0o600)
    for name, make in (("file", lambda: os.symlink(secret, home.path("second/.ingero/ingero.db"))),
                       ("log", lambda: os.symlink(secret, home.path("second/.ingero/ingero.db-wal"))),
                       ("lock", lambda: os.symlink(secret, home.path("second/.ingero/ingero.db.lock"))),
                       ("hard", lambda: os.link(secret, home.path("second/.ingero/ingero.db")))):
        shutil.rmtree(home.path("second/.ingero"), ignore_errors=True)
        os.mkdir(home.path("second/.ingero"))
        os.chown(home.path("second/.ingero"), OTHER, OTHER)
        make()
        done = home.run("trace", "--json", "--", "true", **under_sudo(OTHER, "second"))
        check(f"{name}: goes on", done.returncode == 0, done.stderr)
        check(f"{name}: not touched", pathlib.Path(secret).read_text(encoding="utf-8") == "root's own\n" and os.stat(secret).st_uid == 0)
        problem = json.loads(done.stdout.splitlines()[0])["store"]["problem"]
        check(f"{name}: says so, or removes it", not os.path.islink(home.path("second/.ingero/ingero.db-wal")) if name == "log" else problem != "", done.stdout.splitlines()[0])
    shutil.rmtree(home.path("second/.ingero"))


def run_tests(build, *tests):
    """Each with the users that only it sees. Return: exit status"""
    kept.in_own_mounts("sudo's work needs root")
    check = kept.Checks()
    with kept.Kept(build) as home:
        add_users(home)
        try:
            if home.run("version", **as_user(USER, "first", home)).returncode:
                kept.skip(f"{build} cannot be run by other users")
            for test in tests:
                test(check, home)
        finally:
            subprocess.run(["umount", "/etc/passwd"], check=False)
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


def main(build):
    return run_tests(build, test_his_own, test_others, test_links)


if __name__ == "__main__":
    kept.run(main)
