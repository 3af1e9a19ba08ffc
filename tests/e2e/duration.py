# SPDX-License-Identifier: Apache-2.0
"""
`ingero trace --duration` counts from the moment at which the probes are in place, which its first line has: duration.py BUILD.

The lines of each second leave no gap, from the window's beginning, before that moment, to its end, after the duration.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
import kept  # noqa: E402

ASKED_NS = 1_500_000_000
# A timer of libuv counts whole milliseconds.
TICK_NS = 2_000_000


def main(build):
    if os.geteuid() != 0:
        kept.skip("capture needs root")
    check = kept.Checks()
    with kept.Kept(build) as place:
        lines = [json.loads(line) for line in place.answer("trace", "--json", "--db", "none", "-d", "1500ms").splitlines()]
    start, summary = lines[0], lines[-1]
    seconds = [(kept.unix_ns(line["from"]), kept.unix_ns(line["to"])) for line in lines if line["type"] == "figures"]
    begun_ns, ended_ns = kept.unix_ns(start["timestamp"]), kept.unix_ns(summary["timestamp"])
    lasted_ns = seconds[-1][1] - seconds[0][0]
    check("not shorter than asked, from the attach", ended_ns - begun_ns >= ASKED_NS - TICK_NS, begun_ns, ended_ns)
    check("the window begins before that", seconds[0][0] <= begun_ns, seconds, begun_ns)
    check("seconds without a gap", all(before[1] == after[0] for before, after in zip(seconds, seconds[1:])), seconds)
    check("the summary is of the whole window", summary["window_ns"] >= lasted_ns, summary["window_ns"], lasted_ns)
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
