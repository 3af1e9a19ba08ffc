# SPDX-License-Identifier: Apache-2.0
"""Blame of calls: the reported time by class, against the thread's own CPU clock, its run delay and the control group's figures."""
import contextlib

import ingero
import programs

SYNC = "cudaStreamSynchronize"
CALLS = 400
WORK_US = 5000
# condition: (how the call waits, hogs on its CPU, quota in us of 100 000, expected class of the time off the CPU)
CONDITIONS = {
    "spin": ("spin", 0, None, None),
    "hog": ("spin", 1, None, "runnable"),
    "three hogs": ("spin", 3, None, "runnable"),
    "quota": ("spin", 0, 30000, "quota"),
    "sleep": ("sleep", 0, None, "sleep"),
    "block": ("block", 0, None, None),
    "poll": ("poll", 0, None, None),
}
TOTAL_RATIO = 0.01
CALL_RATIO = 0.02
CALLS_WITHIN = 0.95
OTHER_RATIO = 0.02
HOG_RATIO = 0.10


def off_cpu(blame):
    return sum(ns for name, ns in blame.items() if name != "on_cpu")


def run_one(bench, how, n_hogs, quota_us):
    """One traced run on CPU 0: (report of the program, trace, {pid of a hog: its CPU time during the run})."""
    calls = CALLS // (1 + n_hogs)
    program = programs.Load(bench, "--op", "sync", "--calls", calls, "--pin", 0, "--measure", "cpu", *programs.EVERY_CALL,
                            standin={"INSIDE": f"cuStreamSynchronize={WORK_US}us:{how}"})
    with contextlib.ExitStack() as stack:
        if quota_us:
            group = programs.Group(quota_us, 100000)
            stack.callback(group.remove)
            program.command = group.command([*program.command, "--group-stat", group.stat()])
        pids = stack.enter_context(programs.hogs(n_hogs, 0))
        before = {pid: programs.cpu_ns(pid) for pid in pids}
        report, trace = program.run_traced("--record", "all")
        hogs_ns = {pid: programs.cpu_ns(pid) - before[pid] for pid in pids}
        return report, trace, hogs_ns


def errors_of(calls, events):
    """Differences of on-CPU and off-CPU time from the program's clocks, as shares of wall time, for each call that both logged."""
    return [(abs(event["blame_ns"]["on_cpu"] - call["cpu_ns"]) / call["wall_ns"],
             abs(off_cpu(event["blame_ns"]) - (call["wall_ns"] - call["cpu_ns"])) / call["wall_ns"])
            for call, event in zip(calls, events)]


def share_error(told, had):
    """Largest error of the reported shares, relative to the true shares."""
    return max(abs((one / max(1, sum(told))) / (other / sum(had)) - 1) for one, other in zip(told, had))


def measure(bench):
    for name, (how, n_hogs, quota_us, expected) in CONDITIONS.items():
        totals_on, totals_off, within, others, delays, quotas, expecteds, shares, of_cpu, sums, strangers = ([] for _ in range(11))
        for _ in range(bench.pairs):
            report, trace, hogs_ns = run_one(bench, how, n_hogs, quota_us)
            wall = sum(call["wall_ns"] for call in report.calls)
            cpu = sum(call["cpu_ns"] for call in report.calls)
            events = [event for event in trace.events if event["op"] == SYNC]
            if len(events) != len(report.calls):
                raise ingero.Failed(f"{name}: {len(events)} events of {len(report.calls)} calls; lost: {trace.lost()}")
            blame = {}
            for event in events:
                for key, ns in event["blame_ns"].items():
                    blame[key] = blame.get(key, 0) + ns
            totals_on.append(abs(blame["on_cpu"] - cpu) / wall)
            totals_off.append(abs(off_cpu(blame) - (wall - cpu)) / wall)
            errors = errors_of(report.calls, events)
            within.append(sum(max(pair) <= CALL_RATIO for pair in errors) / len(errors))
            others.append(blame.get("other", 0) / wall)
            waited = blame.get("runnable", 0) + blame.get("quota", 0)
            # run_delay includes preemption between two calls, which is part of no call
            between_calls = report.sum("end_ns") - report.sum("start_ns") - report.sum("cpu_ns") - (wall - cpu)
            delays.append((waited - (report.sum("run_delay_ns") - between_calls)) / wall)
            if quota_us:
                # the program reads cpu.stat itself, since its start is throttled, too. When it reads its CPU clock, between two calls,
                # the kernel updates its run time and may throttle it there
                quotas.append(abs(blame.get("quota", 0) - (report.sum("throttled_ns") - between_calls)) / wall)
            if expected:
                expecteds.append(blame.get(expected, 0) / max(1, wall - cpu))
            behind = {row["pid"]: row["ns"] for row in trace.summary["behind"]}
            runnable = sum(row["blame_ns"].get("runnable", 0) for row in trace.operations(op=SYNC))
            if n_hogs:
                of_hogs = [behind.get(pid, 0) for pid in hogs_ns]
                shares.append((max(of_hogs) - min(of_hogs)) / max(1, max(of_hogs)))
                of_cpu.append(share_error(of_hogs, list(hogs_ns.values())))
                sums.append(abs(sum(behind.values()) - runnable) / max(1, runnable))
            else:
                strangers.append(sum(behind.values()) / wall)
        bench.row(f"{name}: on_cpu in total, error / wall", totals_on, "ratio", limit=TOTAL_RATIO)
        bench.row(f"{name}: off the CPU in total, error / wall", totals_off, "ratio", limit=TOTAL_RATIO)
        bench.row(f"{name}: calls within 2 %", within, "ratio", least=CALLS_WITHIN)
        bench.row(f"{name}: other / wall", others, "ratio", limit=OTHER_RATIO)
        bench.row(f"{name}: runnable + quota against run_delay, error / wall", [abs(delay) for delay in delays], "ratio",
                  limit=TOTAL_RATIO, note="reported more" if sum(delays) > 0 else "reported less")
        if expected:
            bench.row(f"{name}: share of {expected} in the time off the CPU", expecteds, "ratio", least=0.95)
        if quota_us:
            bench.row(f"{name}: quota against cpu.stat, error / wall", quotas, "ratio", limit=CALL_RATIO)
        if n_hogs:
            bench.row(f"{name}: sum of behind against runnable, error", sums, "ratio", limit=0.02)
            bench.row(f"{name}: hogs' shares of behind, largest difference", shares, "ratio", limit=HOG_RATIO if n_hogs > 1 else None)
            if n_hogs > 1:
                bench.row(f"{name}: hogs' shares of behind against their CPU time, largest error", of_cpu, "ratio", limit=HOG_RATIO)
        else:
            bench.row(f"{name}: behind / wall, without a hog", strangers, "ratio", limit=0.02)
