#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
other_options.py BUILD: what users of Ingero type. Every command line of its quick start and every option of its commands
means here what it means there, or is refused by name with the way out; none is "unknown".
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import kept  # noqa: E402

# Exit statuses: of a command that would trace, without the right to, and of one that is refused.
NO_RIGHT, REFUSED = 1, 2
# Options of Ingero 0.17's commands, as its help writes them: VALUE after those that take one.
OPTIONS = {
    "check": "--json --support-bundle=x",
    "trace": """-p=1 --pid=1 -u=root --user=root -d=1ms --duration=1ms --json -v --verbose --record --record=true --record=false --record-all --stack
        --stack=true --stack=false --stack-samples=100 --db=x.db --max-db=10g --max-db=0 --db-rollover-size=1g --db-rollover-keep=6 --log=x --deadband=5
        --heartbeat=30s --no-io --no-tcp --no-net --nccl --nccl=true --nccl=false --nccl-lib=x --libnccl-discovery-interval=10s --cuda-lib=x --ringbuf-size=32m
        --sampling-rate=0 --sampling-rate=1 --sampling-rate=10 --py-walker=auto --py-walker=ebpf --py-walker=userspace --otlp=x --otlp-insecure
        --otlp-insecure-allow-non-loopback --prometheus=:9090 --remediate --remediate-gid=65532 --annotate --annotate-socket-gid=1 --node=x --cluster=x
        --fleet-workload-type=training --throttle-poll-interval=5s --memfrag-poll-interval=10s --enable-experimental-kprobes --inference
        --inference-warmup=30 --inference-outlier-ratio=3.0 --inference-pause-on-severity=HIGH --inference-sampler-degrade-on=3x
        --inference-phase-classifier=rule --inference-phase-decode-max-launches=50 --inference-fingerprint-key --inference-kvcache-lineage
        --inference-scrape=auto --inference-scrape-interval=10s --debug --config=x""",
    "explain": """-d=x.db --db=x.db --since=5m --since=1h30m --since=3d12h --since=1w --from=15:40 --to=15:45 --last=100 --chains -p=1 --pid=1,2 --json
        --per-process --annotations --nodes=a:1 --timeout=5s --ca-cert=x --client-cert=x --client-key=x --clock-skew-threshold=10ms --debug""",
    "query": """-d=x.db --db=x.db --since=1h -p=1 --pid=1,2 --op=cudaMemcpy --json --limit=0 --nodes=a:1 --timeout=5s --ca-cert=x
        --clock-skew-threshold=10ms --fleet-require-tls --include-rolled --annotations --debug""",
    "export": "-d=x.db --db=x.db --format=perfetto --nodes=a:1 --since=5m -p=1 --limit=1000 --timeout=10s --ca-cert=x",
    "demo": "-d=5s --duration=5s --json -v --verbose --speed=1.0 --no-gpu --gpu --stack --stack=true --stack=false",
}
# Without a meaning here: refused, and the sentence names what to use instead.
REFUSALS = {
    "check": {"--support-bundle"},
    "trace": {"-v", "--verbose", "--stack-samples", "--db-rollover-size", "--db-rollover-keep", "--log",
              "--nccl=false", "--nccl-lib", "--libnccl-discovery-interval", "--cuda-lib", "--py-walker=userspace", "--otlp", "--otlp-insecure",
              "--otlp-insecure-allow-non-loopback", "--prometheus", "--remediate", "--remediate-gid", "--annotate", "--annotate-socket-gid", "--node",
              "--cluster", "--fleet-workload-type", "--throttle-poll-interval", "--memfrag-poll-interval", "--enable-experimental-kprobes", "--config"},
    "explain": {"--annotations", "--nodes", "--timeout", "--ca-cert", "--client-cert", "--client-key", "--clock-skew-threshold", "--debug"},
    "query": {"--nodes", "--ca-cert", "--clock-skew-threshold", "--fleet-require-tls", "--include-rolled", "--annotations", "--debug"},
    "export": {"--format=perfetto", "--nodes", "--limit", "--timeout", "--ca-cert"},
    "demo": {"-d", "--duration", "-v", "--verbose", "--gpu", "--stack", "--stack=true"},
}
# What is refused for another reason than its name, and what the sentence says then.
TOGETHER = {("query", "--timeout=5s"): "'--timeout' belongs to a SELECT", ("demo", "--json"): "which demo"}
# Of its README, in order: the exit status, and what is printed. DB is a database that holds a demo.
LINES = [
    ("sudo ingero trace", NO_RIGHT, "sudo"),
    ("ingero explain --since 5m --db DB", 0, "HIGH"),
    ("ingero demo", 0, "incident"),
    ("ingero demo incident --speed 50", 0, "cudaStreamSync"),
    ("ingero demo --no-gpu", 0, "incident"),
    ("ingero demo --no-gpu incident --speed 50", 0, "cudaStreamSync"),
    ("ingero demo gpu-steal", REFUSED, "there are|not supported"),
    ("sudo ingero demo --gpu", REFUSED, "ingero trace -- PROGRAM"),
    ("ingero check --json", (0, 1), '"kernel"'),
    ("ingero check", (0, 1), "kernel"),
    ("sudo ingero trace --pid 4821", (NO_RIGHT,), "4821|sudo"),
    ("sudo ingero trace --pid 4821,5032", NO_RIGHT, "4821|sudo"),
    ("sudo ingero trace --user nobody", NO_RIGHT, ""),
    ("sudo ingero trace --record=false", NO_RIGHT, "sudo"),
    ("sudo ingero trace --duration 60s", NO_RIGHT, "sudo"),
    ("sudo ingero trace --json", NO_RIGHT, "sudo"),
    ("sudo ingero trace --verbose", REFUSED, "--json"),
    ("sudo ingero trace --stack=false", NO_RIGHT, "sudo"),
    ("sudo ingero trace --max-db 500m", NO_RIGHT, "sudo"),
    ("sudo ingero trace --max-db 0", NO_RIGHT, "sudo"),
    ("ingero trace --record", NO_RIGHT, "sudo"),
    ("ingero trace --db training-run-42.db --record", NO_RIGHT, "sudo"),
    ("sudo ingero trace --stack --duration 30s", NO_RIGHT, "sudo"),
    ("sudo ingero trace --stack --py-walker=ebpf --duration 30s", NO_RIGHT, "sudo"),
    ("sudo ingero trace --debug", NO_RIGHT, "sudo"),
    ("ingero explain --db DB", 0, "HIGH"),
    ("ingero explain -d DB", 0, "HIGH"),
    ("ingero explain --since 1h30m -d DB", 0, "HIGH"),
    ("ingero explain --last 100 -d DB", 0, ""),
    ("ingero explain --pid 4821,5032 -d DB", (0, NO_RIGHT), "4821"),
    ("ingero explain --chains -d DB", 0, "HIGH"),
    ("ingero explain --json -d DB", 0, '"severity":\\s*"HIGH"'),
    ("ingero explain --per-process -d DB", 0, "cudaStreamSync"),
    ("ingero explain --per-process --json -d DB", 0, '"op"'),
    ("ingero explain --from 15:40 --to 15:45 -d DB", (0, NO_RIGHT), ""),
    ("ingero query --since 1h -d DB", 0, "cuda"),
    ("ingero query --db DB --since 1h", 0, "cuda"),
    ("ingero query --since 30m --op cudaMemcpy --json -d DB", 0, ""),
    ("ingero query --nodes host1:8080,host2:8080 SELECT", REFUSED, "ssh NODE"),
    ("ingero export --format perfetto -d DB -o trace.json", REFUSED, "--format db"),
    ("ingero mcp", 0, ""),
    ("ingero dashboard", REFUSED, "trace"),
    ("ingero merge node-a.db node-b.db -o cluster.db", REFUSED, "export"),
    ("ingero version", 0, r"ingero \d"),
]


