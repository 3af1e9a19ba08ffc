# SPDX-License-Identifier: Apache-2.0
"""
What tracing takes from the traced program: steps per CPU second of a program, against those of an untraced twin on the same CPU at the
same time, which has its own copy of the libraries; without a limit of what tracing may cost, and with a budget.

The loss of a thread is 1 - its steps per CPU second / those of the same thread of the twin, in each half of a second from two seconds
after the first call on; the thread that loses most decides.
"""
import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile

import ingero
import programs

BACK_ENDS = ("session", "multi")
BUDGETS = {"off": None, "2%": 0.02, "10%": 0.10}  # share of a thread's CPU time
SECONDS = 14  # of one run, without --seconds
ONSET_S = 2
GRID_S = 0.5
# Rounds of computing are about a nanosecond each: a load has its name from what it does untraced, in its own CPU time.
LOADS = {
    "1 k launches/s": ("--work", 900000),
    "10 k launches/s": ("--work", 89000),
    "100 k launches/s": ("--work", 8700),
    "500 k launches/s": ("--work", 1500),
    "launches flat out": (),
    "training, 20 ms a step": ("--work", 18000000, "--launches", 26, "--sync"),
    "training, 600 us a step": ("--work", 530000, "--launches", 26, "--sync"),
    "10 launches, then a rest of 1 ms": ("--work", 8700, "--launches", 10, "--pause", "1ms"),
    "synchronises flat out": ("--launches", 0, "--sync"),
    "500 k launches/s each other second": ("--work", 1500, "--busy", "1s", "--quiet", "1s"),
    "500 k launches/s, 20 ms of 200": ("--work", 1500, "--busy", "20ms", "--quiet", "180ms"),
    "100 k launches/s, two threads": ("--work", 8700, "--threads", 2),
    "100 k launches/s, eight threads": ("--work", 8700, "--threads", 8),
}


def command(bench, load):
    return [bench.tools.path("twin"), "--cpu", "0", "--time", f"{bench.seconds or SECONDS}s", *map(str, LOADS[load])]


@contextlib.contextmanager
def started(words, environment):
    """A program that waits for its first line of input; with its ready line read."""
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}) as process:
        try:
            line = ""
            while not line.startswith("ready"):
                line = process.stdout.readline()
                if not line:
                    raise ingero.Failed(f"{' '.join(words)} did not get ready: {process.stderr.read()[-500:]}")
            yield process
        finally:
            programs.kill(process)


def reports(text):
    """{thread: [(time, steps, CPU time)], ascending}, seconds from the first second that any thread has reported."""
    threads = {}
    for line in text.splitlines():
        if line.startswith('{"thread"'):
            row = json.loads(line)
            threads.setdefault(row["thread"], []).append((row["t"] / 1e9, row["steps"], row["cpu_ns"] / 1e9))
    return threads


def at(rows, time):
    """Steps and CPU time of a thread at a time between two of its reports."""
    for (before, *old), (after, *new) in zip(rows, rows[1:]):
        if before <= time <= after:
            share = (time - before) / (after - before)
            return [a + (b - a) * share for a, b in zip(old, new)]
    return None


def losses(traced, twin, begin):
    """Loss of a thread in each interval from ONSET_S after `begin` on in which both took part."""
    values, time = [], begin + ONSET_S
    while time + GRID_S <= min(rows[-1][0] if rows else 0 for rows in (traced, twin)):
        ends = [at(rows, moment) for rows in (traced, twin) for moment in (time, time + GRID_S)]
        time += GRID_S
        if any(end is None for end in ends):
            continue
        (own_steps, own_cpu), (twin_steps, twin_cpu) = ((b[0] - a[0], b[1] - a[1]) for a, b in (ends[:2], ends[2:]))
        if own_cpu > 0.001 and twin_cpu > 0.001 and twin_steps > 0:
            values.append(1 - own_steps / own_cpu / (twin_steps / twin_cpu))
    return values


def paired(bench, load, back_end, budget="off"):
    """(loss of the thread that loses most, its standard error) of one pair."""
    with tempfile.TemporaryDirectory(prefix="ingero-") as home:
        own = os.path.join(home, "libraries")
        shutil.copytree(os.path.join(bench.tools.build, "standins"), own)
        quiet = {"INGERO_STANDIN_QUIET": "1"}
        words = command(bench, load)
        limit = () if budget == "off" else ("--budget", budget)  # an older build has no such option
        trace = [bench.programs.path("ingero-cli"), "trace", "--back-end", back_end, *limit, "--", *words] if back_end else words
        environment = {**bench.programs.environment(home), **quiet} if back_end else quiet
        with started(trace, environment) as traced, started(words, {**quiet, "LD_LIBRARY_PATH": own}) as twin:
            for process in (traced, twin):
                programs.go(process)
            twin_text = twin.communicate()[0]
            traced_text, said = traced.communicate()
        if traced.returncode:
            raise ingero.Failed(f"{' '.join(trace)} ended with {traced.returncode}: {said[-500:]}")
    mine, other = reports(traced_text), reports(twin_text)
    begin = min(rows[0][0] for rows in (*mine.values(), *other.values()))
    found = [values for thread in mine if len(values := losses(mine[thread], other.get(thread, []), begin)) > 1]
    if not found:
        raise ingero.Failed(f"{load}: the program and its twin have no time in common")
    worst = max(found, key=statistics.mean)
    return statistics.mean(worst), statistics.stdev(worst) / len(worst) ** 0.5


def measure(bench):
    for load in LOADS:
        every = {"untraced": (None, "off"), **{f"{back_end}, budget {budget}": (back_end, budget) for budget in BUDGETS for back_end in BACK_ENDS}}
        ways = {name: way for name, way in every.items() if re.search(bench.only, f"{name}: {load}")}
        if not ways:
            continue
        runs = bench.in_turns(**{name: (lambda way=way: paired(bench, load, *way)) for name, way in ways.items()})
        for name, values in runs.items():
            error = statistics.mean(error for _, error in values) / len(values) ** 0.5
            budget = BUDGETS[ways[name][1]]
            bench.row(f"{name}: {load}: lost", [loss for loss, _ in values], "ratio", limit=budget and budget + error, note=f"standard error {error:.3f}")
