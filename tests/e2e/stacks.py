#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
stacks.py BUILD CASE [VERSION]: stacks of recorded calls are those that the program itself noted, frame by frame with names and lines, native
and Python; what is missing is said to be missing, and no frame is wrong.

The programs note their stacks beside each call (tests/workloads/callers.h, callers.py). VERSION: of Python, '3.11', 'system', or a path. Needs root
(or it is skipped).
"""
import collections
import contextlib
import glob
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import gil_waits  # noqa: E402
import ingero  # noqa: E402
import kept  # noqa: E402
import stacks_of  # noqa: E402

WORKLOADS = HERE.parent / "workloads"
QUIET = {"INGERO_STANDIN_QUIET": "1"}
LIMIT_S = 300
LEAST = float(os.environ.get("INGERO_STACKS_LEAST", "0.99"))  # of all stacks from program start, complete
LEAST_LATER = 0.999  # of those 50 ms after the first call
LATER_NS = 50 * 10**6
FOREVER, ATTACHED_CALLS = 1000000, 3000
COUNTS_MAPPINGS = (6, 7)  # the first Linux on which a mapping without the dynamic loader is noticed
REMAPPED = ("remapped", "mapped", "replaced", "exec")
LIES = ("lie_none", "lie_odd", "lie_kernel", "lie_unmapped", "lie_cycle", "claims")


def interpreters(version):
    """(name, path) of the interpreters of a version: '3.11' of a shared library, 'system' the machine's own, or a path; None: all."""
    if version and version.startswith("/"):
        return [(version, version)]
    found = list(gil_waits.interpreters())
    if version == "system":
        found = [(name, path) for name, path in found if path == "/usr/bin/python3"]
    elif version:
        found = [(name, path) for name, path in found if name.startswith(version + " ") and path != "/usr/bin/python3"]
    if not found:
        kept.skip(f"no Python {version or '3'} here")
    return found


class Run:
    """One program with its report, traced."""

    def __init__(self, programs, check, name):
        self.programs, self.check, self.name = programs, check, name
        self.directory = tempfile.TemporaryDirectory(prefix="ingero-stacks-")
        self.path = os.path.join(self.directory.name, "report")
        self.db = os.path.join(self.directory.name, "x.db")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for call in stacks_of.read(self.path) if os.path.exists(self.path) else []:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join("/", "tmp", f"perf-{call['pid']}.map"))
        self.directory.cleanup()

    def native(self, *arguments):
        return [self.programs.path("callers"), "--report", self.path, *map(str, arguments)]

    def python(self, python, *arguments, script="callers.py"):
        return [python, "-B", str(WORKLOADS / script), "--libraries", os.path.dirname(self.programs.library("libcuda.so.1")), "--report", self.path,
                *map(str, arguments)]

    def options(self, *more):
        return ("--db", self.db, "--record", "all", *(more or ("--stack=all",)))

    def under(self, command, *options, environment=None):
        """Started by the trace."""
        return self.ended(ingero.trace(self.programs, *self.options(*options), command=command, timeout_s=LIMIT_S, environment={**QUIET, **(environment or {})}))

    def before(self, command, *options):
        """The trace of the whole machine is there first, and has attached the libraries."""
        with ingero.mapped(self.programs.library("libcudart.so.12"), self.programs.library("libcuda.so.1")):
            tracing = ingero.Tracing(self.programs, *self.options(*options))
            ingero.wait_for(lambda: any(line["type"] == "start" for line in tracing.lines()), "the trace's start")
            try:
                subprocess.run(command, check=True, stdin=subprocess.DEVNULL, env={**os.environ, **QUIET}, timeout=LIMIT_S)
            finally:
                trace = tracing.stop()
        return self.ended(trace)

    def after(self, command, *options):
        """The program runs, and has mapped its libraries, when the trace comes."""
        with subprocess.Popen([*command[:3], "--wait-for-stdin", *command[3:]] if command[0].endswith("callers") else [*command, "--wait-for-stdin"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **QUIET}) as process:
            try:
                line = process.stdout.readline()
                if not line.startswith("ready "):
                    raise ingero.Failed(f"{self.name}: the program said '{line}'")
                tracing = ingero.Tracing(self.programs, *self.options(*options), "--pid", str(process.pid))
                ingero.wait_for(lambda: any(line["type"] == "start" for line in tracing.lines()), "the trace's start")
                process.stdin.write("go\n")
                process.stdin.flush()
                self.check(f"{self.name}: the program ended well", process.wait(LIMIT_S) == 0, process.returncode)
            finally:
                process.kill()
        return self.ended(tracing.stop())

    def ended(self, trace):
        self.check(f"{self.name}: the trace ended well", trace.status == 0, trace.status, trace.stderr[-1000:])
        self.check(f"{self.name}: nothing lost", trace.lost().keys() <= {"late_load"}, trace.lost())
        return trace

    def calls(self):
        return stacks_of.read(self.path)

    def judge(self, trace, least=LEAST, pids=True, has_names=True):
        """Compares all calls, and reports."""
        calls, events = self.calls(), trace.events
        if not pids:  # the program knows its own numbers only
            calls, events = ([{**row, "pid": 0} for row in rows] for rows in (calls, events))
        judge = stacks_of.Judge(has_names, trace.summary.get("lost", {}).get("stacks", 0))
        judge.compare(calls, events)
        judge.report(self.check, self.name, least)
        return judge


