# SPDX-License-Identifier: Apache-2.0
"""Programs that benchmarks start besides Ingero: programs with clocks of their own, hogs, control groups."""
import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time

import ingero

BACK_ENDS = ("session", "multi", "perf")
SYSCALL_CLOCK_NANOSLEEP = {"x86_64": 230, "aarch64": 115}[os.uname().machine]
EVERY_CALL = ("--keep-over-us", 0, "--keep-max", 1000000)


class Load:
    """One run of cudaload, which measures and counts its own calls."""

    def __init__(self, bench, *arguments, standin=None):
        self._directory = tempfile.TemporaryDirectory(prefix="ingero-")
        os.chmod(self._directory.name, 0o777)  # under sudo the program runs as the caller
        self._report = os.path.join(self._directory.name, "report")
        self.command = [bench.programs.path("cudaload"), *map(str, arguments), "--report", self._report]
        self.environment = {"INGERO_STANDIN_QUIET": "1"}
        self.environment.update({"INGERO_STANDIN_" + name: value for name, value in (standin or {}).items()})
        self.bench = bench

    def start(self, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen(self.command, env={**os.environ, **self.environment}, **options)

    def start_ready(self):
        """Starts it, with --wait-for-stdin among its arguments; returns when it has loaded its libraries and waits for go()."""
        process = self.start(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = process.stdout.readline()
        if not line.startswith("ready"):
            raise ingero.Failed(f"cudaload did not get ready: {line}")
        return process

    def run(self):
        process = self.start()
        if process.wait():
            raise ingero.Failed(f"{' '.join(self.command)}: exit status {process.returncode}")
        return self.report()

    def run_traced(self, *options, timeout_s=300):
        """Returns its report and the trace."""
        trace = ingero.trace(self.bench.programs, *options, command=self.command, environment=self.environment, timeout_s=timeout_s)
        if trace.status:
            raise ingero.Failed(f"{' '.join(self.command)} under trace: exit status {trace.status}: {trace.stderr[-500:]}")
        return self.report(), trace

    def report(self):
        with open(self._report, encoding="utf-8") as file:
            return Report(json.load(file))


class Report:
    """Report of cudaload about its own calls."""

    def __init__(self, report):
        self.ops = {row["op"]: row for row in report["ops"]}
        self.threads = report["threads"]
        self.books = report["books"]
        self.calls = report["slow"]  # each {tid op start_ns wall_ns cpu_ns}, with --keep-over-us

    def sum(self, key):
        """Sums over all threads: cpu_ns, run_delay_ns, throttled_ns (with --group-stat), voluntary, involuntary."""
        return sum(thread[key] for thread in self.threads)

    def seconds(self):
        return (max(thread["end_ns"] for thread in self.threads) - min(thread["start_ns"] for thread in self.threads)) / 1e9


def used(bench, command, **options):
    """(seconds, CPU seconds, largest resident set in MiB, output) of a command and the children it waited for."""
    with tempfile.NamedTemporaryFile("r", encoding="ascii") as file:
        result = subprocess.run([bench.tools.path("bench_used"), file.name, *command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                check=False, **options)
        if result.returncode:
            raise ingero.Failed(f"{' '.join(command)}: exit status {result.returncode}: {result.stderr[-500:]}")
        seconds, cpu_s, kib = map(float, file.read().split())
    return seconds, cpu_s, kib / 1024, result.stdout


def go(process):
    process.stdin.write("go\n")
    process.stdin.flush()


def attached(tracing):
    """Waits until the trace reports its attached libraries. Perf events of an earlier trace may be closed first, 0.1 s each."""
    def is_attached():
        if any(line["type"] == "start" for line in tracing.lines()):
            return True
        if tracing.process.poll() is not None:
            tracing.wait()  # raises an error with the output of the trace
        return False

    try:
        ingero.wait_for(is_attached, "the first line of the trace", limit_s=ingero.CLOSERS_S)
    except ingero.Failed:
        tracing.process.kill()
        raise
    return tracing


@contextlib.contextmanager
def probes_gone():
    """On exit waits for the end of daemons started meanwhile: perf events are closed by a process that runs longer than the trace."""
    before = ingero.tracers()
    yield
    ingero.wait_for(lambda: not ingero.tracers() - before, "the end of the process that closes the probes", limit_s=ingero.CLOSERS_S)


@contextlib.contextmanager
def hogs(n, cpu):
    """Processes that only compute, on that CPU."""
    running = [ingero.start_hog(cpu) for _ in range(n)]
    try:
        yield [process.pid for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()


# Where a quota is set, by version of control groups; the first one that the machine has is used.
GROUPS = (
    {"at": "/sys/fs/cgroup", "sign": "cgroup.controllers",
     "limits": lambda quota_us, period_us: (("cpu.max", f"{quota_us} {period_us}"),)},
    {"at": "/sys/fs/cgroup/cpu", "sign": "cpu.cfs_quota_us",
     "limits": lambda quota_us, period_us: (("cpu.cfs_period_us", str(period_us)), ("cpu.cfs_quota_us", str(quota_us)))},
    {"at": "/sys/fs/cgroup/cpu,cpuacct", "sign": "cpu.shares",
     "limits": lambda quota_us, period_us: (("cpu.cfs_period_us", str(period_us)), ("cpu.cfs_quota_us", str(quota_us)))},
)


class Group:
    """A control group of its own with a CPU quota."""

    def __init__(self, quota_us, period_us):
        found = [kind for kind in GROUPS if os.path.exists(os.path.join(kind["at"], kind["sign"]))]
        if not found:
            raise ingero.Failed("no control groups with a CPU controller under /sys/fs/cgroup")
        self.kind = found[0]
        if self.kind is GROUPS[0]:
            with contextlib.suppress(OSError), open(self.kind["at"] + "/cgroup.subtree_control", "w", encoding="ascii") as file:
                file.write("+cpu")
        self.path = tempfile.mkdtemp(prefix="ingero-bench-", dir=self.kind["at"])
        try:
            self.limit(quota_us, period_us)
        except OSError as error:
            os.rmdir(self.path)
            raise ingero.Failed(f"{self.path}: {error.strerror}: the CPU controller is not available") from None

    def limit(self, quota_us, period_us=100000):
        for name, text in self.kind["limits"](quota_us, period_us):
            with open(os.path.join(self.path, name), "w", encoding="ascii") as file:
                file.write(text)

    def command(self, command):
        """The same command, run in this group."""
        return ["sh", "-c", f'echo $$ >"{self.path}/cgroup.procs" && exec "$0" "$@"', *command]

    def stat(self):
        return self.path + "/cpu.stat"

    def remove(self):
        os.rmdir(self.path)


def cpu_ns(pid):
    """CPU time of a process so far: of its threads, without its children."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total


def rss_bytes(pid):
    """Resident memory, including pages of files shared with other processes."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    raise ingero.Failed(f"process {pid} has no resident memory")


def is_asleep(pid):
    """Whether a thread of the process sleeps on a timer, as a call of a stand-in does on request."""
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/syscall", encoding="ascii") as file:
            if file.read().split()[0] == str(SYSCALL_CLOCK_NANOSLEEP):
                return True
    return False


def daemon_of(tracing, limit_s=30):
    """Private daemon of a running trace: the child of the client with this name."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        daemon = ingero.child_named(tracing.process.pid, "ingero-collect")
        if daemon:
            return daemon
        if tracing.process.poll() is not None:
            break
        time.sleep(0.01)
    raise ingero.Failed("the client did not start a private daemon")


def kill(process, number=signal.SIGKILL):
    if process.poll() is None:
        process.send_signal(number)
    process.wait()
