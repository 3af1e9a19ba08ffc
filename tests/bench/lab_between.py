# SPDX-License-Identifier: Apache-2.0
"""Diagnosis between calls: whether the first finding names the lost time with its culprit, for faults from the start or in mid-run, and healthy loops have none."""
import collections
import contextlib
import ctypes
import functools
import json
import os
import random
import subprocess
import sys
import threading

import gil_waits
import ingero
import kept
import lab
import programs
import set_ups

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../e2e"))
import service_users  # noqa: E402 (needs the path above)

CLONE_NEWNS = 0x00020000
WORKLOADS = os.path.join(HERE, "../workloads")
BETWEEN = os.path.join(WORKLOADS, "between.py")
TRAIN = os.path.join(WORKLOADS, "torch/train.py")
TORCH = "a"  # the set-up with real PyTorch
SEEDS = 5  # cases of each strength and onset
HEALTHY_SEEDS = 10
SECONDS = 14  # waits of a process are not examined in its first five seconds
TORCH_SECONDS = 12  # after PyTorch has started
ONSETS = {"at once": 0, "mid-run": 6}
COMPUTE_MS = 6
KERNEL = "100us"
BOUND_KERNEL = "3ms"  # time of each of the five kernels of a step: the loop waits for the device
STRENGTHS = (0.25, 0.5, 0.75)  # share of the wall clock that the fault takes, once it has begun
NAMED_RATIO = 0.95
RISE_LEAST = 0.1  # minimum rise of the mean severity, from the weakest to the strongest fault



def is_helper(cause, said):
    return cause.get("pid") in said["helpers"]


def is_holder(cause, said):
    return cause.get("tid") in said["holders"]


def is_file(cause, said):
    return cause.get("resource", {}).get("name") == said["path"]


# How a fault is made: (cause of the lost time, kind of its cause, whether the cause names the process, thread or file that the program reports)
WAITS = {
    "loader": ("loader", "loader", is_helper),
    "socket": ("socket", "loader", is_helper),  # a loader in a child process
    "lock": ("lock", "lock", is_holder),
    "child": ("child", "tool", lambda cause, said: cause.get("pid") in said["tools"]),
    "checkpoint": ("disk", "checkpoint", is_file),
    "reads": ("read", "disk", is_file),
}
# Here the thread or process that ends the wait works while the loop computes; in all others it starts when the loop asks.
AHEAD = ("loader", "socket")
CHILD_COMPUTE_MS = 24  # the start of a child is little beside it
CHILD_START_MS = 2  # of the wait; a guess
HOGS = (["--bursts", "{on}ms,{off}ms"], [], ["--nice", "-5"])
QUOTAS = (70, 40, 20)
GIL = (("--rest-ms", "25"), ("--threads", "1"), ("--threads", "3"))
PYTHON_MS = (0.7, 4, 36)  # Python's time of a step, beside about 1 ms in calls
LAUNCHES_MS = 20  # time of launches in a step, and of kernels that are waited for singly
LAUNCH = "cudaLaunchKernel=6us"
SYNCED_KERNEL = "1ms"
SYNC_STRENGTHS = (0.5, 0.75, 0.95)
WORKER_MS = (4, 16, 64)  # time for a batch, with two workers

Shape = collections.namedtuple("Shape", "loses wait_ms compute_ms kernel hog_here options", defaults=(None, ()))
HEALTHY = {
    "waits for the device": Shape("nothing", 0, 2, BOUND_KERNEL),
    "waits for the device, a hog elsewhere": Shape("nothing", 0, 2, BOUND_KERNEL, False),
    "waits for the device, a hog beside it": Shape("nothing", 0, 1, BOUND_KERNEL, True),
    "paced": Shape("sleep", 20, 1, KERNEL),
    "paced, a hog elsewhere": Shape("sleep", 20, 1, KERNEL, False),
    "paced slowly": Shape("sleep", 300, 5, KERNEL),
    "idle server": Shape("idle", 200, 1, KERNEL),
    "idle server, a hog elsewhere": Shape("idle", 200, 1, KERNEL, False),
    "loader far ahead": Shape("loader", 2, 2, BOUND_KERNEL),
    "loader ahead": Shape("loader", 10, 2, BOUND_KERNEL),
    "socket ahead": Shape("socket", 8, 2, BOUND_KERNEL),
    "a lock now and then": Shape("lock", 0.5, 2, BOUND_KERNEL),
    "a paced producer, condition variable": Shape("condition", 20, 1, KERNEL),
    "a paced producer, Python queue": Shape("queue", 20, 1, KERNEL),
    "an epoch starts now and then": Shape("epochs", 250, 2, BOUND_KERNEL),
    "own threads, more than CPUs": Shape("own_threads", 0, 2, BOUND_KERNEL, None, ("--threads", "3")),
}
# Reported only: seen from outside, this is the fault "lock", and is told as one, with words about it.
AS_FAULTS = ("a paced producer, Python queue",)
# Loops of train.py: (the loop and its options, a kernel's time)
TORCH_HEALTHY = {
    "PyTorch, waits for the device": (("plain",), "1ms"),
    "PyTorch, a DataLoader ahead": (("workers", "--workers", "2", "--worker-ms", "4"), "1ms"),
}