def check_shapes(check, name, judge, calls):
    """A shape that has to be complete is, at least once everything of it was seen."""
    wanted = {call["shape"] for call in calls if call["rule"] == "complete"}
    never = sorted(shape for shape in wanted if not judge.n_complete[shape])
    check(f"{name}: every shape has complete stacks", not never, never, judge.whys)


# ---- cases ----


def case_native(check, programs, _):
    with Run(programs, check, "native") as run:
        shapes = [name for name in subprocess.run([programs.path("callers"), "--list"], capture_output=True, text=True, check=True).stdout.split()
                  if name not in REMAPPED]
        trace = run.under(run.native("--rounds", 4, *shapes), environment={"INGERO_CALLERS": run.path})
        calls = run.calls()
        judge = run.judge(trace)
        check_shapes(check, run.name, judge, calls)
        check("each shape was called", {call["shape"] for call in calls} >= {"constructor", "destructor", "atexit", "nested", "cxx_threads"}, judge.n)
        # the instruction before it is another function's
        of = stacks_of.by_call(trace.events)
        faults = [of.get((call["pid"], call["bytes"]), [{}])[0].get("stack", []) for call in calls if call["shape"] == "signal_fault"]
        check("the instruction that a signal met has its own name", faults and all(
            any(re.match(r"callers_fault(\+0x0)?$", frame.get("symbol", "")) for frame in stack) for stack in faults), faults[:1])
        symbols = {frame.get("symbol", "") for event in trace.events for frame in event.get("stack", [])}
        check("C++ names are readable", any("Holder<" in symbol for symbol in symbols) and not any(symbol.startswith("_Z") for symbol in symbols),
              sorted(symbol for symbol in symbols if symbol.startswith("_Z"))[:5])
    plain = ("plain.kept", "plain.omitted", "qsort.omitted", "cxx_catch", "cxx_threads", "threads", "signal", "debian_sqlite")
    for way in ("before", "after"):
        with Run(programs, check, f"native, the trace {way} the program") as run:
            trace = getattr(run, way)(run.native("--rounds", 20, *plain))
            check_shapes(check, run.name, run.judge(trace), run.calls())


def check_merged(check, name, calls, events, function):
    """Frames of Python stand where they ran: what a function of C has called back is inside of it."""
    of = stacks_of.by_call(events)
    seen = 0
    for call in calls:
        if call["shape"] != "from_c" or [row[1] for row in call["python"][:3]] != ["call", "add", "from_c"]:
            continue
        for event in of.get((call["pid"], call["bytes"]), []):
            words = [frame.get("py_func") or frame.get("symbol", "").split("+")[0] for frame in event.get("stack", [])]
            if function in words and "from_c" in words and "add" in words:
                seen += 1
                check(f"{name}: {function} is between what it calls and who calls it", words.index("add") < words.index(function) < words.index("from_c"), words)
    return seen


