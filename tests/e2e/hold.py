#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
hold.py BUILD private|sudo|service: a program that is stopped while its library is attached goes on, whoever is killed
meanwhile and in whatever order; one that runs as somebody else is not stopped at all.

The daemon is stopped first, so that it lets nobody go on; that a program stands still is read in /proc. Needs root
(or it is skipped): the daemon is killed, and has users that only it sees.
"""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE)]
import ingero  # noqa: E402
import kept  # noqa: E402
import service_users  # noqa: E402

LIMIT_S = 15  # for what takes milliseconds
USER = "first"
# who is killed, in this order; of what kind the program is; in which mode; what else happens then
CASES = [(name, kills, kind, mode, then) for name, kills, then in (
    ("client", "client", ""),
    ("daemon", "daemon", ""),
    ("client first", "client daemon", ""),
    ("daemon first", "daemon client", ""),
    ("guardian", "guardian", "daemon goes on"),
    ("guardian, daemon", "guardian daemon", ""),
    ("guardian, client", "guardian client", ""),
    ("guardian, client, and the daemon goes on", "guardian client", "daemon goes on"),
    ("guardian, client, daemon", "guardian client daemon", ""),
    ("daemon, client, guardian", "daemon client guardian", ""),
    ("second guardian", "second", ""),
    ("second guardian, client", "second client", ""),
    ("second guardian, daemon", "second daemon", ""),
    ("second guardian, client, daemon", "second client daemon", ""),
    ("both guardians", "guardian second", "daemon goes on"),
    ("both guardians, daemon", "guardian second daemon", ""),
    ("process group of the client", "group", ""),
    ("Ctrl-Z", "suspend", ""),
    ("terminal hangs up", "hangup", "daemon goes on"),
    ("end of the daemon", "term", "daemon goes on"),
) for kind in ("main", "orphan") for mode in ("private", "service")
    # the main program is in the group itself
    if not (kind == "main" and kills in ("group", "suspend", "hangup"))]
# as the one who typed sudo, whose processes the client may signal as root and the guardian as himself
CASES += [(name, kills, kind, "sudo", then) for name, kills, kind, mode, then in CASES
          if mode == "private" and kills in ("client", "daemon client", "guardian", "guardian daemon", "guardian client daemon")]
# a private daemon may signal it; so may the kernel, once, who is the guardian's child (docs/rooms/probes.md)
CASES += [("both guardians, client", "guardian second client", kind, "private", "daemon goes on") for kind in ("main", "orphan")]
CASES += [("both guardians, client", "guardian second client", "main", "service", "daemon goes on")]
CASES += [("both guardians, client, daemon", "guardian second client daemon", "main", mode, "") for mode in ("private", "service")]


def stat_of(pid):
    """State, parent, process group; None when it is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        state, parent, group = file.read().rpartition(")")[2].split()[:3]
        return state, int(parent), int(group)
    return None


def is_gone(pid):
    stat = stat_of(pid)
    return stat is None or stat[0] in "ZX"


def descriptors_of(pid):
    """What a process has open, in one word each, but for what it reads of /proc; "dumpable" when its user may look into it."""
    links = []
    for entry in os.scandir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(entry.path))
    words = {re.search(r"(?:/|anon_inode:\[)?(\w+)(?:\]|:.*)?$", link).group(1) for link in links if not link.startswith("/proc")}
    return words | ({"dumpable"} if os.stat(f"/proc/{pid}/environ").st_uid != 0 else set())


