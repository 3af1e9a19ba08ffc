#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
torch_stacks.py BUILD CASE: stacks of calls that real PyTorch makes, from program start, against those that the unwinder of GCC notes at the same
calls: every frame of every call.

What notes them is the dynamic linker's auditor (tests/workloads/boundary_stacks.c), outside of any probe. Needs root, and what
`./dev test --torch` fetches (--torch-b for the cases that begin with b_).
"""
import collections
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support"), str(HERE.parent / "workloads")]
import books  # noqa: E402
import books_of  # noqa: E402
import ingero  # noqa: E402
import kept  # noqa: E402
import stacks_of  # noqa: E402
import torch_calls  # noqa: E402

STEPS = 150
LEAST, LEAST_LATER, LATER_NS = 0.99, 0.999, 50 * 10**6
TRAINS = "train.py"


def operation(function):
    """The operation that a function of the runtime is; __cudaLaunchKernel is cudaLaunchKernel."""
    name = books_of.SUFFIX.sub("", function, count=1).lstrip("_")
    return name if name in torch_calls.KNOWN else None


class Run(torch_calls.Run):
    """With an auditor that notes stacks, too."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.stacks = os.path.join(self.directory.name, "stacks")
        self.environment["INGERO_BOUNDARY_STACKS"] = self.stacks

    def noted(self):
        """{(tid, operation): frames of each call, in order}"""
        found = collections.defaultdict(list)
        for (tid, function), calls in stacks_of.read_boundary(self.stacks, books.boundary_names(self.boundary)).items():
            found[tid, operation(function)] += calls
        return found


def pairs(calls, events):
    """
    Yields (frames that were noted, event) of a thread's calls to one operation, in their order. A few events are of calls that the auditor
    does not see, since they are made by an address in data: those are left out where the next event fits.
    """
    extra, events = len(events) - len(calls), iter(events)
    for frames in calls:
        event = next(events, None)
        if extra > 0 and event and ips_of(event) != frames:
            extra -= 1
            event = next(events, None)
        if event:
            yield frames, event


def ips_of(event):
    return [int(frame["ip"], 16) for frame in stacks_of.native_of(event)]


def compare(check, name, trace, noted):
    """The calls of a thread to one operation are the same ones, in the same order."""
    told = collections.defaultdict(list)
    for event in sorted((event for event in trace.events if event["source"] == "cuda"), key=lambda event: event["timestamp"]):
        told[event["tid"], event["op"]].append(event)
    differ = {key: (len(calls), len(told[key])) for key, calls in noted.items() if key[1] and not 0 <= len(told[key]) - len(calls) <= torch_calls.OWN_CALLS_MAX}
    check(f"{name}: each call is told", not differ, dict(list(differ.items())[:5]))
    judge = stacks_of.Judge(has_names=False)
    first = min(kept.unix_ns(event["timestamp"]) for events in told.values() for event in events)
    later = collections.Counter()
    for (tid, op), calls in noted.items():
        for number, (frames, event) in enumerate(pairs(calls, told[tid, op])):
            judge.call({"shape": op, "pid": event["pid"], "tid": tid, "bytes": number, "op": op, "rule": "complete", "least": 0,
                        "frames": [{"ip": hex(ip)} for ip in frames]}, {**event, "stack": [one for one in event.get("stack", []) if not stacks_of.is_python(one)]})
            if kept.unix_ns(event["timestamp"]) >= first + LATER_NS:
                later[bool(event.get("stack_complete"))] += 1
    judge.report(check, name, LEAST)
    check(f"{name}: complete after 50 ms", later[True] >= LEAST_LATER * sum(later.values()) > 0, later, judge.whys)
    print(f"{name}: {sum(judge.n.values())} calls, {judge.n_frames} frames, {len(judge.incomplete)} not complete, later {dict(later)}")


def check_python(check, name, trace):
    """Threads that train have the lines that train, and the autograd thread has none of Python."""
    of = collections.defaultdict(collections.Counter)
    for event in trace.events:
        if event["op"] == "cudaLaunchKernel":
            files = [os.path.basename(frame.get("py_file", "")) for frame in stacks_of.python_of(event)]
            of[event["pid"], event["tid"]]["train" if TRAINS in files else "other" if files else "none"] += 1
    kinds = [max(counts, key=counts.get) for counts in of.values()]
    check(f"{name}: a thread that trains, with its lines", "train" in kinds and all(len(counts) == 1 for counts in of.values()), dict(of))


def case(check, programs, name, set_up, *arguments):
    run = Run(programs, set_up, TRAINS, *arguments, "--steps", STEPS)
    trace = run.under_trace("--record", "all", "--stack=all", "--calls", "all")
    check(f"{name}: the trace ended well", trace.status == 0, trace.status, trace.stderr[-500:])
    check(f"{name}: nothing lost", trace.lost().keys() <= {"late_load"}, trace.lost())
    compare(check, name, trace, run.noted())
    check_python(check, name, trace)


CASES = {
    "plain": ("a", "plain"), "adamw": ("a", "plain", "--optimiser", "adamw"), "workers": ("a", "workers"), "ddp": ("a", "ddp"),
    "b_plain": ("b", "plain", "--without-blas"), "b_bursts": ("b", "bursts", "--without-blas"),
}


def main(build, name):
    return kept.run_case(name, lambda check: case(check, ingero.Programs(build), name, *CASES[name]))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