def case_python(check, programs, version):
    for name, python in interpreters(version):
        with Run(programs, check, name) as run:
            trace = run.under(run.python(python, "--rounds", 2))
            calls = run.calls()
            judge = run.judge(trace)
            check_shapes(check, name, judge, calls)
            check(f"{name}: each shape was called", len(judge.n) > 20, judge.n)
            texts = [frame.get(key, "") for event in trace.events for frame in event.get("stack", []) for key in ("py_file", "py_func", "py_qualname")]
            check(f"{name}: no control characters", not any(stacks_of.CONTROL.search(text) for text in texts))
            if "shared" in name:  # with all of its names
                check(f"{name}: functools_reduce was seen", check_merged(check, name, calls, trace.events, "functools_reduce"), judge.n["from_c"])
        for way in ("before", "after"):
            with Run(programs, check, f"{name}, the trace {way} the program") as run:
                trace = getattr(run, way)(run.python(python, "--rounds", "3", "plain", "tasks", "from_c", "threads"))
                check_shapes(check, run.name, run.judge(trace), run.calls())
        with Run(programs, check, f"{name}, in a pid namespace of its own") as run:
            trace = run.under(["unshare", "--pid", "--fork", "--mount-proc", *run.python(python, "plain", "tasks", "from_c", "threads")])
            check_shapes(check, run.name, run.judge(trace, pids=False), run.calls())


