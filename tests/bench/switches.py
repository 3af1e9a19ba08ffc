# SPDX-License-Identifier: Apache-2.0
"""
Cost of tracing for task switches and wake-ups of processes that are not traced: two of them, each on a CPU of its own, wake each
other 10 000 times a second, which makes 20 000 switches.
"""
import contextlib
import glob
import json
import pathlib
import subprocess
import sys

import ingero
import programs

SECONDS = 5
LIMIT_PERCENT = 0.5
STATISTICS = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")

# argv: seconds. Wakes another process, and is woken by it, 5 000 times a second.
LOAD = """
import json, os, resource, sys, time
seconds, batch = float(sys.argv[1]), 50
cpus = sorted(os.sched_getaffinity(0))
here, there = os.pipe(), os.pipe()
pid = os.fork()
os.sched_setaffinity(0, {cpus[0] if pid else cpus[-1]})
if pid == 0:
    os.close(here[1])
    while os.read(here[0], 1):
        os.write(there[1], b"x")
    os._exit(0)
os.close(here[0])
def switches():
    with open("/proc/stat") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("ctxt"))
began, before = time.monotonic(), switches()
for number in range(int(seconds * 5000 / batch)):
    for _ in range(batch):
        os.write(here[1], b"x")
        os.read(there[0], 1)
    time.sleep(max(0, began + (number + 1) * batch / 5000 - time.monotonic()))
took, made = time.monotonic() - began, switches() - before
os.close(here[1])
os.waitpid(pid, 0)
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps({"seconds": took, "switches": made, "wakeups": 2 * batch * (number + 1), "cpu_s": sum(u.ru_utime + u.ru_stime for u in used)}))
"""


def load():
    done = subprocess.run([sys.executable, "-S", "-c", LOAD, str(SECONDS)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@contextlib.contextmanager
def run_time_counted():
    """The kernel counts the time of BPF programs meanwhile."""
    before = STATISTICS.read_text(encoding="ascii")
    STATISTICS.write_text("1", encoding="ascii")
    try:
        yield
    finally:
        STATISTICS.write_text(before, encoding="ascii")


def run_time_ns(pid):
    """Time so far in the BPF programs that this process holds."""
    times = {}
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        with contextlib.suppress(FileNotFoundError), open(path, encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file if ":" in line)
        if "prog_id" in fields and "run_time_ns" in fields:
            times[int(fields["prog_id"])] = int(fields["run_time_ns"])
    if not times:
        raise ingero.Failed(f"process {pid} holds no BPF program that counts its time")
    return sum(times.values())


@contextlib.contextmanager
def empty_hooks(bench):
    with subprocess.Popen([bench.programs.path("empty_hooks")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout.readline() != "ready\n":
            raise ingero.Failed("empty programs could not be attached to task switches")
        yield process.pid
        process.stdin.close()


@contextlib.contextmanager
def tracer(bench, target):
    tracing = ingero.Tracing(bench.programs, "--pid", str(target.pid))
    programs.attached(tracing)
    yield programs.daemon_of(tracing)
    tracing.stop()


def measure(bench):
    target = programs.Load(bench, "--op", "launch", "--rate", 10, "--calls", 100000).start()

    def beside(hooks):
        with hooks:
            return load()

    def counted(hooks):
        with run_time_counted(), hooks as holder:
            before = run_time_ns(holder)
            result = load()
            result["bpf_s"] = (run_time_ns(holder) - before) / 1e9
            return result

    try:
        runs = bench.in_turns(alone=load, beside=lambda: beside(tracer(bench, target)), counted=lambda: counted(tracer(bench, target)),
                              empty=lambda: counted(empty_hooks(bench)))
    finally:
        programs.kill(target)
    every = [run for name in ("beside", "counted") for run in runs[name]]
    time = {name: [100 * run["bpf_s"] / run["seconds"] for run in runs[name]] for name in ("counted", "empty")}
    bench.row("switches of the machine", [run["switches"] / run["seconds"] for run in every], "1/s", least=20000)
    bench.row("wake-ups of the two processes", [run["wakeups"] / run["seconds"] for run in every], "1/s", least=9900)
    bench.row("counted by the kernel in the tracer's BPF programs, of a CPU", time["counted"], "%")
    bench.row("counted by the kernel in empty programs at the same hooks, of a CPU", time["empty"], "%")
    bench.row("time in the tracer's BPF programs, without that of counting, of a CPU",
              [ours - empty for ours, empty in zip(time["counted"], time["empty"])], "%", limit=LIMIT_PERCENT)
    bench.row("added to the CPU time of the two processes, of a CPU",
              [100 * (run["cpu_s"] / run["seconds"] - alone["cpu_s"] / alone["seconds"]) for alone, run in zip(runs["alone"], runs["beside"])], "%",
              note="two runs of the same differ by several percent: no limit")
