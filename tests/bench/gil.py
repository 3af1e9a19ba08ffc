# SPDX-License-Identifier: Apache-2.0
"""Waits for the GIL of 1 ms or more: the share reported as such, and with the thread that held it, for each installed interpreter."""
import gil_waits
import kept

LEAST = 0.99


def measure(bench):
    with kept.Kept(bench.programs.build) as place:
        for name, python in gil_waits.interpreters():
            runs = [gil_waits.rows(*gil_waits.look(place, python)) for _ in range(bench.pairs)]
            for column, unit in (("count", "of their number"), ("ns", "of their time")):
                bench.row(f"CPython {name}: reported as the GIL, {unit}",
                          [gil_waits.share(of_gil, waits, column) for waits, of_gil, _ in runs], "ratio", least=LEAST)
                bench.row(f"CPython {name}: reported with the holder, {unit}",
                          [gil_waits.share(held, waits, column) for waits, _, held in runs], "ratio", least=LEAST)