def case_walkers(check, programs, _):
    """Frames of Python are read at the call, whichever of the two words asks for it; a walk beside the running program is refused, with the reason."""
    told = ingero.help_of(programs.path("ingero-cli"), "trace") or ""
    check("the help has the words that are accepted, and no other", re.search(r"--py-walker auto\|ebpf\s", told))
    done = subprocess.run([programs.path("ingero-cli"), "trace", "--py-walker", "userspace"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    check("--py-walker userspace is refused, with the reason", done.returncode == 2 and "frames of a later moment" in done.stderr, done)
    for walker in ("auto", "ebpf"):
        for name, python in interpreters(None):
            with Run(programs, check, f"{name}, --py-walker {walker}") as run:
                run.judge(run.under(run.python(python, "plain", "recursion", "tasks", "from_c", "compiled"), "--stack=all", "--py-walker", walker))


def case_remapped(check, programs, _):
    """Mappings come and go, files are replaced, processes become other programs: never a frame of what was there before."""
    release = tuple(int(number) for number in re.findall("[0-9]+", os.uname().release)[:2])
    shapes = [shape for shape in REMAPPED if shape != "mapped" or release >= COUNTS_MAPPINGS]
    with Run(programs, check, "remapped") as run:
        trace = run.under(run.native("--rounds", 10, *shapes))
        calls = run.calls()
        judge = run.judge(trace)
        check("each was called", {call["shape"] for call in calls} == set(shapes), judge.n)
        check("some of each are complete", all(judge.n_complete[shape] for shape in shapes), judge.n_complete, judge.whys)


def case_damaged(check, programs, _):
    """Memory that leads nowhere: stacks end there and say so, and whoever reads it goes on."""
    with Run(programs, check, "lies") as run:
        trace = run.under(run.native("--rounds", 3, *LIES, "plain.omitted"))
        judge = run.judge(trace, least=0.9)
        check("lies: each was called", set(judge.n) == {*LIES, "plain.omitted"}, judge.n)
    for name, python in interpreters(None):
        with Run(programs, check, f"{name}, damaged") as run:
            trace = run.under(run.python(python, "--rounds", 2, script="callers_damaged.py"))
            judge = run.judge(trace)
            check(f"{name}: each case was called", len(judge.n) > 40, judge.n)
            check(f"{name}: what is whole again is complete", judge.n_complete["whole"] == judge.n["whole"] > 0, judge.whys)


def case_reuse(check, programs, _):
    """Code objects that take the place of others in memory are never taken for them."""
    for name, python in interpreters(None):
        with Run(programs, check, f"{name}, reuse") as run:
            trace = run.under(run.python(python, "--rounds", 8, "reuse"))
            calls = run.calls()
            run.judge(trace)
            check(f"{name}: many functions", len({tuple(call["python"][0]) + tuple(call["python"][1]) for call in calls}) > 100)


# For any Python 3: calls from functions of Python, after other libraries were loaded.
UNREAD = """
import ctypes, sys
others = [ctypes.CDLL(path) for path in sys.argv[2:]]
malloc = ctypes.CDLL(sys.argv[1] + "/libcudart.so.12").cudaMalloc
malloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
def called(number):
    malloc(ctypes.byref(ctypes.c_void_p()), 65536 + number)
for number in range(50):
    called(number)
"""

# Then calls until a file is there, and 50 further ones.
UNREAD_UNTIL = UNREAD.replace("sys.argv[2:]", "sys.argv[3:]") + """
import os, time
while not os.path.exists(sys.argv[2]):
    called(0)
    time.sleep(0.001)
for number in range(50):
    called(number)
"""


# A loop that has the name of Python's, of which nothing else is known.
LOOP_ALONE = """
int cudaMalloc(void **pointer, unsigned long bytes);
int _PyEval_EvalFrameDefault(unsigned long bytes)
{
	void *pointer;
	return cudaMalloc(&pointer, bytes) + 1;
}
int main(void)
{
	for (int i = 0; i < 50; i++)
		_PyEval_EvalFrameDefault(65536 + i);
	return 0;
}
"""


def commands_unread(directory, libraries):
    """(name, command, reason) of programs with an interpreter that is not read."""
    unknown = "this build of Python is not known"
    for name, python in (*gil_waits.interpreters_old(), *gil_waits.interpreters_linked(directory, of=gil_waits.interpreters_old(), program="embedder")):
        yield name, [python, "-c", UNREAD, libraries], unknown
    loop = os.path.join(directory, "loop")
    runtime = os.path.join(libraries, "libcudart.so.12")
    subprocess.run(["cc", "-x", "c", "-", "-x", "none", "-o", loop, runtime, f"-Wl,-rpath,{libraries}"], input=LOOP_ALONE, text=True, check=True)
    yield "a loop alone", [loop], "the Python interpreter was not known yet, or the thread ran no Python code"


def calls_of(events):
    return sorted((event for event in events if event["source"] in ("cuda", "driver")), key=lambda event: event["timestamp"])


def unread_beside(check, programs, directory):
    """Another interpreter is loaded beside one that is read: from the moment on at which its file was looked at, no stack is said to be complete."""
    name, why, library, seen = "3 beside another", "this build of Python is not known", os.path.join(directory, "libother.so"), os.path.join(directory, "seen")
    subprocess.run(["cc", "-x", "c", "-", "-shared", "-o", library], input="int PyEval_EvalCode(void) { return 0; }", text=True, check=True)
    command = [interpreters("system")[0][1], "-c", UNREAD_UNTIL, os.path.dirname(programs.library("libcuda.so.1")), seen, library]
    with Run(programs, check, name) as run:
        tracing = ingero.Tracing(programs, *run.options(), command=command, environment=QUIET)
        ingero.wait_for(lambda: any(line.get("stack_why") == why for line in tracing.lines()), "a stack of an interpreter that is not known")
        pathlib.Path(seen).touch()
        calls = calls_of(run.ended(tracing.wait(LIMIT_S)).events)
        first = next(i for i, event in enumerate(calls) if event.get("stack_why") == why)
        whys = collections.Counter(event.get("stack_why") for event in calls[first:])
        check(f"{name}: none is complete from then on", not any(event.get("stack_complete") for event in calls[first:]), whys)
        check(f"{name}: the reason", whys.total() >= 50 and whys[why] >= LEAST * whys.total(), whys)


def case_unread(check, programs, _):
    """
    Interpreters whose frames cannot be read, also inside of a program with another name, or beside one that is read: no stack is said to be
    complete.
    """
    with tempfile.TemporaryDirectory(prefix="ingero-unread-") as directory:
        for name, command, why in commands_unread(directory, os.path.dirname(programs.library("libcuda.so.1"))):
            with Run(programs, check, name) as run:
                trace = run.under(command)
                stacks = calls_of(trace.events)
                whys = collections.Counter(event.get("stack_why") for event in stacks)
                check(f"{name}: there are calls", len(stacks) >= 50, len(stacks))
                check(f"{name}: none is complete", not any(event.get("stack_complete") for event in stacks), whys)
                check(f"{name}: the reason", whys[why] >= LEAST * len(stacks), whys)
                check(f"{name}: no frame of Python", not any(map(stacks_of.python_of, stacks)))
        unread_beside(check, programs, directory)


def case_beside(check, programs, _):
    """Another interpreter is loaded beside that of the program, and runs nothing: the frames of the program's are there."""
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="ingero-beside-"))
        libraries = os.path.dirname(programs.library("libcuda.so.1"))
        (name, own), *_ = gil_waits.interpreters_linked(directory)
        others = sorted(glob.glob(os.path.join(os.path.dirname(os.path.dirname(interpreters(name.split()[0])[0][1])), "lib", "libpython3.*.so.1.0")))
        run = stack.enter_context(Run(programs, check, f"{name} beside {others}"))
        stacks = [event for event in run.under([own, "-c", UNREAD, libraries, *others]).events if event["source"] in ("cuda", "driver")]
        seen = collections.Counter((event.get("stack_complete"), event.get("stack_why"), tuple(frame["py_func"] for frame in stacks_of.python_of(event))) for event in stacks)
        check(f"{run.name}: the program's frames", others and seen[True, None, ("called", "<module>")] >= LEAST * len(stacks) > 40, seen)


