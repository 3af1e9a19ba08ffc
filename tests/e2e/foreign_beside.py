#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
foreign_beside.py BUILD: a recording of Ingero's is read with all that it has, also in its write-ahead log, and what lies beside it is the
same afterwards: whether Ingero has it open, has closed it or was killed, or its files were copied.
"""
import gzip
import os
import shutil
import sqlite3
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
import kept  # noqa: E402

RECORDING = os.path.join(HERE, "../data/ingero-db/sample-gpu-node-01.db.gz")
ENDINGS = ("", "-wal", "-shm")
MORE_ROWS = 7
DRIVER = 5  # source of calls of the driver


def recording_open(home):
    """The recording as its recorder has it open, with rows that are in the log alone."""
    path = home.path("open/rows.db")
    os.mkdir(os.path.dirname(path))
    with gzip.open(RECORDING) as packed, open(path, "wb") as plain:
        shutil.copyfileobj(packed, plain)
    recorder = sqlite3.connect(path, isolation_level=None)
    recorder.execute("PRAGMA wal_autocheckpoint = 0")
    columns = ", ".join(name for _, name, *_ in recorder.execute("PRAGMA table_info(events)") if name != "id")
    recorder.execute(f"INSERT INTO events (id, {columns}) SELECT 'gpu-node-01:' || (1000000 + rowid), {columns} FROM events "
                     f"WHERE source = {DRIVER} LIMIT {MORE_ROWS}")
    return recorder, path


def state(home, name, endings):
    """Copies these files of the recording into a directory of their own; an ending with a '0' is that of an empty file."""
    os.mkdir(home.path(name))
    for ending in endings:
        # not by this process: it would lose its locks on a file that it closes
        source = "/dev/null" if ending.endswith("0") else home.path("open/rows.db") + ending
        subprocess.run(["cp", source, home.path(f"{name}/rows.db{ending.rstrip('0')}")], check=True)
    return home.path(f"{name}/rows.db")


def beside(path):
    return {name: os.path.getsize(os.path.join(os.path.dirname(path), name)) for name in os.listdir(os.path.dirname(path))}


def count(home, path):
    return home.sql("SELECT count(*) AS n FROM events", "--db", path)[0]["n"]


def read_check(check, home, name, path, rows):
    before = beside(path)
    found = count(home, path)
    check(f"{name}: all rows", found == rows, found, rows)
    home.explain("--db", path)
    after = beside(path)
    check(f"{name}: nothing is left behind", before.keys() == after.keys(), before, after)
    same = [one for one in before if not one.endswith("-shm")]  # the index is made anew where nobody has the file open
    check(f"{name}: nothing has changed", [before[one] for one in same] == [after.get(one) for one in same], before, after)


def main(build):
    check = kept.Checks()
    with kept.Kept(build) as home:
        recorder, path = recording_open(home)
        in_file = count(home, state(home, "counted", [""]))
        check("rows", in_file > 0, in_file)
        for name, endings, in_log in (
                ("closed", [""], 0),
                ("an empty log", ["", "-wal0"], 0),
                ("an index alone", ["", "-shm"], 0),
                ("a log without its index", ["", "-wal"], MORE_ROWS),
                ("killed", ENDINGS, MORE_ROWS)):
            read_check(check, home, name, state(home, name, endings), in_file + in_log)
        read_check(check, home, "open", path, in_file + MORE_ROWS)
        os.symlink(home.path("a log without its index/rows.db"), home.path("closed/link.db"))
        found = count(home, home.path("closed/link.db"))
        check("by a link: the log lies beside the file", found == in_file + MORE_ROWS, found, in_file)
        recorder.close()
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
