#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
tour.py BUILD: a stranger's tour. Every shell command and every SQL statement that README and docs show is run in the order of the
page, where it can be, and does what the text beside it says; every command named in a sentence exists, with its options.

A command without a row here fails, and so does a row without a command. Needs root, to trace.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "support"))
import ingero  # noqa: E402
import kept  # noqa: E402

OK, REPORT = (0,), (0, 1)  # a report of what is wrong ends with 1
# Command: exit statuses, what it says, what is typed in place of words that are examples.
RUN = {
    "build/bin/ingero check": (REPORT, "kernel.*database", {}),
    "sudo build/bin/ingero trace -- python3 train.py": (OK, r"cudaLaunchKernel.*every call counted.*ingero explain", {}),
    "sudo build/bin/ingero trace --pid 4711": (OK, "watched for.*cudaLaunchKernel", {"4711": "PID"}),
    "sudo build/bin/ingero trace --json --duration 30s": (OK, r'"type":\s*"start".*"type":\s*"summary"', {"30s": "1s"}),
    "build/bin/ingero help": (OK, "trace.*explain.*export", {}),
    "source <(build/bin/ingero completion bash)": (OK, "", {}),
    "build/bin/ingero explain": (OK, "calls", {}),
    "build/bin/ingero explain --from 14:00 --to 14:30": (REPORT, "14:00|14:30|calls|nothing", {}),
    "build/bin/ingero explain --db a.db --db b.db": (OK, "calls of 2 processes.*ffmpeg", {}),
    "build/bin/ingero explain --html report.html": (REPORT, "report.html", {}),
    "build/bin/ingero blame --since 10m": (OK, r"python.*\d+ % ", {}),
    "build/bin/ingero stacks": (OK, r"call sites? by time.*\.py:\d+ in ", {}),
    "build/bin/ingero stacks --format svg -o stacks.svg": (OK, "wrote the stacks .*'stacks.svg'", {}),
    "ingero stacks": (OK, r"call sites? by time.*\.py:\d+ in ", {}),
    "ingero stacks --op cudaMalloc --measure bytes": (OK, r"call sites? by bytes.*cudaMalloc|nobody called cudaMalloc", {}),
    "ingero stacks --format svg -o flame.svg": (OK, "wrote the stacks .*'flame.svg'", {}),
    "ingero stacks --format folded": (OK, r";.* \d+", {}),
    "ingero stacks --format speedscope -o stacks.json": (OK, "wrote the stacks", {}),
    "ingero stacks --format pprof -o stacks.pb.gz": (OK, "wrote the stacks", {}),
    "build/bin/ingero query --op cudaStreamSync --limit 20": (OK, "cudaStreamSync", {}),
    "build/bin/ingero query 'SELECT op_name, count, p99 FROM operations ORDER BY p99 DESC'": (OK, "op_name.*cudaLaunchKernel", {}),
    "build/bin/ingero export --format db -o mine.db": (OK, r"wrote [\d ]+ calls \(.*\) to 'mine.db'", {}),
    "build/bin/ingero compare 10m..5m 5m": ((0, 1, 3, 4), "A is empty|judge|slower|faster|same", {}),  # what was traced then is not known
    "sudo build/bin/ingero io -- PROGRAM": (OK, "system calls on files.*process call .*nothing lost", {"PROGRAM": "cat train.py"}),
    "sudo build/bin/ingero flame --format svg -o io.svg -- PROGRAM": (OK, "", {"PROGRAM": "cat train.py", "io.svg": "io-program.svg"}),
    "sudo ingero io": ((124,), "system calls on files", {"ingero io": "timeout -s INT 2 ingero io"}),
    "sudo ingero io -- make": (OK, "system calls on files.*process call .*nothing lost", {"make": "cat train.py"}),
    "sudo ingero io --pid 4711 -d 30s": (OK, "system calls on files", {"4711": "PID", "30s": "1s"}),
    "sudo ingero io --path '/data/*' --min-latency 10ms": (OK, "system calls on files", {"10ms": "10ms -d 1s"}),
    "sudo ingero io --json --events -- ./train.sh > calls.json": (OK, "", {"./train.sh": "cat train.py"}),
    "sudo ingero flame --by comm,path,op --weight bytes -- make > make.folded": (OK, "", {"make >": "cat train.py >"}),
    "sudo ingero flame -d 30s --format svg -o io.svg": (OK, "", {"30s": "1s"}),
    "build/bin/ingero demo cpu-contention": (OK, "HIGH.*This was a demo", {}),
    "ingero demo cpu-contention --db demo.db": (OK, "HIGH", {}),
    "ingero explain --db demo.db": (OK, r"[\d ]+ calls of 1 process · 1 HIGH.*cudaStreamSynchronize waited for the CPU.*python \(pid 4204711, root\).*behind ffmpeg"
                                        r".*renice -n 19 -p \$\(ls /proc/4208821/task\).*every call counted", {}),
    "ingero config show": (OK, "record:.*whom: auto", {}),
    "ingero config check FILE": (OK, "valid", {"FILE": "right.yaml"}),
    "sudo cmake --install build": (OK, "ingero-collectord", {}),
}
HERE_NOT = "no systemd here; tests/vm/payload/service does it under one"
NOT_RUN = {
    "ingero mcp --print-config ollmcp --db trace.db > ingero-mcp.json": "e2e.mcp_editors prints it, and starts what it says",
    "ollmcp -m MODEL -j ingero-mcp.json": "another program, and a model",
    'curl --cacert ~/.ingero/mcp-cert.pem https://127.0.0.1:8080/mcp -H "Authorization: Bearer $(cat ~/.ingero/mcp-token)" '
    '-H "Content-Type: application/json" -d \'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "explain", "arguments": {}}}\'':
        "e2e.mcp_http types it from the page",
    "sudo ./dev run": "builds what this test is part of; e2e.see_owner runs what follows",
    "sudo ./dev test": "it is what runs this",
    "cmake --preset release": "the build that this test belongs to was made so",
    "cmake --build build": "the same",
    "sudo systemd-sysusers": HERE_NOT,
    "sudo systemd-tmpfiles --create": HERE_NOT,
    "sudo systemctl daemon-reload": HERE_NOT,
    "sudo systemctl enable --now ingero-collectord": HERE_NOT,
    "sudo systemctl enable --now ingero-collectord.socket": HERE_NOT,
    "sudo systemctl enable --now ingero-mcp": "no systemd here; e2e.install reads the unit, e2e.mcp_http is what it starts",
    "sudo ingero-collectord --foreground": "it takes the machine's own socket; e2e.service_users starts it with another",
}
# What is named in a sentence for another reason than to be typed.
NAMES = {"ingero-collectord", "ingero-cli", "ingero-mcp", "ingero-read", "ingero-generator"}
BUILTINS = {"source"}