class Held:
    """A program under trace, in a directory of its own, up to where it is stopped."""

    def __init__(self, home, mode, service, kind, number, refused=None):
        def prepare():
            # a job of a shell's, or a session of its own
            (os.setsid if mode == "service" else os.setpgrp)()
            if refused:
                ingero.refuse_call(refused)

        self.service = service
        self.kind = kind
        self.directory = home.path(f"{USER}/{mode}-{number}")
        os.mkdir(self.directory, 0o755)
        os.mkfifo(self.path("go"), 0o644)
        uid = service_users.USERS[USER]
        if mode != "private":
            os.chown(self.directory, uid, uid)
        self.library = home.path("libcuda.so.1")
        become = ["setpriv", "--reuid", USER, "--regid", str(uid), "--init-groups"] if mode == "service" else []
        command = [*home.prefix, *become, home.programs.path("ingero-cli"), "trace", "--json", "--",
                   home.path("held-program"), self.directory, self.library, kind]
        environment = {**home.environment, "HOME": self.directory, "INGERO_DB": os.path.join(self.directory, "ingero.db"),
                       **({"SUDO_UID": str(uid), "SUDO_GID": str(uid)} if mode == "sudo" else {})}
        self.error = open(self.path("stderr"), "w+", encoding="utf-8")  # noqa: SIM115
        self.client = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=self.error, cwd="/", preexec_fn=prepare)
        ingero.wait_for(lambda: os.path.exists(self.path("pid")) or self.client.poll() is not None, "the program's start")
        if self.client.poll() is not None:
            raise ingero.Failed(f"ingero trace ended with {self.client.returncode}: {self.said()} {service.said()[-2000:] if service else ''}")
        self.pid = int(pathlib.Path(self.path("pid")).read_text(encoding="ascii"))
        self.daemon = service.process.pid if service else ingero.child_named(self.client.pid, "ingero-collecto")
        self.ends_daemon = False
        self.second = ingero.child_named(self.client.pid, "ingero-guardian")
        self.guardian = self.second and ingero.child_named(self.second, "ingero-guardian")

    def path(self, name):
        return os.path.join(self.directory, name)

    def said(self):
        return pathlib.Path(self.path("stderr")).read_text(encoding="utf-8")

    def go(self):
        with open(self.path("go"), "w", encoding="ascii") as file:
            file.write("\n")

    def is_done(self):
        return os.path.exists(self.path("done"))

    def is_stopped(self):
        stat = stat_of(self.pid)
        if not stat:
            raise ingero.Failed(f"the program has ended: {self.said()}")
        return stat[0] == "T"

    def kill(self, who):
        self.ends_daemon |= who in ("daemon", "term")
        if who in ("client", "daemon", "guardian", "second"):
            os.kill(getattr(self, who), signal.SIGKILL) if who != "client" else self.client.kill()
        elif who == "term":
            os.kill(self.daemon, signal.SIGTERM)
        else:
            number = {"group": signal.SIGKILL, "suspend": signal.SIGSTOP, "hangup": signal.SIGHUP}[who]
            os.killpg(self.client.pid, number)

    def signal_if_there(self, pid, number):
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def end(self):
        """Everything of it; the service goes on, unless it was killed."""
        self.signal_if_there(self.daemon, signal.SIGCONT)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.client.pid, signal.SIGKILL)
        self.signal_if_there(self.pid, signal.SIGKILL)
        self.client.kill()
        self.client.wait()
        if self.service and self.ends_daemon:
            self.service.process.wait()
        self.error.close()


def stays_behind(held):
    """Of ours, when all is over."""
    ours = [held.guardian, held.second] + ([] if held.service else [held.daemon])
    return [pid for pid in ours if pid and not is_gone(pid)]


def test_case(check, home, service, case, number):
    name, kills, kind, mode, then = case
    what = f"{mode}, {kind}: {name}"
    held = Held(home, mode, service, kind, number)
    try:
        check(f"{what}: has a guardian", held.guardian is not None or "guardian" not in kills)
        if "guardian" in kills and not held.guardian:
            return
        os.kill(held.daemon, signal.SIGSTOP)
        ingero.wait_for(lambda: stat_of(held.daemon)[0] == "T", "the stop of the daemon")
        held.go()
        ingero.wait_for(held.is_stopped, f"{what}: the stop of the program", LIMIT_S)
        check(f"{what}: stands still", not held.is_done())
        if held.guardian:
            check(f"{what}: nobody looks into the guardian, which keeps nothing open",
                  descriptors_of(held.guardian) <= {"null", "socket", "pidfd", "signalfd", "pipe"}, descriptors_of(held.guardian))
            check(f"{what}: nor into the second one", descriptors_of(held.second) <= {"null", "pipe"}, descriptors_of(held.second))
        for who in kills.split():
            held.kill(who)
        if then == "daemon goes on":
            held.signal_if_there(held.daemon, signal.SIGCONT)
        with contextlib.suppress(ingero.Failed):
            ingero.wait_for(held.is_done, what, LIMIT_S)
        check(f"{what}: goes on", held.is_done(), stat_of(held.pid), held.said())
        check(f"{what}: is still there", not is_gone(held.pid), stat_of(held.pid))
    finally:
        held.end()
    with contextlib.suppress(ingero.Failed):
        ingero.wait_for(lambda: not stays_behind(held), what, LIMIT_S)
    if service and not held.ends_daemon:
        answer = home.run("status", prefix=home.prefix)
        check(f"{what}: the daemon lives", answer.returncode == 0, answer.stderr, service.said()[-1000:])
    check(f"{what}: nothing stays behind", not stays_behind(held), [(pid, stat_of(pid)) for pid in stays_behind(held)])


