# SPDX-License-Identifier: Apache-2.0
"""Python threads that wait for the GIL while another thread computes, in each installed interpreter, and their reported waits."""
import glob
import json
import os
import pathlib
import subprocess

import ingero
import kept

BETWEEN = pathlib.Path(__file__).resolve().parent.parent / "workloads" / "between.py"
SECONDS = 4
VERSIONS = range(9, 14)  # of CPython 3
VERSION = """import sys
if sys.implementation.name == 'cpython':
    print(sys.version_info[1], 'shared' if 'libpython' in open('/proc/self/maps').read() else 'static')
"""
# How this interpreter links a program with itself.
LINKED = """import sys, sysconfig
of = sysconfig.get_config_var
print(f"{of('LIBPL')}/libpython{of('VERSION')}{sys.abiflags}.a", of('LIBS'), of('SYSLIBS'), of('LINKFORSHARED'))
"""
MAIN = """int Py_BytesMain(int argc, char **argv);
int main(int argc, char **argv) { return Py_BytesMain(argc, argv); }
"""
# Up to 3.7 there is only one that wants wide characters.
MAIN_OLD = """#include <stdlib.h>
#include <wchar.h>
int Py_Main(int argc, wchar_t **argv);
wchar_t *Py_DecodeLocale(const char *text, size_t *n);
int main(int argc, char **argv)
{
	wchar_t **wide = calloc(argc + 1, sizeof(*wide));
	for (int i = 0; i < argc; i++)
		wide[i] = Py_DecodeLocale(argv[i], 0);
	return Py_Main(argc, wide);
}
"""
WAITS = "SELECT tid, class, resource_kind, by_pid, by_tid, count, ns FROM waits WHERE \"where\" = 'between'"


def interpreters():
    """Yields name and path of each installed CPython 3.9 to 3.13: Debian's is linked statically, others have a shared library."""
    roots = [os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")]
    found = ["/usr/bin/python3", *(path for root in roots for path in sorted(glob.glob(f"{root}/versions/3.*/bin/python3")))]
    for path in found:
        if not os.path.exists(path):
            continue
        version = subprocess.run([path, "-c", VERSION], capture_output=True, text=True, check=False)
        minor, _, linked = version.stdout.strip().partition(" ")
        if minor.isdigit() and int(minor) in VERSIONS:
            yield f"3.{minor} {linked}", path


def interpreters_old():
    """Yields the same of CPython 3.6 to 3.8, whose frames are not read."""
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    for minor in (6, 7, 8):
        for path in sorted(glob.glob(f"{root}/versions/3.{minor}.*/bin/python3")):
            yield f"3.{minor} shared", path


def interpreters_linked(directory, of=None, program="python3"):
    """Yields the same of those with a shared library that also have an archive: linked statically with it in `directory`."""
    for name, shared in of or interpreters():
        archive, *flags = subprocess.run([shared, "-c", LINKED], capture_output=True, text=True, check=True).stdout.split()
        if not name.endswith("shared") or not os.path.exists(archive):
            continue
        # an interpreter finds its modules beside its own folder
        prefix = pathlib.Path(directory, name.split()[0])
        python = prefix / "bin" / program
        python.parent.mkdir(parents=True)
        (prefix / "lib").symlink_to(pathlib.Path(archive).parents[2])
        subprocess.run(["cc", "-x", "c", "-", "-x", "none", "-o", python, archive, *flags], input=MAIN_OLD if of else MAIN, text=True, check=True)
        said = subprocess.run([python, "-c", VERSION], capture_output=True, text=True, check=True).stdout.split()
        yield f"3.{said[0]} {said[1]}", str(python)


def look(place, python):
    """(waits of the calling thread, its own report)"""
    programs, db, report = place.programs, place.path("gil.db"), place.path("report")
    libraries = os.path.dirname(programs.library("libcuda.so.1"))
    for path in (db, report):
        if os.path.exists(path):
            os.unlink(path)
    trace = ingero.trace(programs, "--db", db, environment={"INGERO_STANDIN_QUIET": "1"}, command=[
        python, "-S", str(BETWEEN), "--libraries", libraries, "--loses", "gil", "--seconds", str(SECONDS),
        "--report", report])
    if any(family["name"] == "sched" and family["state"] == "absent" for family in trace.start["families"]):
        kept.skip("this kernel does not tell of task switches")
    with open(report, encoding="ascii") as file:
        said = json.load(file)
    return [row for row in place.sql(WAITS, "--db", db) if row["tid"] == said["tid"] and row["class"] == "lock"], said


def rows(waits, said):
    """(all waits for a lock, those reported as waits for the GIL, those of these with the thread that held it)"""
    of_gil = [row for row in waits if row["resource_kind"] == "gil"]
    return waits, of_gil, [row for row in of_gil if row["by_tid"] in said["holders"]]


def share(rows, all_rows, column):
    return sum(row[column] for row in rows) / max(sum(row[column] for row in all_rows), 1)
