# SPDX-License-Identifier: Apache-2.0
"""What benchmarks start beside Ingero: programs with clocks of their own, hogs, control groups."""
import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

import ingero

BACK_ENDS = ("session", "multi", "perf")
CALL = struct.Struct("=QQQQ")  # struct call of clocked.c
FUNCTIONS = ("cudaLaunchKernel", "cudaStreamSynchronize")


class Clocked:
    """One run of clocked: its own report, and its log of calls where asked for."""

    def __init__(self, bench, *arguments, standin=None, has_log=False):
        self._directory = tempfile.TemporaryDirectory(prefix="ingero-")
        self._report = os.path.join(self._directory.name, "report")
        self._log = os.path.join(self._directory.name, "log")
        os.chmod(self._directory.name, 0o777)  # under sudo the program runs as the caller
        self.command = [bench.programs.path("clocked"), *map(str, arguments), "--report", self._report]
        if has_log:
            self.command += ["--log", self._log]
        self.environment = {"INGERO_STANDIN_QUIET": "1"}
        self.environment.update({"INGERO_STANDIN_" + name: value for name, value in (standin or {}).items()})
        self.bench = bench

    def start(self, **options):
        return subprocess.Popen(self.command, env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL, **options)

    def run(self):
        process = self.start()
        if process.wait():
            raise ingero.Failed(f"{' '.join(self.command)}: exit status {process.returncode}")
        return self.report()

    def run_traced(self, *options, timeout_s=300):
        """Returns its report and the trace."""
        trace = ingero.trace(self.bench.programs, *options, command=self.command, environment=self.environment, timeout_s=timeout_s)
        return self.report(), trace

    def report(self):
        with open(self._report, encoding="utf-8") as file:
            return json.load(file)

    def calls(self):
        """[(function, start_ns, wall_ns, cpu_ns)] in the order they were made."""
        with open(self._log, "rb") as file:
            return [(FUNCTIONS[function], start, wall, cpu) for start, wall, cpu, function in CALL.iter_unpack(file.read())]


@contextlib.contextmanager
def pinned(cpu):
    """This process, and what it starts, on one CPU."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def hogs(n, cpu):
    """Processes that do nothing but compute, on that CPU."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
               for _ in range(n)]
    try:
        yield [process.pid for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()


class Group:
    """A control group of its own with a CPU quota; version 2 of the interface."""

    def __init__(self, quota_us, period_us):
        with open("/proc/self/cgroup", encoding="ascii") as file:
            own = [line.strip().split("::")[1] for line in file if line.startswith("0::")]
        if not own:
            raise ingero.Failed("no control groups of version 2 here: mount cgroup2 on /sys/fs/cgroup")
        # on machines with both versions, version 2 is beside the other
        base = next((path for path in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified") if os.path.exists(path + "/cgroup.controllers")), None)
        if base is None:
            raise ingero.Failed("no control groups of version 2 here: mount cgroup2 on /sys/fs/cgroup")
        self.path = tempfile.mkdtemp(prefix="ingero-bench-", dir=base)
        try:
            with contextlib.suppress(OSError), open(base + "/cgroup.subtree_control", "w", encoding="ascii") as file:
                file.write("+cpu")
            self._write("cpu.max", f"{quota_us} {period_us}")
        except OSError as error:
            os.rmdir(self.path)
            raise ingero.Failed(f"{self.path}/cpu.max: {error.strerror}: the CPU controller is not to be had") from None

    def _write(self, name, text):
        with open(os.path.join(self.path, name), "w", encoding="ascii") as file:
            file.write(text)

    def command(self, command):
        """The same command, started inside."""
        return ["sh", "-c", f'echo $$ >"{self.path}/cgroup.procs" && exec "$0" "$@"', *command]

    def throttled_ns(self):
        with open(self.path + "/cpu.stat", encoding="ascii") as file:
            stat = dict(line.split() for line in file)
        return int(stat["throttled_usec"]) * 1000

    def remove(self):
        os.rmdir(self.path)


def cpu_ns(pid):
    """User and system time of a process so far; its threads', not its children's."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total


def rss_bytes(pid):
    """Resident memory that is not shared with other processes' files counted too: all of it."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    raise ingero.Failed(f"process {pid} has no resident memory")


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def daemon_of(tracing, limit_s=30):
    """The private daemon of a running trace: the child of the client that is called so."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        for child in children(tracing.process.pid):
            with contextlib.suppress(OSError):
                with open(f"/proc/{child}/comm", encoding="ascii") as file:
                    if file.read().startswith("ingero-collect"):
                        return child
        if tracing.process.poll() is not None:
            break
        time.sleep(0.01)
    raise ingero.Failed("the client started no daemon of its own")


def wait_for(condition, limit_s, what):
    """Polls until the condition is true; returns its value."""
    end = time.monotonic() + limit_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise ingero.Failed(f"{what} did not come within {limit_s} s")
        time.sleep(0.002)


def kill(process, number=signal.SIGKILL):
    if process.poll() is None:
        process.send_signal(number)
    process.wait()