def pages():
    return [TOP / "README.md", *sorted((TOP / "docs").rglob("*.md"))]


def blocks(text):
    for found in re.finditer(r"^```[a-z]*\n(.*?)^```$", text, re.M | re.S):
        yield re.sub(r"\\\n\s*", "", found.group(1)).splitlines()  # a line may go on in the next


def is_command(line, path):
    words = line.split()
    while words and words[0] in ("sudo", "$"):
        words.pop(0)
    return bool(words) and (words[0] in BUILTINS or words[0].startswith(("./", "build/bin/")) or shutil.which(words[0], path=path) is not None)


def commands(text, path):
    """Of all blocks: what is behind a prompt, or every line of a block that begins with a command."""
    for lines in blocks(text):
        prompted = [line[2:] for line in lines if line.startswith("$ ")]
        if not prompted and not is_command(lines[0], path):
            continue
        for line in prompted or filter(str.strip, lines):
            line = re.sub(r"\s+#.*$", "", line).strip()
            yield from line.split(" && ")


def named(text):
    """Commands in sentences: words in `...`, over line ends, too."""
    for found in re.finditer(r"`((?:sudo )?(?:build/bin/)?(?:ingero|\./dev)(?: [^`]*)?)`", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)):
        yield " ".join(found.group(1).split())


def test_named(check, page, commands_known, dev_help):
    """That it exists; with what it is given is an example."""
    text = page.read_text(encoding="utf-8")
    for line in named(text):
        words = line.replace("…", "...").replace("'", " ").removeprefix("sudo ").split()
        name = f"{page.name}: `{line}`"
        if len(words) == 1 or words[0] in NAMES:
            continue
        if words[0] == "./dev":
            check(f"{name} exists", re.search(rf"^  {re.escape(words[1])}\b", dev_help, re.M))
            continue
        command = commands_known.get(words[1])
        if not check(f"{name} exists", command):
            continue
        for word in words[2:]:
            if word == "--":
                break
            if word.startswith("--"):
                check(f"{name} knows {word}", word[2:].split("=")[0] in {option["name"] for option in command["options"]} | {"help"})


