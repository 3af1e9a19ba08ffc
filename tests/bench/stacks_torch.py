# SPDX-License-Identifier: Apache-2.0
"""
Stacks of recorded calls in real PyTorch, from program start: BPF time of a recorded call, complete stacks, bytes stored.
"""
import json
import os
import subprocess
import tempfile

import bpf_objects
import floor
import ingero
import kept
import programs
import set_ups
import torch

MEASURES = ("bpf", "collectord")

SECONDS = 3  # without the start of PyTorch
LATER_NS = 50 * 10**6
BPF_NS_MAX, BYTES_MAX = 1500, 16
COMPLETE_LEAST, COMPLETE_LATER_LEAST = 0.99, 0.999
CALLS = ("call_session", "call_entry", "call_return")
LOOPS = (("A, plain", "a", ("plain",)), ("A, AdamW", "a", ("plain", "--optimiser", "adamw")), ("A, workers", "a", ("workers",)),
         ("B, plain", "b", ("plain", "--without-blas")), ("B, bursts", "b", ("bursts", "--without-blas")))


class Loop(torch.Loop):
    """Traced by a tracer of the whole machine that is there first, so that what it holds can still be asked at the end."""

    def environment_of(self):
        return {**os.environ, **self.environment}

    def stacks(self, which):
        """(what the program said, the trace, {program: (ns, runs)}, bytes of the database)"""
        with tempfile.TemporaryDirectory(prefix="ingero-") as directory, bpf_objects.run_time_counted():
            report, db = os.path.join(directory, "report"), os.path.join(directory, "x.db")
            with ingero.mapped(*self.libraries):
                tracing = ingero.Tracing(self.bench.programs, "--db", db, "--record", "all", f"--stack={which}")
                programs.attached(tracing)
                try:
                    subprocess.run([*self.command, "--report", report], check=True, stdin=subprocess.DEVNULL, env=self.environment_of())
                    times = bpf_objects.program_times(programs.daemon_of(tracing))
                finally:
                    trace = tracing.stop(300)
            size = sum(os.path.getsize(db + end) for end in ("", "-wal") if os.path.exists(db + end))
            with open(report, encoding="utf-8") as file:
                return json.load(file), trace, times, size

    def empty_ns(self):
        """BPF time of an empty session pair in this loop."""
        with bpf_objects.run_time_counted(), floor.empty_probes(self.bench.programs, self.libraries) as holder:
            subprocess.run(self.command, check=True, stdin=subprocess.DEVNULL, env=self.environment_of())
            ns, n = map(sum, zip(*bpf_objects.program_times(holder.pid).values()))
            return 2 * ns / n  # a session program runs at both ends


def calls_of(trace):
    return [event for event in trace.events if event["source"] in ("cuda", "driver")]


def complete_share(calls, after_ns=0):
    first = min(kept.unix_ns(call["timestamp"]) for call in calls)
    later = [call for call in calls if kept.unix_ns(call["timestamp"]) >= first + after_ns]
    return sum(bool(call.get("stack_complete")) for call in later) / max(1, len(later))


def call_ns(times):
    """BPF time of a call; each is recorded, whether its record was lost or not."""
    return sum(times.get(name, (0, 0))[0] for name in CALLS) / max(1, times.get("call_session", (0, 0))[1] / 2 + times.get("call_return", (0, 0))[1])


def measure_loop(bench, name, loop):
    runs = bench.in_turns(on=lambda: loop.stacks("all"), off=lambda: loop.stacks("none"), empty=loop.empty_ns)
    rows = [(on, off, empty) for on, off, empty in zip(runs["on"], runs["off"], runs["empty"])]
    on = [row[0] for row in rows]
    counts = [len(calls_of(one[1])) for one in on]
    bench.row(f"{name}: recorded calls", counts, "calls", least=1000)
    bench.row(f"{name}: recorded calls lost", [sum(one[1].lost().values()) for one in on], "calls")
    per_call = {which: [call_ns(row[i][2]) for row in rows] for i, which in enumerate(("on", "off"))}
    bench.row(f"{name}: BPF time of an empty pair", runs["empty"], "ns")
    bench.row(f"{name}: BPF time of a recorded call over it, without stacks", [ns - empty for ns, empty in zip(per_call["off"], runs["empty"])], "ns")
    bench.row(f"{name}: BPF time of a recorded call over it", [ns - empty for ns, empty in zip(per_call["on"], runs["empty"])], "ns", limit=BPF_NS_MAX)
    bench.row(f"{name}: complete, from program start", [complete_share(calls_of(one[1])) for one in on], "ratio", least=COMPLETE_LEAST)
    bench.row(f"{name}: complete, 50 ms after the first call", [complete_share(calls_of(one[1]), LATER_NS) for one in on], "ratio", least=COMPLETE_LATER_LEAST)
    whys = {call.get("stack_why") for one in on for call in calls_of(one[1]) if not call.get("stack_complete")}
    bench.row(f"{name}: different stacks", [len({call.get("stack_id") for call in calls_of(one[1])}) for one in on], "stacks", note="; ".join(map(str, whys))[:200])
    bench.row(f"{name}: stored, a recorded call", [one[3] / n for one, n in zip(on, counts)], "B", limit=BYTES_MAX)
    bench.row(f"{name}: stored, a recorded call without stacks", [row[1][3] / len(calls_of(row[1][1])) for row in rows], "B")


def measure(bench):
    bench.seconds = bench.seconds or SECONDS
    for name, set_up, arguments in LOOPS:
        if not bench.only.search(name):
            continue
        if set_ups.find(set_up):
            measure_loop(bench, name, Loop(bench, set_up, *arguments))
        else:
            bench.row(f"{name}: loops measured", 0, "loops", note=set_ups.why_not(set_up))
