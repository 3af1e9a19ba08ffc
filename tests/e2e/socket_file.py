#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
socket_file.py BUILD: a daemon that made its socket takes it away when it ends, however it ends and whoever it has become, and never
one that is another's by then.

Needs root (or it is skipped): has users that only it sees.
"""
import os
import pathlib
import signal
import socket
import stat
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import activate  # noqa: E402
import ingero  # noqa: E402
import kept  # noqa: E402
import service_users  # noqa: E402

ROOT = ()
SERVICE = ("--foreground",)
# name, options, whose directory it is, how the daemon ends
ENDS = [(f"{whom}, in a directory of {owner}, ends by {number.name}", options, uid, number)
        for whom, options in (("root", ROOT), ("the service's user", SERVICE))
        for owner, uid in (("root", 0), ("somebody", kept.NOBODY))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)]


def service(home, uid, *options):
    directory = home.path("run")
    os.makedirs(directory, exist_ok=True)
    os.chown(directory, uid, uid)
    return kept.Service(home, *options, "--config", "none", "--capture", "nobody", "--db", "none")


def test_ends(check, home, name, options, uid, number):
    path = home.path("run/ingero.sock")
    with service(home, uid, *options) as daemon:
        daemon.process.send_signal(number)
        daemon.process.wait()
        if number == signal.SIGKILL:
            try:
                ingero.wait_for(lambda: not os.path.lexists(path), "the socket's end", limit_s=10)
            except ingero.Failed as failed:
                check(name, False, failed)
        else:
            check(name, not os.path.lexists(path), daemon.process.returncode, daemon.said())
        check(f"{name}: nothing is said", not daemon.said(), daemon.said())
    if os.path.lexists(path):
        os.unlink(path)


def test_replaced(check, home, options):
    """Somebody has put his own where ours was."""
    path = home.path("run/ingero.sock")
    with service(home, 0, *options) as daemon:
        os.unlink(path)
        with activate.listening(path):
            daemon.process.send_signal(signal.SIGTERM)
            daemon.process.wait()
            check("another's socket is left", os.path.lexists(path), options)
            with socket.socket(socket.AF_UNIX) as client:
                check("and answers", client.connect_ex(path) == 0)
        os.unlink(path)


def test_killed_and_replaced(check, home, options):
    """A second daemon begins where the first one was killed: whatever is left of that does not take its socket away."""
    path = home.path("run/ingero.sock")
    for _ in range(10):
        with service(home, 0, *options) as first:
            first.process.kill()
            first.process.wait()
            with service(home, 0, *options) as second:
                with socket.socket(socket.AF_UNIX) as client:
                    check("the second one answers", client.connect_ex(path) == 0, second.said())
        check("and takes its own away", not os.path.lexists(path))


def test_mode(check, home, options):
    """Everybody may connect, however little its maker gives away."""
    mask = os.umask(0o077)
    try:
        with service(home, 0, *options):
            mode = stat.S_IMODE(os.stat(home.path("run/ingero.sock")).st_mode)
    finally:
        os.umask(mask)
    check("everybody may connect", mode == 0o666, options, oct(mode))


def test_passed(check, home):
    """A supervisor's socket is the supervisor's."""
    directory = home.path("passed")
    os.mkdir(directory)
    with activate.Activated(home.programs, directory, "--config", "none", "--db", "none") as daemon:
        with activate.connected(daemon.path):
            daemon.supervise(lambda: "READY=1" in daemon.said, "a daemon that serves")
        daemon.end()
        check("a socket that was passed is left", os.path.lexists(daemon.path), daemon.log())


def main(build):
    kept.in_own_mounts("users of a service need root")
    check = kept.Checks()
    with kept.Kept(build) as home:
        service_users.add_people(home)
        with kept.lists_given_back():
            for row in ENDS:
                test_ends(check, home, *row)
            for options in (ROOT, SERVICE):
                test_replaced(check, home, options)
                test_killed_and_replaced(check, home, options)
                test_mode(check, home, options)
            test_passed(check, home)
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
