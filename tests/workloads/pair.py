#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two GPU loops of two users: one waits for the other between its calls.

    pair.py --libraries DIR --place DIR --through pipe|socket|lock --role waits|gives [--wait-ms N]

Both share --place, which holds a FIFO "pipe", a file "lock" of one page, and the socket "socket" of the one that gives. The one that
gives rests --wait-ms before each step, and keeps a file of its own, secret-NAME, on the disk: what only its user may know of it. Both
run until stdin ends. The first line of output says that the loop runs.
"""
import argparse
import ctypes
import mmap
import os
import select
import socket
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import cudaload  # noqa: E402 (needs the path above)

FUTEX = {"x86_64": 202, "aarch64": 98}[os.uname().machine]
FUTEX_WAIT, FUTEX_WAKE = 0, 1
PR_SET_DUMPABLE = 4
LIBC = ctypes.CDLL(None, use_errno=True)

WRITTEN_BYTES = 16 << 20  # no disk has them within 1 ms


class Pipe:
    def __init__(self, place, gives):
        self.file = os.open(os.path.join(place, "pipe"), os.O_RDWR)
        self.gives = gives

    def give(self):
        os.write(self.file, b"x")

    def wait(self):
        os.read(self.file, 1)


class Socket:
    def __init__(self, place, gives):
        path = os.path.join(place, "socket")
        self.end = socket.socket(socket.AF_UNIX)
        if gives:
            self.end.bind(path)
            os.chmod(path, 0o666)
            self.end.listen(1)
            self.end, _ = self.end.accept()
        else:
            while self.end.connect_ex(path):
                time.sleep(0.01)

    def give(self):
        self.end.send(b"x")

    def wait(self):
        self.end.recv(1)


class Lock:
    """A word in memory that both map."""

    def __init__(self, place, gives):
        with open(os.path.join(place, "lock"), "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), mmap.PAGESIZE)
        self.word = ctypes.c_uint32.from_buffer(self.memory)
        self.seen = self.word.value

    def give(self):
        self.word.value += 1
        LIBC.syscall(FUTEX, ctypes.byref(self.word), FUTEX_WAKE, 1, None, None, 0)

    def wait(self):
        while self.word.value == self.seen:
            LIBC.syscall(FUTEX, ctypes.byref(self.word), FUTEX_WAIT, self.seen, None, None, 0)
        self.seen = self.word.value


def main():
    parser = argparse.ArgumentParser(description="two GPU loops of two users: one waits for the other between its calls")
    parser.add_argument("--libraries", required=True)
    parser.add_argument("--place", required=True)
    parser.add_argument("--through", choices=("pipe", "socket", "lock"), required=True)
    parser.add_argument("--role", choices=("waits", "gives"), required=True)
    parser.add_argument("--wait-ms", type=float, default=20)
    parser.add_argument("--undumpable", action="store_true", help="its own user may not inspect it")
    options = parser.parse_args()
    gives = options.role == "gives"
    if options.undumpable:
        LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    pair = {"pipe": Pipe, "socket": Socket, "lock": Lock}[options.through](options.place, gives)
    cuda = cudaload.Cuda(os.path.join(options.libraries, "libcudart.so.12"))
    model = cudaload.Model(cuda)
    secret = os.open(f"secret-{os.path.basename(os.getcwd())}", os.O_CREAT | os.O_RDWR, 0o600)
    data = os.urandom(WRITTEN_BYTES)
    print("runs", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        model.forward()
        model.item()
        if gives:
            time.sleep(options.wait_ms / 1000)
            os.pwrite(secret, data, 0)
            os.fsync(secret)
            try:
                pair.give()
            except BrokenPipeError:  # the other one has ended
                break
        else:
            pair.wait()
    os._exit(0)


if __name__ == "__main__":
    main()
