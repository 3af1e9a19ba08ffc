#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
hostile_fuse.py BUILD: a user maps CUDA's driver out of a file system of his own, which then answers nobody any more: the daemon asks it
nothing, goes on answering and tracing others, and ends when it is told to.

Needs root (or it is skipped): has users and a device that only it sees.
"""
import contextlib
import json
import os
import pathlib
import stat
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import books_of  # noqa: E402
import ingero  # noqa: E402
import kept  # noqa: E402
import service_users  # noqa: E402

FUSE_DEVICE = os.makedev(10, 229)
FIRST = service_users.USERS["first"]
IN_A_NAME_SPACE = ("unshare", "--user", "--map-root-user", "--mount")
# name; how it is started: in a name space he is root, and says so
CASES = [
    ("his own", IN_A_NAME_SPACE, "user_id=0,group_id=0"),
    ("his own, for everybody", IN_A_NAME_SPACE, "user_id=0,group_id=0,allow_other"),
    ("mounted for him by root", ("unshare", "--mount"), f"user_id={FIRST},group_id={FIRST},allow_other"),
]


@contextlib.contextmanager
def mute(home, how, options):
    """Yields the process that maps the library."""
    root = "--user" not in how
    become = service_users.become("first") if "--user" in how else []  # else root mounts it, in his name
    command = [*become, *how, "/usr/bin/python3", "-B", str(HERE.parent / "support" / "mute_fuse.py"), home.path("fuse"), home.path("first/mnt"),
               os.path.join(home.programs.build, "standins", "libcuda.so.1"), options]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        said = process.stdout.readline().split()
        if said[:1] != ["mapped"]:
            raise ingero.Failed(f"no FUSE file system: {process.stderr.read()}")
        process.asked = []
        yield process
    finally:
        _, error = process.communicate("")
        process.asked += [int(line.split()[-1]) for line in error.splitlines() if line.startswith("kept:")]


def test_case(check, home, name, how, options):
    with kept.Service(home, "--foreground", "--config", "none", "--capture", "everyone", "--db", "none") as service:
        if json.loads(home.answer("status", "--json"))["back_end"] == "none":
            kept.skip("nothing can be captured here")
        with mute(home, how, options) as process:
            # found by its mapping, before or behind a program that is traced
            command, _ = home.load("--calls", service_users.CALLS)
            for number in range(2):
                traced = service_users.ask(home, "second", "trace", "--json", "--", *command[:-2])
                counted = {row["op"]: row["count"] for row in json.loads(traced.stdout.splitlines()[-1])["operations"]} if traced.returncode == 0 else {}
                check(f"{name}: another's program is traced, {number}", "cudaLaunchKernel" in counted, traced.returncode, traced.stderr)
            check(f"{name}: the daemon answers", home.run("status", "--json").returncode == 0)
            check(f"{name}: it is not attached", not [one for one in json.loads(home.answer("status", "--json"))["libraries"]
                                                     if one["path"].startswith(home.path("first")) and one.get("back_end")])
            service.process.terminate()
            try:
                check(f"{name}: the daemon ends", service.process.wait(30) == 0, service.said())
            except subprocess.TimeoutExpired:
                check(f"{name}: the daemon ends", False, *ingero.what_they_do(service.process.pid))
                process.stdin.close()  # which lets it go
                service.process.wait()
        check(f"{name}: it asked that file system nothing", service.process.pid not in process.asked, process.asked)


def main(build):
    kept.in_own_mounts("users of a service need root")
    if "fuse" not in pathlib.Path("/proc/filesystems").read_text(encoding="utf-8").split():
        kept.skip("this kernel has no FUSE")
    check = kept.Checks()
    with kept.Kept(build) as home:
        service_users.add_people(home)
        os.mknod(home.path("fuse"), 0o666 | stat.S_IFCHR, FUSE_DEVICE)
        os.chmod(home.path("fuse"), 0o666)
        os.mkdir(home.path("first/mnt"))
        os.chown(home.path("first/mnt"), FIRST, FIRST)
        with kept.lists_given_back():
            for case in CASES:
                test_case(check, home, *case)
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
