# SPDX-License-Identifier: Apache-2.0
"""
What goes on for 20 s is on the live screen within 2 s of its beginning, with its resource, and grows there: goes_on.py BUILD.

A wait for a loader's pipe and one for a child process, both between two calls, and a call. The programs say when each begins.
"""
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import ingero  # noqa: E402
import kept  # noqa: E402
from cli_screen import Terminal  # noqa: E402

S = 1_000_000_000
ROWS, COLUMNS = 30, 120
LATE_S = 2
ROUNDED_S = 0.1
# Longer than the figures of the screen reach back.
WATCHED_S = 12
LENGTH = r"(?P<length>[\d.]+) (?P<unit>ms|s)"


def loop(programs, loses):
    return [sys.executable, "-S", str(HERE.parent / "workloads" / "between.py"), "--libraries", os.path.dirname(programs.library("libcudart.so.12")),
            "--loses", loses, "--seconds", "3600", "--wait-ms", "20", "--then-ms", "20000"]


def pipes_of(pid):
    links = (os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd"))
    return {link for link in links if link.startswith("pipe:")}


def is_loader(pid, found):
    return int(found["by"]) in ingero.children(pid) and found["name"] in pipes_of(pid)


def is_child(pid, found):
    return int(found["name"]) in ingero.children(pid)


# What makes it, what the screen shows before it begins, its line, and whether the line names the right one.
CASES = {
    "loader": (lambda programs: loop(programs, "loader"), "cudaStreamSync",
               rf"^between calls: waits {LENGTH} so far for a pipe from \S+ \((?P<by>\d+)\): (?P<name>pipe:\[\d+\])(?:, at \S+ in \S+)?$", is_loader),
    "child": (lambda programs: loop(programs, "child"), "cudaStreamSync",
              rf"^between calls: waits {LENGTH} so far for a child process: (?P<name>\d+)(?:, at \S+ in \S+)?$", is_child),
    "call": (lambda programs: [programs.path("stuck"), "--wait-for-stdin", "--duration", "20s"], "waiting for the first CUDA call",
             rf"^▲ in progress for {LENGTH} .*: cu(da)?StreamSync.*, stuck \d+, thread (?P<name>\d+)$", lambda pid, found: int(found["name"]) == pid),
}


class Shown:
    """The line in each frame of a screen: its length, and when it came."""

    def __init__(self, line, process):
        self.line = re.compile(line)
        self.process = process
        self.said = b""
        self.frames = 0
        self.lengths = []
        self.at_ns = []
        self.found = None
        os.set_blocking(process.stdout.fileno(), False)

    def starts_ns(self):
        """When the program said that it begins: the last is the one that goes on."""
        self.said += self.process.stdout.read() or b""
        return [int(line.split()[-1]) for line in self.said.splitlines() if line.startswith((b"waits ", b"inside "))]

    def is_over(self):
        starts = self.starts_ns()
        return b"outside " in self.said or (starts and starts[-1] - starts[0] > WATCHED_S * S)

    def look(self, screen):
        """Whether it has been watched for long enough, or is over."""
        if screen.frames == self.frames:
            return False
        self.frames = screen.frames
        found = next(filter(None, map(self.line.match, screen.shown())), None)
        if found:
            self.found = found
            self.lengths.append(float(found["length"]) / (1000 if found["unit"] == "ms" else 1))
            self.at_ns.append(time.monotonic_ns())
        return self.is_over() or (found and self.lengths[-1] >= WATCHED_S)


def look(check, place, name):
    command, before, line, is_right = CASES[name]
    environment = {**place.environment, "TERM": "xterm"}
    with subprocess.Popen(command(place.programs), env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        shown = Shown(line, process)
        try:
            with Terminal([place.programs.path("ingero"), "trace", "--pid", str(process.pid)], environment, ROWS, COLUMNS) as terminal:
                terminal.until(lambda screen: any(before in text for text in screen.shown()), before)
                process.stdin.write(b"\n")
                process.stdin.flush()
                terminal.until(shown.look, line)
                start_ns = shown.starts_ns()[-1]
                if not check(f"{name}: it is shown while it goes on", not shown.is_over(), "\n".join(terminal.screen.shown())):
                    return
                check(f"{name}: the line names the right one", is_right(process.pid, shown.found), shown.found[0])
                terminal.type("q")
                check(f"{name}: the trace ends well", terminal.wait() == 0, terminal.screen.normal)
        finally:
            process.kill()
    lived = [(at_ns - start_ns) / S for at_ns in shown.at_ns]
    print(f"{name}: shown {lived[0]:.2f} s after its beginning, as {shown.lengths[0]} s: {shown.found[0]}")
    check(f"{name}: shown within {LATE_S} s", 0 < lived[0] <= LATE_S, lived, shown.lengths)
    check(f"{name}: it grows", shown.lengths == sorted(shown.lengths), shown.lengths)
    check(f"{name}: as long as it is", all(-ROUNDED_S <= real - length <= LATE_S for real, length in zip(lived, shown.lengths)), lived, shown.lengths)
    check(f"{name}: in each frame", all(after - before <= LATE_S for before, after in zip(lived, lived[1:])), lived)


def main(build):
    if os.geteuid() != 0:
        kept.skip("capture needs root")
    check = kept.Checks()
    with kept.Kept(build) as place:
        for name in CASES:
            look(check, place, name)
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
