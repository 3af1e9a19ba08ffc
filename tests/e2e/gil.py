# SPDX-License-Identifier: Apache-2.0
"""
Waits for the GIL are told as that, and by the thread that held it: gil.py BUILD.

With each interpreter that is here: one thread makes calls, another computes. The truth is their own.
"""
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support")]
import gil_waits  # noqa: E402
import kept  # noqa: E402

# Of the waits of 1 ms or more, and of their time; the first ones are before it is known where the GIL is.
LEAST = 0.98
# Likewise; beside other tests the thread that holds it is not always on a CPU when the other one asks for it.
HELD_LEAST = 0.75


def main(build):
    if os.geteuid() != 0:
        kept.skip("capture needs root")
    check = kept.Checks()
    with kept.Kept(build) as place:
        for name, python in gil_waits.interpreters():
            waits, said = gil_waits.look(place, python)
            waits, of_gil, held = gil_waits.rows(waits, said)
            lost_ns = said["waited_ns"] - said["ready_ns"]
            check(f"{name}: most of the waiting is seen", sum(row["ns"] for row in of_gil) > 0.9 * lost_ns, waits, said)
            for column in ("count", "ns"):
                check(f"{name}: told as the GIL, {column}", gil_waits.share(of_gil, waits, column) >= LEAST, waits)
                check(f"{name}: and who held it, {column}", gil_waits.share(held, waits, column) >= HELD_LEAST, waits, said)
            check(f"{name}: nobody else is named", all(row["by_tid"] in said["holders"] for row in of_gil if row["by_tid"]), waits, said)
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