class Tour:
    def __init__(self, check, build, directory):
        self.check, self.directory = check, directory
        self.programs = ingero.Programs(build)
        environment = self.programs.environment(directory)
        del environment["INGERO_DB"]  # a stranger has none
        environment |= {"PATH": f"{self.programs.build}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "COLUMNS": "80",
                        "INGERO_STANDIN_QUIET": "1", "DESTDIR": os.path.join(directory, "root")}
        self.environment = environment
        os.symlink(self.programs.build, os.path.join(directory, "build"))
        shutil.copyfile(TOP / "tests" / "workloads" / "cudaload.py", os.path.join(directory, "load.py"))
        pathlib.Path(directory, "train.py").write_text(
            f"import runpy, sys\nsys.argv[1:] = ['--libraries', {os.path.join(self.programs.build, 'standins')!r}, '--seconds', '2', '--rate', '200']\n"
            "runpy.run_path('load.py', run_name='__main__')\n", encoding="utf-8")
        pathlib.Path(directory, "right.yaml").write_text("record:\n  whom: nobody\n", encoding="utf-8")

        for name, demo in (("a.db", "cold-start"), ("b.db", "cpu-contention")):
            self.run(f"ingero demo {demo} --speed 1000 --db {name}", {})

    def run(self, command, places):
        """As it stands, in a shell: root is here already."""
        job = None
        for word, by in places.items():
            if by == "PID":
                # as long as a trace takes to begin, on a busy machine too
                job = subprocess.Popen(["sh", "-c", "read go; for i in 1 2 3 4 5 6; do python3 train.py; done"], cwd=self.directory, env=self.environment,
                                       stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
                by = str(job.pid)
            command = command.replace(word, by)
        shell = command.removeprefix("sudo ") + (" && complete -p ingero >/dev/null" if command.startswith("source") else "")
        process = subprocess.Popen(["bash", "-c", shell], cwd=self.directory, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        if job:
            job.stdin.write(b"\n")
            job.stdin.close()
        said, _ = process.communicate(timeout=240)
        if job:
            job.wait()
        return process.returncode, said

    def visit(self, page, command):
        statuses, wanted, places = RUN[command]
        status, said = self.run(command, places)
        flat = " ".join(said.split())
        self.check(f"{page.name}: {command}", status in statuses and re.search(wanted, flat), status, said[-1500:])


def statements(text):
    """Indented SQL of a page."""
    for found in re.finditer(r"(?:^    .+\n)+", text, re.M):
        if found.group().lstrip().startswith(("SELECT", "WITH")):
            yield " ".join(found.group().split()).rstrip(";")


def main(build):
    if os.geteuid() != 0:
        kept.skip("tracing needs root")
    check = kept.Checks()
    with tempfile.TemporaryDirectory(prefix="ingero-tour-") as directory:
        tour = Tour(check, build, directory)
        told = subprocess.run([tour.programs.path("ingero"), "help", "--json"], capture_output=True, text=True, check=True).stdout
        commands_known = {command["name"]: command for command in json.loads(told)["commands"]}
        dev_help = subprocess.run([TOP / "dev", "help"], capture_output=True, text=True, check=True).stdout
        met = set()
        for page in pages():
            text = page.read_text(encoding="utf-8")
            test_named(check, page, commands_known, dev_help)
            for command in commands(text, tour.environment["PATH"]):
                if command in NOT_RUN:
                    met.add(command)
                elif check(f"{page.name}: {command}: has a row here", command in RUN) and command not in met:
                    met.add(command)
                    tour.visit(page, command)
            for statement in statements(text):
                status, said = tour.run(shlex.join(["ingero", "query", "--db", "demo.db", statement]), {})
                check(f"{page.name}: {statement}", status == 0, said[-500:])
        for command in [*RUN, *NOT_RUN]:
            check(f"{command} is shown somewhere", command in met)
        print(f"{len(met)} commands, {sum(command in RUN for command in met)} run, {len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
