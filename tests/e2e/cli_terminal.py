#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
cli_terminal.py BUILD: `ingero trace` on a terminal, in a pipe and around a program, with
real probes on a stand-in for CUDA: what users do to it, and what they find afterwards.

Needs root (or it is skipped). Waits for what is to be seen, never for a time.
"""
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import ingero  # noqa: E402
from cli_screen import Terminal, Unexpected, columns_of  # noqa: E402

VALIDATE = str(pathlib.Path(__file__).parent / "validate_json.py")
BUILD = pathlib.Path(sys.argv[1]).resolve()
INGERO = str(BUILD / "bin" / "ingero")
WORKLOAD = str(BUILD / "workloads" / "cudaload")
UTF8 = "C.UTF-8"


def environment(home, **changes):
    own = {"HOME": home, "TERM": "xterm", "LC_ALL": UTF8, "PATH": os.environ["PATH"]}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
        if name in os.environ:
            own[name] = os.environ[name]
    own.update(changes)
    return {name: value for name, value in own.items() if value is not None}


def expect(condition, what, *shown):
    if not condition:
        raise Unexpected(what + "".join(f"\n{text}" for text in shown))


NOBODY = {"SUDO_UID": "65534", "SUDO_GID": "65534"}  # asks for a user who runs nothing


class Workload:
    """A process that makes CUDA calls for as long as the context lasts. Tests trace it alone: others may run, too."""

    def __enter__(self):
        self.process = subprocess.Popen([WORKLOAD, "--duration", "3600s", "--rate", "5000"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def options(self):
        return ["--pid", str(self.process.pid)]

    def _waits(self):
        """Times that its threads gave up the CPU: they do between two calls, which are paced."""
        waits = 0
        for path in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/status"):
            waits += sum(int(line.split()[1]) for line in path.read_text(encoding="ascii").splitlines()
                         if line.startswith("voluntary_ctxt_switches"))
        return waits

    def goes_on(self, calls=100):
        """Returns when it has made about so many calls more: for when nothing on the terminal tells."""
        end = self._waits() + calls
        while self._waits() < end:
            expect(self.process.poll() is None, "the workload ended")


def live(home, options, rows=24, columns=80, stdin=None, **changes):
    return Terminal([INGERO, "trace", *options], environment(home, **changes), rows, columns, stdin=stdin)


def has_table(screen):
    return any("cudaLaunchKernel" in line for line in screen.shown())


def restored(terminal, what):
    screen = terminal.screen
    expect(terminal.modes_are_restored(), f"{what}: the terminal's modes are not as before")
    expect(not screen.is_alternate, f"{what}: still on the alternate screen")
    expect(not screen.cursor_hidden, f"{what}: the cursor is still hidden")


def ended_with_summary(terminal, what):
    restored(terminal, what)
    # beside a finding without a remedy there is no "what it means"
    expect("watched for" in terminal.screen.normal and "cudaLaunchKernel" in terminal.screen.normal,
           f"{what}: no summary on the normal screen", terminal.screen.normal)


def ends(home, what, end):
    """However a user ends it: status 0, summary on the normal screen, terminal as before."""
    with Workload() as workload, live(home, workload.options()) as terminal:
        terminal.until(has_table, "the table")
        end(terminal)
        expect(terminal.wait() == 0, f"{what}: exit status {terminal.status}", terminal.screen.normal)
        ended_with_summary(terminal, what)


def test_q(home):
    ends(home, "q", lambda terminal: terminal.type("q"))


def test_ctrl_c(home):
    ends(home, "Ctrl-C", lambda terminal: terminal.type("\x03"))


def test_sigterm(home):
    ends(home, "SIGTERM", lambda terminal: os.kill(terminal.pid, signal.SIGTERM))


def cpu_seconds(pid):
    """Of the process itself, without the daemon, which is a child."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def waits_without_keys(home):
    """A screen without a keyboard: what is always readable and never says anything costs no CPU."""
    ended, writer = os.pipe()
    os.close(writer)
    for what, stdin in (("/dev/null", os.open("/dev/null", os.O_RDONLY)), ("a pipe that ended", ended)):
        with live(home, [], stdin=stdin, **NOBODY) as terminal:
            terminal.until(lambda screen: screen.frames >= 1, "the first frame")
            spent = cpu_seconds(terminal.pid)
            terminal.until(lambda screen: screen.frames >= 4, "three seconds more, one frame each")
            spent = cpu_seconds(terminal.pid) - spent
            terminal.type("\x03")
            expect(terminal.wait() == 0, f"{what}: exit status {terminal.status}")
            restored(terminal, what)
            expect(spent < 0.3, f"with {what} as stdin it took {spent:.2f} s of CPU to show three frames")
        os.close(stdin)


