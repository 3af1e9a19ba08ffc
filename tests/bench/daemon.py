# SPDX-License-Identifier: Apache-2.0
"""Cost of the daemon: CPU time per million calls above idle, resident and kernel memory, idle and under load."""
import json
import os
import subprocess
import time

import ingero
import programs

MANY_CPUS = 256
IDLE_MIB = 24
LOAD_MIB = 96
PER_MILLION_S = 0.1


def ran_bytes(bench, cpus):
    """Bytes of the rings of last running tasks on this number of CPUs, limited as by ran_entries() in probe_set.c."""
    def value(name):
        return bench.programs.constant("bpf/record.h", name)

    entries = value("RAN_ENTRIES_MAX")
    while entries > value("RAN_ENTRIES_MIN") and entries * value("RAN_ENTRY_BYTES") * cpus > value("RAN_BYTES_MAX"):
        entries //= 2
    return entries * (8 + value("RAN_ENTRY_BYTES") * cpus)  # plus a pointer to each entry


def bpf_objects():
    """{(kind, id): (type, name, bytes)} of all loaded BPF maps and programs."""
    found = {}
    for kind in ("map", "prog"):
        out = subprocess.run(["bpftool", "-j", kind, "show"], capture_output=True, text=True, check=True,
                             env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}).stdout
        for entry in json.loads(out or "[]"):
            found[kind, entry["id"]] = (entry.get("type", ""), entry.get("name"), int(entry.get("bytes_memlock", 0)))
    return found


def kernel_bytes(bench, before, cpus):
    """Bytes of objects loaded since `before`, for a machine with this number of CPUs: per-CPU data is scaled."""
    here = os.cpu_count()
    total = 0
    for key, (kind, name, size) in bpf_objects().items():
        if key in before:
            continue
        if name == "ran":
            total += size if cpus == here else ran_bytes(bench, cpus)
        else:
            total += size * cpus // here if "percpu" in kind else size
    return total


def run_one(bench):
    calls = int((bench.seconds or 10) * 300000)
    before = bpf_objects()
    # keeps the libraries mapped, so that probes stay attached while idle
    idler = programs.Load(bench, "--op", "launch", "--rate", 1, "--calls", 1000).start()
    tracing = ingero.Tracing(bench.programs, "--all")
    try:
        daemon = programs.daemon_of(tracing)
        programs.attached(tracing)
        time.sleep(2)
        idle_rss = programs.rss_bytes(daemon)
        idle_kernel = {cpus: kernel_bytes(bench, before, cpus) for cpus in (os.cpu_count(), MANY_CPUS)}
        cpu, began = programs.cpu_ns(daemon), time.monotonic()
        time.sleep(5)
        idle_rate = (programs.cpu_ns(daemon) - cpu) / (time.monotonic() - began)

        cpu, began = programs.cpu_ns(daemon), time.monotonic()
        report = programs.Load(bench, "--mix", "launch=999,sync=1", "--calls", calls).run()
        time.sleep(1)  # the last records are drained
        used = programs.cpu_ns(daemon) - cpu - idle_rate * (time.monotonic() - began)
        load_rss = programs.rss_bytes(daemon)
        load_kernel = {cpus: kernel_bytes(bench, before, cpus) for cpus in (os.cpu_count(), MANY_CPUS)}
        made = 2 * sum(row["count"] for row in report.ops.values())  # each call makes a driver call, which is traced, too
        tracing.stop()
    finally:
        programs.kill(idler)
        programs.kill(tracing.process)
    mib = 1 << 20
    return {"cpu": used / 1e9 / (made / 1e6), "idle": idle_rate / 1e7,
            **{f"{state} {cpus}": (rss + kernel[cpus]) / mib
               for state, rss, kernel in (("idle", idle_rss, idle_kernel), ("load", load_rss, load_kernel))
               for cpus in kernel},
            "idle rss": idle_rss / mib, "load rss": load_rss / mib}


def measure(bench):
    runs = [run_one(bench) for _ in range(bench.pairs)]

    def of(key):
        return [run[key] for run in runs]

    bench.row("daemon CPU per million calls, over idle", of("cpu"), "s", limit=PER_MILLION_S)
    bench.row("daemon CPU, idle", of("idle"), "%")
    for state, limit in (("idle", IDLE_MIB), ("load", LOAD_MIB)):
        bench.row(f"resident, {state}", of(f"{state} rss"), "MiB")
        bench.row(f"resident + kernel, {state}", of(f"{state} {os.cpu_count()}"), "MiB", limit=limit)
        bench.row(f"resident + kernel, {state}, computed for {MANY_CPUS} CPUs", of(f"{state} {MANY_CPUS}"), "MiB", limit=limit)
