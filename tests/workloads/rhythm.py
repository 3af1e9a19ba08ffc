#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Healthy training loops of different rhythms, from a seed.

    rhythm.py --libraries DIR --shape SHAPE [--seconds N] [--seed N] [--pin CPU]

SHAPE is one of
    busy      alike steps, one after the other
    steady    alike steps, paced
    bimodal   one step in about twenty has ten times the work on the device
    bursty    steps flat out for a while, then nothing for a while
    launches  hardly anything but short launches
Nothing is wrong with any of them: every wait in a call is a wait for the device, done as
INGERO_STANDIN_WAIT says. What is wrong comes from outside.
"""
import argparse
import os
import random
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import cudaload  # noqa: E402 (needs the path above)

SHAPES = ("busy", "steady", "bimodal", "bursty", "launches")


class Rhythm:
    def __init__(self, model, shape, seed):
        self.model = model
        self.random = random.Random(seed)
        self.step = getattr(self, shape)
        self.period_s = self.random.uniform(0.002, 0.008)
        self.kernels = self.random.randint(8, 30)
        self.on_s = self.random.uniform(0.1, 0.4)
        self.off_s = self.random.uniform(0.3, 1.0)

    def work(self, kernels):
        self.model.forward()
        for _ in range(kernels):
            self.model.layers[0].launch(0)
        self.model.item()

    def busy(self):
        self.work(self.kernels)

    def steady(self):
        self.work(self.kernels)
        time.sleep(self.period_s)

    def bimodal(self):
        self.work(self.kernels * (10 if self.random.random() < 0.05 else 1))
        time.sleep(self.period_s)

    def bursty(self):
        end = time.monotonic() + self.on_s * self.random.uniform(0.7, 1.3)
        while time.monotonic() < end:
            self.work(self.kernels)
        time.sleep(self.off_s * self.random.uniform(0.7, 1.3))

    def launches(self):
        for _ in range(2000):
            self.model.layers[1].launch(1)
        self.model.item()


def main():
    parser = argparse.ArgumentParser(description="healthy training loops of different rhythms")
    parser.add_argument("--libraries", required=True)
    parser.add_argument("--shape", choices=SHAPES, default="steady")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pin", type=int)
    options = parser.parse_args()
    if options.pin is not None:
        os.sched_setaffinity(0, {options.pin})
    model = cudaload.Model(cudaload.Cuda(os.path.join(options.libraries, "libcudart.so.12")))
    rhythm = Rhythm(model, options.shape, options.seed)
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        rhythm.step()
    model.close()


if __name__ == "__main__":
    main()