class Lane:
    """A CPU that runs one case at a time; one service traces the cases of all lanes."""

    def __init__(self, bench, place, cpu):
        self.bench, self.place, self.cpu = bench, place, cpu

    def traced(self, command, environment, wrap=lambda command: command):
        """Traces a command. Returns its findings, worst first, and its own report."""
        report = self.place.path(f"report-{self.cpu}")
        done = self.place.run("trace", "--json", "--", *wrap([*command, "--report", report]), environment={"INGERO_STANDIN_QUIET": "1", **environment}, timeout=120)
        if done.returncode:
            raise ingero.Failed(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr[-500:]}")
        with open(report, encoding="ascii") as file:
            return ingero.Trace(done.stdout).summary.get("findings", []), json.load(file)

    def loop(self, seed, shape, *options, wrap=lambda command: command, environment=None):
        """As traced(), for a loop of between.py in one of the installed interpreters."""
        libraries = os.path.dirname(self.bench.programs.library("libcudart.so.12"))
        vary = random.Random(seed).uniform(0.9, 1.1)
        found = interpreters()
        command = [found[seed % len(found)], "-S", BETWEEN, "--libraries", libraries, "--loses", shape.loses, "--wait-ms", f"{shape.wait_ms * vary:g}",
                   "--compute-ms", f"{shape.compute_ms * vary:g}", "--pin", str(self.cpu), "--seconds", f"{self.bench.seconds or SECONDS:g}",
                   *shape.options, *options]
        return self.traced(command, {"INGERO_STANDIN_KERNEL": shape.kernel, "INGERO_STANDIN_WAIT": "block", "LD_LIBRARY_PATH": libraries, **(environment or {})}, wrap)

    def torch(self, loop, kernel):
        command = [set_ups.find(TORCH), TRAIN, *loop, "--seconds", f"{self.bench.seconds or TORCH_SECONDS:g}", "--pin", str(self.cpu)]
        standins = os.path.dirname(self.bench.programs.library("libcuda.so.1"))
        return self.traced(command, {**set_ups.environment(TORCH, standins), "INGERO_STANDIN_KERNEL": kernel, "INGERO_STANDIN_WAIT": "block"})


@functools.lru_cache
def interpreters():
    return tuple(path for _, path in gil_waits.interpreters())


def told(findings, is_named):
    """What is kept of a run."""
    first = findings[0] if findings else {}
    return {"is_named": bool(first) and bool(is_named(first)), "rank": lab.rank(first.get("severity")), "kind": first.get("kind", "nothing"),
            "says": ", ".join(f"{f['severity']} {f['kind']} {f['cause'].get('kind', '')} {f['cause'].get('comm', '')}".strip() for f in findings) or "nothing"}


def is_cause(kind, cause):
    return lambda first: first["kind"] == kind and first["cause"].get("kind") == cause


def is_starved(cause, names, said):
    return lambda first: is_cause("starved", cause)(first) and names(first["cause"], said)


def waits(name, strength, onset_s, seed, lane):
    loses, cause, names = WAITS[name]
    share = STRENGTHS[strength]
    compute_ms, start_ms = (CHILD_COMPUTE_MS, CHILD_START_MS) if loses == "child" else (COMPUTE_MS, 0)
    wait_ms = compute_ms / (1 - share) if loses in AHEAD else compute_ms * share / (1 - share)
    findings, said = lane.loop(seed, Shape(loses, wait_ms - start_ms, compute_ms, KERNEL), "--from", str(onset_s))
    return told(findings, is_starved(cause, names, said))


