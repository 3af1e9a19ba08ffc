#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
hostile_paths.py BUILD: what sudo is asked to write or read, while somebody exchanges files and directories on the way for links to what
is root's: that is neither written, nor made, nor given to anybody, nor shown.

Needs root (or it is skipped): is what sudo makes of a user that only it sees.
"""
import ctypes
import os
import pathlib
import shutil
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import kept  # noqa: E402

USER = 54321  # nobody's, as a rule
EXCHANGE = 2  # RENAME_EXCHANGE
ROUNDS = 8
SECRET = "cold-start"  # what root has kept: nobody else plays that
MINE = "cpu-contention"


def under_sudo():
    return {"environment": {"SUDO_UID": str(USER), "SUDO_GID": str(USER), "HOME": "/root", "INGERO_DB": ""}}


class Swapping:
    """Two names are exchanged all the while."""

    def __init__(self, one, other):
        self._names, self._is_over, self.n = (os.fsencode(one), os.fsencode(other)), False, 0
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._thread = threading.Thread(target=self._swap)

    def _swap(self):
        while not self._is_over:
            self.n += self._libc.renameat2(-100, self._names[0], -100, self._names[1], EXCHANGE) == 0

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._is_over = True
        self._thread.join()


def what_is(directory):
    """Of every file below: whose, how it may be used, and what is in it."""
    found = {}
    for path in sorted(pathlib.Path(directory).rglob("*")):
        about = path.lstat()
        found[str(path)] = (about.st_uid, about.st_gid, about.st_mode, path.read_bytes() if path.is_file() and not path.name.endswith("-shm") else b"")
    return found


def make_links(home, kind):
    """What is his, and what it is exchanged for. Return: both names"""
    his, root = home.path("his"), home.path("root")
    if kind == "directory":
        os.symlink(root, home.path("link"))
        return his, home.path("link")
    name = os.path.join(his, "ingero.db" + kind)
    other = os.path.join(his, "other")
    if not os.path.lexists(name):
        pathlib.Path(name).touch()
        os.chown(name, USER, USER)
    os.symlink(os.path.join(root, "ingero.db"), other)
    return name, other


def test_swapped(check, home, kind, arguments):
    for name in ("his", "link"):
        if os.path.islink(home.path(name)):
            os.unlink(home.path(name))
        elif os.path.isdir(home.path(name)):
            shutil.rmtree(home.path(name))
    os.mkdir(home.path("his"))
    os.chown(home.path("his"), USER, USER)
    done = home.run("demo", "--speed", "1000", "--db", home.path("his/ingero.db"), MINE, **under_sudo())
    check(f"{kind}: a database of his", done.returncode == 0, done.stderr)
    before = what_is(home.path("root"))
    shown = []
    with Swapping(*make_links(home, kind)) as swapping:
        for _ in range(ROUNDS):
            done = home.run(*arguments, "--db", home.path("his/ingero.db"), **under_sudo())
            shown.append(done.stdout)
    name = f"{kind}: {arguments[0]}"
    check(f"{name}: was exchanged meanwhile", swapping.n > ROUNDS, swapping.n)
    after = what_is(home.path("root"))
    check(f"{name}: nothing of root's has changed", after == before, [path for path in after.keys() | before.keys() if after.get(path) != before.get(path)])
    check(f"{name}: nothing of it is shown", not [one for one in shown if "cold" in one], *shown)


def test_output(check, home):
    """What he has made by sudo's ingero is made with his own rights."""
    before = what_is(home.path("root"))
    done = home.run("export", "--format", "db", "--db", home.path("mine.db"), "-o", home.path("root/made.db"), **under_sudo())
    check("a place that is root's is refused", done.returncode == 1 and "ermission" in done.stderr and done.stderr.count("\n") == 1, done.returncode, done.stderr)
    check("and nothing is made there", what_is(home.path("root")) == before)
    os.mkdir(home.path("out"))
    os.chown(home.path("out"), USER, USER)
    done = home.run("export", "--format", "db", "--db", home.path("mine.db"), "-o", home.path("out/made.db"), **under_sudo())
    made = os.stat(home.path("out/made.db")) if check("a place of his", done.returncode == 0, done.stderr) else None
    check("what is made is his", made and (made.st_uid, made.st_gid) == (USER, USER), made)


def main(build):
    if os.geteuid() != 0:
        kept.skip("sudo's work needs root")
    check = kept.Checks()
    with kept.Kept(build) as home:
        os.mkdir(home.path("root"))
        os.mkdir(home.path("home"))
        for place, scenario, whose in (("root/ingero.db", SECRET, {}), ("home/mine.db", MINE, under_sudo())):
            if whose:
                os.chown(home.path("home"), USER, USER)
            done = home.run("demo", "--speed", "1000", "--db", home.path(place), scenario, **whose)
            check(f"{place} is made", done.returncode == 0, done.stderr)
        os.rename(home.path("home/mine.db"), home.path("mine.db"))
        test_output(check, home)
        for kind in ("directory", "", "-wal", ".lock"):
            for arguments in (("demo", "--speed", "1000", MINE), ("explain", "--json", "--from", "2001-01-01"), ("query", "SELECT * FROM findings")):
                test_swapped(check, home, kind, arguments)
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
