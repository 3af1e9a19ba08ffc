#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Equal steps of known parts, for comparisons of two runs: steps.py --libraries DIR [--seconds N] [--rounds N] [--kernel-us N]
[--inside-us N] [--wait-for-stdin].

A step hashes a block --rounds times between its calls, launches four kernels of --kernel-us each, and waits for them by
polling. The second launch of a step takes --inside-us in the call. --calibrate prints the rounds that take a millisecond, and
ends.
"""
import argparse
import hashlib
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

BLOCK = bytes(16384)
KERNELS = 4


def work(rounds):
    digest = hashlib.blake2b()
    for _ in range(rounds):
        digest.update(BLOCK)


def calibrate():
    """Rounds of a millisecond of CPU time."""
    best = min(_timed(200) for _ in range(20))
    return max(1, round(200 * 1e6 / best))


def _timed(rounds):
    begin = time.thread_time_ns()
    work(rounds)
    return time.thread_time_ns() - begin


def main():
    parser = argparse.ArgumentParser(description="equal steps of known parts")
    parser.add_argument("--libraries")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--kernel-us", type=int, default=1000)
    parser.add_argument("--inside-us", type=int, default=0)
    parser.add_argument("--wait-for-stdin", action="store_true")
    parser.add_argument("--calibrate", action="store_true")
    options = parser.parse_args()
    if options.calibrate:
        print(calibrate())
        return
    os.environ.update({"INGERO_STANDIN_KERNEL": f"{options.kernel_us}us", "INGERO_STANDIN_WAIT": "poll", "INGERO_STANDIN_QUIET": "1"})
    if options.inside_us:
        os.environ["INGERO_STANDIN_INSIDE"] = f"cuMemcpyHtoDAsync_v2={options.inside_us}us:spin"
    import cudaload  # pylint: disable=import-outside-toplevel # its library reads the environment when it is loaded
    model = cudaload.Model(cudaload.Cuda(os.path.join(options.libraries, "libcudart.so.12")))
    print(os.getpid(), flush=True)
    if options.wait_for_stdin:
        sys.stdin.readline()
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        work(options.rounds)
        model.forward()
        for _ in range(KERNELS):
            model.layers[0].launch(0)
        model.item()
    model.close()


if __name__ == "__main__":
    main()
