#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A loop of GPU steps that loses its time between the calls, and says by its own clocks how much.

    between.py --libraries DIR --loses TO [--seconds N] [--wait-ms N] [--compute-ms N] [--from N] [--threads N] [--rest-ms N] [--objects N]
               [--pin CPU] [--group DIR] [--then-ms N] [--report FILE]

TO is one of
    nothing  each step computes for --compute-ms, and that is all
    sleep    sleeps, as the program asked to
    loader   waits for a batch from another process, through a pipe; that process rests --wait-ms before each
    relay    the same, but that process waits for a second one, which rests
    writer   the same, but that process writes to a file as disk does before each
    socket   the same, through a socket
    tcp      the same, through a connection over the loopback device
    lock     waits for a lock that another thread holds for --wait-ms
    queue    waits on a queue.Queue for a thread that puts something into it every --wait-ms: it sleeps, as the program asked to
    condition  the same with a condition variable of the C library
    gil      another thread of the interpreter computes in Python, or --threads of them; each rests --rest-ms after every 10 ms
    disk     writes 4 MiB to a file and waits until the disk has them, again and again for --wait-ms
    read     reads a file of 64 MiB that is not in memory, a piece after the other, for --wait-ms
    file     waits for the lock of a file that another process holds for --wait-ms
    reader   writes more than there is room for into a pipe that another process reads, after a rest of --wait-ms each time
    stop     stops itself by a signal, and another process continues it after --wait-ms
    frozen   another process freezes its control group, of version 2, while it sleeps for a moment, and thaws it after --wait-ms
    frozen_1 the same with version 1, while it computes
    child    starts a process that rests --wait-ms, and waits for its end
    python   computes in Python for --wait-ms more
    launches launches kernels one after the other for --wait-ms, then sleeps --rest-ms
    syncs    launches a kernel, waits for it and computes for 1.5 ms, again and again for --wait-ms, then sleeps --rest-ms
    own_threads  --threads other threads compute, without the interpreter's lock
    epochs   waits --wait-ms for another process once in 5 s
    gc       collects garbage among --objects objects
    idle     a server that nobody asks: waits on a socket for longer than it lives, but for --wait-ms
