# SPDX-License-Identifier: Apache-2.0
"""Cost of a traced call, against empty programs of the same back end at the same place: by kind of function head, and by part."""
import re
import subprocess

import ingero
import programs

MEASURES = ("bpf", "collectord/probes")

LIMIT = 1.3
PLACED_LIMIT = 0.25  # cost of a probe at the symbol address of a function head as in the driver
ROUNDS = 21
CALLS = "4000"
ROW = re.compile(r"^(?P<name>.*?)\s+(?P<untraced>[\d.]+)\s+(?P<floor>-?[\d.]+)\s+(?P<ours>-?[\d.]+)\s+(?P<ratio>-?[\d.]+) \((?P<low>-?[\d.]+)-(?P<high>-?[\d.]+)\)")
SWITCH = "task switch"
FULL_CORE = ("push head", "jump head", "nested, two traced calls")
# highest allowed ratio to the figure of an older build
AGAINST = {**{name: 1.02 for name in FULL_CORE}, "task switch in a call": 1.5, "task switch between calls": 1.5}


def bench_call(bench, *arguments):
    result = subprocess.run([bench.programs.path("bench_call"), *arguments], capture_output=True, text=True, check=False)
    if result.returncode:
        raise ingero.Failed(f"bench_call {' '.join(arguments)}: exit status {result.returncode}: {result.stderr[-500:]}")
    return result.stdout.splitlines()


def rows_of(bench, back_end):
    """Runs bench_call. With perf events each row runs in a process of its own, because their probes remain for a while after they are closed."""
    rounds = str(max(ROUNDS, bench.pairs))
    runs = [[back_end, rounds]]
    if back_end == "perf" or bench.only.pattern:
        runs = [[back_end, rounds, CALLS, name] for name in bench_call(bench, "--list") if bench.only.search(name)]
    rows = [match.groupdict() for run in runs for match in map(ROW.match, bench_call(bench, *run)) if match]
    if not rows:
        raise ingero.Failed(f"bench_call {back_end}: prints no row")
    return rows


def ingredients(ours, floor):
    """Parts of the cost of a call at a push head: their sum is the cost of a recorded call. Blame at task switches has rows of its own."""
    if {"push head", "push head, every call recorded"} <= ours.keys():
        yield "the traps at both ends", floor["push head"]
        yield "figures and blame", ours["push head"] - floor["push head"]
        yield "a record, where one is kept", ours["push head, every call recorded"] - ours["push head"]


def measure(bench):
    for back_end in programs.BACK_ENDS:
        rows = rows_of(bench, back_end)
        ours = {row["name"]: float(row["ours"]) for row in rows}
        for row in rows:
            name = row["name"]
            bench.row(f"{back_end}: {name}, added", ours[name], "ns", against=AGAINST.get(name), note=f"empty programs {row['floor']}, untraced {row['untraced']}")
            if name.startswith(SWITCH):
                continue  # no probe in this row: no ratio
            bench.row(f"{back_end}: {name}, / floor", float(row["ratio"]), "ratio", limit=LIMIT if name in FULL_CORE else None,
                      note=f"quartiles {row['low']} to {row['high']}, {ROUNDS} rounds")
        floor = {row["name"]: float(row["floor"]) for row in rows}
        for name, ns in ingredients(ours, floor):
            bench.row(f"{back_end}: of this, {name}", ns, "ns")
        if "jump head at the symbol" in ours:
            bench.row(f"{back_end}: jump head, placed / at the symbol", ours["jump head"] / ours["jump head at the symbol"], "ratio", limit=PLACED_LIMIT)
