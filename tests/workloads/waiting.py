#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A loop of GPU steps that waits between its calls for one thing after another, each on one line that says so.

    waiting.py --libraries DIR [--seconds N]

Each is waited for --seconds: a pipe, a lock of threading, a sleep, the end of a write to the disk, memory that another thread brings (userfaultfd(2));
and, since it is waited for everywhere from then on, the interpreter. Last, once, a lock that nobody gives back for 3 s. Runs on CPython 3.9 and later without packages.
"""
import argparse
import ctypes
import fcntl
import os
import struct
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import cudaload  # noqa: E402 (needs the path above)
from computing import compute  # noqa: E402

WAIT_S = 0.005
BYTES = 4 << 20
HELD_S = 0.01
GIVES_S = 0.0002  # long enough for another thread to take the interpreter, too short for a wait of its own
HANGS_S = 3
PAGE_BYTES = 4096
SYSCALL_USERFAULTFD = {"x86_64": 323, "aarch64": 282}[os.uname().machine]
GIL_TIMES = 20  # more often than it is waited for at the end of each call


class Waits:
    """What there is to wait for: a method each; what it needs is there before it is waited for."""

    def begin_pipe(self):
        self.read, write = os.pipe()
        if os.fork() == 0:
            os.close(self.read)
            parent = os.getppid()
            while os.getppid() == parent:
                time.sleep(WAIT_S)
                try:
                    os.write(write, b"x")
                except OSError:
                    break
            os._exit(0)
        os.close(write)

    def pipe(self):
        os.read(self.read, 1)  # waits: pipe

    def begin_lock(self):
        self.turn, self.asked, self.taken = threading.Lock(), threading.Event(), threading.Event()

        def hold():
            while True:
                self.asked.wait()
                self.asked.clear()
                with self.turn:
                    self.taken.set()
                    time.sleep(WAIT_S)
        threading.Thread(target=hold, daemon=True).start()

    def lock(self):
        self.taken.clear()
        self.asked.set()
        while not self.taken.is_set():
            time.sleep(0)
        self.turn.acquire()  # waits: lock
        self.turn.release()

    def begin_sleep(self):
        pass

    def sleep(self):
        time.sleep(WAIT_S)  # waits: sleep

    def begin_disk(self):
        self.file = tempfile.NamedTemporaryFile(dir=os.environ.get("INGERO_DISK"))
        self.data = os.urandom(BYTES)

    def disk(self):
        os.pwrite(self.file.fileno(), self.data, 0)
        os.fsync(self.file.fileno())  # waits: disk

    def begin_fault(self):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        self.memset, self.madvise = libc.memset, libc.madvise
        self.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
        self.page = libc.mmap(None, PAGE_BYTES, 3, 0x22, -1, 0)  # private, of no file, may be written
        faults = libc.syscall(SYSCALL_USERFAULTFD, os.O_CLOEXEC)
        self.has_fault = faults >= 0
        if not self.has_fault:
            return
        fcntl.ioctl(faults, 0xc018aa3f, bytearray(struct.pack("3Q", 0xaa, 0, 0)))  # UFFDIO_API
        fcntl.ioctl(faults, 0xc020aa00, bytearray(struct.pack("4Q", self.page, PAGE_BYTES, 1, 0)))  # UFFDIO_REGISTER, of missing pages

        def bring():
            while os.read(faults, 32):
                time.sleep(WAIT_S)
                fcntl.ioctl(faults, 0xc020aa04, bytearray(struct.pack("4Q", self.page, PAGE_BYTES, 0, 0)))  # UFFDIO_ZEROPAGE
        threading.Thread(target=bring, daemon=True).start()

    def fault(self):
        if not self.has_fault:
            return
        self.madvise(self.page, PAGE_BYTES, 4)  # MADV_DONTNEED: it is missing again
        self.memset(self.page, 1, 1)  # waits: fault

    def begin_gil(self):
        def hold():
            while True:
                compute(HELD_S)
        threading.Thread(target=hold, daemon=True).start()

    def gil(self):
        for _ in range(GIL_TIMES):
            time.sleep(GIVES_S)  # waits: gil

    def hang(self):
        lock = threading.Lock()
        lock.acquire()
        lock.acquire(timeout=HANGS_S)  # waits: hang


def main():
    parser = argparse.ArgumentParser(description="a loop of GPU steps that waits between its calls for one thing after another")
    parser.add_argument("--libraries", required=True)
    parser.add_argument("--seconds", type=float, default=1.5)
    options = parser.parse_args()
    waits = Waits()
    waits.begin_pipe()
    model = cudaload.Model(cudaload.Cuda(os.path.join(options.libraries, "libcudart.so.12")))
    for name in ("pipe", "lock", "sleep", "disk", "fault", "gil"):
        if name != "pipe":
            getattr(waits, "begin_" + name)()
        wait, end = getattr(waits, name), time.monotonic() + options.seconds
        while time.monotonic() < end:
            model.forward()
            model.item()
            wait()
    waits.hang()
    os._exit(0)


if __name__ == "__main__":
    main()