def gil(_, strength, onset_s, seed, lane):
    findings, said = lane.loop(seed, Shape("gil", 0, COMPUTE_MS, KERNEL), "--from", str(onset_s), *GIL[strength])
    # with several threads, possibly none held the GIL for most of the time
    return told(findings, is_starved("gil", lambda cause, said: is_holder(cause, said) or (not cause.get("tid") and len(said["holders"]) > 1), said))


def computes(_, strength, onset_s, seed, lane):
    findings, _ = lane.loop(seed, Shape("python", PYTHON_MS[strength], 0, KERNEL), "--from", str(onset_s))
    return told(findings, is_cause("host_bound", "python"))


def launches(_, strength, onset_s, seed, lane):
    rest_ms = LAUNCHES_MS * (1 / STRENGTHS[strength] - 1)
    findings, _ = lane.loop(seed, Shape("launches", LAUNCHES_MS, 0, "1us"), "--from", str(onset_s), "--rest-ms", f"{rest_ms:g}",
                            environment={"INGERO_STANDIN_INSIDE": LAUNCH})
    return told(findings, is_cause("host_bound", "launches"))


def syncs(_, strength, onset_s, seed, lane):
    rest_ms = LAUNCHES_MS * (1 / SYNC_STRENGTHS[strength] - 1)
    findings, _ = lane.loop(seed, Shape("syncs", LAUNCHES_MS, 0, SYNCED_KERNEL), "--from", str(onset_s), "--rest-ms", f"{rest_ms:g}")
    return told(findings, is_cause("host_bound", "syncs"))


def data_loader(_, strength, onset_s, seed, lane):
    worker_ms = WORKER_MS[strength] * random.Random(seed).uniform(0.9, 1.1)
    findings, said = lane.torch(("workers", "--workers", "2", "--worker-ms", f"{worker_ms:g}"), KERNEL)
    return told(findings, is_starved("loader", lambda cause, said: cause.get("pid") in said["workers"], said))


@contextlib.contextmanager
def hog_later(lane, onset_s, *options):
    """Starts a process that becomes a hog after a delay. Returns its pid."""
    command = ["sh", "-c", f'sleep {onset_s}; exec "$0" "$@"', lane.bench.programs.path("hog"), "--duration", "600s", "--pin", str(lane.cpu), *options]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        yield process.pid
        if process.poll() is not None:
            raise ingero.Failed(f"{' '.join(command)}: ended early, status {process.returncode}")
    finally:
        process.kill()
        process.wait()


def contended(_, strength, onset_s, seed, lane):
    pick = random.Random(seed)
    values = {"on": pick.randint(200, 600), "off": pick.randint(200, 600)}
    with hog_later(lane, onset_s, *(option.format(**values) for option in HOGS[strength])) as pid:
        findings, _ = lane.loop(seed, Shape("nothing", 0, COMPUTE_MS, KERNEL))
    return told(findings, lambda first: first["kind"] == "cpu_contention" and first["cause"].get("pid") == pid)


def limited(_, strength, onset_s, seed, lane):
    group = programs.Group(100000, 100000)
    timer = threading.Timer(onset_s, group.limit, (QUOTAS[strength] * 1000,))
    timer.start()
    try:
        findings, _ = lane.loop(seed, Shape("nothing", 0, COMPUTE_MS, KERNEL), wrap=group.command)
    finally:
        timer.cancel()
        timer.join()
        group.remove()
    return told(findings, lambda first: first["kind"] == "cpu_quota")


FAULTS = {"hog": contended, "quota": limited, "GIL": gil, "Python": computes, "launches": launches, "syncs": syncs, **{name: waits for name in WAITS}}


def healthy(shape, seed, lane):
    beside = contextlib.nullcontext()
    if shape.hog_here is not None:
        beside = lab.hog(lane.bench, "--pin", str(lane.cpu if shape.hog_here else lab.OTHER_CPU))
    with beside:
        return told(lane.loop(seed, shape)[0], lambda first: True)


def row_of_strength(bench, name, results, strength, before):
    missed = [result for result in results if not result["is_named"]]
    ratio = 1 - len(missed) / len(results)
    # the weakest strength has no limit
    bench.row(f"{name}: named first, of {len(results)} runs", ratio, "ratio", least=NAMED_RATIO if strength else None,
              note="; ".join(sorted({result["says"] for result in missed}))[:160])
    mean = sum(result["rank"] for result in results) / len(results)
    bench.row(f"{name}: severity, 0 LOW to 3 CRITICAL, mean", mean, "", least=before)
    return mean


