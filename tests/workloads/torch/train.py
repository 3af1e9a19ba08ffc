#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training loops of real PyTorch, small enough that the calls are what they cost.

    train.py LOOP [--steps N | --seconds N] [--wait-for-stdin] [--report FILE] ...

    plain     one process: forward, backward, optimiser, the loss read back each step
    workers   the same, its batches from a DataLoader with worker processes (--workers, --worker-ms)
    ddp       two processes that wait for each other at each step, as gradients that are summed would make them
    graph     a step captured once, then replayed (needs PyTorch 1.10 with CUDA 11, or newer)
    bursts    inference: bursts of forward passes, then a pause

Device code may do nothing (tests/workloads/README.md): then losses mean nothing, and nothing here looks at them.
The report is one JSON object: what was done, and the time it took by the program's own clock.
"""

import argparse
import json
import os
import sys
import threading
import time
import warnings

warnings.filterwarnings("ignore", message="Failed to initialize NumPy")  # not needed here, and not installed

import torch  # noqa: E402 (the warning is the import's)
from torch import nn  # noqa: E402

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from computing import compute  # noqa: E402 (needs the path above)

WIDTH = 64
BATCH = 32
CLASSES = 10
# With less, the loop and its workers only compete for the CPU that they share.
WORKERS_COMPUTE_MS = 2


class Layer(nn.Linear):
    """A linear layer in kernels of PyTorch's own."""

    def forward(self, batch):
        return (batch.unsqueeze(1) * self.weight).sum(-1) + self.bias


class Model:
    """A small network with what trains it, all on the device."""

    layer = nn.Linear

    def __init__(self, optimiser):
        self.net = nn.Sequential(self.layer(WIDTH, WIDTH), nn.ReLU(), self.layer(WIDTH, CLASSES)).cuda()
        self.loss = nn.CrossEntropyLoss()
        kinds = {"sgd": lambda p: torch.optim.SGD(p, lr=0.01), "adamw": lambda p: torch.optim.AdamW(p, lr=0.01)}
        self.optimiser = kinds[optimiser](self.net.parameters())

    def forward(self, batch, labels):
        return self.loss(self.net(batch), labels)

    def step(self, batch, labels):
        self.optimiser.zero_grad()
        loss = self.forward(batch, labels)
        loss.backward()  # on the autograd engine's own thread
        self.optimiser.step()
        return loss


class Limit:
    """So many steps, or so many seconds."""

    def __init__(self, arguments):
        self.steps = arguments.steps
        self.end = time.monotonic() + arguments.seconds if arguments.seconds else None
        self.done = 0

    def more(self):
        if self.end is not None:
            return time.monotonic() < self.end
        return self.done < self.steps


def batches():
    return torch.randn(BATCH, WIDTH), torch.zeros(BATCH, dtype=torch.long)


class Samples(torch.utils.data.Dataset):
    """As many samples as asked for, each made by a worker in its own time."""

    def __init__(self, n, sample_ms):
        self.n = n
        self.sample_ms = sample_ms

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if self.sample_ms:
            time.sleep(self.sample_ms / 1000)
        return torch.full((WIDTH,), float(i % 7)), i % CLASSES


def pause(step_ms):
    """What a step does beside calling CUDA; none when it is to be flat out."""
    if step_ms:
        time.sleep(step_ms / 1000)


def plain(arguments, ready):
    model = Model(arguments.optimiser)
    ready()
    limit = Limit(arguments)
    while limit.more():
        batch, labels = batches()
        compute(arguments.compute_ms / 1000)
        model.step(batch.cuda(), labels.cuda()).item()
        limit.done += 1
        pause(arguments.pause_ms)
    return limit.done


def workers(arguments, ready):
    model = Model(arguments.optimiser)
    steps = arguments.steps if not arguments.seconds else 1 << 30
    # a worker sleeps for each sample; a batch from N workers takes a batch's samples over N
    loader = torch.utils.data.DataLoader(Samples(steps * BATCH, arguments.worker_ms / BATCH), batch_size=BATCH,
                                         num_workers=arguments.workers, persistent_workers=False)
    ready()
    limit = Limit(arguments)
    rest, waits_ns = iter(loader), []
    arguments.said["workers"] = [process.pid for process in getattr(rest, "_workers", [])]
    while limit.more():
        asked_ns = time.monotonic_ns()
        found = next(rest, None)
        if found is None:
            break
        waits_ns.append(time.monotonic_ns() - asked_ns)
        batch, labels = found
        compute(arguments.compute_ms / 1000)
        model.step(batch.cuda(), labels.cuda()).item()
        limit.done += 1
    arguments.said["batch_wait_ns"] = sum(waits_ns)
    return limit.done