def main(build):
    check = kept.Checks()
    with tempfile.TemporaryDirectory(prefix="ingero-other-") as directory:
        os.chmod(directory, 0o777)
        database = os.path.join(directory, "demo.db")
        # as a user who has no rights, so that what would trace ends before it does, and with the status of that
        become = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.geteuid() == 0 else []
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SUDO_", "INGERO_"))}
        environment["HOME"] = directory
        program = os.path.join(build, "bin", "ingero")

        def run(*words):
            return subprocess.run([*become, program, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, env=environment,
                                  cwd=directory, timeout=120)

        made = run("demo", "cpu-contention", "--speed", "50", "--db", database)
        if not check("a database", made.returncode == 0, made.stderr):
            return 1
        for line, status, said in LINES:
            words = [database if word == "DB" else word for word in line.removeprefix("sudo ").split()[1:]]
            done = run(*words)
            statuses = status if isinstance(status, tuple) else (status,)
            check(line, done.returncode in statuses and re.search(said, done.stdout + done.stderr), done.returncode, done.stderr[-500:], done.stdout[-300:])

        for command, options in OPTIONS.items():
            for option in options.split():
                name, _, value = option.partition("=")
                words = [name, value] if value and value not in ("true", "false") else [option]
                words = [os.path.join(directory, word) if word == "x.db" else word for word in words]
                more = ["-o", os.path.join(directory, "out")] if command == "export" else []
                done = run(command, *more, *words)
                is_known = name in REFUSALS[command] or name.startswith("--inference")
                is_refused = option in REFUSALS[command] or (is_known and not option.endswith("=false"))
                label = f"{command} {option}"
                if (command, option) in TOGETHER and not is_refused:
                    check(label, "unknown" not in done.stderr and re.search(TOGETHER[command, option], done.stderr), done.returncode, done.stderr)
                elif is_refused:
                    said = re.match(r"ingero: '-.*' is not supported; .{10}", done.stderr)
                    check(f"{label}: refused by name", done.returncode == REFUSED and said, done.returncode, done.stderr)
                else:
                    check(f"{label}: understood", done.returncode != REFUSED, done.returncode, done.stderr)
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
