#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Reports how a process uses given files, from its system calls: file_use.py PID FILE...

The process and all its threads are stopped at each system call, so that none is missed; its children are not followed.
Prints "ready" once the tracing has begun, and JSON when the process has ended: for each file how it was opened ("path":
O_PATH, which cannot read; "open"), and which calls could have read it.
"""
import ctypes
import json
import os
import signal
import stat
import struct
import subprocess
import sys

PTRACE_SYSCALL, PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_LISTEN, PTRACE_GET_SYSCALL_INFO = 24, 17, 0x4206, 0x4207, 0x4208, 0x420e
TRACE_SYSGOOD, TRACE_CLONE = 1, 8
EVENT_STOP, SYSCALL_STOP = 128, signal.SIGTRAP | 0x80
INFO_ENTRY, INFO_EXIT = 1, 2
WALL = 0x40000000
# number: (name, index of the argument with the descriptor that is read; for OPENS the descriptor is the result)
USES = {
    "x86_64": {0: ("read", 0), 17: ("pread64", 0), 19: ("readv", 0), 295: ("preadv", 0), 327: ("preadv2", 0), 9: ("mmap", 4), 40: ("sendfile", 1),
               187: ("readahead", 0), 275: ("splice", 0), 276: ("tee", 0), 326: ("copy_file_range", 0), 221: ("fadvise64", 0)},
    "aarch64": {63: ("read", 0), 67: ("pread64", 0), 65: ("readv", 0), 69: ("preadv", 0), 286: ("preadv2", 0), 222: ("mmap", 4), 71: ("sendfile", 1),
                213: ("readahead", 0), 76: ("splice", 0), 77: ("tee", 0), 285: ("copy_file_range", 0), 223: ("fadvise64", 0)},
}[os.uname().machine]
OPENS = {"x86_64": {2, 85, 257, 304, 437}, "aarch64": {56, 265, 437}}[os.uname().machine]

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, tid, address=0, data=0):
    result = libc.ptrace(request, tid, address, data)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


class Tracer:
    def __init__(self, pid, paths):
        self.pid = pid
        self.files = {}
        for path in paths:
            found = os.stat(path, follow_symlinks=False)
            self.files[found.st_dev, found.st_ino] = path
        self.opened = {path: [] for path in paths}
        self.used = []
        self.calls = {}  # {thread: its current system call}
        self.n_calls = 0
        self.info = ctypes.create_string_buffer(128)
        seized = set()
        while fresh := set(map(int, os.listdir(f"/proc/{pid}/task"))) - seized:  # a thread may start meanwhile
            for tid in fresh:
                try:
                    ptrace(PTRACE_SEIZE, tid, 0, TRACE_SYSGOOD | TRACE_CLONE)
                    ptrace(PTRACE_INTERRUPT, tid)
                except (ProcessLookupError, PermissionError):  # the thread ended, or was attached with its creator
                    pass
            seized |= fresh

    def file_at(self, fd):
        """Path of the file; None if it is not one of the given files."""
        try:
            found = os.stat(f"/proc/{self.pid}/fd/{fd}")
        except OSError:
            return None
        return self.files.get((found.st_dev, found.st_ino))

    def flags_at(self, fd):
        with open(f"/proc/{self.pid}/fdinfo/{fd}", encoding="ascii") as file:
            return int(next(line for line in file if line.startswith("flags:")).split()[1], 8)

    def on_syscall(self, tid):
        ptrace(PTRACE_GET_SYSCALL_INFO, tid, len(self.info), ctypes.addressof(self.info))
        if self.info.raw[0] == INFO_ENTRY:
            self.n_calls += 1
            self.calls[tid] = number, *arguments = struct.unpack_from("<7Q", self.info, 24)
            if number in USES and (path := self.file_at(arguments[USES[number][1]] & 0xffffffff)):
                self.used.append([USES[number][0], path])
        elif self.info.raw[0] == INFO_EXIT and tid in self.calls:
            (fd,) = struct.unpack_from("<q", self.info, 24)
            if self.calls.pop(tid)[0] in OPENS and fd >= 0 and (path := self.file_at(fd)):
                self.opened[path].append("path" if self.flags_at(fd) & os.O_PATH else "open")

    def on_stop(self, tid, status):
        event, number = status >> 16, os.WSTOPSIG(status)
        if number == SYSCALL_STOP:
            self.on_syscall(tid)
            number = 0
        elif event == EVENT_STOP and number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
            ptrace(PTRACE_LISTEN, tid)
            return
        elif event:
            number = 0
        ptrace(PTRACE_SYSCALL, tid, 0, number)

    def run(self):
        while True:
            try:
                tid, status = os.waitpid(-1, WALL)
            except ChildProcessError:
                return
            try:
                if os.WIFSTOPPED(status):
                    self.on_stop(tid, status)
                elif tid == self.pid:
                    return
            except ProcessLookupError:  # killed while stopped
                pass

    def said(self):
        return {"n_calls": self.n_calls, "opened": self.opened, "used": self.used}


def prepare():
    """To be called before the process starts: switches LeakSanitizer off, which would need ptrace(2), too."""
    os.environ["ASAN_OPTIONS"] = ":".join(filter(None, (os.environ.get("ASAN_OPTIONS"), "detect_leaks=0")))


class FileUse:
    """For tests: begins at once; said() returns the report when the process has ended."""

    def __init__(self, pid, paths):
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), str(pid), *paths], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.is_there = self.process.stdout.readline() == "ready\n"
        self.reason = "" if self.is_there else self.process.communicate()[1].strip().splitlines()[-1]

    def said(self, timeout_s=60):
        return json.loads(self.process.communicate(timeout=timeout_s)[0])

    def end(self):
        self.process.kill()
        self.process.wait()


def main():
    pid, *paths = sys.argv[1:]
    paths = [path for path in paths if stat.S_ISREG(os.stat(path, follow_symlinks=False).st_mode)]
    tracer = Tracer(int(pid), paths)
    print("ready", flush=True)
    tracer.run()
    print(json.dumps(tracer.said()), flush=True)


if __name__ == "__main__":
    main()
