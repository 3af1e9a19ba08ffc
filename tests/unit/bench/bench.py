#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A page of figures names the commit that was measured, whether files differed from it, and a sum of what it measured; two builds are measured in turns."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types

TESTS = pathlib.Path(__file__).resolve().parents[2]
SOURCE = "source.c"
PAGE = "docs/measurements/page.md"
# what is done to a checkout of one commit, and what follows the commit's name
ROWS = (
    ("as committed", None, "", ""),
    ("changed", SOURCE, "changed", f" with changes in {SOURCE}"),
    ("one more file", "other.c", "new", " with changes in other.c"),
    ("a page that was written", PAGE, "figures", ""),
)


def git(directory, *arguments):
    command = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", "-C", directory, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def sums_test(bench):
    """A sum changes with a file's content and name and with what is there, not with pages and what lies elsewhere."""
    changes = (("one.c", "other", True), ("two.c", "", True), ("page.md", "words", False), ("../beside.c", "text", False))
    failed = []
    for name, text, is_other in changes:
        with tempfile.TemporaryDirectory() as directory:
            os.mkdir(os.path.join(directory, "part"))
            pathlib.Path(directory, "part", "one.c").write_text("text", encoding="ascii")
            before = bench.sources_sum(directory, ("part",))
            pathlib.Path(directory, "part", name).write_text(text, encoding="ascii")
            if (bench.sources_sum(directory, ("part",)) != before) != is_other:
                failed.append(f"sum, {name}: {'as before' if is_other else 'another'}")
    for name in bench.names():
        for path in bench.measures(name):
            if not os.path.exists(os.path.join(bench.ROOT, path)):
                failed.append(f"{name}: measures {path}, which is missing")
    return failed


def compare_test(bench):
    """Two builds in turns, as many rounds of each, and the ratio of each round."""
    asked = []

    def measure(one):
        asked.append(one.programs)
        one.row("took", 4 if one.programs == "newer" else 2, "s")

    both = bench.Bench("newer", 3, None)
    bench.compare(types.SimpleNamespace(measure=measure), both, "older")
    rows = {row["what"]: (row["median"], row["n"]) for row in both.rows}
    wanted = {"took: older": (2, 3), "took: newer": (4, 3), "took: newer / older": (2, 3)}
    turns = ["older", "newer", "newer", "older", "older", "newer"]
    return [] if rows == wanted and asked == turns else [f"compared: {rows}, asked {asked}"]


def conditions_test(bench):
    """Conditions are compared one after the other, each with its own number of pairs, in turns that know that they are some."""
    asked = []

    def measure(one):
        for name in ("a", "a.b"):
            if one.only.search(name):
                asked.append((one.programs, name, one.is_turn))

    module = types.SimpleNamespace(measure=measure, conditions=lambda both: {"a": 1, "a.b": 2})
    bench.compare(module, bench.Bench("newer", 3, None), "older")
    wanted = [("older", "a", True), ("newer", "a", True)] + [(build, "a.b", True) for build in ("older", "newer", "newer", "older")]
    return [] if asked == wanted else [f"conditions: {asked}"]


def cases_test(bench):
    """Results of an earlier run are kept for the same state alone, and it is told of which commit they are."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "cases")
        bench.Cases(path, (1, 1), "state", "abc").results({"one": lambda lane: 1}, 1)
        later = bench.Cases(path, (1, 1), "state", "def")
        results = later.results({"one": lambda lane: 2, "two": lambda lane: 2}, 1)
        other = bench.Cases(path, (1, 1), "another", "def")
    found = results, later.told(), other.told()
    wanted = {"one": 1, "two": 2}, ", 1 of 2 cases by an earlier run of commit abc", ""
    return [] if found == wanted else [f"cases: {found}"]


def main():
    if not shutil.which("git"):
        print("skipped: no git", file=sys.stderr)
        return 77
    spec = importlib.util.spec_from_file_location("benchmarks", TESTS / "bench/bench.py")
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    failed = []
    for name, file, text, ending in ROWS:
        with tempfile.TemporaryDirectory() as directory:
            os.makedirs(os.path.join(directory, "docs/measurements"))
            pathlib.Path(directory, SOURCE).write_text("committed", encoding="ascii")
            git(directory, "init", "-q")
            git(directory, "add", "-A")
            git(directory, "commit", "-q", "-m", "first")
            if file:
                pathlib.Path(directory, file).write_text(text, encoding="ascii")
            if os.geteuid() == 0:
                os.chown(directory, 65534, 65534)  # as under sudo: another user's
            wanted = git("/", "-c", f"safe.directory={directory}", "-C", directory, "rev-parse", "--short", "HEAD") + ending
            if bench.commit_of(directory) != wanted:
                failed.append(f"{name}: {bench.commit_of(directory)!r}, not {wanted!r}")
    failed += sums_test(bench) + compare_test(bench) + conditions_test(bench) + cases_test(bench)
    with tempfile.TemporaryDirectory() as directory:
        if bench.commit_of(directory) != "":
            failed.append(f"no checkout: {bench.commit_of(directory)!r}")
    for line in failed:
        print(line, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
