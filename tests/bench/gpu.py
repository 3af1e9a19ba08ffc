# SPDX-License-Identifier: Apache-2.0
"""
A real GPU with the vendor's driver, CUDA runtime and PyTorch: counts, cost and accounts. Needs nvcc and a python3 with PyTorch.

No other benchmark or test needs a GPU; on a machine without one, this one says so.
"""
import collections
import json
import os
import shutil
import statistics
import subprocess
import tempfile

import ingero

WORKLOADS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../workloads")
SOURCE = os.path.join(WORKLOADS, "gpu_calls.cu")
TRAIN = os.path.join(WORKLOADS, "torch/train.py")
ROUNDS = 500
STEPS = 200
SECONDS = 4
LIMIT_ATTACH_MS = 300
SUM_RATIO = 0.005
CLASS_RATIO = 0.01
# Counts the calls of a training by the vendor's own profiler: calls of the runtime, and calls of the driver that the runtime did not make.
PROFILED = """
import collections, json, runpy, sys
from torch.profiler import profile, ProfilerActivity
import torch
torch.zeros(1).cuda()
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], acc_events=True) as made:
    report, *sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
    torch.cuda.synchronize()
counts = collections.Counter(e.name for e in made.events() if e.name.startswith("cu"))
with open(report, "w") as file:
    json.dump(counts, file)
"""
# kind: (calls of a program, driver calls that they make). Every call reaches the driver, also from runtimes hidden in other libraries.
KINDS = {
    "launches": (("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx"), ("cuLaunchKernel", "cuLaunchKernelEx")),
    "copies": (("cudaMemcpyAsync",), ("cuMemcpyAsync", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync")),
    "fills": (("cudaMemsetAsync",), ("cuMemsetD8Async", "cuMemsetD32Async")),
    "synchronisations": (("cudaStreamSynchronize",), ("cuStreamSynchronize",)),
}
FRAMEWORKS = ("cupy", "jax")
LAUNCHES = 1000
HOG_CPU = 3


def build(directory, how):
    path = os.path.join(directory, "gpu_calls_" + how)
    subprocess.run(["nvcc", "-O2", "-arch=native", f"-cudart={how}", "-o", path, SOURCE], check=True, stdin=subprocess.DEVNULL)
    return path


def run_alone(path, rounds=ROUNDS):
    return json.loads(subprocess.run([path, str(rounds)], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout)


def run_traced(bench, path, *options, rounds=ROUNDS):
    """(report of the program, trace)"""
    with tempfile.TemporaryDirectory(prefix="ingero-gpu-") as directory:
        said = os.path.join(directory, "said")
        trace = ingero.trace(bench.programs, *options, command=["sh", "-c", 'out=$1; shift; exec "$@" >"$out"', "sh", said, path, str(rounds)])
        with open(said, encoding="ascii") as file:
            return json.load(file), trace


def wrong_counts(said, trace):
    """(number of calls counted too few or too many, what is wrong)"""
    counted = trace.counts()
    off = {op: counted.get(op, 0) - n for op, n in said["calls"].items() if counted.get(op, 0) != n}
    wrong = [f"{op} {n:+d}" for op, n in off.items()]
    for op, key in (("cudaMemcpyAsync", "copied"), ("cudaMalloc", "allocated")):
        if (n := sum(row["bytes"] for row in trace.operations(op=op))) != said[key] and op not in off:
            wrong.append(f"{op} {n} bytes of {said[key]}")
    return sum(map(abs, off.values())) + len(wrong) - len(off), ", ".join(wrong)


def measure_counts(bench, path, how, back_end):
    said, trace = run_traced(bench, path, "--record", "none", "--back-end", back_end)
    # a runtime linked into the program is found when its first call loads the driver: that call is lost, and reported as a loss
    allowed = 0 if how == "shared" else 1
    n_wrong, wrong = wrong_counts(said, trace)
    bench.row(f"{how} runtime, {back_end}: calls counted wrongly", n_wrong, "calls", limit=allowed, note=wrong)
    lost = trace.lost()
    bench.row(f"{how} runtime, {back_end}: losses", sum(lost.values()), "losses", limit=allowed, note=", ".join(lost))
    row_attach(bench, f"{how} runtime, {back_end}", trace)


def row_attach(bench, what, trace):
    for library in trace.libraries:
        if library["pids"]:
            bench.row(f"{what}: attach of {os.path.basename(library['path'])}", library["attach_ns"] / 1e6, "ms", limit=LIMIT_ATTACH_MS)


def measure_calls(bench, path, how):
    runs = bench.in_turns(alone=lambda: (run_alone(path), None), traced=lambda: run_traced(bench, path, "--record", "none"))
    for key, what in (("launch_ns", "launch"), ("copy_ns", "copy of 64 KiB")):
        bench.row(f"{how} runtime: {what} alone", [said[key] for said, _ in runs["alone"]], "ns")
        bench.row(f"{how} runtime: {what} traced", [said[key] for said, _ in runs["traced"]], "ns")
        bench.row(f"{how} runtime: added to a {what}", [b[key] - a[key] for (a, _), (b, _) in zip(runs["alone"], runs["traced"])], "ns")
    waits = []
    sums, cpus, sleeps = [], [], []
    for said, trace in runs["traced"]:
        rows = trace.operations(op="cudaStreamSynchronize")
        waits.append(sum(row["total_ns"] for row in rows) / 1e6)
        (account,) = [account for account in trace.summary["accounts"] if account["tid"] == said["tid"]]
        wall_ns = said["end_ns"] - said["start_ns"]
        total_ns = sum(part["ns"] for part in account["parts"])
        sums.append(abs(total_ns - wall_ns) / wall_ns)
        cpus.append(abs(sum(part["ns"] for part in account["parts"] if part["class"] == "on_cpu") - said["cpu_ns"]) / wall_ns)
        sleeps.append(abs(sum(part["ns"] for part in account["parts"] if part["class"] == "sleep" and part["where"] == "between") - said["sleep_ns"]) /
                      wall_ns)
    bench.row(f"{how} runtime: added to a call and the driver call in it, as reported by Ingero",
              [2 * trace.summary["cost"]["probe_ns"] / sum(trace.counts().values()) for _, trace in runs["traced"]], "ns")
    bench.row(f"{how} runtime: waits of the program for the device", [said["wait_ns"] / 1e6 for said, _ in runs["traced"]], "ms")
    bench.row(f"{how} runtime: all cudaStreamSynchronize, as traced", waits, "ms")
    bench.row(f"{how} runtime: sum of the parts against the program's clock, error", sums, "ratio", limit=SUM_RATIO)
    bench.row(f"{how} runtime: on the CPU against the thread's clock, error / wall", cpus, "ratio", limit=CLASS_RATIO)
    bench.row(f"{how} runtime: asleep between calls against the program's clock, error / wall", sleeps, "ratio", limit=CLASS_RATIO)


class Train:
    def __init__(self, bench, python, directory):
        self.bench, self.python, self.report = bench, python, os.path.join(directory, "report")

    def run(self, is_traced, *arguments):
        command = [self.python, TRAIN, *map(str, arguments), "--report", self.report]
        trace = ingero.trace(self.bench.programs, "--record", "slow", command=command) if is_traced else None
        if not is_traced:
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        with open(self.report, encoding="ascii") as file:
            return json.load(file), trace

    def profiled(self, steps):
        """{operation: calls} of a training with this number of steps, by the vendor's profiler."""
        subprocess.run([self.python, "-c", PROFILED, self.report, TRAIN, "plain", "--steps", str(steps)], check=True, stdin=subprocess.DEVNULL)
        with open(self.report, encoding="ascii") as file:
            return collections.Counter(json.load(file))


def measure_torch_counts(bench, train):
    """Calls of 2 N steps less those of N steps, by Ingero and by the vendor's profiler."""
    counted = collections.Counter(train.run(True, "plain", "--steps", 2 * STEPS)[1].counts())
    counted.subtract(train.run(True, "plain", "--steps", STEPS)[1].counts())
    profiled = train.profiled(2 * STEPS)
    profiled.subtract(train.profiled(STEPS))
    made = collections.Counter()
    for name, n in profiled.items():
        made[name.split("_v")[0]] += n  # names end in the version of their arguments
    for kind, (calls, driver) in KINDS.items():
        n_made = sum(made.pop(op, 0) for op in calls)
        bench.row(f"PyTorch: {kind} of {STEPS} steps by the vendor's profiler", n_made, "calls")
        bench.row(f"PyTorch: {kind}, traced at the driver, minus those of the profiler",
                  sum(counted.get(op, 0) for op in driver) - n_made, "calls", least=0, limit=0)
    bench.row("PyTorch: other calls in the profiler", sum(made.values()), "calls", note=", ".join(f"{op} {n}" for op, n in sorted(made.items()) if n))


def measure_graph(bench, train):
    _, trace = train.run(True, "graph", "--steps", LAUNCHES)
    for op in ("cudaGraphLaunch", "cuGraphLaunch"):
        bench.row(f"PyTorch: {op} of {LAUNCHES} replays, as traced", trace.counts().get(op, 0), "calls")


def measure_framework(bench, python, name):
    """Launches of 2 N rounds less those of N rounds."""
    def launches(n):
        trace = ingero.trace(bench.programs, "--record", "none", command=[python, os.path.join(WORKLOADS, "gpu_launches.py"), name, str(n)])
        if trace.status:
            raise ingero.Failed(f"{name}: exit status {trace.status}: {trace.stderr[-200:]}")
        return sum(trace.counts().get(op, 0) for op in KINDS["launches"][1])

    bench.row(f"{name}: launches in {LAUNCHES} rounds, traced at the driver", launches(2 * LAUNCHES) - launches(LAUNCHES), "calls")


def measure_hog(bench, train):
    """A training that shares its CPU with a process that only computes."""
    hog = ingero.start_hog(HOG_CPU)
    try:
        said, trace = train.run(True, "plain", "--seconds", 8, "--pin", HOG_CPU)
    finally:
        hog.kill()
        hog.wait()
    (account,) = [account for account in trace.summary["accounts"] if account["tid"] == said["pid"]]
    ready = [part for part in account["parts"] if part["class"] == "runnable"]
    bench.row("PyTorch beside a hog: ready without a CPU", sum(part["ns"] for part in ready) / 1e6, "ms")
    bench.row("PyTorch beside a hog: of this, behind the hog", sum(part["ns"] for part in ready if part.get("by", {}).get("pid") == hog.pid) / 1e6, "ms")
    first = trace.summary["findings"][0]["title"] if trace.summary["findings"] else "none"
    bench.row("PyTorch beside a hog: findings", len(trace.summary["findings"]), "findings", note=f"the first: {first}; the hog is {hog.pid}")


def measure_torch_cost(bench, train):
    runs = bench.in_turns(alone=lambda: train.run(False, "plain", "--seconds", SECONDS), traced=lambda: train.run(True, "plain", "--seconds", SECONDS))
    rates = {way: [said["steps"] * 1e9 / (said["end_ns"] - said["start_ns"]) for said, _ in runs[way]] for way in runs}
    bench.row("PyTorch: steps alone", rates["alone"], "/s")
    bench.row("PyTorch: traced calls of a step", [sum(trace.counts().values()) / said["steps"] for said, trace in runs["traced"]], "calls")
    bench.row("PyTorch: steps lost, traced", [(a - b) / a for a, b in zip(rates["alone"], rates["traced"])], "ratio")
    for _, trace in runs["traced"][:1]:
        bench.row("PyTorch: losses", sum(trace.lost().values()), "losses", note=", ".join(trace.lost()))
        row_attach(bench, "PyTorch", trace)
    bench.row("PyTorch: CPU of a step, added", [b["cpu_ns"] / b["steps"] / 1e3 - a["cpu_ns"] / a["steps"] / 1e3
                                                for (a, _), (b, _) in zip(runs["alone"], runs["traced"])], "us")
    bench.row("PyTorch: CPU of a step, added, as reported by Ingero",
              [trace.summary["cost"]["probe_ns"] / said["steps"] / 1e3 for said, trace in runs["traced"]], "us")


def measure_torch_worker(bench, train):
    """A DataLoader with a slow worker: time between calls in which the training waits for the worker."""
    said, trace = train.run(True, "workers", "--steps", 60, "--workers", 1, "--worker-ms", 60)
    (account,) = [account for account in trace.summary["accounts"] if account["tid"] == said["pid"]]
    waits = [part for part in account["parts"] if part["where"] == "between" and part["class"] not in ("on_cpu", "runnable", "quota")]
    bench.row("PyTorch, slow worker: waits for batches by the program's clock", said["batch_wait_ns"] / 1e6, "ms")
    bench.row("PyTorch, slow worker: waits between calls", sum(part["ns"] for part in waits) / 1e6, "ms")
    enders = collections.Counter()
    for part in waits:
        enders[f"{part['class']}, ended by {part.get('by', {}).get('pid', 'nobody')}"] += part["ns"]
    (worker,) = said["workers"]
    blamed_ns = sum(part["ns"] for part in waits if part.get("by", {}).get("pid") == worker)
    bench.row("PyTorch, slow worker: of these waits, ended by the worker", blamed_ns / 1e6, "ms",
              note=f"worker {worker}; " + "; ".join(f"{name} {ns / 1e6:.0f} ms" for name, ns in enders.most_common(3)))


def measure(bench):
    if not os.path.exists("/dev/nvidiactl") or not shutil.which("nvcc"):
        bench.row("left out: needs an NVIDIA GPU and nvcc", [], "")
        return
    with tempfile.TemporaryDirectory(prefix="ingero-gpu-") as directory:
        paths = {how: attempt(bench, f"nvcc, {how}", build, directory, how) for how in ("static", "shared")}
        train = Train(bench, shutil.which("python3"), directory)
        for how, path in paths.items():
            for back_end in ("session", "multi"):
                attempt(bench, f"{how} {back_end}", measure_counts, bench, path, how, back_end)
            attempt(bench, how, measure_calls, bench, path, how)
        for part in (measure_torch_counts, measure_torch_worker, measure_hog, measure_graph, measure_torch_cost):
            attempt(bench, part.__name__, part, bench, train)
        for name in FRAMEWORKS:
            attempt(bench, name, measure_framework, bench, train.python, name)
        # last, because closing its perf events takes minutes and delays the next trace
        attempt(bench, "perf", measure_counts, bench, paths["shared"], "shared", "perf")


def attempt(bench, name, part, *arguments):
    """Runs one part. If it fails, the figures of the other parts are still reported."""
    try:
        return part(*arguments)
    except (ingero.Failed, subprocess.CalledProcessError, OSError, KeyError, TypeError, ValueError, statistics.StatisticsError) as error:
        bench.row(name, [], "", note=f"failed: {error}"[:300])
        return None