def case_attach(check, programs, _):
    """A program that makes calls all the time when the trace comes: complete from 50 ms after the first call on, and none is wrong before."""
    for name, command in (("native", lambda run: run.native("--rounds", FOREVER, "--pause-ms", 2, "plain.omitted", "cxx_catch", "qsort.omitted")),
                          ("python", lambda run: run.python(interpreters("system")[0][1], "--rounds", FOREVER, "--pause-ms", 5, "from_c", "classes"))):
        with Run(programs, check, f"attach, {name}") as run:
            with subprocess.Popen(command(run), stdin=subprocess.DEVNULL, env={**os.environ, **QUIET}) as process:
                ingero.wait_for(lambda path=run.path: os.path.exists(path) and os.path.getsize(path) > 100000, "calls")
                tracing = ingero.Tracing(programs, *run.options(), "--pid", str(process.pid))
                try:
                    ingero.wait_for(lambda tracing=tracing: sum(line["type"] == "event" for line in tracing.lines()) > ATTACHED_CALLS, "calls in the trace")
                    trace = run.ended(tracing.stop())
                finally:
                    process.kill()
            told = {argument for event in trace.events for argument in event["args"]}
            calls = [call for call in run.calls() if call["bytes"] in told]
            if not check(f"{run.name}: calls were seen", len(calls) > 100, len(calls)):
                continue
            judge = stacks_of.Judge()
            judge.compare(calls, trace.events)
            judge.report(check, run.name, least=0)
            first = min(kept.unix_ns(event["timestamp"]) for event in trace.events)
            later = [event for event in trace.events if kept.unix_ns(event["timestamp"]) >= first + LATER_NS]
            complete = sum(event.get("stack_complete", False) for event in later)
            check(f"{run.name}: complete after 50 ms", later and complete >= LEAST_LATER * len(later), complete, len(later), judge.whys)
            began = [kept.unix_ns(event["timestamp"]) - first for event in trace.events if event.get("stack_complete")]
            print(f"{run.name}: first complete stack {min(began, default=-1) / 1e6:.1f} ms after the first call; {len(calls)} calls")


def case_choice(check, programs, _):
    """Stacks are there unless they are not wanted; Ingero's users say true and false."""
    for options, is_there in (((), True), (("--stack",), True), (("--stack=true",), True), (("--stack", "auto"), True), (("--stack", "all"), True),
                              (("--stack=false",), False), (("--stack", "none"), False)):
        with Run(programs, check, f"trace {' '.join(options)}") as run:
            # the word behind a bare --stack is no value unless it is one of these
            trace = run.ended(ingero.trace(programs, "--db", run.db, "--record", "all", *options, command=run.native("--rounds", 50, "--pause-ms", 1, "plain.omitted"), environment=QUIET))
            has = collections.Counter("stack" in event for event in trace.events if event["source"] in ("cuda", "driver"))
            check(f"{run.name}: stacks", has and set(has) == {is_there}, has)
            if is_there:
                run.judge(trace, least=0.5)
            else:
                check(f"{run.name}: nothing of them", not any(key.startswith("stack") for event in trace.events for key in event), trace.events[:1])


def case_namespaces(check, programs, _):
    """A program in a root of its own: what is mapped is read, not what has that name elsewhere."""
    python = "/usr/bin/python3"
    with Run(programs, check, "in a root of its own") as run:
        root = os.path.join(run.directory.name, "root")
        script = 'mount --rbind / "$0" && mount -t tmpfs none "$0/opt" && cp -a "$1" "$0/opt/standins" && shift && exec chroot "$0" "$@"'
        os.mkdir(root)
        libraries = os.path.dirname(programs.library("libcuda.so.1"))
        command = [python, "-B", str(WORKLOADS / "callers.py"), "--libraries", "/opt/standins", "--report", run.path, "plain", "from_c", "threads"]
        trace = run.under(["unshare", "--mount", "--propagation", "private", "sh", "-c", script, root, libraries, *command])
        check_shapes(check, run.name, run.judge(trace), run.calls())


CASES = {name[5:]: function for name, function in list(globals().items()) if name.startswith("case_")}


def main(build, case, version=None):
    return kept.run_case(case, lambda check: CASES[case](check, ingero.Programs(build), version))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
