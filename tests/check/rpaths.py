#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No program or library that is built looks for its libraries in the current directory or where everybody may write."""
import os
import pathlib
import subprocess
import sys
import tempfile

import tree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import elf_paths  # noqa: E402


SHARED = "/dev/shm"


def linked(*options):
    """A library made with these options of the linker."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "library.so")
        subprocess.run([sys.argv[3], "-shared", "-nostdlib", "-x", "c", os.devnull, *options, "-o", path], check=True)
        with open(path, "rb") as file:
            return file.read()


def runpath(value):
    return linked(f"-Wl,-rpath,{value}")


def check(files_tree, build, _compiler):
    is_sample = not os.path.exists(files_tree.path("CMakeLists.txt"))
    problems, n = elf_paths.problems_below(files_tree.root if is_sample else build)
    return problems if n else ["nothing was built"]


tree.run(check, [
    ("nothing there", {}, "nothing was built"),
    ("empty element", {"b/a.so": runpath("/usr/lib:")}, "empty element"),
    ("empty element in front", {"b/a.so": runpath(":/usr/lib")}, "empty element"),
    ("empty element between", {"b/a.so": runpath("/usr/lib::/lib")}, "empty element"),
    ("the older tag", {"b/a.so": linked("-Wl,-rpath,/usr/lib:,--disable-new-dtags")}, "RPATH has an empty element"),
    ("relative", {"b/a.so": runpath("lib")}, "relative"),
    ("another variable", {"b/a.so": runpath("/usr/$LIB")}, "relative"),
    ("everybody's", {"b/a.so": runpath(SHARED)}, "everybody may write"),
    ("not there, and anybody could make it", {"b/a.so": runpath(f"{SHARED}/no/such/directory")}, "everybody may write"),
    ("a needed library by a relative path", {"b/a.so": linked("-Wl,-rpath,/usr/lib,--auxiliary,lib/b.so")}, "by a relative path"),
    ("second of two", {"b/a.so": runpath("/usr/lib"), "b/b.so": runpath("/usr/lib:")}, "b.so: RUNPATH"),
    ("as expected", {"b/a.so": runpath("/usr/lib:$ORIGIN/../b:${ORIGIN}"), "b/b.so": linked()}, None),
])