It loses nothing before --from seconds. Once stdin has something to read, loader and child rest --then-ms instead; from then on each
wait is announced on stdout, 'waits NS' by CLOCK_MONOTONIC. The report is JSON: the thread's clocks from before its first kernel on, and how long the waits took
(`waited_ns`), the processes that gave what was waited for (`helpers`) or were waited for (`tools`), the file (`path`) and the threads that held the lock or the
GIL (`holders`); with gc the CPU time of its collections (`collected_ns`), the longest (`longest_ns`) and their number (`collections`); with
--group, the directory of its control group, how long that was refused a CPU meanwhile (`throttled_ns`).
"""
import argparse
import ctypes
import fcntl
import gc
import hashlib
import json
import mmap
import os
import queue
import random
import select
import signal
import socket
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import cudaload  # noqa: E402 (needs the path above)
import quota  # noqa: E402
from computing import compute  # noqa: E402

DISK_BYTES = 4 << 20
READ_BYTES = 64 << 20
PIPE_BYTES = 4096
PIECE_BYTES = 256 << 10
EPOCH_S = 5
HELD_S = 0.01
SYNC_COMPUTES_S = 0.0015


def serve(prepare, give):
    """In a process of its own, until its parent is gone: a byte each time it is prepared."""
    parent = os.getppid()
    while os.getppid() == parent:
        prepare()
        try:
            give(b"x")
        except OSError:
            break
    os._exit(0)


class Produced:
    """A count behind a mutex and a condition variable of the C library."""

    def __init__(self):
        self.c = ctypes.CDLL(None)
        # more than a pthread_mutex_t and a pthread_cond_t take; zeros initialize them
        self.mutex, self.is_given = (ctypes.create_string_buffer(64) for _ in range(2))
        self.n = 0

    def give(self):
        self.c.pthread_mutex_lock(self.mutex)
        self.n += 1
        self.c.pthread_cond_signal(self.is_given)
        self.c.pthread_mutex_unlock(self.mutex)

    def take(self):
        self.c.pthread_mutex_lock(self.mutex)
        while not self.n:
            self.c.pthread_cond_wait(self.is_given, self.mutex)
        self.n -= 1
        self.c.pthread_mutex_unlock(self.mutex)


class Waits:
    """What a step waits for after its calls: a method each."""

    def __init__(self, options):
        self.wait_s = options.wait_ms / 1000
        self.announced = False
        self.then_s = None if options.then_ms is None else options.then_ms / 1000
        self.rest_s = options.rest_ms / 1000
        self.threads = options.threads
        self.n_objects = options.objects
        self.collected = {"collected_ns": 0, "longest_ns": 0, "collections": 0}
        self.children = []
        self.tools = []
        self.computed_ns = 0  # of the waits: before they begin and behind their ends
        self.holders = []
        self.loses = options.loses
        self.path = None
        self.group = None
        self.wait = self.nothing

    def is_told(self):
        return self.then_s is not None and bool(select.select([sys.stdin], [], [], 0)[0])

    def rest(self):
        self.announced = self.is_told()
        self.rest_as_announced()

    def rest_as_announced(self):
        time.sleep(self.then_s if self.announced else self.wait_s)

    def begin(self):
        prepare = getattr(self, "prepare_" + self.loses, None)
        if prepare:
            prepare()
        self.wait = getattr(self, self.loses)

    def helper(self, give, *mine, prepare=None):
        pid = os.fork()
        if pid == 0:
            for one in mine:
                one.close()
            serve(prepare or self.rest, give)
        self.children.append(pid)

    def nothing(self):
        pass

    def sleep(self):
        time.sleep(self.wait_s)

    def prepare_loader(self, prepare=None):
        read, write = os.pipe()
        mine = os.fdopen(read, "rb", buffering=0)
        self.helper(lambda data: os.write(write, data), mine, prepare=prepare)
        os.close(write)
        self.pipe = mine

    def loader(self):
        self.pipe.read(1)

    def prepare_relay(self):
        self.prepare_loader()
        self.prepare_loader(lambda fd=self.pipe.fileno(): os.read(fd, 1))

    relay = loader

    def prepare_writer(self):
        self.prepare_disk()
        # past the cache: copies into it take as long as the wait where the disk is fast
        self.data = mmap.mmap(-1, DISK_BYTES)
        direct = os.open(self.path, os.O_WRONLY | os.O_DIRECT)
        os.dup2(direct, self.file.fileno())
        os.close(direct)
        self.prepare_loader(self.disk)

    writer = loader

    def prepare_socket(self):
        self.mine, theirs = socket.socketpair()
        self.helper(theirs.send, self.mine)
        theirs.close()

    def prepare_tcp(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.mine = socket.create_connection(server.getsockname())
            theirs, _ = server.accept()
        self.helper(theirs.send, self.mine)
        theirs.close()

    def tcp(self):
        self.mine.recv(1)

    def socket(self):
        self.mine.recv(1)

    def prepare_lock(self):
        self.turn = threading.Lock()
        self.taken, self.asked = threading.Semaphore(0), threading.Semaphore(0)

        def hold():
            self.holders.append(threading.get_native_id())
            while True:
                self.asked.acquire()
                with self.turn:
                    self.taken.release()
                    time.sleep(self.wait_s)
        threading.Thread(target=hold, daemon=True).start()

    def lock(self):
        self.asked.release()
        self.taken.acquire()
        with self.turn:
            pass

    def produce(self, give):
        """A thread that gives something at its own pace."""
        def pace():
            self.holders.append(threading.get_native_id())
            while True:
                time.sleep(self.wait_s)
                give()
        threading.Thread(target=pace, daemon=True).start()

    def prepare_queue(self):
        self.given = queue.Queue()
        self.produce(lambda: self.given.put(b"x"))

    def queue(self):
        self.given.get()

    def prepare_condition(self):
        self.produced = Produced()
        self.produce(self.produced.give)

    def condition(self):
        self.produced.take()

    def prepare_gil(self):
        def hold():
            self.holders.append(threading.get_native_id())
            while True:
                compute(HELD_S)
                if self.rest_s:
                    time.sleep(self.rest_s)
        for _ in range(self.threads):
            threading.Thread(target=hold, daemon=True).start()

    def gil(self):
        time.sleep(0)  # gives the interpreter away, and waits to have it back

    def prepare_disk(self):
        self.file = tempfile.NamedTemporaryFile(prefix="checkpoint-", dir=os.environ.get("INGERO_DISK"))
        self.path = self.file.name
        self.data = random.randbytes(DISK_BYTES)

    def disk(self):
        end_s = time.monotonic() + self.wait_s
        while True:
            os.pwrite(self.file.fileno(), self.data, 0)
            os.fsync(self.file.fileno())
            if time.monotonic() >= end_s:
                break

    def prepare_read(self):
        self.file = tempfile.NamedTemporaryFile(prefix="data-", dir=os.environ.get("INGERO_DISK"))
        self.path = self.file.name
        for _ in range(READ_BYTES // DISK_BYTES):
            self.file.write(random.randbytes(DISK_BYTES))
        self.file.flush()
        os.fsync(self.file.fileno())
        self.offset = 0

    def read(self):
        end_s = time.monotonic() + self.wait_s
        while time.monotonic() < end_s:
            os.posix_fadvise(self.file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            os.pread(self.file.fileno(), PIECE_BYTES, self.offset)
            self.offset = (self.offset + PIECE_BYTES) % READ_BYTES

    def python(self):
        compute(self.wait_s)

    def launches(self):
        end_s = time.monotonic() + self.wait_s
        while time.monotonic() < end_s:
            for _ in range(32):
                self.model.layers[0].forward()
        time.sleep(self.rest_s)

    def syncs(self):
        end_s = time.monotonic() + self.wait_s
        while time.monotonic() < end_s:
            self.model.layers[0].forward()
            self.model.item()
            compute(SYNC_COMPUTES_S)
        time.sleep(self.rest_s)

    def prepare_own_threads(self):
        def compute():
            data = bytes(DISK_BYTES)
            while True:
                hashlib.sha256(data)
        for _ in range(self.threads):
            threading.Thread(target=compute, daemon=True).start()

    def own_threads(self):
        pass

    def prepare_epochs(self):
        self.mine, theirs = socket.socketpair()

        def give(data):
            theirs.recv(1)
            time.sleep(self.wait_s)
            theirs.send(data)
        self.epoch_s = time.monotonic()
        self.helper(give, self.mine)
        theirs.close()

    def epochs(self):
        if time.monotonic() >= self.epoch_s + EPOCH_S:
            self.mine.send(b"x")
            self.mine.recv(1)
            self.epoch_s = time.monotonic()

    def prepare_file(self):
        self.locked = tempfile.NamedTemporaryFile(prefix="data ", dir=os.environ.get("INGERO_DISK"))
        self.path = self.locked.name
        (asked, self.ask), (self.ready, held) = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(self.ask)
            file = os.open(self.path, os.O_RDWR)
            while True:
                fcntl.flock(file, fcntl.LOCK_EX)
                os.write(held, b"x")
                if not os.read(asked, 1):
                    os._exit(0)
                time.sleep(self.wait_s)
                fcntl.flock(file, fcntl.LOCK_UN)
                os.read(asked, 1)  # the other one had it
        os.close(asked)
        self.children.append(pid)

    def file(self):
        os.read(self.ready, 1)
        os.write(self.ask, b"x")
        fcntl.flock(self.locked, fcntl.LOCK_EX)
        fcntl.flock(self.locked, fcntl.LOCK_UN)
        os.write(self.ask, b"x")

    def prepare_reader(self):
        read, write = os.pipe()
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self.room = write
        self.spawn(lambda: self.drain(read, write))
        os.close(read)

    def drain(self, read, write):
        os.close(write)
        while os.read(read, 1):
            os.read(read, PIPE_BYTES)
            self.rest_as_announced()

    def reader(self):
        os.write(self.room, bytes(PIPE_BYTES + 1))

    def spawn(self, work):
        """A process that does one thing, until the pipe or socket that it works for is closed."""
        pid = os.fork()
        if pid == 0:
            work()
            os._exit(0)
        self.children.append(pid)

    def prepare_stop(self, stop=None):
        """The one that continues this process: for each byte, once /proc says that it is stopped."""
        asked, self.ask = os.pipe()
        parent = os.getpid()

        def go_on():
            os.close(self.ask)
            while os.read(asked, 1):
                if stop:
                    stop(True)
                else:
                    while process_state(parent) != "T":
                        os.sched_yield()
                self.rest_as_announced()
                if stop:
                    stop(False)
                else:
                    os.kill(parent, signal.SIGCONT)
        self.spawn(go_on)
        os.close(asked)

    def stop(self):
        os.write(self.ask, b"x")
        os.kill(os.getpid(), signal.SIGSTOP)

    def prepare_group(self, version):
        place = frozen_place(version)
        self.group = os.path.join(place, f"ingero-frozen-{os.getpid()}")
        os.mkdir(self.group)
        switch, (yes, no) = {1: ("freezer.state", ("FROZEN", "THAWED")), 2: ("cgroup.freeze", ("1", "0"))}[version]
        self.thawed, thawed = os.pipe()
        os.set_blocking(self.thawed, False)

        def freeze(is_frozen):
            quota.write(self.group, switch, yes if is_frozen else no)
            while is_frozen and not is_group_frozen(self.group, version):
                os.sched_yield()
            if not is_frozen:
                os.write(thawed, b"x")
        self.prepare_stop(freeze)
        quota.write(self.group, "cgroup.procs", os.getpid())
        self.group_before = place

    def prepare_frozen(self):
        self.prepare_group(2)

    def frozen(self):
        os.write(self.ask, b"x")
        while not self.is_thawed():
            time.sleep(0.001)

    def prepare_frozen_1(self):
        self.prepare_group(1)

    def frozen_1(self):
        begin_ns = time.thread_time_ns()
        os.write(self.ask, b"x")
        while not self.is_thawed():
            pass
        self.computed_ns += time.thread_time_ns() - begin_ns

    def is_thawed(self):
        try:
            return bool(os.read(self.thawed, 1))
        except BlockingIOError:
            return False

    def child(self):
        pid = os.fork()
        if pid == 0:
            self.rest_as_announced()
            os._exit(0)
        self.tools.append(pid)
        os.waitpid(pid, 0)

    def prepare_gc(self):
        self.objects = [[i] for i in range(self.n_objects)]
        began_ns = 0

        def measure(phase, _):
            nonlocal began_ns
            if phase == "start":
                began_ns = time.thread_time_ns()
                return
            ns = time.thread_time_ns() - began_ns
            self.collected["collected_ns"] += ns
            self.collected["longest_ns"] = max(self.collected["longest_ns"], ns)
            self.collected["collections"] += 1
        gc.callbacks.append(measure)

    def gc(self):
        gc.collect()

    def prepare_idle(self):
        self.mine, self.theirs = socket.socketpair()

    def idle(self):
        select.select([self.mine], [], [], self.wait_s)

    def end(self):
        for pid in self.children:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
        if self.group:
            quota.write(self.group_before, "cgroup.procs", os.getpid())
            os.rmdir(self.group)


def process_state(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0]


def frozen_place(version):
    """Where a hierarchy of that version that can freeze is mounted."""
    with open("/proc/self/mounts", encoding="utf-8") as file:
        for _, where, kind, options, *_ in map(str.split, file):
            if kind == "cgroup2" if version == 2 else kind == "cgroup" and "freezer" in options.split(","):
                return where
    raise OSError("no control groups of that version can be frozen")


def is_group_frozen(group, version):
    with open(os.path.join(group, "cgroup.events" if version == 2 else "freezer.state"), encoding="ascii") as file:
        return ("frozen 1" if version == 2 else "FROZEN") in file.read().splitlines()


def clocks(group):
    """Of this thread: the wall, its CPU time, and how long it was ready without a CPU; of its control group: how long it was refused one."""
    throttled = {"throttled_ns": quota.read_stat(group)["throttled_ns"]} if group else {}
    with open("/proc/thread-self/schedstat", encoding="ascii") as file:
        cpu_ns, ready_ns, _ = map(int, file.read().split())
    return {"wall_ns": time.monotonic_ns(), "cpu_ns": cpu_ns, "ready_ns": ready_ns, **throttled}


def main():
    names = [name for name in vars(Waits) if not name.startswith("_") and not name.startswith("prepare_") and name not in ("helper", "begin", "end", "is_told", "rest", "rest_as_announced",
                                                                                                            "spawn", "drain", "produce", "is_thawed")]
    parser = argparse.ArgumentParser(description="a loop of GPU steps that loses its time between the calls")
    parser.add_argument("--libraries", required=True)
    parser.add_argument("--loses", choices=names, required=True)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--wait-ms", type=float, default=10)
    parser.add_argument("--compute-ms", type=float, default=3)
    parser.add_argument("--from", dest="from_s", type=float, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rest-ms", type=float, default=0)
    parser.add_argument("--objects", type=int, default=300000)
    parser.add_argument("--pin", type=int)
    parser.add_argument("--then-ms", type=float)
    parser.add_argument("--group")
    parser.add_argument("--report")
    options = parser.parse_args()
    if options.pin is not None:
        os.sched_setaffinity(0, {options.pin})
    if options.loses == "gc":
        gc.disable()  # from now on only the collections that are counted
    waits = Waits(options)
    if not options.from_s:
        waits.begin()
    cuda = cudaload.Cuda(os.path.join(options.libraries, "libcudart.so.12"))
    report = open(options.report, "w", encoding="ascii") if options.report else None
    waits.model = model = cudaload.Model(cuda)
    before = clocks(options.group)
    begin, waited_ns, steps = time.monotonic(), 0, 0
    while time.monotonic() < begin + options.seconds:
        if waits.wait == waits.nothing and options.from_s and time.monotonic() >= begin + options.from_s:
            waits.begin()
        model.forward()
        model.item()
        compute(options.compute_ms / 1000)
        from_ns = time.monotonic_ns()
        waits.announced = waits.is_told()
        if waits.announced:
            print("waits", from_ns, flush=True)
        waits.wait()
        waited_ns += time.monotonic_ns() - from_ns
        steps += 1
    waits.end()
    said = {"tid": threading.get_native_id(), "steps": steps, "waited_ns": waited_ns - waits.computed_ns, "helpers": waits.children, "tools": waits.tools,
            "path": waits.path, "holders": waits.holders, **(waits.collected if options.loses == "gc" else {})}
    # what comes after the clocks were read is not in the report: as little as there can be
    after = clocks(options.group)
    if report:
        json.dump({**said, **{name: after[name] - before[name] for name in after}}, report)
        report.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