def test_waiting(home):
    """Nothing to trace: says what it waits for; afterwards that no process made a call."""
    with live(home, [], **NOBODY) as terminal:
        terminal.until(lambda screen: any(line.startswith("waiting for") for line in screen.shown()), "what it waits for")
        expect("of nobody" in "\n".join(terminal.screen.shown()), "does not say whose processes", *terminal.screen.shown())
        terminal.type("q")
        expect(terminal.wait() == 0, f"exit status {terminal.status}")
        expect("No CUDA calls" in terminal.screen.normal, "no last line", terminal.screen.normal)
        restored(terminal, "waiting")
    waits_without_keys(home)


def test_resize(home):
    """Every size is filled and none overflown (the screen fails on what is beyond its edges)."""
    with Workload() as workload, live(home, workload.options(), 24, 130) as terminal:
        terminal.until(lambda screen: has_table(screen) and any(" p95 " in line for line in screen.shown()), "all columns")
        for rows, columns in ((12, 60), (24, 80), (50, 200), (10, 40)):
            frames = terminal.screen.frames
            terminal.resize(rows, columns)
            # one frame may have been on its way for the old size: its place is then overwritten by the next
            terminal.screen.rows, terminal.screen.columns = 1000, 1000
            terminal.until(lambda screen, seen=frames: screen.frames >= seen + 2, "frames after the resize")
            terminal.screen.rows, terminal.screen.columns = rows, columns
            terminal.screen.lines = {}
            frames = terminal.screen.frames
            terminal.until(lambda screen, seen=frames: screen.frames > seen, "a frame at the new size")
            for line in terminal.screen.shown():
                expect(columns_of(line) <= columns, f"wider than {columns} columns", line)
        terminal.type("q")
        expect(terminal.wait() == 0, f"exit status {terminal.status}")


