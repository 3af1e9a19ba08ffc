#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
not_his.py BUILD: what root does for a user, or with a user's file, shows that user nothing of root's, and harms nothing of root's.

Needs root (or it is skipped): has two users that only it sees. A sanitizer traces its own process, and lets others do so.
"""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import kept  # noqa: E402
from kept_owner import USER, as_user, run_tests, under_sudo  # noqa: E402

# Reads what new processes of its user let it read: argument 1 is a file whose creation ends it.
WATCHER = """
import os, sys
def last():
    with open("/proc/loadavg") as file:
        return int(file.read().split()[-1])
found, seen = set(), last()
while not os.path.exists(sys.argv[1]):
    now = last()
    for pid in range(seen - 3, now + 3):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if b"INGERO_SECRET" in file.read():
                    found.add("environment")
            for fd in range(3):
                at = os.readlink(f"/proc/{pid}/fd/{fd}")
                if "ingero" in os.readlink(f"/proc/{pid}/exe") and at != "/dev/null":
                    found.add(f"descriptor {fd}: {at}")
        except OSError:
            pass
    seen = now
print(sorted(found))
"""


def test_reader_is_not_his(check, home):
    """Root reads his file: its daemon runs as he does, but shows him nothing of root's."""
    file = home.path("first/demo.db")
    made = home.run("demo", "cpu-contention", "--speed", "1000", "--db", file, **under_sudo(USER, "first"))
    check("recorded as his", made.returncode == 0 and os.stat(file).st_uid == USER, made.stderr)
    os.chmod(file, 0o600)
    for how, way in (("root", {"environment": {}}), ("sudo", under_sudo(USER, "first"))):
        way["environment"]["INGERO_SECRET"] = "root's own"
        done = home.path(f"watched-{how}")
        with subprocess.Popen([*as_user(USER, "first", home)["prefix"], sys.executable, "-c", WATCHER, done],
                              stdout=subprocess.PIPE, text=True, env={}) as watcher:
            for _ in range(40):
                asked = home.run("explain", "--db", file, **way)
                check(f"{how}: answered", asked.returncode == 0, asked.stderr)
            pathlib.Path(done).touch()
            found = watcher.communicate()[0]
        check(f"{how}: nothing of root's was seen", found.strip() == "[]", found)


# Puts a link to argument 1 in the place of each directory of a demo; argument 2: a file whose creation ends it.
SWAPPER = """
import os, sys
while not os.path.exists(sys.argv[2]):
    for name in os.listdir("."):
        if name.startswith("ingero-demo-") and not name.endswith(".x"):
            try:
                os.rename(name, name + ".x")
                os.symlink(sys.argv[1], name)
            except OSError:
                pass
print("swapped" if any(name.endswith(".x") for name in os.listdir(".")) else "")
"""


def test_demo_is_his(check, home):
    """The directory of a demo under sudo is his: what he puts in its place costs nobody else anything."""
    place, victim, done = home.path("demos"), home.path("victim"), home.path("swapped")
    os.mkdir(place)
    os.chmod(place, 0o1777)
    os.mkdir(victim, 0o700)
    pathlib.Path(victim, "file").write_text("root's own", encoding="utf-8")
    way = under_sudo(USER, "first")
    way["environment"]["TMPDIR"] = place
    with subprocess.Popen([*as_user(USER, "first", home)["prefix"], sys.executable, "-c", SWAPPER, victim, done],
                          stdout=subprocess.PIPE, text=True, env={}, cwd=place) as swapper:
        for _ in range(5):
            home.run("demo", "cpu-contention", "--speed", "1000", **way)
        pathlib.Path(done).touch()
        check("directories were swapped", "swapped" in swapper.communicate()[0])
    check("the directory is root's", (os.stat(victim).st_uid, os.listdir(victim)) == (0, ["file"]), os.stat(victim).st_uid, os.listdir(victim))


def main(build):
    return run_tests(build, test_reader_is_not_his, test_demo_is_his)


if __name__ == "__main__":
    kept.run(main)
