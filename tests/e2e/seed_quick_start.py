#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
seed_quick_start.py BUILD: a user of Ingero 0.9 types the commands of its README: each does what it did there, live for a second or on the
recording of that, or is refused with the way out. No refusal comes unexpected.

Rows are commands with their class. Needs root, to trace. (other_options.py has every option of every command, without root.)
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import ingero  # noqa: E402
import kept  # noqa: E402

TABLE = "cudaStreamSync.*every call counted"
ACCOUNT = "python3 .*main thread.*cuda(LaunchKernel|MemcpyAsync)"  # where the time of its thread went
# LIVE: a trace beside two CUDA programs, ended after a second. DO: exit status 0. REPORT: 0, or 1 where something is wrong.
# HINT: refused with exit status 2; the pattern is the way out. Words: PID and PID2 are the programs, OWNER is their user.
LIVE, DO, REPORT, HINT = "live", (0,), (0, 1), (2,)
ROWS = [
    # quick start
    (LIVE, "trace", TABLE),
    (DO, "explain --since 5m", ACCOUNT),
    # demos
    (DO, "demo", "incident.*cold-start"),
    (DO, "demo --no-gpu", "incident.*cold-start"),
    (DO, "demo --no-gpu incident --speed 50", "HIGH"),
    (HINT, "demo --gpu", "ingero trace -- PROGRAM"),
    (HINT, "demo --gpu --json", "ingero trace -- PROGRAM"),
    (HINT, "demo gpu-steal", "is not supported; there are incident"),
    # check
    (REPORT, "check", "kernel.*database"),
    # trace
    (LIVE, "trace --pid PID", TABLE),
    (LIVE, "trace --pid PID,PID2", TABLE),
    (LIVE, "trace --user OWNER", TABLE),
    (LIVE, "trace --record=false", TABLE),
    (LIVE, "trace --duration 1s", TABLE),
    (LIVE, "trace --json", r'"type":\s*"start".*"type":\s*"summary"'),
    (HINT, "trace --verbose", "--json"),
    (LIVE, "trace --debug", TABLE),
    (LIVE, "trace --debug --stack", TABLE),
    (LIVE, "trace --stack=false", TABLE),
    (LIVE, "trace --max-db 10g", TABLE),
    (LIVE, "trace --max-db 500m", TABLE),
    (LIVE, "trace --max-db 0", TABLE),
    (LIVE, "trace --deadband 5", TABLE),
    (LIVE, "trace --deadband 5 --heartbeat 30s", TABLE),
    (HINT, "trace --prometheus :9090", "trace --json"),
    (HINT, "trace --otlp localhost:4318", "trace --json"),
    (HINT, "trace --otlp localhost:4318 --debug", "trace --json|ingero status"),
    (HINT, "trace --node gpu-node-07", "'--db' for each"),
    (HINT, "trace --cuda-lib /opt/venv/lib/libcudart.so.12", "found by itself"),
    (LIVE, "trace --ringbuf-size 32m", TABLE),
    (LIVE, "trace --sampling-rate 0", TABLE),
    (LIVE, "trace --py-walker ebpf", TABLE),
    (LIVE, "trace --stack --py-walker=ebpf --duration 1s", TABLE),
    (HINT, "trace --py-walker=userspace", "frames of a later moment"),
    (LIVE, "trace --db training-run-42.db", TABLE),
    # explain, of what the traces recorded
    (DO, "explain", ACCOUNT),
    (DO, "explain --since 1h", ACCOUNT),
    (DO, "explain --since 2d", ACCOUNT),
    (DO, "explain --since 1h30m", ACCOUNT),
    (DO, "explain --last 100", "calls"),
    (DO, "explain --pid PID", ACCOUNT),
    (DO, "explain --pid PID,PID2", ACCOUNT),
    (DO, "explain --chains", ""),
    (DO, "explain --json", r'"findings":'),
    (DO, "explain --from 00:00 --to 23:59", "calls|recorded"),
    (DO, "explain --per-process", "cudaStreamSync"),
    (DO, "explain --per-process --json", '"operations":'),
    (DO, "explain --per-process --since 5m", "cudaStreamSync"),
    (DO, "explain --db training-run-42.db", ACCOUNT),
    (HINT, "explain --nodes host1:8080,host2:8080,host3:8080", "ssh NODE"),
    # query
    (DO, "query --since 1h", "cudaStreamSync"),
    (DO, "query --since 1h --pid PID", "cudaStreamSync"),
    (DO, "query --since 1h --pid PID,PID2", "cudaStreamSync"),
    (DO, "query --since 30m --op cudaStreamSync --json", '"op"'),
    (DO, "query --db training-run-42.db --since 1h", "cudaStreamSync"),
    (HINT, "query --nodes host1:8080,host2:8080 'SELECT node FROM events'", "ssh NODE"),
    # export, and commands without a counterpart
    (HINT, "export --format perfetto -d training-run-42.db -o trace.json", "--format db"),
    (HINT, "export --format perfetto -d training-run-42.db -o trace.json --since 5m", "--format db"),
    (HINT, "export --format perfetto --nodes node-1:8080,node-2:8080 -o trace.json", "--format db|ssh NODE"),
    (DO, "mcp", ""),
    (HINT, "mcp --tls-cert cert.pem --tls-key key.pem", "belong to '--http'"),  # with it: e2e.mcp_http
    (HINT, "dashboard", "is not supported; "),
    (HINT, "dashboard --addr :9090", "is not supported; "),
    (HINT, "dashboard --no-tls", "is not supported; "),
    (HINT, "merge node-a.db node-b.db node-c.db -o cluster.db", "is not supported; .*export"),
    (HINT, "merge old.db --force-node legacy-node -o merged.db", "is not supported; .*export"),
    (DO, "version", r"ingero \d"),
]


