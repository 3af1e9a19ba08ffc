# SPDX-License-Identifier: Apache-2.0
"""A thread of a traced program that gives itself a name is told of as an event of the host: rename.py BUILD."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
import ingero  # noqa: E402

TIMES = 17
PROGRAM = f"""
import ctypes
for number in range({TIMES}):
    ctypes.CDLL(None).prctl(15, b"name%d" % number)
"""
if os.geteuid() != 0:
    print("skipped: needs root to trace")
    sys.exit(77)
trace = ingero.trace(ingero.Programs(sys.argv[1]), "--record", "all", command=[sys.executable, "-S", "-c", PROGRAM])
told = [event for event in trace.host if event["op"] == "process_rename"]
print(len(told), told[-1:], trace.status, trace.stderr)
sys.exit(0 if sum(event["args"] == [event["tid"]] for event in told) >= TIMES else 1)
