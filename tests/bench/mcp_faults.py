# SPDX-License-Identifier: Apache-2.0
"""Three real faults, recorded and then investigated through the MCP server by one script that reads answers of tools alone: runs in which it
names the cause, and the calls and tokens that it takes."""
import json
import os

import ingero
import investigate
import kept
import lab
import lab_between
import mcp
import programs

MEASURES = ("base", "bpf", "collectord", "libingero", "mcp-server", "proto", "tests/support/investigate.py")
SEEDS = 3
QUOTA_US = 40000
LOADER_SHARE = 0.5  # of the wall clock


class Lane(lab_between.Lane):
    """A CPU whose traces are kept, each in a database of its own: `db` is the last one."""

    db = None

    def traced(self, command, environment, wrap=lambda command: command):
        report = self.place.path("report")
        self.db = self.place.path(f"{len(os.listdir(self.place.directory))}.db")
        trace = ingero.trace(self.bench.programs, "--db", self.db, command=wrap([*command, "--report", report]),
                             environment={"INGERO_STANDIN_QUIET": "1", **environment}, timeout_s=120)
        if trace.status:
            raise ingero.Failed(f"{' '.join(command)}: exit status {trace.status}: {trace.stderr[-500:]}")
        with open(report, encoding="ascii") as file:
            return trace.summary.get("findings", []), json.load(file)


def loop(lane, seed, loses="nothing", wait_ms=0, wrap=lambda command: command):
    return lane.loop(seed, lab_between.Shape(loses, wait_ms, lab_between.COMPUTE_MS, lab_between.KERNEL), wrap=wrap)


# Each records its fault, and returns whether a cause is that one.
def hog(lane, seed):
    with lab_between.hog_later(lane, 0) as pid:
        loop(lane, seed)
    return lambda cause: cause.get("pid") == pid


def quota(lane, seed):
    group = programs.Group(QUOTA_US, 100000)
    try:
        loop(lane, seed, wrap=group.command)
    finally:
        group.remove()
    return lambda cause: cause.get("kind") == "cpu_quota"


def loader(lane, seed):
    _, said = loop(lane, seed, "loader", lab_between.COMPUTE_MS / (1 - LOADER_SHARE))
    return lambda cause: cause.get("pid") in said["helpers"]


FAULTS = {"hog": hog, "quota": quota, "loader": loader}


def case(make, lane, seed):
    """What is kept of a run."""
    is_cause = make(lane, seed)
    with mcp.Client([lane.bench.programs.path("ingero-mcp"), "--db", lane.db], mcp.MODERN) as client:
        search = investigate.Investigation(client)
        cause = search.run() or {}
    return {"is_named": bool(is_cause(cause)), "calls": search.calls, "tokens": search.tokens, "has_advice": bool(search.advice),
            "path": " · ".join(search.path), "says": f"{cause.get('kind')} {cause.get('pid')} {cause.get('comm')}"}


def measure(bench):
    with kept.Kept(bench.programs.build) as place:
        lane = Lane(bench, place, lab.CPU)
        for name, make in FAULTS.items():
            if not bench.only.search(name):
                continue
            runs = [case(make, lane, seed) for seed in range(1, SEEDS + 1)]
            missed = [run for run in runs if not (run["is_named"] and run["has_advice"])]
            bench.row(f"{name}: runs in which the cause is not named, with a remedy", len(missed), f"of {len(runs)}", limit=0,
                      note="; ".join(sorted({f"{run['says']}: {run['path']}" for run in missed}))[:200])
            bench.row(f"{name}: calls", [run["calls"] for run in runs], "calls", limit=investigate.CALLS_MOST)
            bench.row(f"{name}: tokens", [run["tokens"] for run in runs], "tokens", limit=investigate.TOKENS_MOST, note="a token counts as 2.5 bytes")
