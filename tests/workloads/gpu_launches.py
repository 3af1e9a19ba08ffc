#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One small kernel on a real GPU, launched again and again by a framework: gpu_launches.py cupy|numba|jax|triton N."""
import sys
import warnings

N_ITEMS = 1024


def cupy(n):
    import cupy as framework
    x = framework.zeros(N_ITEMS, dtype=framework.float32)
    for _ in range(n):
        x += 1
    framework.cuda.Device().synchronize()


def numba(n):
    import numpy
    from numba import cuda

    warnings.simplefilter("ignore")  # of a small grid

    @cuda.jit
    def add_one(array):
        array[cuda.grid(1)] += 1

    x = cuda.to_device(numpy.zeros(N_ITEMS, dtype=numpy.float32))
    for _ in range(n):
        add_one[N_ITEMS // 32, 32](x)
    cuda.synchronize()


def jax(n):
    import jax as framework

    f = framework.jit(lambda x: x + 1)
    x = framework.numpy.zeros(N_ITEMS)
    for _ in range(n):
        x = f(x)
    x.block_until_ready()


def triton(n):
    import torch
    import triton as framework
    from triton import language

    @framework.jit
    def add_one(x, ITEMS: framework.language.constexpr):
        at = x + language.arange(0, ITEMS)
        language.store(at, language.load(at) + 1)

    globals()["language"] = language  # where the compiler looks its names up
    x = torch.zeros(N_ITEMS, device="cuda")
    for _ in range(n):
        add_one[(1,)](x, ITEMS=N_ITEMS)
    torch.cuda.synchronize()


if __name__ == "__main__":
    {f.__name__: f for f in (cupy, numba, jax, triton)}[sys.argv[1]](int(sys.argv[2]))
