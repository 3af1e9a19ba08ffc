#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One small kernel on a real GPU, launched again and again by a framework: gpu_launches.py cupy|jax N."""
import sys

N_ITEMS = 1024


def cupy(n):
    import cupy as framework
    x = framework.zeros(N_ITEMS, dtype=framework.float32)
    for _ in range(n):
        x += 1
    framework.cuda.Device().synchronize()


def jax(n):
    import jax as framework

    f = framework.jit(lambda x: x + 1)
    x = framework.numpy.zeros(N_ITEMS)
    for _ in range(n):
        x = f(x)
    x.block_until_ready()


if __name__ == "__main__":
    {f.__name__: f for f in (cupy, jax)}[sys.argv[1]](int(sys.argv[2]))
