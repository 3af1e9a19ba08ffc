# SPDX-License-Identifier: Apache-2.0
"""Whether each exec, fork, exit and kill is reported while threads fill the ring of calls at full load; and the cost of a page for other processes."""
import os
import re
import subprocess
import sys

import ingero
import kept
import programs

PROCESSES = 10007
KILLS = 11
KILL_MIB = 24
PAGES = 40009
CALL_RING = "4k"
ALWAYS_STORED = ("fork", "out-of-memory kills")  # the storm forks, of which one row is enough

# argv: number of processes, number of kills, control group, command that makes calls at full load meanwhile
STORM = """
import os, subprocess, sys
n, kills, group, load = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
calling = subprocess.Popen(load)
for _ in range(n):
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
for _ in range(kills):
    pid = os.fork()
    if pid == 0:
        with open(group + "/cgroup.procs", "w") as procs:
            procs.write("0")
        eaten = []
        while True:
            eaten.append(bytearray(1 << 20))
    os.waitpid(pid, 0)
calling.kill()
calling.wait()
"""

# touches pages, and prints the time for one page
TOUCH = """
import mmap, sys, time
pages = int(sys.argv[1])
memory = mmap.mmap(-1, pages * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
if hasattr(mmap, "MADV_NOHUGEPAGE"):
    memory.madvise(mmap.MADV_NOHUGEPAGE)
for _ in range(2):
    memory.madvise(mmap.MADV_DONTNEED)
    began = time.process_time_ns()
    memory.madvise(23)  # MADV_POPULATE_WRITE: only the kernel's work, page after page
    took = time.process_time_ns() - began
print(took / pages)
"""


class MemoryGroup:
    """Path of a control group with a memory limit; None if no group can be made."""

    def __enter__(self):
        for place, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
            self.path = os.path.join(place, f"ingero-bench-{os.getpid()}")
            try:
                os.mkdir(self.path)
                with open(os.path.join(self.path, limit), "w", encoding="utf-8") as file:
                    file.write(str(KILL_MIB << 20))
                return self.path
            except OSError:
                if os.path.isdir(self.path):
                    os.rmdir(self.path)
        self.path = None
        return None

    def __exit__(self, *_):
        if self.path:
            os.rmdir(self.path)


def storm(bench):
    with MemoryGroup() as group, kept.Kept(bench.programs.build) as place:
        kills = KILLS if group else 0
        load = programs.Load(bench, "--threads", 2, "--op", "launch", "--calls", 1000000000)
        database = place.path("life.db")
        trace = ingero.trace(bench.programs, "--record", "all", "--ringbuf-size", CALL_RING, "--db", database, "--duration", "10m",
                             command=[sys.executable, "-S", "-c", STORM, str(PROCESSES), str(kills), str(group), *load.command],
                             environment=load.environment, timeout_s=600)
        stored = {row["op_name"]: row["n"] for row in place.sql(
            "SELECT op_name, count(*) AS n FROM events WHERE source_name = 'host' GROUP BY op_name", "--db", database)}
        told = sum(row["count"] for row in place.sql("SELECT count FROM gaps WHERE reason = 'life_full'", "--db", database))
    life, seconds = trace.summary["life"], trace.summary["window_ns"] / 1e9
    bench.row("calls a second meanwhile", sum(trace.counts().values()) / seconds, "calls/s")
    bench.row("records of calls lost because the ring was full", trace.lost().get("ring_full", 0), "records", least=1)
    bench.row("records of exec, fork, exit and kill lost because the ring was full", trace.lost().get("life_full", 0), "records", limit=0)
    # A user has a share of the file for processes that make no calls (archive/write/life_share.h); what it has no room for is told as a gap.
    share, missing = bench.tools.constant("collectord/archive/write/life_share.h", "LIFE_SHARE_MOST"), 0
    # the storm itself and the calling program are counted, too
    for what, reported, in_file, made in (
            ("exec", life["execs"], stored.get("process_exec", 0), PROCESSES + 2), ("fork", life["forks"], stored.get("process_fork", 0), PROCESSES + kills + 1),
            ("exit", life["exits"], stored.get("process_exit", 0), PROCESSES + kills + 2),
            ("out-of-memory kills", life["oom_kills"], stored.get("oom_kill", 0), kills)):
        bench.row(f"{what}: made but not reported", made - reported, f"of {made}", limit=0, least=None)
        most = 0 if what in ALWAYS_STORED else made - share
        bench.row(f"{what}: made but not stored", made - in_file, f"of {made}", limit=most, least=None)
        missing += made - in_file
    bench.row("not stored, against what gaps of the file tell, difference", abs(missing - told), "events", limit=0, least=None)


def page_ns():
    out = subprocess.run([sys.executable, "-S", "-c", TOUCH, str(PAGES)], capture_output=True, text=True, check=True).stdout
    return float(re.search(r"[\d.]+", out)[0])


def page_cost(bench):
    target = programs.Load(bench, "--op", "launch", "--rate", 10, "--calls", 100000).start()

    def beside():
        tracing = ingero.Tracing(bench.programs, "--pid", str(target.pid))
        programs.attached(tracing)
        took = page_ns()
        tracing.stop()
        return took

    try:
        runs = bench.in_turns(alone=page_ns, beside=beside)
    finally:
        programs.kill(target)
    bench.row("a page, nobody traced", runs["alone"], "ns")
    bench.row("added to a page of a process that is not traced", [b - a for a, b in zip(runs["alone"], runs["beside"])], "ns")


def measure(bench):
    storm(bench)
    page_cost(bench)
