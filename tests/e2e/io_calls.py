#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
io_calls.py BUILD: `ingero io` counts every system call of a program, by process, call and file, as the program and strace(1) say; its
filters leave out the others; and a user hears of own processes alone.

Needs root (or it is skipped).
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import kept  # noqa: E402

READS, WRITES, OTHER = 100, 50, 12345
PYTHON = "/usr/bin/python3"
# argv: directory. Makes calls whose number it knows, in a child, too.
PROGRAM = f"""
import os, sys
os.chdir(sys.argv[1])
fd = os.open("data file", os.O_RDWR | os.O_CREAT)
for i in range({WRITES}):
    os.pwrite(fd, b"x" * 100, 100 * i)
for i in range({READS}):
    os.pread(fd, 64, i)
os.fsync(fd)
try:
    os.pread(fd, 64, -1)
except OSError:
    pass
if os.fork() == 0:
    os.pread(fd, 64, 0)
    os._exit(0)
os.wait()
os._exit(7)
"""
# The same as another user, until stdin ends.
WAITING = "import os, sys\nwhile os.read(0, 1):\n    os.pread(3, 1, 0)\n    os.write(1, b'x')\n"


class World:
    def __init__(self, check, build, directory):
        self.check, self.directory = check, directory
        self.program = os.path.join(build, "bin", "ingero")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("SUDO_", "INGERO_"))}

    def io(self, *words, status=0, **more):
        done = subprocess.run([self.program, "io", *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                              env=self.environment | more, timeout=120)
        self.check(f"ingero io {' '.join(words[:4])}: exit status", done.returncode == status, done.returncode, done.stderr[-400:])
        return done

    def lines(self, *words, status=0, **more):
        return [json.loads(line) for line in self.io("--json", *words, status=status, **more).stdout.splitlines()]

    def traced(self, *words):
        """Lines of a trace of the program."""
        return self.lines(*words, "--", PYTHON, "-c", PROGRAM, self.directory, status=7)


def summed(lines, path=None):
    """{call: sums} of the summary. path: of this file alone; the dynamic loader reads others"""
    sums = collections.defaultdict(collections.Counter)
    for row in lines[-1]["files" if path else "operations"]:
        if path and row["path"] != path:
            continue
        for name in ("count", "errors", "bytes", "total_ns"):
            sums[row["op"]][name] += row[name]
    return sums


def test_counts(world):
    lines = world.traced("--events")
    path = os.path.join(world.directory, "data file")
    check, sums = world.check, summed(lines, path)
    check("a start, at the end the summary", [lines[0]["type"], lines[-1]["type"]] == ["start", "summary"], lines[0])
    check("writes", (sums["pwrite64"]["count"], sums["pwrite64"]["bytes"]) == (WRITES, 100 * WRITES), sums["pwrite64"])
    check("reads, also of the child, and the failed one", (sums["pread64"]["count"], sums["pread64"]["errors"]) == (READS + 2, 1), sums["pread64"])
    check("their bytes", sums["pread64"]["bytes"] == 64 * (READS + 1), sums["pread64"])
    check("nothing is lost", not any(lines[-1]["lost"].values()), lines[-1]["lost"])
    files = [row for row in lines[-1]["files"] if row["op"] == "pread64" and row["path"] == path]
    check("by its file, in both processes", sorted(row["count"] for row in files) == [1, READS + 1], files)
    status = os.stat(path)
    check("device and inode are those of stat(2)", all((row["dev"], row["inode"]) == (f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}", status.st_ino)
                                                     for row in files), files)
    events = [line for line in lines if line["type"] == "event"]
    check("a line for each call", collections.Counter(e["op"] for e in events) == {op: row["count"] for op, row in summed(lines).items()})
    failed = [e for e in events if e["op"] == "pread64" and e["ret_code"] < 0]
    check("the failed one has its code", [e["ret_code"] for e in failed] == [-22] and failed[0]["path"] == path, failed)
    check("durations are the sums", sum(e["duration_ns"] for e in events) == sum(row["total_ns"] for row in summed(lines).values()))


def test_filters(world):
    path = os.path.join(world.directory, "data file")
    lines = world.traced("--call", "pread64,fsync")
    sums = summed(lines, path)
    world.check("--call", set(summed(lines)) == {"pread64", "fsync"} and sums["pread64"]["count"] == READS + 2, dict(sums))
    lines = world.traced("--path", "*/data f*")
    world.check("--path", {row["path"] for row in lines[-1]["files"]} == {path} and summed(lines)["pwrite64"]["count"] == WRITES, lines[-1]["files"][:3])
    world.check("--path of nothing", not world.traced("--path", "/absent/*")[-1]["operations"])
    world.check("--min-latency", not world.traced("--min-latency", "1h")[-1]["operations"])
    world.check("--comm of another", not world.traced("--comm", "bash")[-1]["operations"])
    name = os.path.basename(os.path.realpath(PYTHON))
    world.check("--comm", summed(world.traced("--comm", name))["pwrite64"]["count"] == WRITES or name != "python3")
    done = world.io("--call", "nonsense", "-d", "1s", status=1)
    world.check("an unknown call is named", "'nonsense'" in done.stderr, done.stderr)
    done = world.io("--", PYTHON, "-c", PROGRAM, world.directory, status=7)
    world.check("as a table", re.search(r"data file\s+pwrite64\s+50\s", done.stderr) and "nothing lost" in done.stderr, done.stderr)
    world.check("in 80 columns", all(len(line) <= 80 for line in done.stderr.splitlines()), done.stderr)


CALL = re.compile(r"^(\d+)\s+(\w+)\((.*)\)\s+= (-?\d+|0x[0-9a-f]+)\b")
ALIASES = {"stat": "newstat", "fstat": "newfstat", "lstat": "newlstat", "sendfile": "sendfile64"}


def strace_counts(path, known):
    """{(tid, call, has failed): number} of a file of strace -f"""
    counts, pending = collections.Counter(), {}
    for line in pathlib.Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
        begun = re.match(r"^(\d+)\s+(.*) <unfinished \.\.\.>$", line)
        if begun:
            pending[begun[1]] = begun[2]
            continue
        resumed = re.match(r"^(\d+)\s+<\.\.\. \w+ resumed>(.*)$", line)
        if resumed and resumed[1] in pending:
            line = f"{resumed[1]} {pending.pop(resumed[1])}{resumed[2]}"
        call = CALL.match(line)
        name = call and ALIASES.get(call[2], call[2])
        if name in known:
            counts[(int(call[1]), name, call[4] == "-1")] += 1
    return counts


def test_strace(world):
    """The same execution, seen by both."""
    known = set(re.findall(r"^IO_CALL(?:_X86)?\((\w+)", (HERE.parents[1] / "bpf/io_calls.def").read_text(encoding="utf-8"), re.M))
    text = os.path.join(world.directory, "strace.txt")
    if subprocess.run(["sh", "-c", "command -v strace"], capture_output=True, check=False).returncode:
        print("not compared with strace: it is not installed", file=sys.stderr)
        return
    lines = world.lines("--", "strace", "-f", "-o", text, "sh", "-c", f"cp -r {HERE} {world.directory}/copy && cat {world.directory}/copy/*.py | wc")
    theirs = strace_counts(text, known)
    pids = {pid for pid, _, _ in theirs}  # none of these programs has threads
    ours = collections.Counter()
    for row in lines[-1]["operations"]:
        if row["pid"] in pids:
            ours[row["pid"], row["op"], True] += row["errors"]
            ours[row["pid"], row["op"], False] += row["count"] - row["errors"]
    differ = {key: (theirs[key], ours[key]) for key in theirs.keys() | ours.keys() if theirs[key] != ours[key]}
    # strace's own child closes a descriptor before it executes the program.
    differ = {key: value for key, value in differ.items() if key[1:] != ("close", False) or value[1] - value[0] != 1}
    world.check("hundreds of calls", sum(theirs.values()) > 500, sum(theirs.values()))
    world.check("as many as strace sees, of each process and call", not differ, list(differ.items())[:8])


def waiting(world, uid):
    """A process of a user that makes calls whenever it is told to."""
    path = os.path.join(world.directory, "theirs")
    with open(path, "a", encoding="utf-8") as file:
        file.write("x")
    os.chmod(path, 0o644)
    code = "import os\nos.dup2(os.open(%r, os.O_RDONLY), 3)\n" % path + WAITING
    return subprocess.Popen(["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", PYTHON, "-c", code],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_scope(world):
    ours, others = kept.NOBODY, OTHER
    os.chmod(world.directory, 0o755)
    processes = {uid: waiting(world, uid) for uid in (ours, others)}
    sudo = {"SUDO_UID": str(ours), "SUDO_GID": str(ours)}

    def seen(*words, **more):
        trace = subprocess.Popen([world.program, "io", "--json", "--events", *words], stdout=subprocess.PIPE, text=True, env=world.environment | more)
        lines = [json.loads(trace.stdout.readline())]
        for process in processes.values():
            process.stdin.write(b"y" * 20)
            process.stdin.flush()
            process.stdout.read(20)
        trace.terminate()
        lines += [json.loads(line) for line in trace.communicate()[0].splitlines()]
        return {line["pid"] for line in lines if line["type"] == "event"} & {process.pid for process in processes.values()}

    try:
        world.check("a user sees own processes", seen(**sudo) == {processes[ours].pid})
        world.check("root sees all", seen("--all") == {process.pid for process in processes.values()})
        world.check("root names a process", seen("--pid", str(processes[others].pid)) == {processes[others].pid})
        world.check("root names a user", seen("--user", str(others)) == {processes[others].pid})
    finally:
        for process in processes.values():
            process.stdin.close()
            process.wait()


def main(build):
    if os.geteuid() != 0:
        kept.skip("traces system calls")
    check = kept.Checks()
    with tempfile.TemporaryDirectory(prefix="ingero-io-") as directory:
        world = World(check, build, os.path.realpath(directory))
        test_counts(world)
        test_filters(world)
        test_strace(world)
        test_scope(world)
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
