# SPDX-License-Identifier: Apache-2.0
"""Waits of 1 ms or more for another process: the share reported with the resource, and with the process that ended the wait."""
import json
import os
import sys

import gil_waits
import ingero
import kept

LEAST = 0.99
SECONDS = 5
WAIT_MS = 5
KINDS = {"loader": "pipe", "socket": "peer", "tcp": "peer", "file": "file_lock"}
WAITS = "SELECT tid, resource_kind, by_pid, count, ns FROM waits WHERE \"where\" = 'between'"


def look(place, loses):
    """(waits of the calling thread, the program's own report)"""
    db, report = place.path(loses + ".db"), place.path(loses + ".json")
    for path in (db, report):
        if os.path.exists(path):
            os.unlink(path)
    ingero.trace(place.programs, "--db", db, environment={"INGERO_STANDIN_QUIET": "1"}, command=[
        sys.executable, "-S", str(gil_waits.BETWEEN), "--libraries", os.path.dirname(place.programs.library("libcudart.so.12")), "--loses", loses,
        "--seconds", str(SECONDS), "--wait-ms", str(WAIT_MS), "--report", report])
    with open(report, encoding="ascii") as file:
        said = json.load(file)
    return [row for row in place.sql(WAITS, "--db", db) if row["tid"] == said["tid"]], said


def measure(bench):
    with kept.Kept(bench.programs.build) as place:
        for loses, kind in KINDS.items():
            runs = [look(place, loses) for _ in range(bench.pairs)]
            for column, unit in (("count", "of their number"), ("ns", "of their time")):
                bench.row(f"{loses}: reported as {kind}, with the process that ended the wait, {unit}",
                          [gil_waits.share([row for row in rows if row["resource_kind"] == kind and row["by_pid"] in said["helpers"]], rows, column)
                           for rows, said in runs], "ratio", least=LEAST)
