# SPDX-License-Identifier: Apache-2.0
"""Time of `ingero explain` with a service while hogs compute, two on each CPU, relative to the time without them. The hogs run in one
session, as jobs of one terminal; each in a session of its own; and in the control group of the service, where only the nice value of
the reader differs: that of every question, and that of a question that has computed for long. The time without hogs is measured in
the same place, with the same commands."""
import contextlib
import os
import pathlib
import signal
import subprocess
import time

import ingero
import kept

PER_CPU = 2
LIMIT = 5
NICE = 10  # READ_NICE of collectord/rpc/read.h
ASKED = 7  # number of commands in each round; the median of their times is used


# Starts this number of jobs in one session.
JOBS = 'n=$1; shift; while [ "$n" -gt 0 ]; do "$@" & n=$((n - 1)); done; wait'


def grouped(group, command):
    """The same command, run in this control group; None: in the current group."""
    return ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', group, *command] if group else list(command)


@contextlib.contextmanager
def hogs(bench, n_sessions, group=None):
    """Starts two hogs on each CPU, at nice 0."""
    n = PER_CPU * os.cpu_count() // n_sessions
    command = grouped(group, ["sh", "-c", JOBS, "sh", str(n), bench.programs.path("hog"), "--duration", "600s"])
    running = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True) for _ in range(n_sessions)]
    try:
        yield
    finally:
        for process in running:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def service_in_group(service, nice):
    """Runs the daemon and its children in a control group of their own, where the scheduler does not group by session. Yields None without control groups."""
    parent = next((place for place in ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup") if os.path.exists(os.path.join(place, "cgroup.procs"))), None)
    if not parent:
        yield None
        return
    group = os.path.join(parent, f"ingero-bench-{os.getpid()}")
    os.mkdir(group)
    move(service.process.pid, group)
    os.setpriority(os.PRIO_PROCESS, service.process.pid, nice)  # inherited by its children
    try:
        yield group
    finally:
        os.setpriority(os.PRIO_PROCESS, service.process.pid, 0)
        move(service.process.pid, parent)
        ingero.wait_for(lambda: not pathlib.Path(group, "cgroup.procs").read_text(encoding="utf-8"), "the end of the processes in the group")
        os.rmdir(group)


def move(pid, group):
    pathlib.Path(group, "cgroup.procs").write_text(str(pid), encoding="utf-8")


def explain_ms(home, group=None):
    """Time of a client in a session of its own, like a client of another user."""
    times = []
    command = grouped(group, ["setsid", "--wait", home.programs.path("ingero-cli"), "explain", "--json", "--since", "10m"])
    for _ in range(ASKED):
        began = time.monotonic()
        done = subprocess.run([*home.prefix, *command], env=home.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        times.append((time.monotonic() - began) * 1000)
        if done.returncode:
            raise ingero.Failed(f"ingero explain: exit status {done.returncode}: {done.stderr}")
    return sorted(times)[len(times) // 2]


def measure(bench):
    n = PER_CPU * os.cpu_count()
    # (hogs, the same without hogs, limit)
    conditions = {"compute in one session": ("idle", LIMIT), "compute in a session each": ("idle", LIMIT),
                  "compute in its group": ("idle in its group", LIMIT), "compute in its group, nice": ("idle in its group", None)}
    with kept.Kept(bench.programs.build) as home:
        subprocess.run([bench.programs.path("ingero-cli"), "demo", "--speed", "20", "--db", home.db], env=home.environment, stdout=subprocess.DEVNULL,
                       stdin=subprocess.DEVNULL, check=True)
        with kept.Service(home, "--config", "none", "--capture", "nobody", "--db", home.db, "--query-cpu", "0") as service:
            def beside(n_sessions):
                with hogs(bench, n_sessions):
                    return explain_ms(home)

            def in_group(nice, others=lambda group: hogs(bench, n, group)):
                with service_in_group(service, nice) as group, others(group):
                    return explain_ms(home, group)

            def alone_in_group():
                return in_group(0, lambda _: contextlib.nullcontext())

            waits = [lambda: beside(1), lambda: beside(n), lambda: in_group(0), lambda: in_group(NICE)]
            results = bench.in_turns(**{"idle": lambda: explain_ms(home), "idle in its group": alone_in_group, **dict(zip(conditions, waits))})
    bench.row("explain, without hogs", results["idle"], "ms")
    bench.row("explain, without hogs, in a group", results["idle in its group"], "ms")
    for told, (without, limit) in conditions.items():
        bench.row(f"explain beside {n} hogs that {told}, time relative to no hogs",
                  [value / idle for value, idle in zip(results[told], results[without])], "ratio", limit=limit)