def test_colours(home):
    for changes, has_tones in (({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True)):
        with Workload() as workload, live(home, workload.options(), **changes) as terminal:
            terminal.until(has_table, "the table")
            terminal.type("q")
            expect(terminal.wait() == 0, f"exit status {terminal.status}")
            tones = terminal.screen.tones - {"0"}
            expect(bool(tones) == has_tones, f"with {changes} the tones are {tones}")
    with Workload() as workload, live(home, ["--no-color", *workload.options()]) as terminal:
        terminal.until(has_table, "the table")
        terminal.type("q")
        terminal.wait()
        expect(not terminal.screen.tones - {"0"}, f"--no-color: the tones are {terminal.screen.tones}")


def test_ascii(home):
    """A terminal without UTF-8; and one whose locale is not installed here, which has it."""
    for locale, is_ascii in (("C", True), ("xx_XX.UTF-8", False)):
        with Workload() as workload, live(home, workload.options(), LC_ALL=locale) as terminal:
            terminal.until(has_table, "the table")
            terminal.type("q")
            expect(terminal.wait() == 0, f"exit status {terminal.status}")
            expect(terminal.raw.isascii() == is_ascii, f"with {locale}: {terminal.raw[:400]!r}")


def test_dumb(home):
    """TERM=dumb: plain lines and no control sequence, on a terminal all the same."""
    with Workload() as workload, live(home, workload.options(), TERM="dumb") as terminal:
        terminal.until(lambda screen: "libcudart.so.12" in screen.normal, "the library's line")
        workload.goes_on()
        terminal.type("\x03")
        expect(terminal.wait() == 0, f"exit status {terminal.status}")
        expect(b"\x1b" not in terminal.raw, f"control sequences: {terminal.raw[:400]!r}")
        ended_with_summary(terminal, "dumb")


def test_suspend(home):
    """Ctrl-Z gives the terminal back to the shell, and continuing borrows it again."""
    with Workload() as workload, live(home, workload.options()) as terminal:
        terminal.until(has_table, "the table")
        terminal.type("\x1a")
        terminal.until(lambda screen: not screen.is_alternate, "the normal screen")
        os.waitpid(terminal.pid, os.WUNTRACED)
        restored(terminal, "stopped")
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.until(lambda screen: screen.is_alternate and has_table(screen), "the live screen again")
        terminal.type("q")
        expect(terminal.wait() == 0, f"exit status {terminal.status}")
        ended_with_summary(terminal, "continued")


def child_named(pid, name):
    child = ingero.child_named(pid, name)
    expect(child, f"process {pid} has no child '{name}'")
    return child


def test_daemon_dies(home):
    """The terminal comes back, what is known is shown, and the status says that it failed."""
    with Workload() as workload, live(home, workload.options()) as terminal:
        terminal.until(has_table, "the table")
        os.kill(child_named(terminal.pid, "ingero-collecto"), signal.SIGKILL)
        expect(terminal.wait() == 1, f"exit status {terminal.status}", terminal.screen.normal)
        ended_with_summary(terminal, "daemon killed")
        expect("ingero: " in terminal.screen.normal, "no sentence says why", terminal.screen.normal)


def test_pipe(home):
    """Not a terminal: plain lines, no control sequences."""
    with Workload() as workload:
        run = subprocess.Popen([INGERO, "trace", *workload.options()], env=environment(home), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        seen = b""
        while b"libcudart.so.12" not in seen:
            seen += os.read(run.stdout.fileno(), 65536)
        run.send_signal(signal.SIGINT)
        seen += run.stdout.read()
        expect(run.wait() == 0, f"exit status {run.returncode}")
        expect(b"\x1b" not in seen, f"control sequences: {seen[:400]!r}")
        expect(b"watching processes from pid" in seen and b"what it means" in seen, "no header or no summary", seen.decode())


PROGRESS = re.compile(r"^(ingero  )?\d\d:\d\d:\d\d  (.*)$", re.M)


def progress_of(text):
    return [found.group(2) for found in PROGRESS.finditer(text)]


def until_progress(fd, number):
    """What comes until there are so many progress lines."""
    seen = b""
    while len(progress_of(seen.decode(errors="replace"))) < number:
        data = os.read(fd, 65536)
        expect(data, f"ended before there were {number} progress lines", seen.decode(errors="replace"))
        seen += data
    return seen


def test_progress(home):
    """Not a terminal, or one that takes no screen: a line every interval, the default being 10 s."""
    with Workload() as workload:
        run = subprocess.Popen([INGERO, "trace", *workload.options()], env=environment(home), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        seen = until_progress(run.stdout.fileno(), 1)
        run.send_signal(signal.SIGINT)
        seen += run.stdout.read()
        expect(run.wait() == 0, f"exit status {run.returncode}")
        line = progress_of(seen.decode())[0]
        expect(line.startswith(f"cudaload {workload.process.pid}  calls ") and "/s" in line and " %  " in line, "not what was seen", line)
        with live(home, ["--interval", "1s", *workload.options()], TERM="dumb") as terminal:
            terminal.until(lambda screen: len(progress_of(screen.normal)) >= 2, "two lines")
            terminal.type("\x03")
            expect(terminal.wait() == 0, f"exit status {terminal.status}")
            expect(b"\x1b" not in terminal.raw, f"control sequences: {terminal.raw[:400]!r}")


def test_progress_idle(home):
    """What does nothing is told once, and again by the heartbeat."""
    run = subprocess.Popen([INGERO, "trace", "--interval", "1s", "--heartbeat", "3s"], env=environment(home, **NOBODY), stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE)
    seen = until_progress(run.stdout.fileno(), 3)
    run.send_signal(signal.SIGINT)
    expect(run.wait() == 0, f"exit status {run.returncode}")
    run.stdout.close()
    said = [float(line.rpartition(" ")[0].rpartition(" ")[2]) for line in progress_of(seen.decode()) if line.startswith("no calls yet, after ")]
    expect(len(said) == 3 and said[1] - said[0] > 2 and said[2] - said[1] > 2, "not by the heartbeat", seen.decode())


def rendered(text, columns):
    """Lines as a terminal shows them: what is wider goes on in the next, and the last column waits for one more."""
    lines, column = [""], 0
    for c in text.replace("\r\n", "\n"):
        if c == "\n":
            lines.append("")
            column = 0
        elif c == "\r":
            column = 0
        else:
            if column == columns:
                lines.append("")
                column = 0
            line = lines[-1].ljust(column)
            lines[-1] = line[:column] + c + line[column + 1:]
            column += 1
    return [line.rstrip() for line in lines]


def test_progress_beside_program(home):
    """A program that has begun a line keeps it whole: progress has lines of its own, on stderr, while the program runs."""
    script = f"printf 'half a line'; exec {WORKLOAD} --duration 3600s --rate 5000 2>/dev/null"
    with Terminal([INGERO, "trace", "--interval", "1s", "--", "sh", "-c", script], environment(home)) as terminal:
        terminal.until(lambda screen: sum("ingero  " in line and "calls " in line for line in screen.normal.splitlines()) >= 3, "three lines")
        shown = rendered(terminal.screen.normal, 80)
        expect("half a line" in shown, "the program's own line is torn", *shown)
        expect(sum(line.startswith("ingero  ") for line in shown) >= 3, "lines that do not begin where lines begin", *shown)
        expect("" not in shown[shown.index("half a line"):-1], "lines without anything", *shown)
        terminal.type("\x03")
        terminal.wait()
        expect("what it means" in terminal.screen.normal, "no summary", terminal.screen.normal)
    run = subprocess.Popen([INGERO, "trace", "--interval", "1s", "--", WORKLOAD, "--duration", "3600s", "--rate", "5000"], env=environment(home),
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    seen = until_progress(run.stderr.fileno(), 2)
    run.send_signal(signal.SIGINT)
    out = run.stdout.read()
    seen += run.stderr.read()
    run.wait()
    expect(not progress_of(out.decode()), "progress among the program's output", out.decode())
    expect(b"\r" not in seen and b"\x1b" not in seen, f"made for a terminal: {seen!r}")


def test_live_finding(home):
    """What was found is on the live screen while it goes on."""
    with Terminal([INGERO, "demo", "cpu-contention", "--speed", "2"], environment(home)) as terminal:
        terminal.until(lambda screen: any(line.startswith(("▲ MEDIUM", "▲ HIGH")) for line in screen.shown()) or "played for" in screen.normal,
                       "a finding or the end")
        expect("played for" not in terminal.screen.normal, "the demo was over before its finding was shown")


def test_sudo_pid(home):
    """Under sudo a named process of any owner is traced, and its recording shown."""
    with Workload() as workload:
        os.chown(home, int(NOBODY["SUDO_UID"]), int(NOBODY["SUDO_GID"]))
        run = subprocess.Popen([INGERO, "trace", "--interval", "1s", "--db", f"{home}/own.db", *workload.options()],
                               env=environment(home, **NOBODY), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        seen = until_progress(run.stdout.fileno(), 1)
        run.send_signal(signal.SIGINT)
        seen += run.stdout.read()
        expect(run.wait() == 0, f"exit status {run.returncode}")
        expect(f"cudaload {workload.process.pid} of root" in seen.decode(), "not traced", seen.decode())
        said = seen.decode()
        expect(f"'ingero explain --db {home}/own.db'" in " ".join(said.split()), "no command that shows what was kept", said)
        kept = subprocess.run([INGERO, "explain", "--db", f"{home}/own.db", "--json"], env=environment(home, **NOBODY), stdin=subprocess.DEVNULL,
                              capture_output=True, check=False)
        expect(str(workload.process.pid) in kept.stdout.decode(), "that command does not show it", kept.stdout.decode(), kept.stderr.decode())
    gone = subprocess.run([INGERO, "trace", "--pid", str(workload.process.pid)], env=environment(home, **NOBODY), stdin=subprocess.DEVNULL,
                          capture_output=True, check=False)
    expect(gone.returncode == 1 and f"there is no process {workload.process.pid}" in gone.stderr.decode(), "a process that is gone", gone.stderr.decode())


LEFT_OUT = re.compile(r"(?<!\d)([1-9]\d*) CUDA process(es)? of root(?: [^.]*)? (is|are) not shown: '--all'")


def test_sudo_left_out(home):
    """Under sudo only the caller's own are shown: how many others there are, whose, and the option that shows them."""
    def is_told(text):
        found = LEFT_OUT.search(" ".join(text.split()))
        return bool(found) and (found.group(2, 3) == ((None, "is") if found.group(1) == "1" else ("es", "are")))

    with Workload():
        for options, want in (([], True), (["--all"], False)):
            run = subprocess.Popen([INGERO, "trace", *options], env=environment(home, **NOBODY), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            seen = b""
            while b"ends with the summary" not in b" ".join(seen.split()):
                seen += os.read(run.stdout.fileno(), 65536)
            run.send_signal(signal.SIGINT)
            seen += run.stdout.read()
            run.wait()
            expect(is_told(seen.decode()) == want, f"trace {options}", seen.decode())
            said = subprocess.run([INGERO, "status", *options], env=environment(home, **NOBODY), stdin=subprocess.DEVNULL, capture_output=True,
                                  check=False).stdout.decode()
            expect(is_told(said) == want, f"status {options}", said)
        with live(home, [], **NOBODY) as terminal:
            terminal.until(lambda screen: is_told("\n".join(screen.shown())), "who is left out")
            terminal.type("q")
            terminal.wait()


def test_closed_pipe(home):
    """`| head -1`: ends quietly, as SIGPIPE would end it, without waiting for the next line."""
    for options in (["--json"], []):
        run = subprocess.Popen([INGERO, "trace", *options], env=environment(home, **NOBODY), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        seen = b""
        while b"\n" not in seen:
            seen += os.read(run.stdout.fileno(), 65536)
        run.stdout.close()  # nothing is traced: no further line would ever be written
        error = run.stderr.read()
        expect(run.wait() == -signal.SIGPIPE, f"exit status {run.returncode}", error.decode())
        expect(error == b"", f"stderr: {error!r}")


def test_stuck_pipe(home):
    """A reader that does not read: one signal asks for the summary, a further one ends ingero all the same."""
    with Workload() as workload:
        reader, writer = os.pipe()
        run = subprocess.Popen([INGERO, "trace", "--json", "--record-all", *workload.options()], env=environment(home), stdin=subprocess.DEVNULL,
                               stdout=writer, stderr=subprocess.PIPE)
        full = select.poll()
        full.register(writer, select.POLLOUT)
        while full.poll(0):  # there is no event for "full"
            os.sched_yield()
        while run.poll() is None:  # two that come together are one
            run.send_signal(signal.SIGTERM)
            os.sched_yield()
        error = run.stderr.read()
        expect(run.wait() == 130, f"exit status {run.returncode}", error.decode())
        os.close(reader)
        os.close(writer)


def test_json(home):
    """Every line is valid, the summary is last, and counts are the program's own."""
    with tempfile.TemporaryDirectory() as directory:
        report = os.path.join(directory, "report")
        done = subprocess.run([INGERO, "trace", "--json", "--record-all", "--", WORKLOAD, "--calls", "101", "--threads", "2",
                               "--report", report], env=environment(home), stdin=subprocess.DEVNULL, capture_output=True,
                              check=False)
        expect(done.returncode == 0, f"exit status {done.returncode}", done.stderr.decode())
        valid = subprocess.run([sys.executable, VALIDATE], input=done.stdout, capture_output=True, check=False)
        if valid.returncode != 77:
            expect(valid.returncode == 0, "lines that are not valid", valid.stderr.decode())
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        expect([lines[0]["type"], lines[-1]["type"]] == ["start", "summary"], "start is not first or summary not last")
        seconds = [line for line in lines if line["type"] == "figures"]
        expect(seconds and all(a["to"] == b["from"] for a, b in zip(seconds, seconds[1:])), "seconds are not end to end")
        for row in lines[-1]["operations"]:
            told = [one for line in seconds for one in line["operations"] if (one["pid"], one["op"], one["exec_generation"]) ==
                    (row["pid"], row["op"], row["exec_generation"])]
            for key in ("count", "errors", "bytes", "total_ns", "total_raw_ns", "abandoned", "untimed"):
                expect(sum(one[key] for one in told) == row[key], f"seconds do not add up: {key} of {row}", told)
        made = sum(row["count"] for row in lines[-1]["operations"] if row["source"] == "cuda")
        expect(made >= 202, f"{made} calls counted, 202 made in the loop alone", done.stdout[-3000:].decode())
        events = sum(line["type"] == "event" and line["source"] == "cuda" for line in lines)
        lost = sum(lines[-1]["lost"].values())
        expect(events == made or lost, f"{events} single calls of {made} shown, nothing lost")


def test_pid_ends(home):
    """A trace of processes ends with the last of them and of their children, and all their calls are in its summary."""
    load = [WORKLOAD, "--wait-for-stdin", "--calls", "101", "--threads", "2"]
    rows = (
        ("a process", load, ""),
        ("one whose child goes on without it", ["sh", "-c", 'exec 3<&0; read x; "$@" <&3 & exit 0', "sh", *load], "begin\n"),
    )
    for name, command, begin in rows:
        with subprocess.Popen(command, env=environment(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            begin or process.stdout.readline()
            trace = subprocess.Popen([INGERO, "trace", "--json", "--pid", str(process.pid)], env=environment(home),
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            lines = [json.loads(trace.stdout.readline())]
            process.stdin.write(begin)
            process.stdin.flush()
            while begin and sum(line["type"] == "library" for line in lines) < 2:
                lines.append(json.loads(trace.stdout.readline()))
            process.stdin.write("\n")
            process.stdin.close()
            while lines[-1]["type"] != "summary":
                lines.append(json.loads(trace.stdout.readline()))
            if trace.poll() is None:
                trace.send_signal(signal.SIGINT)  # Ctrl-C that comes too late takes nothing back
            trace.stdout.close()
            expect(trace.wait() == 0, f"{name}: exit status {trace.returncode}")
        made = sum(row["count"] for row in lines[-1]["operations"] if row["source"] == "cuda")
        expect(made >= 202, f"{name}: {made} calls counted, 202 made in the loop alone", str(lines[-1]))
    with subprocess.Popen(["true"]) as ended:  # nobody has waited for it: it has a pid, and will make no call
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        trace = subprocess.run([INGERO, "trace", "--pid", str(ended.pid), "--duration", "60s"], env=environment(home), stdin=subprocess.DEVNULL,
                               capture_output=True, text=True, check=False)
        expect(trace.returncode == 1 and f"no process {ended.pid}" in trace.stderr, f"one that has ended: {trace.returncode}", trace.stderr)


def traced(home, options, program, **changes):
    return subprocess.run([INGERO, "trace", *options, "--", *program], env=environment(home, **changes),
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)


def test_program(home):
    """Exit statuses are passed on, output is untouched, and sudo's caller is who runs it."""
    rows = (
        ([], ["sh", "-c", "echo out; echo err >&2; exit 5"], 5, b"out\n"),
        ([], ["true"], 0, b""),
        ([], ["sh", "-c", "kill -KILL $$"], 137, b""),
        ([], ["/nonexistent"], 127, b""),
        ([], ["/etc/passwd"], 126, b""),
    )
    for options, program, status, out in rows:
        done = traced(home, options, program)
        expect(done.returncode == status, f"{program}: exit status {done.returncode}", done.stderr.decode())
        expect(done.stdout == out, f"{program}: stdout {done.stdout!r}")
    expect(b"cannot run '/nonexistent': No such file or directory" in traced(home, [], ["/nonexistent"]).stderr,
           "does not say what could not be run")

    done = traced(home, ["--json"], ["sh", "-c", "echo out"])
    expect(b"out\n" in done.stderr and b'"out"' not in done.stdout, "with --json a program's output goes to stderr")
    expect(all(json.loads(line)["type"] for line in done.stdout.splitlines()), "stdout is not data only")

    done = traced(home, [], ["sh", "-c", "id -u; id -g; echo $HOME"], SUDO_UID="65534", SUDO_GID="65534")
    expect(done.stdout.split()[:2] == [b"65534", b"65534"], f"under sudo it ran as {done.stdout!r}", done.stderr.decode())


def test_program_signals(home):
    """What is sent to ingero alone reaches the program, which decides; ingero ends with it."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
        name = number.name[3:]
        run = subprocess.Popen([INGERO, "trace", "--", "sh", "-c", f"trap 'exit 9' {name}; echo ready; while :; do read x; done"],
                               env=environment(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        expect(run.stdout.readline() == b"ready\n", f"{name}: the program did not start", )
        run.send_signal(number)
        # a blocked read of the shell ends by the signal; its trap runs then
        error = run.stderr.read()
        expect(run.wait() == 9, f"{name}: exit status {run.returncode}", error.decode())
        run.stdin.close()
        run.stdout.close()


def test_program_on_terminal(home):
    """Ctrl-C on the terminal reaches the program once; the summary follows."""
    script = "n=0; trap 'n=$((n+1)); echo caught $n' INT; echo ready; read x; exit $n"
    with Terminal([INGERO, "trace", "--", "sh", "-c", script], environment(home)) as terminal:
        terminal.until(lambda screen: "ready" in screen.normal, "the program")
        terminal.type("\x03")
        terminal.until(lambda screen: "caught 1" in screen.normal, "the program's trap")
        terminal.type("\n")
        expect(terminal.wait() == 1, f"exit status {terminal.status}: signals caught", terminal.screen.normal)
        expect("caught 2" not in terminal.screen.normal, "one Ctrl-C came twice", terminal.screen.normal)
        expect(terminal.modes_are_restored(), "the terminal's modes are not as before")


def skip(reason):
    print(f"skipped: {reason}", file=sys.stderr)
    sys.exit(77)


def main(names):
    if os.geteuid() != 0:
        skip("a private daemon captures as root only")
    for path in (INGERO, WORKLOAD, str(BUILD / "bin" / "ingero-collectord")):
        if not os.path.exists(path):
            skip(f"{path} is not built")

    tests = {name[5:]: test for name, test in globals().items() if name.startswith("test_")}
    failed = 0
    for name in names or tests:
        with tempfile.TemporaryDirectory(prefix="ingero-home-") as home:
            os.chmod(home, 0o755)
            try:
                tests[name](home)
                print(f"{name}: ok", flush=True)
            except (Unexpected, OSError, ValueError) as error:
                failed += 1
                print(f"{name}: {error}", file=sys.stderr, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[2:]))
