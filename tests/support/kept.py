# SPDX-License-Identifier: Apache-2.0
"""
Questions to recorded data, as a user asks them: a directory with its own home and database, a daemon that
listens where only the test's clients connect, and the questions.
"""
import contextlib
import datetime
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile

import ingero
import schemas

DAY_NS = 86400 * 10**9
NOBODY = 65534
# Clients look for the service in one place only; this mounts another directory there, for one command.
AT_RUN = 'mount --bind "$0" /run && exec "$@"'
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z")


def skip(reason):
    print(f"skipped: {reason}", file=sys.stderr)
    sys.exit(77)


def in_own_mounts(why):
    """Starts the test again in its own mount namespace."""
    if os.geteuid() != 0:
        skip(why)
    if "INGERO_TEST_MOUNTS" not in os.environ:
        os.environ["INGERO_TEST_MOUNTS"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])


def run(main):
    """Runs a test: main(BUILD) returns the exit status; a failed program gives one sentence and status 1."""
    try:
        sys.exit(main(sys.argv[1]))
    except (ingero.Failed, subprocess.SubprocessError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)


def words_of(text):
    """The text without line breaks, which depend on the width of the terminal."""
    return " ".join(text.split())


def unix_ns(text):
    """Converts a time in JSON."""
    whole, fraction = text.rstrip("Z").split(".")
    seconds = datetime.datetime.fromisoformat(whole + "+00:00").timestamp()
    return int(seconds) * 10**9 + int(fraction)