def fault_jobs(name):
    """{strength: {name of a case: job}}"""
    make = FAULTS.get(name, data_loader)
    # a loop of PyTorch has its DataLoader from the start: no fault begins in mid-run
    onsets = ONSETS if name in FAULTS else {"at once": 0, "at once, too": 0}
    return {strength: {f"{name} {strength} {onset} {seed}": functools.partial(make, name, strength, onset_s, SEEDS * place + seed)
                       for place, (onset, onset_s) in enumerate(onsets.items()) for seed in range(1, SEEDS + 1)} for strength in range(len(STRENGTHS))}


def in_turns(tables):
    """Merges tables, one case of each in turns: if a run ends early, the finished cases are a fair sample."""
    left = [list(table.items()) for table in tables]
    random.Random(0).shuffle(left)
    return {name: job for place in range(max(map(len, left), default=0)) for table in left for name, job in table[place:place + 1]}


@contextlib.contextmanager
def service(bench):
    """Starts a service for this process and its children, with a user of its own, in a private mount namespace. Yields a directory for clients."""
    if ctypes.CDLL(None).unshare(CLONE_NEWNS):
        raise ingero.Failed("the service's user needs mounts of its own")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    with kept.Kept(bench.programs.build) as place:
        service_users.add_people(place)
        with kept.lists_given_back(), service_users.service(place, "nobody"):
            yield place


def measure(bench):
    has_torch = set_ups.find(TORCH) is not None
    faults = {name: fault_jobs(name) for name in (*FAULTS, *(["DataLoader"] if has_torch else []))}
    healthies = {name: {f"healthy, {name} {seed}": functools.partial(healthy, shape, seed) for seed in range(1, HEALTHY_SEEDS + 1)}
                 for name, shape in HEALTHY.items()}
    if has_torch:
        healthies.update({name: {f"healthy, {name} {seed}": lambda lane, how=how: told(lane.torch(*how)[0], lambda first: True)
                                 for seed in range(1, HEALTHY_SEEDS + 1)} for name, how in TORCH_HEALTHY.items()})
    faults, healthies = ({name: jobs for name, jobs in table.items() if bench.only.search(name)} for table in (faults, healthies))
    # a loop of launches makes so many calls that what Ingero does with them delays the other lane
    alone = [jobs for name, jobs in healthies.items() if name in HEALTHY and HEALTHY[name].hog_here is False] + [*faults.get("launches", {}).values()]
    shared = [jobs for strengths in faults.values() for jobs in strengths.values() if jobs not in alone] + [jobs for jobs in healthies.values() if jobs not in alone]
    with service(bench) as place:
        lanes = [Lane(bench, place, cpu) for cpu in (lab.CPU, lab.OTHER_CPU)]

        def on_lanes(tables, n_lanes):
            return bench.results({name: lambda number, job=job: job(lane=lanes[number]) for name, job in in_turns(tables).items()}, n_lanes)

        results = {**on_lanes(shared, len(lanes)), **on_lanes(alone, 1)}
    confusion = collections.Counter()
    for name, strengths in faults.items():
        means = []
        for strength, jobs in strengths.items():
            found = [results[case] for case in jobs if case in results]
            confusion.update((name, result["kind"]) for result in found)
            if found:
                means.append(row_of_strength(bench, f"{name}, strength {strength + 1} of 3", found, strength, means[-1] if means else None))
        if len(means) == len(strengths):
            bench.row(f"{name}: severity of the strongest, less that of the weakest", means[-1] - means[0], "", least=RISE_LEAST)
    if not has_torch and bench.only.search("DataLoader"):
        bench.row("DataLoader", [], "", note=set_ups.why_not(TORCH))
    for name, jobs in healthies.items():
        found = [results[case] for case in jobs if case in results]
        wrong = [result for result in found if result["rank"] > lab.rank("LOW")]
        confusion.update((f"healthy, {name}" if name in AS_FAULTS else "healthy", result["kind"] if result in wrong else "at most LOW") for result in found)
        if found:
            bench.row(f"healthy, {name}: above LOW, of {len(found)} runs", len(wrong), "", limit=None if name in AS_FAULTS else 0,
                      note="; ".join(sorted({result["says"] for result in wrong}))[:160])
    for (name, kind), n in sorted(confusion.items()):
        bench.row(f"{name} is reported as {kind}", n, "runs")
