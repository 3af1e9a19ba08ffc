#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Lines of code of the product, by room: lines.py [COMMIT]...; of this tree, and of each commit beside it.

Blank lines and comments do not count. C, tables, SQL, protocol files and generators of files are counted; tests, documents and
build files are not.
"""
import io
import os
import re
import subprocess
import sys
import tarfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path.insert(0, os.path.join(ROOT, "tests/check"))
import tree  # noqa: E402

NOT_PRODUCT = ("tests/", "docs/", "build")
C_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)
HASH = re.compile(r'^[ \t]*#[^\n]*$|^[ \t]*""".*?"""[ \t]*$', re.S | re.M)
SQL = re.compile(r"--[^\n]*")


def without_c_comments(text):
    def keep(match):
        token = match.group()
        return token if token[0] in "\"'" else "\n" * token.count("\n")
    return C_TOKEN.sub(keep, text)


def without_hash_comments(text):
    return HASH.sub("", text)


def without_sql_comments(text):
    return SQL.sub("", text)


KINDS = {".c": without_c_comments, ".h": without_c_comments, ".def": without_c_comments, ".proto": without_c_comments, ".cc": without_c_comments,
         ".sql": without_sql_comments, ".py": without_hash_comments, ".cmake": without_hash_comments}
BUILD = ("BpfObject.cmake", "Flags.cmake", "ProtobufC.cmake")


def lines_of(name, text):
    """Number of lines of one file; None: it is not counted."""
    strip = KINDS.get(os.path.splitext(name)[1])
    if not strip or name.startswith(NOT_PRODUCT) or os.path.basename(name) in BUILD:
        return None
    return sum(1 for line in strip(text).splitlines() if line.strip())


def room_of(name):
    parts = name.split("/")[:-1]
    return "/".join(parts[:2]) or "."


def rooms(files):
    """{room: lines}. files: (name, text)"""
    counts = {}
    for name, text in files:
        n = lines_of(name, text)
        if n is not None:
            counts[room_of(name)] = counts.get(room_of(name), 0) + n
    return counts


def files_here():
    files_tree = tree.Tree(ROOT)
    for name in files_tree.files("*"):
        if lines_of(name, "") is not None:
            yield name, files_tree.text(name)


def files_at(commit):
    archive = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "-C", ROOT, "archive", "--format=tar", commit], stdout=subprocess.PIPE, check=False)
    if archive.returncode:
        sys.exit(f"lines: no commit '{commit}'")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
        for member in tar:
            if member.isfile() and lines_of(member.name, "") is not None:
                yield member.name, tar.extractfile(member).read().decode()


def main():
    commits = sys.argv[1:]
    columns = [rooms(files_here())] + [rooms(files_at(commit)) for commit in commits]
    print(f"{'room':<26}{'here':>8}" + "".join(f"{commit[:12]:>14}" for commit in commits))
    names = sorted(set().union(*columns))
    for name in [*names, "all"]:
        cells = [sum(column.values()) if name == "all" else column.get(name, 0) for column in columns]
        print(f"{name:<26}{cells[0]:>8}" + "".join(f"{cell:>14}" for cell in cells[1:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