class Users:
    """Two CUDA programs that call until they are told to end, and a home for their user."""

    def __init__(self, build, directory):
        self.programs = ingero.Programs(build)
        self.directory = directory
        # the seed's user has no INGERO_DB
        self.environment = {**self.programs.environment(directory), "INGERO_STANDIN_QUIET": "1", "COLUMNS": "100"}
        del self.environment["INGERO_DB"]
        load = [sys.executable, str(HERE.parent / "workloads" / "cudaload.py"), "--libraries", os.path.join(self.programs.build, "standins"),
                "--seconds", "900", "--rate", "200"]
        self.jobs = [subprocess.Popen(load, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for _ in range(2)]

    def words(self, line):
        places = {"PID2": str(self.jobs[1].pid), "PID": str(self.jobs[0].pid), "OWNER": "root"}
        return re.sub("PID2|PID|OWNER", lambda match: places[match.group()], line)

    def run(self, line):
        """Root is here already."""
        return subprocess.run(["sh", "-c", f'"{self.programs.path("ingero")}" {self.words(line)}'], cwd=self.directory, env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=240)

    def end(self):
        for job in self.jobs:
            job.send_signal(signal.SIGKILL)
            job.wait()


def main(build):
    if os.geteuid() != 0:
        kept.skip("tracing needs root")
    check = kept.Checks()
    with tempfile.TemporaryDirectory(prefix="ingero-seed-") as directory:
        users = Users(build, directory)
        try:
            for kind, line, wanted in ROWS:
                is_live = kind is LIVE
                done = users.run(line if not is_live or "--duration" in line else line + " --duration 1s")
                said = " ".join((done.stdout + done.stderr).split())
                check(f"ingero {line}", done.returncode in (DO if is_live else kind) and re.search(wanted, said), done.returncode, said)
                if kind is HINT:
                    check(f"ingero {line}: one sentence", len(done.stderr.splitlines()) <= 2 and not done.stdout, done.stderr, done.stdout)
            own = pathlib.Path(directory, ".ingero", "ingero.db")
            check("recorded in the user's place", own.exists())
        finally:
            users.end()
    print(f"{len(ROWS)} commands, {len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
