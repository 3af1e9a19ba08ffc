# SPDX-License-Identifier: Apache-2.0
"""
Times one call of a library: real_call_ns.py LIBRARY NAME TIMES. Prints the nanoseconds of one call, including the loop,
in the quickest of 50 runs: on a busy machine only some runs are undisturbed.
"""
import ctypes
import sys
import time

RUN = 50
FUNCTION, TIMES, NOTHING = getattr(ctypes.CDLL(sys.argv[1]), sys.argv[2]), int(sys.argv[3]), ctypes.c_void_p(None)
FUNCTION(NOTHING)
QUICKEST_NS = None
for _ in range(TIMES // RUN):
    start_ns = time.perf_counter_ns()
    for _ in range(RUN):
        FUNCTION(NOTHING)
    ns = time.perf_counter_ns() - start_ns
    QUICKEST_NS = ns if QUICKEST_NS is None else min(QUICKEST_NS, ns)
print(QUICKEST_NS / RUN)
