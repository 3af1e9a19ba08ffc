#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
kept_places.py BUILD [CASE]...: whatever is wrong with the place of the database, `ingero trace` says what, why and
the way out, and leaves what was there as it was. It counts every call all the same at the default place, and starts
nothing where the file was named.

Needs root (or it is skipped): mounts small file systems, which only it sees.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import books_of  # noqa: E402
import ingero  # noqa: E402
import kept  # noqa: E402

KNOWN = books_of.known_operations(HERE.parents[1] / "bpf" / "ops.def")
CALLS = 200


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def mount(path, options):
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path], check=True)


# ---- what is there before: each gets the path ----

def recorded(home, path, more_calls=0):
    """A good database of ours, all in one file."""
    command, _ = home.load("--calls", CALLS + more_calls)
    home.answer("trace", "--record", "all", "--json", "--db", path, "--", *command)
    with kept.tables(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    for suffix in ("-wal", "-shm", ".lock"):
        pathlib.Path(path + suffix).unlink(missing_ok=True)


def foreign(_, path):
    with kept.tables(path) as connection:
        connection.execute("CREATE TABLE accounts(name, money)")


def text(_, path):
    pathlib.Path(path).write_text("Dear diary\n" * 1000, encoding="utf-8")


def newer(home, path):
    recorded(home, path)
    with kept.tables(path) as connection:
        connection.execute("PRAGMA user_version = 99")
        connection.commit()


def page_1(home, path):
    recorded(home, path)
    with open(path, "r+b") as file:
        file.write(bytes(range(256)) * 16)


# name: what is there, what its name gets, what is said of it
IN_THE_WAY = {
    "foreign": (foreign, "foreign", "is not a database of this"),
    "text": (text, "damaged", "is no database"),
    "newer": (newer, "newer", "newer"),
    "page_1": (page_1, "damaged", "is no database"),
}


def trace_json(check, name, home, *options, **more):
    """Counts are the program's own, whatever becomes of the database."""
    command, report = home.load("--calls", CALLS)
    out = home.answer("trace", "--record", "all", "--json", *options, "--", *command, **more)
    trace = ingero.Trace(out)
    with open(report, encoding="utf-8") as file:
        made = books_of.operations(json.load(file)["books"], KNOWN)
    wrong = books_of.differences(made, trace.counts())
    check(f"{name}: every call counted", made and not wrong, wrong)
    check(f"{name}: start and summary say the same", trace.start["store"]["problem"] == trace.summary["store"]["problem"],
          trace.start["store"], trace.summary["store"])
    return trace, made


def trace_text(home, *options, **more):
    """What a reader finds: around a program, and while watching."""
    command, _ = home.load("--calls", 5)
    done = home.run("trace", *options, "--", *command, **more)
    return kept.words_of(done.stderr)


def refused(check, name, home, path, *said, **more):
    """A named file that cannot be recorded to: file, reason and way out in words, and nothing was started."""
    command, report = home.load("--calls", 5)
    for options in ((), ("--json",)):
        pathlib.Path(report).unlink(missing_ok=True)
        done = home.run("trace", *options, "--db", path, "--", *command, **more)
        shown = kept.words_of(done.stderr)
        case = f"{name} {' '.join(options)}".rstrip()
        check(f"{case}: exit status", done.returncode == 1, done.returncode, shown)
        check(f"{case}: in words", path in shown and "--db" in shown and all(one in shown for one in said), shown)
        check(f"{case}: nothing else is said", not done.stdout and len(done.stderr.splitlines()) < 3, done.stdout, done.stderr)
        check(f"{case}: nothing ran", not os.path.exists(report), report)
    return shown


def in_the_way(check, name, home):
    make, word, said = IN_THE_WAY[name]
    own = home.path(f"home-{name}/.ingero/ingero.db")
    os.makedirs(os.path.dirname(own))
    make(home, own)
    before = digest(own)
    default = {"environment": {"HOME": home.path(f"home-{name}"), "INGERO_DB": ""}}

    refused(check, f"{name}: named", home, own, said)
    check(f"{name}: named, left alone", digest(own) == before and not list(pathlib.Path(own).parent.glob("ingero.db.*-2*")))

    trace, made = trace_json(check, name, home, **default)
    check(f"{name}: told", said in trace.start["store"]["problem"] and "a new one was begun" in trace.start["store"]["problem"] and
          trace.start["store"]["path"] == own, trace.start["store"])
    aside = list(pathlib.Path(own).parent.glob(f"ingero.db.{word}-*"))
    aside = [path for path in aside if not path.name.endswith(("-wal", "-shm"))]
    check(f"{name}: set aside, not a byte changed", len(aside) == 1 and digest(aside[0]) == before, aside)
    answer = home.explain(**default)
    check(f"{name}: recorded in the new file", [gap["reason"] for gap in answer["gaps"] if gap["reason"] != "behind"] == ["set_aside"], answer["gaps"])
    check(f"{name}: kept in the new file", answer["window"]["calls"] == sum(made.values()), answer["window"])
    shown = kept.words_of(home.answer("explain", **default))
    check(f"{name}: explain says so", "set aside" in shown, shown)


def test_unreadable(check, home):
    """Damage inside: what is whole goes into the new file, the old one stays as it was."""
    path = home.path("home-inside/.ingero/ingero.db")
    os.makedirs(os.path.dirname(path))
    recorded(home, path, 20000)
    with kept.tables(path) as connection:
        connection.execute("UPDATE session SET end_ns = NULL")
        connection.commit()
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'block_time'").fetchone()[0]
    with open(path, "r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xff" * 4096)
    before = digest(path)
    default = {"environment": {"HOME": home.path("home-inside"), "INGERO_DB": ""}}
    trace, made = trace_json(check, "inside", home, **default)
    check("inside: told", "is damaged" in trace.start["store"]["problem"] and "a new one was begun" in trace.start["store"]["problem"], trace.start["store"])
    aside = [p for p in pathlib.Path(path).parent.glob("ingero.db.damaged-*") if not p.name.endswith(("-wal", "-shm"))]
    check("inside: not a byte changed", len(aside) == 1 and digest(aside[0]) == before, aside)
    answer = home.explain("--from", "2000-01-01", **default)
    check("inside: a gap", "set_aside" in [gap["reason"] for gap in answer["gaps"]], answer["gaps"])
    check("inside: the new calls", answer["window"]["events"] >= sum(made.values()), answer["window"], made)


def test_cut(check, home):
    """A file that lost its end, in the default place and named."""
    path = home.path("home-cut/.ingero/ingero.db")
    os.makedirs(os.path.dirname(path))
    recorded(home, path, 20000)
    with kept.tables(path) as connection:
        connection.execute("UPDATE session SET end_ns = NULL")
        connection.commit()
    os.truncate(path, os.path.getsize(path) // 8192 * 4096)
    before = digest(path)
    refused(check, "cut: named", home, path, "damaged")
    check("cut: named, left alone", digest(path) == before)
    default = {"environment": {"HOME": home.path("home-cut"), "INGERO_DB": ""}}
    trace, made = trace_json(check, "cut", home, **default)
    check("cut: told", "a new one was begun" in trace.start["store"]["problem"], trace.start["store"])
    aside = [p for p in pathlib.Path(path).parent.glob("ingero.db.damaged-*") if not p.name.endswith(("-wal", "-shm"))]
    check("cut: not a byte changed", len(aside) == 1 and digest(aside[0]) == before, aside)
    check("cut: the new calls", home.explain(**default)["window"]["events"] >= sum(made.values()), made)


def goes_on(check, name, home, directory, *said, **more):
    """The default place, where nothing can be kept: told in words and as JSON, everything else goes on."""
    default = {"environment": {"HOME": directory, "INGERO_DB": "", **more}}
    path = os.path.join(directory, ".ingero", "ingero.db")
    shown = trace_text(home, **default)
    check(f"{name}: in words", "nothing is kept: " in shown and "--db" in shown and all(one in shown for one in (path, *said)), shown)
    check(f"{name}: not as if it was", "kept: slow" not in shown, shown)
    trace, _ = trace_json(check, name, home, **default)
    store = trace.start["store"]
    check(f"{name}: as JSON", not store["path"] and all(one in store["problem"] for one in (path, *said)), store)
    return trace


def test_read_only(check, home):
    """A file system that cannot be written, with a good database on it: read it can be."""
    os.mkdir(home.path("ro"))
    mount(home.path("ro"), "size=8m")
    path = home.path("ro/kept.db")
    recorded(home, path)
    subprocess.run(["mount", "-o", "remount,ro", home.path("ro")], check=True)
    before = digest(path)
    refused(check, "read-only", home, path, "Read-only file system")
    refused(check, "read-only, a new file", home, home.path("ro/new.db"), "Read-only file system")
    goes_on(check, "read-only home", home, home.path("ro"), "Read-only file system")
    check("read-only: left alone", digest(path) == before)
    answer = home.run("explain", "--db", path)
    check("read-only: explained", answer.returncode == 0 and "cudaload" in answer.stdout, answer.stdout, answer.stderr)


def test_nobody(check, home):
    """Under sudo the caller's rights count: a directory and a file that he may not write."""
    sudo = {"environment": {"SUDO_UID": "65534", "SUDO_GID": "65534"}}
    os.mkdir(home.path("closed"), 0o755)
    os.chmod(home.directory, 0o777)  # its report is written by the program
    refused(check, "directory", home, home.path("closed/kept.db"), "Permission denied", **sudo)
    check("directory: empty", not os.listdir(home.path("closed")))
    os.mkdir(home.path("open"))
    os.chmod(home.path("open"), 0o777)
    path = home.path("open/kept.db")
    recorded(home, path)
    before = digest(path)
    refused(check, "file", home, path, "Permission denied", **sudo)
    check("file: left alone", digest(path) == before)
    os.chmod(home.directory, 0o755)


def test_odd(check, home):
    """What is no file at all."""
    os.mkdir(home.path("directory.db"))
    os.symlink("/etc/passwd", home.path("link.db"))
    os.mkfifo(home.path("pipe.db"))
    before = digest("/etc/passwd")
    refused(check, "a directory", home, home.path("directory.db"), "no regular file")
    refused(check, "a link", home, home.path("link.db"), "is a link")
    refused(check, "a pipe", home, home.path("pipe.db"), "no regular file")
    refused(check, "no such directory", home, home.path("nowhere/kept.db"), f"the directory '{home.path('nowhere')}' does not exist")
    refused(check, "in place of a directory", home, home.path("pipe.db/kept.db"), "Not a directory")
    refused(check, "/proc", home, "/proc/kept.db", "no file can be created in that directory")
    refused(check, "/sys", home, "/sys/kept.db", "Permission denied")
    done = home.run("trace", "-d", "1s", environment={"INGERO_DB": "/proc/kept.db"})
    check("the variable: refused", done.returncode == 1 and "'/proc/kept.db'" in done.stderr, done.returncode, done.stderr)
    done = home.run("demo", "cold-start", "--speed", "1000", "--db", "/proc/kept.db")
    check("a demo: refused", done.returncode == 1 and "'/proc/kept.db'" in done.stderr and not done.stdout, done.returncode, done.stdout, done.stderr)
    check("the link's end", digest("/etc/passwd") == before)


def test_second(check, home):
    """A second recorder of one file is told who writes it."""
    path = home.path("both.db")
    first = subprocess.Popen([home.programs.path("ingero"), "trace", "--json", "--db", path, "--pid", str(os.getpid())],
                             env=home.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        start = json.loads(first.stdout.readline())
        check("second: the first keeps", start["store"]["path"] == path and not start["store"]["problem"], start["store"])
        pids = ingero.children(first.pid)
        shown = refused(check, "second", home, path, "is in use by process ")
        check("second: who", any(f"process {pid};" in shown for pid in pids), shown, pids)
        check("second: explain beside it", home.run("explain", "--db", path).returncode == 0)
    finally:
        first.send_signal(2)
        out, _ = first.communicate()
    check("second: the first ends well", first.returncode == 0 and '"type":"summary"' in out, out[-500:])


def test_full(check, home):
    """A full disk: from the start, and while recording; counts stay exact, and what was not kept has its gap."""
    os.mkdir(home.path("small"))
    mount(home.path("small"), "size=64k")
    pathlib.Path(home.path("small/filler")).write_bytes(b"x" * 65536)
    refused(check, "full", home, home.path("small/kept.db"), "No space left on device")
    trace = goes_on(check, "full home", home, home.path("small"), "No space left on device")
    check("full: nothing lost of what is counted", not trace.lost(), trace.lost())

    os.mkdir(home.path("filling"))
    mount(home.path("filling"), "size=640k")
    path = home.path("filling/kept.db")
    report = home.path("report")
    command = [home.programs.path("cudaload"), "--duration", "3s", "--rate", "20000", "--report", report]
    done = home.run("trace", "--record", "all", "--json", "--ringbuf-size", "8m", "--db", path, "--", *command)
    check("filling: ends well", done.returncode == 0, done.stderr)
    trace = ingero.Trace(done.stdout)
    made = books_of.operations(json.loads(pathlib.Path(report).read_text(encoding="utf-8"))["books"], KNOWN)
    wrong = books_of.differences(made, trace.counts())
    check("filling: every call counted", not wrong, wrong)
    check("filling: was all right at first", not trace.start["store"]["problem"], trace.start["store"])
    check("filling: the summary says so", "no space left" in trace.summary["store"]["problem"], trace.summary["store"])
    with kept.tables(path) as connection:
        check("filling: whole", connection.execute("PRAGMA integrity_check").fetchone() == ("ok",))


def test_nothing(check, home):
    """--db none keeps nothing, and nothing is wrong with that."""
    trace, _ = trace_json(check, "none", home, "--db", "none")
    check("none: no problem", trace.start["store"]["path"] == "" == trace.start["store"]["problem"], trace.start["store"])
    shown = trace_text(home, "--db", "none")
    check("none: said", "nothing is kept" in shown and "kept: slow" not in shown and "▲" not in shown, shown)


def main(build, names):
    kept.in_own_mounts("capture needs root")
    check = kept.Checks()
    tests = {name: (lambda check, home, name=name: in_the_way(check, name, home)) for name in IN_THE_WAY}
    tests.update({name[5:]: test for name, test in globals().items() if name.startswith("test_")})
    for name in names or tests:
        began = time.monotonic()
        with kept.Kept(build) as home:
            try:
                tests[name](check, home)
            except (ingero.Failed, OSError, subprocess.SubprocessError, ValueError) as error:
                check(name, False, repr(error))
            finally:
                for directory in ("ro", "small", "filling"):
                    subprocess.run(["umount", "-l", home.path(directory)], stderr=subprocess.DEVNULL, check=False)
        print(f"{name}: {time.monotonic() - began:.1f} s", flush=True)
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