def ddp(arguments, ready):
    """The other process is forked before the device is first used: after it, its child could not."""
    here, there = os.pipe(), os.pipe()
    child = os.fork()
    ends = (there[0], here[1]) if child else (here[0], there[1])
    model = Model(arguments.optimiser)

    def meet():
        """Where a real one would sum gradients: the slower process is waited for."""
        os.write(ends[1], b"s")
        if not os.read(ends[0], 1):
            raise SystemExit("train.py: the other process is gone")

    meet()
    if child:
        ready()
    meet()
    for _ in range(arguments.steps):
        batch, labels = batches()
        model.step(batch.cuda(), labels.cuda())
        meet()
    torch.cuda.synchronize()
    if not child:
        os._exit(0)  # the report is the parent's
    _, status = os.waitpid(child, 0)
    if status:
        raise SystemExit(f"train.py: the other process ended with status {status}")
    return arguments.steps


def graph(arguments, ready):
    model = Model("sgd")
    batch, labels = (t.cuda() for t in batches())
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):  # what is made at first use must be made before the capture
            model.step(batch, labels)
    torch.cuda.current_stream().wait_stream(aside)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        model.step(batch, labels)
    ready()
    limit = Limit(arguments)
    while limit.more():
        captured.replay()
        torch.cuda.synchronize()
        limit.done += 1
    return limit.done


def bursts(arguments, ready):
    model = Model("sgd")
    model.net.eval()
    ready()
    limit = Limit(arguments)
    with torch.no_grad():
        while limit.more():
            for _ in range(arguments.burst):
                batch, _ = batches()
                model.net(batch.cuda()).argmax(1).cpu()
            limit.done += 1
            time.sleep(arguments.pause_ms / 1000)
    return limit.done


LOOPS = {f.__name__: f for f in (plain, workers, ddp, graph, bursts)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loop", choices=sorted(LOOPS))
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--optimiser", choices=("sgd", "adamw"), default="sgd")
    parser.add_argument("--workers", type=int, default=2, help="processes of the DataLoader")
    parser.add_argument("--worker-ms", type=float, default=0, help="time a worker takes for a batch")
    parser.add_argument("--pause-ms", type=float, default=0, help="sleep after a step, or between bursts")
    parser.add_argument("--compute-ms", type=float, help="computing in Python before each step of plain (default: 0) and workers (default: 2)")
    parser.add_argument("--burst", type=int, default=20, help="forward passes in a burst")
    parser.add_argument("--without-blas", action="store_true", help="no products by cuBLAS, which from CUDA 11 on wants the vendor's own driver")
    parser.add_argument("--pin", type=int, help="CPU of all threads")
    parser.add_argument("--wait-for-stdin", action="store_true", help="say 'ready' before the loop and wait for a line")
    parser.add_argument("--report", help="file for the report")
    arguments = parser.parse_args()
    if arguments.compute_ms is None:
        arguments.compute_ms = WORKERS_COMPUTE_MS if arguments.loop == "workers" else 0
    if arguments.without_blas:
        Model.layer = Layer
    if arguments.pin is not None:
        os.sched_setaffinity(0, {arguments.pin})
    report = {"loop": arguments.loop, "pid": os.getpid(), "torch": torch.__version__}
    arguments.said = report

    def ready():
        if arguments.wait_for_stdin:
            print("ready", flush=True)
            sys.stdin.readline()
        report["start_ns"], report["start_cpu_ns"] = time.monotonic_ns(), time.process_time_ns()

    report["steps"] = LOOPS[arguments.loop](arguments, ready)
    report["end_ns"] = time.monotonic_ns()
    report["cpu_ns"] = time.process_time_ns() - report.pop("start_cpu_ns")  # of all threads, in the loop
    report["threads"] = threading.active_count()
    if arguments.report:
        with open(arguments.report, "w", encoding="utf-8") as file:
            json.dump(report, file)


if __name__ == "__main__":
    main()
