# SPDX-License-Identifier: Apache-2.0
"""Requests of every method with mutated fields, bytes and frames, sent by one user, while four other users have secrets: names of
processes, paths of libraries, arguments of calls. Every byte of every answer is searched for them."""
import re
import subprocess

import ingero

SECONDS = 600
SEED = 20261122  # seed of the mutations: the same seed makes the same requests
RSS_LIMIT_MIB = 96
CODES = ("OK", "PROTOCOL", "VERSION", "UNKNOWN_METHOD", "NOT_ALLOWED", "NOT_FOUND", "INVALID", "QUOTA", "DEADLINE", "CANCELLED",
         "UNAVAILABLE", "INTERNAL", "TOO_LARGE", "RATE")  # proto/frame.h
TOTALS = re.compile(r"^(?P<seconds>\d+) s: (?P<requests>\d+) requests on (?P<connections>\d+) connections, (?P<broken>\d+) broken in frames; "
                    r"(?P<ends>\d+) ends, (?P<mb>[\d.]+) MB of answers; daemon at most (?P<rss>[\d.]+) MiB$", re.M)
SECRET = re.compile(r"^(.+) of \w+ after \d+ requests$", re.M)
CODE = re.compile(r"^code (\d+): (\d+)$", re.M)
CHECKS = re.compile(r"^\d+ checks, (\d+) failed$", re.M)


def measure(bench):
    seconds = max(1, round(bench.seconds or SECONDS))
    command = [bench.programs.path("test_rpc_mutate"), str(seconds), str(SEED)]
    # the last answers may come after the end of the sending
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds + 300)
    totals, checks = TOTALS.search(run.stdout), CHECKS.search(run.stdout)
    if not totals or not checks:
        raise ingero.Failed(f"{' '.join(command)}: exit status {run.returncode}: {run.stderr[-500:]}")
    secrets = SECRET.findall(run.stderr)
    bench.row("bytes of others' secrets in answers", sum(len(secret.encode()) for secret in secrets), "bytes", limit=0,
              note="; ".join(sorted(set(secrets))[:3]))
    failed = re.findall(r"^\S+:\d+: \[(.*?)\]", run.stderr, re.M)
    # including: the other user gets answers about own data, once a connection, and the daemon runs
    bench.row("checks that failed", int(checks[1]), "checks", limit=0, note=", ".join(sorted(set(failed))[:3]))
    bench.row("memory of the daemon, most", float(totals["rss"]), "MiB", limit=RSS_LIMIT_MIB)
    bench.row("length", int(totals["seconds"]), "s", note=f"seed {SEED}")
    for what, key in (("requests", "requests"), ("connections", "connections"), ("connections with broken frames", "broken"), ("ends", "ends")):
        bench.row(what, int(totals[key]), what.split()[-1] if key != "broken" else "connections")
    bench.row("answers searched", float(totals["mb"]), "MB")
    # the others were cancelled, or their connection was closed
    for code, n in CODE.findall(run.stdout):
        if int(n):
            bench.row(f"ends with {CODES[int(code)]}", int(n), "ends")
