# SPDX-License-Identifier: Apache-2.0
"""
Waits for the GIL of 1 ms or more: the share reported as such, and with the thread that held it, for each installed interpreter, and
for each linked statically with its archive.
"""
import itertools

import gil_waits
import kept

LEAST = 0.99


def measure(bench):
    with kept.Kept(bench.programs.build) as place:
        found = {}
        for name, python in itertools.chain(gil_waits.interpreters(), gil_waits.interpreters_linked(place.path("linked"))):
            found.setdefault(name, python)
        for name, python in sorted(found.items()):
            runs = [gil_waits.rows(*gil_waits.look(place, python)) for _ in range(bench.pairs)]
            for column, unit in (("count", "of their number"), ("ns", "of their time")):
                bench.row(f"CPython {name}: reported as the GIL, {unit}",
                          [gil_waits.share(of_gil, waits, column) for waits, of_gil, _ in runs], "ratio", least=LEAST)
                bench.row(f"CPython {name}: reported with the holder, {unit}",
                          [gil_waits.share(held, waits, column) for waits, _, held in runs], "ratio", least=LEAST)