def time_text(ns):
    return datetime.datetime.fromtimestamp(ns // 10**9, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S") + f".{ns % 10**9:09d}Z"


def shifted(value, by_ns):
    """The same JSON with every time shifted."""
    text = TIME.sub(lambda match: time_text(unix_ns(match.group()) + by_ns), json.dumps(value))
    return json.loads(text)


class Checks:
    """Names of failed checks; each is printed with its values."""

    def __init__(self):
        self.failed = []

    def __call__(self, name, is_true, *shown):
        if not is_true:
            self.failed.append(name)
            print(f"{name}: {' | '.join(str(one)[-1500:] for one in shown)}", file=sys.stderr, flush=True)
        return bool(is_true)

    def same(self, name, one, other):
        """Compares two JSON objects and prints where they differ."""
        if one != other and isinstance(one, dict) and isinstance(other, dict):
            for key in sorted(one.keys() | other.keys()):
                self.same(f"{name}, {key}", one.get(key), other.get(key))
        elif one != other and isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            first = next(i for i, (a, b) in enumerate(zip(one, other)) if a != b)
            self.same(f"{name}[{first}]", one[first], other[first])
        else:
            self(name, one == other, one, other)


def run_case(name, case):
    """Runs case(check), which captures; a failed program fails the case. Returns the exit status."""
    if os.geteuid() != 0:
        skip("capture needs root")
    check = Checks()
    try:
        case(check)
    except ingero.Failed as error:
        check(f"{name}: it was run", False, error)
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


class Kept:
    """A private directory, and Ingero's commands in it."""

    def __init__(self, build):
        self.programs = ingero.Programs(build)
        self._directory = tempfile.TemporaryDirectory(prefix="ingero-kept-")
        self.directory = self._directory.name
        os.chmod(self.directory, 0o755)
        self.db = self.path("ingero.db")
        self.environment = {**self.programs.environment(self.directory), "TZ": "UTC", "INGERO_STANDIN_QUIET": "1"}
        self.prefix = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._directory.cleanup()

    def path(self, name):
        return os.path.join(self.directory, name)

    def run(self, *arguments, prefix=None, environment=None, **more):
        """Runs one command to its end. Returns status, output and errors as text."""
        command = [*(self.prefix if prefix is None else prefix), self.programs.path("ingero"), *map(str, arguments)]
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("text", True)
        return subprocess.run(command, env={**self.environment, **(environment or {})}, capture_output=True, check=False,
                              cwd="/", **more)

    def answer(self, *arguments, **more):
        done = self.run(*arguments, **more)
        if done.returncode:
            raise ingero.Failed(f"ingero {' '.join(map(str, arguments))}: exit status {done.returncode}: {done.stderr[-1000:]}")
        if "--json" in arguments:
            lines = [json.loads(line) for line in done.stdout.splitlines()]
            # calls have a type; the keys of other rows depend on the question
            is_row = arguments[0] == "query" and ("--sql" in arguments or any("type" not in line for line in lines))
            invalid = schemas.problems(lines, "query-row" if is_row else None, self.programs.root)
            if invalid:
                raise ingero.Failed(f"ingero {' '.join(map(str, arguments))}: not as docs/schema says: {'; '.join(invalid[:5])}")
        return done.stdout

    def explain(self, *arguments, **more):
        return json.loads(self.answer("explain", "--json", *arguments, **more))

    def sql(self, text, *arguments, **more):
        """Rows, each by the names of its columns."""
        return [json.loads(line) for line in self.answer("query", "--json", *arguments, "--sql", text, **more).splitlines()]

    def load(self, *arguments):
        """A command that makes an exact number of calls, and the path of its report."""
        report = self.path("report")
        return [self.programs.path("cudaload"), *map(str, arguments), "--report", report], report

    def copy(self, name):
        """Copies the database while no recorder writes it."""
        for suffix in ("", "-wal"):
            if os.path.exists(self.db + suffix):
                shutil.copyfile(self.db + suffix, self.path(name) + suffix)
        return self.path(name)


@contextlib.contextmanager
def tables(path):
    """Connection to the tables of the file, to change its clock; no other process may have it open."""
    connection = sqlite3.connect(path)
    try:
        yield connection
        connection.commit()
    finally:
        connection.close()


def turn_clock(path, by_ns):
    """Shifts the clock rows of the file, by which all its times are converted: as if it had been recorded later."""
    with tables(path) as connection:
        connection.execute("UPDATE clock SET unix_ns = unix_ns + ?", (by_ns,))
        connection.execute("UPDATE process SET start_unix_ns = start_unix_ns + ?", (by_ns,))


@contextlib.contextmanager
def lists_given_back():
    """Unmounts the test's lists of users and groups."""
    try:
        yield
    finally:
        for name in ("passwd", "group"):
            subprocess.run(["umount", f"/etc/{name}"], check=False)


class Service:
    """A daemon that listens only for the clients of one directory; leaving the context ends it."""

    def __init__(self, kept, *options):
        self.kept = kept
        self._run = kept.path("run")
        os.makedirs(self._run, exist_ok=True)
        self._error = open(kept.path("collectord.log"), "w+", encoding="utf-8")  # noqa: SIM115
        self.process = subprocess.Popen(
            [kept.programs.path("ingero-collectord"), "--socket", os.path.join(self._run, "ingero.sock"), *map(str, options)],
            env=kept.environment, stdin=subprocess.DEVNULL, stdout=self._error, stderr=self._error)

    def __enter__(self):
        def is_there():
            if self.process.poll() is not None:
                raise ingero.Failed(f"ingero-collectord ended with {self.process.returncode}: {self.said()}")
            with socket.socket(socket.AF_UNIX) as one:  # a killed daemon leaves its socket, where no one answers
                return one.connect_ex(os.path.join(self._run, "ingero.sock")) == 0

        ingero.wait_for(is_there, "the daemon's socket")
        # a named database is read by a private daemon; here the service has to answer
        self.kept.prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-c", AT_RUN, self._run,
                            "env", "-u", "INGERO_DB"]
        return self

    def __exit__(self, *_):
        self.kept.prefix = []
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait()
        self._error.close()

    def said(self):
        with open(self._error.name, encoding="utf-8") as file:
            return file.read()
