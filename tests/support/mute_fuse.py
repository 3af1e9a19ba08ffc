#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
mute_fuse.py DEVICE DIRECTORY FILE OPTIONS: maps FILE from its own FUSE file system, which answers no further request.
Prints "mapped"; ends when stdin ends, which releases all waiting processes.

OPTIONS: mount options besides its owner (user_id) and its users.
"""
import ctypes
import mmap
import os
import struct
import sys
import threading

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, OPENDIR, ACCESS, INTERRUPT = 1, 2, 3, 14, 15, 17, 18, 25, 26, 27, 34, 36
ROOT, NODE = 1, 2
NO_ENTRY, NO_CALL = -2, -38
LONG_S = 1  # seconds until attributes are requested again
MS_NOSUID, MS_NODEV = 2, 4


def attributes(node, size):
    mode = 0o40755 if node == ROOT else 0o100755
    return struct.pack("=6Q10I", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, os.getuid(), os.getgid(), 0, 4096, 0)


class Server(threading.Thread):
    def __init__(self, fd, data):
        super().__init__(daemon=True)
        self.fd, self.data, self.is_mute, self.kept = fd, data, False, []

    def answer(self, opcode, node, body):
        size = len(self.data) if node == NODE else 0
        if opcode == INIT:
            return 0, struct.pack("=4I2H2I2H8I", 7, 31, 65536, 0, 12, 9, 131072, 1, 32, 0, *[0] * 8)
        if opcode == LOOKUP:
            if body.rstrip(b"\0") != b"libcuda.so.1":
                return NO_ENTRY, b""
            return 0, struct.pack("=4Q2I", NODE, 0, LONG_S, LONG_S, 0, 0) + attributes(NODE, len(self.data))
        if opcode == GETATTR:
            return 0, struct.pack("=Q2I", LONG_S, 0, 0) + attributes(node, size)
        if opcode in (OPEN, OPENDIR):
            return 0, struct.pack("=Q2I", 1, 0, 0)
        if opcode == READ:
            _, offset, wanted = struct.unpack_from("=2QI", body)
            return 0, self.data[offset:offset + wanted]
        return (0, b"") if opcode in (RELEASE, FLUSH, ACCESS) else (NO_CALL, b"")

    def run(self):
        while True:
            try:
                request = os.read(self.fd, 1 << 20)
            except OSError:
                return
            _, opcode, unique, node = struct.unpack_from("=2I2Q", request)
            if self.is_mute and opcode not in (FORGET, INTERRUPT):
                self.kept.append((opcode, struct.unpack_from("=I", request, 32)[0]))
                print(f"kept: {opcode} of {self.kept[-1][1]}", file=sys.stderr, flush=True)
                continue
            if opcode in (FORGET, INTERRUPT):
                continue
            error, body = self.answer(opcode, node, request[40:])
            os.write(self.fd, struct.pack("=IiQ", 16 + len(body), error, unique) + body)


def main(device, directory, file, options):
    libc = ctypes.CDLL(None, use_errno=True)
    with open(file, "rb") as one:
        data = one.read()
    fd = os.open(device, os.O_RDWR)
    if libc.mount(b"mute", directory.encode(), b"fuse", MS_NOSUID | MS_NODEV, f"fd={fd},rootmode=40000,{options}".encode()):
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
    server = Server(fd, data)
    server.start()
    # in a child process, since waiting for it does not hold the GIL
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(fd)
        one = os.open(os.path.join(directory, "libcuda.so.1"), os.O_RDONLY)
        mapped = mmap.mmap(one, len(data), flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
        os.write(writer, b"%d" % len(mapped[:4096]))
        sys.stdin.read()
        os._exit(0)
    os.read(reader, 16)
    server.is_mute = True
    print(f"mapped {pid}", flush=True)
    sys.stdin.read()
    os.kill(pid, 9)
    os._exit(0)  # the connection ends with its descriptor: waiting requests fail


if __name__ == "__main__":
    main(*sys.argv[1:])
