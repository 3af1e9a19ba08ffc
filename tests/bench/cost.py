# SPDX-License-Identifier: Apache-2.0
"""What a traced call costs, against empty programs of the same back end at the same place: by kind of function head."""
import re
import subprocess

import ingero
import programs

LIMIT = 1.3
PLACED_LIMIT = 0.25  # of probing the symbol address of a driver-shaped head
ROUNDS = 21
ROW = re.compile(r"^(?P<name>.*?)\s+(?P<untraced>[\d.]+)\s+(?P<floor>-?[\d.]+)\s+(?P<ours>-?[\d.]+)\s+(?P<ratio>-?[\d.]+) \((?P<low>-?[\d.]+)-(?P<high>-?[\d.]+)\)")
FULL_CORE = ("push head", "jump head", "nested, two traced calls")


def measure(bench):
    for back_end in programs.BACK_ENDS:
        result = subprocess.run([bench.programs.path("bench_call"), back_end, str(max(ROUNDS, bench.pairs))],
                                capture_output=True, text=True, check=False)
        rows = [match.groupdict() for match in map(ROW.match, result.stdout.splitlines()) if match]
        if result.returncode or not rows:
            raise ingero.Failed(f"bench_call {back_end}: exit status {result.returncode}: {result.stderr[-500:]}")
        ours = {row["name"]: float(row["ours"]) for row in rows}
        for row in rows:
            name = row["name"]
            bench.row(f"{back_end}: {name}, added", ours[name], "ns", note=f"empty programs {row['floor']}, untraced {row['untraced']}")
            bench.row(f"{back_end}: {name}, / floor", float(row["ratio"]), "ratio", limit=LIMIT if name in FULL_CORE else None,
                      note=f"quartiles {row['low']} to {row['high']}, {ROUNDS} rounds")
        if "jump head at the symbol" in ours:
            bench.row(f"{back_end}: jump head, placed / at the symbol", ours["jump head"] / ours["jump head at the symbol"], "ratio", limit=PLACED_LIMIT)
