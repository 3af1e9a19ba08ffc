#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Runs benchmarks: bench.py --build DIR [NAME...]; without a name, lists them.

--all runs every benchmark and saves its page. --stale lists pages whose measured files have changed since: such pages are
allowed in ordinary work, but not in a release. --against DIR runs each benchmark on this build and an older one, in turns.

A benchmark is a file NAME.py in this directory: its first sentence says what it measures; its measure(bench) calls
bench.row() for every figure. Compared variants run in turns, at least five pairs, so that a change of the machine's
speed affects both; figures are medians, with the lowest and the highest value beside them.
"""
import argparse
import ast
import collections
import concurrent.futures
import contextlib
import hashlib
import importlib
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../support"), os.path.join(HERE, "../workloads"), os.path.join(HERE, "../e2e")]

import ingero  # noqa: E402 (needs the path above)
import programs  # noqa: E402

NOT_BENCHMARKS = ("bench", "floor", "programs")
ROOT = os.path.realpath(os.path.join(HERE, "../.."))
PAGES = os.path.join(ROOT, "docs/measurements")
# Measured directories and files of a benchmark without a MEASURES of its own.
MEASURES = ("base", "bpf", "collectord", "proto", "libingero", "cli", "tests/workloads")
SUM = re.compile(r", sources ([0-9a-f]{12})[,;]")
BUSY_RATIO = 0.10  # of all CPUs; guess: below it medians of five pairs did not move
HIDDEN = "-"
PAIRS = 5


class Cases:
    """Results of the cases of long benchmarks, one line of JSON each, so that an interrupted run can continue, and several runs can share the work."""

    def __init__(self, path, shard, state, commit):
        self.path, self.state, self.commit = path, state, commit
        self.number, self.of = shard
        self.known, self.kept = {}, {}
        self.lock = threading.Lock()
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
            lines = [line for line in lines if line["state"] == state]
            self.known = {line["case"]: line["result"] for line in lines}
            self.kept = {line["case"]: line["commit"] for line in lines}

    def keep(self, name, result):
        with self.lock:
            self.known[name] = result
            if self.path:
                with open(self.path, "a", encoding="utf-8") as file:
                    file.write(json.dumps({"state": self.state, "commit": self.commit, "case": name, "result": result}) + "\n")

    def told(self):
        """Of how many cases earlier runs were, by commit; "" without any."""
        commits = collections.Counter(self.kept.values())
        return "".join(f", {n} of {len(self.known)} cases by an earlier run of commit {commit}" for commit, n in commits.items())

    def results(self, jobs, n_lanes):
        """
        Does the jobs of this shard that have no result yet. Returns all results, now or earlier, by name of the job. Each lane does one job at a time.
        jobs: {name: callable of the lane's number}
        """
        mine = [name for number, name in enumerate(jobs, 1) if number % self.of == self.number % self.of and name not in self.known]
        left = iter(mine)
        is_over = threading.Event()

        def work(lane):
            while not is_over.is_set():
                with self.lock:
                    name = next(left, None)
                if name is None:
                    break
                say(f"  {name}")
                try:
                    self.keep(name, jobs[name](lane))
                except BaseException:
                    is_over.set()
                    raise

        with concurrent.futures.ThreadPoolExecutor(n_lanes) as pool:
            for done in [pool.submit(work, lane) for lane in range(n_lanes)]:
                done.result()
        return {name: self.known[name] for name in jobs if name in self.known}


class Bench:
    def __init__(self, programs, pairs, seconds, cases=None, only="", tools=None, is_turn=False):
        self.programs = programs
        self.tools = tools or programs  # programs that measure: always those of this tree's build
        self.only = re.compile(only)
        self.is_turn = is_turn  # one round of a comparison with an older build
        self.pairs = pairs
        self.seconds = seconds
        self.results = (cases or Cases(None, (1, 1), "", "")).results
        self.rows = []

    def in_turns(self, pairs=None, **variants):
        """Calls each variant once a round; returns {name: [result of each call]}."""
        results = {name: [] for name in variants}
        pairs = pairs or self.pairs
        for number in range(pairs):
            # the order alternates, so that no variant always follows the other
            names = list(variants) if number % 2 == 0 else list(reversed(variants))
            for name in names:
                say(f"  round {number + 1} of {pairs}: {name}")
                results[name].append(variants[name]())
        return results

    def row(self, what, values, unit, limit=None, note="", least=None, against=None):
        """
        what:    names the figure
        values:  one number, or one of each round
        limit:   highest allowed figure (least: lowest allowed figure); None: reported only
        against: highest allowed ratio to the figure of an older build
        """
        values = list(values) if isinstance(values, (list, tuple)) else [values]
        if not values:
            self.rows.append({"what": what, "is_ok": False, "note": note or "no value", "unit": unit, "limit": limit, "n": 0,
                              "median": None, "low": None, "high": None, "against": against})
            return
        median = statistics.median(values)
        is_ok = None
        if limit is not None:
            is_ok = median <= limit
        if least is not None:
            is_ok = median >= least and is_ok is not False
        row = {"what": what, "median": median, "low": min(values), "high": max(values), "n": len(values), "unit": unit,
               "limit": limit if least is None else least, "is_ok": is_ok, "note": note, "against": against}
        self.rows.append(row)
        say("  " + "  ".join(cells_of(row)))


def compare(module, bench, older):
    """
    Rounds of a benchmark on two builds in turns: for each figure both medians and the ratio of the newer to the older. A figure that is
    worse by more than the spread of the pairs needs attention. A benchmark whose turns must be short has conditions(bench), {condition:
    number of pairs}: each is compared by itself.
    """
    everything = {bench.only.pattern: bench.pairs}
    chosen = {f"^{re.escape(name)}$": pairs for name, pairs in module.conditions(bench).items()} if hasattr(module, "conditions") else everything
    for only, pairs in chosen.items():
        compare_condition(module.measure, bench, older, only, pairs)


def compare_condition(measure, bench, older, only, pairs):
    def once(programs):
        one = Bench(programs, 1, bench.seconds, only=only, tools=bench.programs, is_turn=True)
        measure(one)
        return {row["what"]: row for row in one.rows if row["median"] is not None}

    say(f"  {only}")
    rounds = bench.in_turns(pairs=pairs, older=lambda: once(older), newer=lambda: once(bench.programs))
    for what, row in rounds["newer"][0].items():
        pairs = [(a[what]["median"], b[what]["median"]) for a, b in zip(rounds["older"], rounds["newer"]) if what in a and what in b]
        if not pairs:
            continue
        bench.row(f"{what}: older", [a for a, _ in pairs], row["unit"])
        bench.row(f"{what}: newer", [b for _, b in pairs], row["unit"])
        if all(a for a, _ in pairs):
            bench.row(f"{what}: newer / older", [b / a for a, b in pairs], "ratio", limit=row["against"], note=agreement(pairs))


def agreement(pairs):
    """Note if all pairs changed in the same direction; "" otherwise, or if there is only one pair."""
    if len(pairs) > 1 and all(b > a for a, b in pairs):
        return "more in every pair"
    if len(pairs) > 1 and all(b < a for a, b in pairs):
        return "less in every pair"
    return ""


def say(text):
    print(text, file=sys.stderr, flush=True)


def number(value):
    if value is None:
        return HIDDEN
    if isinstance(value, int) or float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.4g}"


def cells_of(row):
    spread = f"{number(row['low'])} to {number(row['high'])}" if row["n"] > 1 else HIDDEN
    verdict = {True: "yes", False: "NO", None: HIDDEN}[row["is_ok"]]
    return [row["what"], number(row["median"]), spread, row["unit"], number(row["limit"]), verdict, row["note"]]


HEADINGS = ["what", "median", "low to high", "unit", "asked", "met", "note"]


def text_table(rows):
    lines = [HEADINGS] + [cells_of(row) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def markdown_table(rows):
    lines = [HEADINGS, ["---"] * len(HEADINGS)] + [cells_of(row) for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def description(name):
    with open(os.path.join(HERE, name + ".py"), encoding="utf-8") as file:
        return (ast.get_docstring(ast.parse(file.read())) or "").split("\n\n")[0].replace("\n", " ")


def measures(name):
    """Files and directories that a benchmark measures, from MEASURES in its file."""
    with open(os.path.join(HERE, name + ".py"), encoding="utf-8") as file:
        for statement in ast.parse(file.read()).body:
            if isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", "") == "MEASURES":
                return ast.literal_eval(statement.value)
    return MEASURES


def sources_sum(root, paths):
    """Checksum of the content of all files below these paths, tracked by git or not."""
    total = hashlib.sha256()
    for path in paths:
        found = [os.path.join(root, path)] if os.path.isfile(os.path.join(root, path)) else sorted(
            os.path.join(directory, name) for directory, _, files in os.walk(os.path.join(root, path)) for name in files)
        for file_path in found:
            if not file_path.endswith((".md", ".pyc")):
                with open(file_path, "rb") as file:
                    total.update(os.path.relpath(file_path, root).encode() + b"\0" + hashlib.sha256(file.read()).digest())
    return total.hexdigest()[:12]


def state_of(name):
    return sources_sum(ROOT, (*measures(name), f"tests/bench/{name}.py"))


def stale():
    """Yields (benchmark, what is wrong with its page) for every page that is missing or stale."""
    for name in names():
        path = os.path.join(PAGES, name + ".md")
        if not os.path.exists(path):
            yield name, "has no page"
            continue
        with open(path, encoding="utf-8") as file:
            match = SUM.search(file.read())
        if not match:
            yield name, "has no checksum of the measured files"
        elif match[1] != state_of(name):
            yield name, f"measured {match[1]}, the tree is {state_of(name)}"


def names():
    found = (name[:-3] for name in os.listdir(HERE) if name.endswith(".py"))
    return sorted(name for name in found if name not in NOT_BENCHMARKS)


def busy_ratio(seconds=2.0):
    """Share of all CPUs that other processes use during a wait."""
    def times():
        with open("/proc/stat", encoding="ascii") as file:
            fields = [int(field) for field in file.readline().split()[1:9]]
        return sum(fields), fields[3] + fields[4]

    total, idle = times()
    time.sleep(seconds)
    total_after, idle_after = times()
    return 1 - (idle_after - idle) / max(1, total_after - total)


def commit_of(directory):
    """Short commit of a checkout, with the files that differ from it; empty outside a checkout, or without git."""
    if not os.path.exists(os.path.join(directory, ".git")):
        return ""

    def git(*arguments):
        # under sudo the checkout belongs to another user, and git must not write its index
        command = ["git", "--no-optional-locks", "-c", f"safe.directory={directory}", "-C", directory, *arguments]
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout.rstrip()

    try:
        # pages written by this run do not make the tree dirty
        changed = [line[3:] for line in git("status", "--porcelain", "--", ".", ":(exclude)docs/measurements").splitlines()]
        return git("rev-parse", "--short", "HEAD") + (f" with changes in {', '.join(changed[:3])}{' ...' if changed[3:] else ''}" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def setup_text(busy, name, older):
    kernel = os.uname()
    with open("/proc/loadavg", encoding="ascii") as file:
        load = file.read().split()[0]
    commit = commit_of(ROOT)
    commit = f", commit {commit}" if commit else ""
    if older:
        commit += f" against {commit_of(os.path.dirname(older.build)) or 'an older build'}"
    return (f"{time.strftime('%Y-%m-%d')}{commit}, sources {state_of(name)}, {kernel.machine}, {os.cpu_count()} CPUs, Linux {kernel.release}, "
            f"load {load}, {busy:.0%} of the CPUs in use by others before")


def save(directory, name, told, setup, rows, arguments):
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, name + ".md")
    with open(path, "w", encoding="utf-8") as file:
        asked = f"./dev bench {name}" + (" --against DIR" if arguments.against else "") + (f" --only '{arguments.only}'" if arguments.only else "")
        asked += (f" --pairs {arguments.pairs}" if arguments.pairs != PAIRS else "") + (" --cases FILE" if arguments.cases else "")
        file.write(f"# {name}\n\n{told}\n\n{setup}; `{asked}`.\n\n{markdown_table(rows)}\n")
    say(f"written: {path}")


def shard_of(text):
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError(f"'{text}' is not a shard: for example 1/4")
    return int(match[1]), int(match[2])


def main():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*names(), []])
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--pairs", type=int, default=PAIRS, help=f"number of rounds of compared variants (default {PAIRS})")
    parser.add_argument("--seconds", type=float, help="length of one run, for benchmarks with a fixed length")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    parser.add_argument("--save", metavar="DIR", help="write a page for each benchmark to DIR (docs/measurements)")
    parser.add_argument("--all", action="store_true", help="run every benchmark, and save its page in docs/measurements")
    parser.add_argument("--stale", action="store_true", help="list pages that measured another state of the tree; exit status 1 if there are any")
    parser.add_argument("--against", metavar="DIR", help="directory of an older build: run each benchmark on both builds, in turns")
    parser.add_argument("--cases", metavar="FILE", help="for a benchmark of many cases: keep results in FILE, and run only cases that have none")
    parser.add_argument("--shard", metavar="I/N", type=shard_of, default=(1, 1), help="run the I-th of every N of these cases")
    parser.add_argument("--only", metavar="REGEX", default="", help="measure only conditions that match, if a benchmark has several")
    parser.add_argument("--anyway", action="store_true", help="measure although the machine is busy; the page says how busy")
    arguments = parser.parse_args()
    if arguments.stale:
        found = list(stale())
        for name, what in found:
            print(f"{name:<12} {what}")
        return 1 if found else 0
    if arguments.all:
        arguments.names, arguments.save = names(), arguments.save or (None if arguments.against else PAGES)
    if not arguments.names:
        for name in names():
            print(f"{name:<12}{description(name)}")
        return 0
    if os.geteuid() != 0:
        sys.exit("bench: tracing needs root: sudo ./dev bench " + " ".join(arguments.names))
    busy = busy_ratio()
    if busy > BUSY_RATIO and not arguments.anyway:
        sys.exit(f"bench: other processes use {busy:.0%} of the CPUs, so figures would be wrong: stop them, or use --anyway")

    tracers = ingero.tracers()
    if tracers and not arguments.anyway:
        sys.exit(f"bench: another ingero-collectord traces on this machine (pid {', '.join(tracers)}): stop it, or use --anyway")
    everything, is_ok = {}, True
    for name in arguments.names:
        told = description(name)
        say(f"{name}: {told}")
        cases = Cases(arguments.cases, arguments.shard, f"{name} {state_of(name)}", commit_of(ROOT))
        bench = Bench(ingero.Programs(arguments.build), arguments.pairs, arguments.seconds, cases, arguments.only)
        older = ingero.Programs(arguments.against) if arguments.against else None
        setup = setup_text(busy, name, older)
        began, is_whole = time.monotonic(), True
        try:
            if older:
                compare(importlib.import_module(name), bench, older)
            else:
                importlib.import_module(name).measure(bench)
        except Exception as error:  # the next benchmarks run all the same
            if not isinstance(error, ingero.Failed):
                traceback.print_exc()
            bench.row("did not finish", [], "", note=f"{error}" if isinstance(error, ingero.Failed) else repr(error))
            is_whole = False
        setup += f", took {time.monotonic() - began:.0f} s{cases.told()}"
        everything[name] = {"setup": setup, "rows": bench.rows}
        is_ok = is_ok and all(row["is_ok"] is not False for row in bench.rows)
        print(f"\n{name}: {told}\n{setup}\n\n{text_table(bench.rows)}\n")
        if arguments.save and is_whole:  # otherwise the earlier page is kept, and is stale
            save(arguments.save, name, told, setup, bench.rows, arguments)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(everything, file, indent=1)
    return 0 if is_ok else 1


if __name__ == "__main__":
    sys.exit(main())
