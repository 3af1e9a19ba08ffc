# SPDX-License-Identifier: Apache-2.0
"""Cost of a traced call, against empty programs of the same back end at the same place: by kind of function head, and by part."""
import re
import subprocess

import ingero
import programs

MEASURES = ("bpf", "collectord/probes")

LIMIT = 1.3
PLACED_LIMIT = 0.25  # cost of a probe at the symbol address of a function head as in the driver
ROUNDS, CALLS = 21, 4000  # of a row, but for those of a turn
TURN_PAIRS, TURN_CALLS = 61, 40000
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


def conditions(bench):
    """
    {"BACK_END: row": pairs} of a comparison with an older build. Costs of calls are compared within 2 %: in turns of one round, of
    about a second, because the machine's speed moves by more than that within a minute. Costs of task switches, within half, are
    differences of a few percent, which take all rounds.
    """
    return {name: bench.pairs if name.partition(": ")[2].startswith(SWITCH) else TURN_PAIRS for name in names(bench)}


def names(bench):
    rows = bench_call(bench, "--list")
    chosen = [f"{back_end}: {row}" for back_end in programs.BACK_ENDS for row in rows if bench.only.search(f"{back_end}: {row}")]
    if not chosen:
        raise ingero.Failed(f"no row matches '{bench.only.pattern}': 'BACK_END: ROW', of {', '.join(programs.BACK_ENDS)}; {', '.join(rows)}")
    return chosen


def row_of(bench, back_end, name):
    """Each row runs in a process of its own, because perf events remain for a while after they are closed."""
    rounds, calls = (1, TURN_CALLS) if bench.is_turn and not name.startswith(SWITCH) else (max(ROUNDS, bench.pairs), CALLS)
    matches = [match for match in map(ROW.match, bench_call(bench, back_end, str(rounds), str(calls), name)) if match]
    if not matches:
        raise ingero.Failed(f"bench_call {back_end}: prints no row {name}")
    return matches[0].groupdict()


def ingredients(ours, floor):
    """Parts of the cost of a call at a push head: their sum is the cost of a recorded call. Blame at task switches has rows of its own."""
    if {"push head", "push head, every call recorded"} <= ours.keys():
        yield "the traps at both ends", floor["push head"]
        yield "figures and blame", ours["push head"] - floor["push head"]
        yield "a record, where one is kept", ours["push head, every call recorded"] - ours["push head"]


def measure(bench):
    for back_end in programs.BACK_ENDS:
        rows = [row_of(bench, back_end, name.partition(": ")[2]) for name in names(bench) if name.startswith(back_end)]
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
        if {"jump head", "jump head at the symbol"} <= ours.keys():
            bench.row(f"{back_end}: jump head, placed / at the symbol", ours["jump head"] / ours["jump head at the symbol"], "ratio", limit=PLACED_LIMIT)