def test_root(check, home, service, mode):
    """A set-user-ID program that is root by now: nobody who is left could let it go on."""
    path = home.path("held-program")
    os.chmod(path, 0o4755)
    held = None
    try:
        held = Held(home, mode, service, "root", "root")
        held.go()
        with contextlib.suppress(ingero.Failed):
            ingero.wait_for(held.is_done, "root", LIMIT_S)
        check(f"{mode}: a set-user-ID program is not stopped", held.is_done(), stat_of(held.pid), held.said())
    finally:
        os.chmod(path, 0o755)
        if held:
            held.end()


def test_stopped_by_its_user(check, home, service, mode):
    """What its user has stopped by himself stays so, as long as nobody is killed, and when the trace ends well."""
    held = Held(home, mode, service, "orphan", "own-stop")
    try:
        os.kill(held.pid, signal.SIGSTOP)
        ingero.wait_for(held.is_stopped, "its stop")
        held.client.send_signal(signal.SIGTERM)  # passed on to the program
        held.client.wait(LIMIT_S)
        check(f"{mode}: stays stopped", held.is_stopped(), stat_of(held.pid), held.said())
        check(f"{mode}: nothing stays behind", not stays_behind(held), stays_behind(held))
    finally:
        held.end()


def test_unguarded(check, home, service, mode):
    """Where nobody could make sure that it goes on nobody is stopped, and that is said."""
    held = Held(home, mode, service, "main", "unguarded", refused="pidfd_open")
    try:
        os.kill(held.daemon, signal.SIGSTOP)
        held.go()
        with contextlib.suppress(ingero.Failed):
            ingero.wait_for(held.is_done, "unguarded", LIMIT_S)
        check(f"{mode}: unguarded, goes on", held.is_done(), stat_of(held.pid))
        check(f"{mode}: unguarded, keeps nothing open", descriptors_of(held.guardian) <= {"null", "socket", "signalfd", "pipe"}, descriptors_of(held.guardian))
        check(f"{mode}: unguarded, is said", "calls before the attach are missed" in held.said(), held.said())
    finally:
        held.end()
    with contextlib.suppress(ingero.Failed):
        ingero.wait_for(lambda: not stays_behind(held), "unguarded", LIMIT_S)
    check(f"{mode}: unguarded, nothing stays behind", not stays_behind(held), stays_behind(held))


@contextlib.contextmanager
def service_of(home, mode):
    """A function that gives the running one, started anew when it was killed; None where each client has its own."""
    if mode != "service":
        yield lambda: None
        return
    with contextlib.ExitStack() as stack:
        running = []

        def get():
            if running and running[-1].process.poll() is None and not is_gone(running[-1].process.pid):
                return running[-1]
            home.prefix = []
            stack.close()
            running.append(stack.enter_context(service_users.service(home, "nobody")))
            return running[-1]

        yield get


def main(build, mode):
    kept.in_own_mounts("killing daemons needs root")
    check = kept.Checks()
    with kept.Kept(build) as home:
        service_users.add_people(home)
        os.chmod(home.path(USER), 0o755)
        shutil.copy(os.path.join(home.programs.build, "tests", "foreign", "libcuda.so.1"), home.path("libcuda.so.1"))
        shutil.copy(home.programs.path("held-program"), home.path("held-program"))
        os.chmod(home.path("held-program"), 0o755)
        with kept.lists_given_back(), service_of(home, mode) as service:
            if mode == "service":
                test_root(check, home, service(), mode)
            for number, case in enumerate(case for case in CASES if case[3] == mode):
                begin = time.monotonic()
                test_case(check, home, service(), case, number)
                print(f"{time.monotonic() - begin:.1f} s: {case[0]}, {case[2]}", flush=True)
            test_unguarded(check, home, service(), mode)
            test_stopped_by_its_user(check, home, service(), mode)
            home.prefix = []
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(lambda build: main(build, sys.argv[2]))
