#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A kernel launched again and again from numba-cuda, which has no CUDA runtime: its calls are the driver's own, reached by
pointers that cuGetProcAddress gave out.

    numba_loop.py [--launches N] [--wait-for-stdin] [--report FILE]
"""

import argparse
import json
import os
import sys
import time
import warnings

import numpy
from numba import cuda
from numba.core.errors import NumbaPerformanceWarning

warnings.simplefilter("ignore", NumbaPerformanceWarning)  # of a small grid


@cuda.jit
def add_one(array):
    array[cuda.grid(1)] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=1000)
    parser.add_argument("--wait-for-stdin", action="store_true", help="say 'ready' before the loop and wait for a line")
    parser.add_argument("--report", help="file for the report")
    arguments = parser.parse_args()
    array = cuda.to_device(numpy.zeros(64, dtype=numpy.float32))
    if arguments.wait_for_stdin:
        print("ready", flush=True)
        sys.stdin.readline()
    start_ns = time.monotonic_ns()
    for _ in range(arguments.launches):
        add_one[2, 32](array)
    cuda.synchronize()
    report = {"loop": "numba", "pid": os.getpid(), "start_ns": start_ns, "end_ns": time.monotonic_ns(), "launches": arguments.launches}
    if arguments.report:
        with open(arguments.report, "w", encoding="utf-8") as file:
            json.dump(report, file)


if __name__ == "__main__":
    main()
