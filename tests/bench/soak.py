# SPDX-License-Identifier: Apache-2.0
"""
Whether resources of the daemon grow while processes and libraries of one user come and go: maps, links, descriptors, memory, children; 30 minutes by default (--seconds).
"""
import os
import shutil
import subprocess
import tempfile
import time

import ingero
import programs

SECONDS = 1800
KEPT = 10000  # ended processes that a trace keeps, and the store's data of an hour: memory grows until there are so many
SETTLED = 1.5 * KEPT  # with an allowance for processes that were not seen
ROUND_PAUSE_S = 0.2
USER = 54331  # usually an unused user id: other users' processes are not touched
AS_USER = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups"]


def owned(kind, pid):
    """Number of maps, programs or links that the daemon holds, by its descriptors."""
    n = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            n += f"bpf-{kind}" in os.readlink(f"/proc/{pid}/fd/{fd}") or f"bpf_{kind}" in os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            pass
    return n


def sample(pid):
    return {
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        "maps": owned("map", pid),
        "links": owned("link", pid),
        "children": len(ingero.children(pid)),
        "memory": programs.rss_bytes(pid) / 2 ** 20,
    }


def visit(bench, directory, number):
    """One round: opens and closes new copies of libraries twice, and forks; the copies are removed afterwards. Returns the number of processes, 0 if one failed."""
    copy = os.path.join(directory, f"round{number}")
    os.mkdir(copy)
    os.chmod(copy, 0o755)
    for name in ("libcudart.so.12", "libcuda.so.1"):
        shutil.copy(os.path.join(bench.programs.build, "tests/foreign", name), copy)
    visitor = subprocess.Popen([*AS_USER, bench.programs.path("foreign-visitor")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "LD_LIBRARY_PATH": copy})
    path = os.path.join(copy, "libcudart.so.12")
    words = [f"open {path}", "call 3", "fork 2", "close", f"open {path}", "call 5", "fork 2", "close"]
    if number % 3 == 0:
        words.insert(1, f"fork {number % 7 + 1}")
    out, _ = visitor.communicate("\n".join(words) + "\n", timeout=60)
    shutil.rmtree(copy)
    return 0 if "wrong" in out else 1 + sum(int(word.split()[1]) for word in words if word.startswith("fork"))


def measure(bench):
    seconds = bench.seconds or SECONDS
    samples, rounds, made = [], 0, 0
    with tempfile.TemporaryDirectory(prefix="ingero-soak-") as directory:
        os.chmod(directory, 0o755)
        tracing = ingero.Tracing(bench.programs, "--user", str(USER), "--record", "none")
        try:
            while not tracing.lines():
                time.sleep(0.05)
            daemon = programs.daemon_of(tracing)
            end, next_sample = time.monotonic() + seconds, time.monotonic()
            while time.monotonic() < end:
                n = visit(bench, directory, rounds)
                if not n:
                    raise ingero.Failed(f"round {rounds} failed: the visitor reported an error")
                made += n
                rounds += 1
                if rounds % 10 == 0:
                    subprocess.run([*AS_USER, bench.programs.path("brood"), "--processes", "50", "--calls", "10"], check=True, capture_output=True,
                                   env={**os.environ, "INGERO_STANDIN_QUIET": "1"})
                    made += 50
                if time.monotonic() >= next_sample:
                    samples.append((made, sample(daemon)))
                    next_sample += max(seconds / 60, 1)
                time.sleep(ROUND_PAUSE_S)
        finally:
            trace = tracing.stop()
    bench.row("rounds: new copies, opened twice, forks", rounds, "rounds")
    bench.row("launches counted of that user", trace.counts(op="cudaLaunchKernel").get("cudaLaunchKernel", 0), "calls", least=1)
    lost = trace.lost()
    bench.row("calls of forgotten processes, which the summary counts but does not list", lost.pop("forgotten", 0), "calls")
    lost.pop("late_load", 0)
    bench.row("losses other than late_load and forgotten", sum(lost.values()), "losses", limit=0, note=", ".join(f"{n} {reason}" for reason, n in lost.items()))
    # Libraries are detached a minute after they were last mapped: the values after that are the baseline.
    settled = [row for n, row in samples if n >= SETTLED]
    bench.row(f"processes made; from {SETTLED:.0f} on, everything bounded is full", made, "processes", least=SETTLED)
    bench.row("share of the time after that", len(settled) / max(len(samples), 1), "ratio")
    at_full = next((row for n, row in samples if n >= KEPT), None)
    if at_full:
        bench.row(f"memory growth until {KEPT} processes, for each of them", (at_full["memory"] - samples[0][1]["memory"]) * 2 ** 10 / KEPT, "KiB")
    before, after = settled[:len(settled) // 2], settled[len(settled) // 2:]
    for what in before[0] if before else ():
        first, last = max(row[what] for row in before), max(row[what] for row in after)
        bench.row(f"{what}: maximum in the second half of that time / in the first half", last / max(first, 1), "times", limit=1.1,
                  note=f"{first:.0f} then {last:.0f}")
