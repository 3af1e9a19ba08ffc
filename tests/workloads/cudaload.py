#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training loop that calls CUDA from Python, through ctypes.

    cudaload.py --libraries DIR [--steps N | --seconds N] [--rate N] [--threads N] [--report FILE]

Each step copies a batch to the device, launches kernels in forward(), backward() and step(), copies
the loss back and synchronises once: the calls of a small network, from known functions and lines.
Kernels do nothing, there is no network. Runs on CPython 3.9 and later without packages.
"""

import argparse
import ctypes
import json
import os
import sys
import threading
import time

HOST_TO_DEVICE = 1
DEVICE_TO_HOST = 2
BATCH_BYTES = 40009
LOSS_BYTES = 4
LAYERS = 5


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


class Cuda:
    """The calls, with prototypes written by hand; each error is an exception, each call is counted."""

    PROTOTYPES = {
        "cudaMalloc": [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t],
        "cudaFree": [ctypes.c_void_p],
        "cudaMemcpyAsync": [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p],
        "cudaLaunchKernel": [ctypes.c_void_p, Dim3, Dim3, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p],
        "cudaStreamCreate": [ctypes.POINTER(ctypes.c_void_p)],
        "cudaStreamSynchronize": [ctypes.c_void_p],
    }

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.functions = {}
        for name, arguments in self.PROTOTYPES.items():
            function = getattr(self.library, name)
            function.argtypes = arguments
            function.restype = ctypes.c_int
            self.functions[name] = function

    def call(self, counts, name, *arguments):
        counts[name] = counts.get(name, 0) + 1
        code = self.functions[name](*arguments)
        if code:
            raise RuntimeError(f"{name} returned {code}")


class Layer:
    """One layer's kernels; a kernel is an address that nobody runs."""

    BLOCK = Dim3(256, 1, 1)
    GRID = Dim3(31, 1, 1)

    def __init__(self, model, number):
        self.model = model
        self.kernels = [ctypes.c_void_p(0x100000 + 64 * number + 16 * i) for i in range(3)]

    def launch(self, which):
        self.model.call("cudaLaunchKernel", self.kernels[which], self.GRID, self.BLOCK, None, 0, self.model.stream)

    def forward(self):
        self.launch(0)

    def backward(self):
        self.launch(1)
        self.launch(1)

    def step(self):
        self.launch(2)


class Model:
    def __init__(self, cuda):
        self.cuda = cuda
        self.counts = {}
        self.stream = ctypes.c_void_p()
        self.batch = ctypes.c_void_p()
        self.loss = ctypes.c_void_p()
        self.host_batch = ctypes.create_string_buffer(BATCH_BYTES)
        self.host_loss = ctypes.c_float()
        self.call("cudaStreamCreate", ctypes.byref(self.stream))
        self.call("cudaMalloc", ctypes.byref(self.batch), BATCH_BYTES)
        self.call("cudaMalloc", ctypes.byref(self.loss), LOSS_BYTES)
        self.layers = [Layer(self, i) for i in range(LAYERS)]

    def call(self, name, *arguments):
        self.cuda.call(self.counts, name, *arguments)

    def forward(self):
        self.call("cudaMemcpyAsync", self.batch, self.host_batch, BATCH_BYTES, HOST_TO_DEVICE, self.stream)
        for layer in self.layers:
            layer.forward()

    def backward(self):
        for layer in reversed(self.layers):
            layer.backward()

    def step(self):
        for layer in self.layers:
            layer.step()

    def item(self):
        """The loss: the one place of a step that waits for the device."""
        self.call("cudaMemcpyAsync", ctypes.byref(self.host_loss), self.loss, LOSS_BYTES, DEVICE_TO_HOST, self.stream)
        self.call("cudaStreamSynchronize", self.stream)
        return self.host_loss.value

    def close(self):
        self.call("cudaFree", self.batch)
        self.call("cudaFree", self.loss)


def train_step(model):
    model.forward()
    model.backward()
    model.step()
    return model.item()


def train(model, args, result):
    start, start_cpu = time.monotonic(), time.thread_time()
    n = 0
    while n < args.steps if not args.seconds else time.monotonic() - start < args.seconds:
        train_step(model)
        n += 1
        if args.rate:
            time.sleep(max(0.0, start + n / args.rate - time.monotonic()))
    model.close()
    result["steps"] = n
    result["seconds"] = time.monotonic() - start
    result["cpu_seconds"] = time.thread_time() - start_cpu
    result["counts"] = model.counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libraries", help="directory of libcudart.so.12; the loader's own search without it")
    parser.add_argument("--runtime", default="libcudart.so.12", help="name of the runtime library")
    parser.add_argument("--steps", type=int, default=101)
    parser.add_argument("--seconds", type=float, help="instead of --steps")
    parser.add_argument("--rate", type=float, help="steps a second; as many as possible without it")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--report", help="JSON at the end; - is stdout")
    parser.add_argument("--wait-for-stdin", action="store_true", help="print 'ready PID', read a line before the first call")
    args = parser.parse_args()

    cuda = Cuda(os.path.join(args.libraries, args.runtime) if args.libraries else args.runtime)
    if args.wait_for_stdin:
        print(f"ready {os.getpid()}", flush=True)
        sys.stdin.readline()
    results = [{} for _ in range(args.threads)]
    threads = [threading.Thread(target=lambda r: train(Model(cuda), args, r), args=(r,)) for r in results[1:]]
    for thread in threads:
        thread.start()
    train(Model(cuda), args, results[0])
    for thread in threads:
        thread.join()
    if args.report:
        text = json.dumps({"program": "cudaload.py", "pid": os.getpid(), "threads": results})
        if args.report == "-":
            print(text)
        else:
            with open(args.report, "w", encoding="ascii") as f:
                f.write(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
