#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
torch_calls.py BUILD CASE: real GPU software under trace, over the stand-in driver (docs/measurements/pytorch.md).

Its truth: of calls into a stand-in library its books; of calls into the real runtime library what the dynamic linker's auditor
counted (tests/workloads/boundary.c), which has no probe and no breakpoint. Needs root, and what `./dev test --torch` fetches
(--torch-b for the cases that begin with b_).
"""
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "workloads")]
import books  # noqa: E402
import books_of  # noqa: E402
import ingero  # noqa: E402
import kept  # noqa: E402
import real_libraries  # noqa: E402
import set_ups  # noqa: E402

TORCH = HERE.parent / "workloads" / "torch"
KNOWN = books_of.known_operations(HERE.parents[1] / "bpf" / "ops.def")
STEPS = 1000
LIMIT_S = 120  # of one program under trace, on a machine that does other things too


class Run:
    """One program of a set-up, and what is known of its calls beside the tracer."""

    def __init__(self, programs, name, script, *arguments, python=None):
        made = set_ups.find(name)
        if not made:
            kept.skip(set_ups.why_not(name))
        self.programs = programs
        self.has_our_runtime = set_ups.SET_UPS[name].runtime is not None
        self.directory = tempfile.TemporaryDirectory(prefix="ingero-")
        self.prefix = os.path.join(self.directory.name, "books")
        self.boundary = os.path.join(self.directory.name, "boundary")
        self.report_path = os.path.join(self.directory.name, "report")
        self.command = [python or made, str(TORCH / script), *map(str, arguments), "--report", self.report_path]
        standins = os.path.join(programs.build, "standins")
        self.environment = {
            **set_ups.environment(name, standins),
            "LD_AUDIT": os.path.join(standins, "libingero-boundary.so"),
            "LD_BIND_NOW": "1",
            "INGERO_BOUNDARY": self.boundary,
            "INGERO_BOUNDARY_LIBRARIES": "libcudart",
            "INGERO_STANDIN_BOOKS": self.prefix,
        }

    def start(self, **options):
        """With --wait-for-stdin: runs, has done what it does first, and waits for go()."""
        process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, **self.environment}, **options)
        line = process.stdout.readline()
        if line != "ready\n":
            process.kill()
            raise ingero.Failed(f"{' '.join(self.command)} did not get ready: it said '{line}'")
        return process

    def under_trace(self, *options, prefix=()):
        """prefix: a command that runs the program, with a priority of its own, say."""
        # `env` sets what only the program is to have: an auditor in the tracer would count for it
        sets = [f"{name}={value}" for name, value in self.environment.items()]
        return ingero.trace(self.programs, "--db", os.path.join(self.directory.name, "x.db"), *options,
                            command=[*prefix, "env", *sets, *self.command], timeout_s=LIMIT_S)

    def tracing(self, pid, *options):
        """Attached to a running program, with all of its libraries."""
        tracing = ingero.Tracing(self.programs, "--db", os.path.join(self.directory.name, "x.db"), "--pid", str(pid), *options)
        ingero.wait_for(lambda: any(line["type"] == "start" for line in tracing.lines()), "the trace's start")
        return tracing

    def books(self):
        return books.read(self.prefix)

    def crossed(self):
        """{function: calls} into the runtime library by others, however it counts them itself."""
        return books.read_boundary(self.boundary) if os.path.exists(self.boundary) else {}

    def made(self):
        """{operation: calls}: the driver's by its books, the runtime's by its own where it is ours, else by the boundary."""
        rows = [{"function": name, "entries": entries} for name, (entries, _) in books.total(self.books()).items()]
        if not self.has_our_runtime:
            rows += [{"function": name, "entries": count} for name, count in self.crossed().items()]
        return {op: n for op, n in books_of.operations(rows, KNOWN).items() if n}

    def report(self):
        with open(self.report_path, encoding="utf-8") as file:
            return json.load(file)


def go(process):
    process.stdin.write("go\n")
    process.stdin.flush()
    status = process.wait(LIMIT_S)
    if status:
        raise ingero.Failed(f"the traced program ended with {status}")


def less(after, before):
    return {op: n - before.get(op, 0) for op, n in after.items() if n != before.get(op, 0)}


OWN_CALLS_MAX = 8  # of each operation, by the runtime inside libtorch_python: seen were 4


def check_counts(check, what, made, trace):
    check(f"{what}: the trace ended well", trace.status == 0, trace.status, trace.stderr[-500:])
    check(f"{what}: something was called", sum(made.values()) > 0)
    wrong = books_of.differences(made, trace.counts())
    # the runtime inside libtorch_python keeps no books, and the loader does not tell of it: it is attached while it runs
    wrong = {op: n for op, n in wrong.items() if not (0 < n <= OWN_CALLS_MAX and op.startswith("cuda"))}
    check(f"{what}: every operation has its calls and no more", not wrong, wrong)
    check(f"{what}: nothing lost", trace.lost().keys() <= {"late_load"}, trace.lost())


def launches_by_thread(run):
    """Kernels launched by each thread of a program, most first."""
    return sorted((thread["calls"].get(("cuLaunchKernel", "libcuda.so.1"), (0, 0))[0] for book in run.books() for thread in book["threads"]),
                  reverse=True)


def check_training(check, what, made, run):
    """What makes the counts worth comparing: both threads launch, and cuBLAS launches through a runtime of its own."""
    launches = launches_by_thread(run)
    check(f"{what}: the main and the autograd thread launch", len(launches) >= 2 and launches[1] > STEPS, launches)
    check(f"{what}: cuBLAS's static runtime launches too, seen in the driver alone",
          made["cuLaunchKernel"] - made["cudaLaunchKernel"] >= STEPS, made)


def case_before(check, programs):
    """The program is started under trace: its first call and its last are counted."""
    run = Run(programs, "a", "train.py", "plain", "--steps", STEPS)
    trace = run.under_trace()
    made = run.made()
    check_counts(check, "started under trace", made, trace)
    check_training(check, "started under trace", made, run)
    check("all steps were made", run.report()["steps"] == STEPS)
    libraries = {os.path.basename(row["path"]) for row in trace.libraries}
    check("the wheel's runtime is known under its name there", any(name.startswith("libcudart-") for name in libraries), libraries)


def case_after(check, programs):
    """The tracer comes when the program runs: what is called from then on is counted."""
    run = Run(programs, "a", "train.py", "plain", "--steps", STEPS, "--wait-for-stdin")
    process = run.start()
    try:
        tracing = run.tracing(process.pid)
        before = run.made()
        go(process)
        trace = tracing.stop()
    finally:
        process.kill()
    made = less(run.made(), before)
    check_counts(check, "attached", made, trace)
    check_training(check, "attached", made, run)


def check_training_2(check, what, made, run, crossed):
    """Each launch comes by __cudaLaunchKernel, which jumps to cudaLaunchKernel: two names, one call."""
    launches = launches_by_thread(run)
    check(f"{what}: the main and the autograd thread launch", len(launches) >= 2 and launches[1] > STEPS, launches)
    check(f"{what}: all by __cudaLaunchKernel", crossed.get("__cudaLaunchKernel", 0) == made.get("cudaLaunchKernel", 0) >= STEPS
          and not crossed.get("cudaLaunchKernel"), {name: n for name, n in crossed.items() if "Launch" in name}, made)
    check(f"{what}: one launch is one of the driver", made.get("cudaLaunchKernel") == made.get("cuLaunchKernel"), made)


def case_b_before(check, programs):
    """PyTorch 2 on a runtime of ours, started under trace."""
    run = Run(programs, "b", "train.py", "plain", "--without-blas", "--steps", STEPS)
    trace = run.under_trace()
    made = run.made()
    check_counts(check, "PyTorch 2, started under trace", made, trace)
    check_training_2(check, "PyTorch 2, started under trace", made, run, run.crossed())
    check("all steps were made", run.report()["steps"] == STEPS)
    registered = books.total(run.books()).get("__cudaRegisterFunction", (0,))[0]
    check("its kernels were registered, by the names that it has for them", registered > 10000, registered)


def case_b_after(check, programs):
    """PyTorch 2 on a runtime of ours, attached to when it runs."""
    run = Run(programs, "b", "train.py", "plain", "--without-blas", "--steps", STEPS, "--wait-for-stdin")
    process = run.start()
    try:
        tracing = run.tracing(process.pid)
        before, crossed = run.made(), run.crossed()
        go(process)
        trace = tracing.stop()
    finally:
        process.kill()
    made = less(run.made(), before)
    check_counts(check, "PyTorch 2, attached", made, trace)
    check_training_2(check, "PyTorch 2, attached", made, run, less(run.crossed(), crossed))


def case_b_graph(check, programs):
    """A step captured once and replayed: each call of the capture once, and none for what a replay does."""
    replays = 200
    run = Run(programs, "b", "train.py", "graph", "--without-blas", "--steps", replays)
    trace = run.under_trace()
    made = run.made()
    called = books.total(run.books())
    check_counts(check, "a captured step", made, trace)
    check("and each launch of it is one, of either layer", trace.counts().get("cudaGraphLaunch") == trace.counts().get("cuGraphLaunch") == replays,
          trace.counts())
    check("it was captured once", called.get("cuStreamBeginCapture_v2", (0,))[0] == 1 == called.get("cudaStreamEndCapture", (0,))[0], called)
    check("and replayed", called.get("cudaGraphLaunch", (0,))[0] == called.get("cuGraphLaunch", (0,))[0] == replays, called)
    check("a replay launches no kernel by a call", made["cuLaunchKernel"] < replays, made)


# What asks for the device without one, in Python: each of the four ways in which PyTorch is asked.
NO_DEVICE = """
import torch
for ask in (torch.cuda.is_available, torch.cuda.device_count, torch.cuda.init, lambda: torch.zeros(1, device="cuda")):
    try:
        ask()
    except (RuntimeError, AssertionError):
        pass
"""
# Without a device: set-up, what is real under it, and {(operation, code that it returns): calls}.
# (The runtime of PyTorch 2.15 finds even the newest driver too old, and asks it no more. In that of 1.12 the allocator's own
# runtime, which is linked statically, asks: of that only the driver's calls show.)
NO_DEVICE_SEEN = (
    # by the runtime inside libtorch_python, too
    ("a", "libcuda-550", {("cudaGetDeviceCount", 100): 3, ("cudaGetLastError", 100): 3, ("cuInit", 100): 1, ("cuDriverGetVersion", 0): 1}),
    ("a", None, {("cudaGetDeviceCount", 35): 3, ("cudaGetLastError", 35): 3, ("cudaDriverGetVersion", 0): 3}),
    ("b", "libcuda-550", {("cudaGetDeviceCount", 35): 3, ("cudaGetLastError", 35): 3, ("cudaDriverGetVersion", 0): 3,
                          ("cuGetProcAddress", 0): 422, ("cuGetExportTable", 1): 1, ("cuDriverGetVersion", 0): 1}),
    ("b", None, {("cudaGetDeviceCount", 35): 3, ("cudaGetLastError", 35): 3, ("cudaDriverGetVersion", 0): 3}),
)


def check_no_device(check, programs, name, driver, wanted):
    """PyTorch with nothing of ours beneath it."""
    run = Run(programs, name, "train.py")
    run.command = [run.command[0], "-W", "ignore", "-c", NO_DEVICE]
    what = f"set-up {name} over {driver or 'no driver'}"
    place = os.path.join(run.directory.name, "driver")
    os.makedirs(place)
    path = None
    if driver:
        path = real_libraries.get(real_libraries.find(driver))
        os.symlink(path, os.path.join(place, "libcuda.so.1"))
    run.environment = {"LD_LIBRARY_PATH": place}
    trace = run.under_trace("--record", "all")
    seen = collections.Counter((event["op"], event["ret_code"]) for event in trace.events)
    check(f"{what}: the trace ended well", trace.status == 0, trace.status, trace.stderr[-500:])
    check(f"{what}: each call and what it returned", seen == wanted, seen, wanted)
    check(f"{what}: by one process", len({event["pid"] for event in trace.events}) == 1, trace.counts())
    check(f"{what}: the figures say the same", trace.counts() == {op: n for (op, _), n in wanted.items()}, trace.counts())
    check(f"{what}: nothing lost", trace.lost().keys() <= {"late_load"}, trace.lost())
    listed = [row["path"] for row in trace.libraries if row["pids"]]
    check(f"{what}: the driver's file is listed", path is None or any(os.path.samefile(path, row) for row in listed), listed)


def check_without_a_device(check, programs, name):
    try:
        for of, driver, wanted in NO_DEVICE_SEEN:
            if of == name:
                check_no_device(check, programs, of, driver, wanted)
    except real_libraries.Unreachable as error:
        sys.exit(real_libraries.skip(error))


def case_no_device(check, programs):
    """PyTorch over the vendor's own driver, which finds no device."""
    check_without_a_device(check, programs, "a")


def case_b_no_device(check, programs):
    """PyTorch 2 and its own runtime over the vendor's own driver, and over none."""
    check_without_a_device(check, programs, "b")


def case_numba(check, programs):
    """Driver calls alone, by pointers that cuGetProcAddress gave out."""
    run = Run(programs, "c", "numba_loop.py", "--launches", STEPS)
    trace = run.under_trace()
    check_counts(check, "numba", run.made(), trace)
    check("each launch once", trace.counts().get("cuLaunchKernelEx") == STEPS, trace.counts())
    check("reached by cuGetProcAddress", books.total(run.books()).get("cuGetProcAddress_v2", (0,))[0] > 100)
    check("and nothing through a runtime", not any(op.startswith("cuda") for op in trace.counts()), trace.counts())


def case_ddp(check, programs):
    """Two processes, the second forked before the device was used: each has its own counts."""
    run = Run(programs, "a", "train.py", "ddp", "--steps", 200)
    trace = run.under_trace()
    check_counts(check, "both", run.made(), trace)
    each = {book["pid"]: books_of.operations([{"function": name, "entries": n} for name, (n, _) in books.total([book]).items()], KNOWN)
            for book in run.books()}
    check("two processes called", len(each) == 2, list(each))
    for pid, made in each.items():
        counted = {op: n for op, n in trace.counts(pid=pid).items() if not op.startswith("cuda")}
        check(f"process {pid}", not (wrong := books_of.differences(made, counted)), wrong)


def case_workers(check, programs):
    """A DataLoader's worker processes, forked while the device is in use, change no count."""
    run = Run(programs, "a", "train.py", "workers", "--steps", 200, "--workers", 2)
    trace = run.under_trace()
    check_counts(check, "with workers", run.made(), trace)


def copy_of(python):
    """A copy of a virtual environment whose runtime library is another file; the rest are links to save the room."""
    venv = pathlib.Path(python).parents[1]
    copy = pathlib.Path(tempfile.mkdtemp(prefix="copy-", dir=venv.parent)) / "venv"
    subprocess.run(["cp", "-al", str(venv), str(copy)], check=True)
    (library,) = copy.glob("lib/python*/site-packages/torch/lib/libcudart-*")
    text = library.read_bytes()
    library.unlink()
    library.write_bytes(text)
    return copy, str(library)


def case_discovery(check, programs):
    """A copy of the environment whose library is mapped late: covered, and listed under its own path."""
    run = Run(programs, "a", "train.py", "plain", "--steps", 100, "--wait-for-stdin")
    copy, library = copy_of(set_ups.find("a"))
    # waits before torch is imported: nothing of CUDA is mapped when the tracer comes
    waiter = "import sys, runpy; print('ready', flush=True); sys.stdin.readline(); sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    run.command = [str(copy / "bin" / "python"), "-c", waiter, *run.command[1:]]
    process = None
    try:
        process = run.start()
        tracing = run.tracing(process.pid)
        check("nothing is listed yet", not any(line["type"] == "library" for line in tracing.lines()))
        process.stdin.write("import\n")
        process.stdin.flush()
        check("the program goes on", process.stdout.readline() == "ready\n")

        def listed():
            """Paths of each layer's libraries, once both layers are there; libtorch_python has a runtime of its own inside."""
            paths = {}
            for line in tracing.lines():
                if line["type"] == "library":
                    paths.setdefault(line["layer"], set()).add(line["path"])
            return paths if library in paths.get("cuda", ()) and "driver" in paths else None

        ingero.wait_for(listed, f"{library} to be listed with its path, and the driver")
        before = run.made()
        go(process)
        trace = tracing.stop()
    finally:
        if process:
            process.kill()
        shutil.rmtree(copy.parent)
    check("and in the end with its process", any(row["path"] == library and process.pid in row["pids"] for row in trace.libraries), trace.libraries)
    # a program that is not held while its library is attached to makes its first calls unseen
    made, counted = run.made(), trace.counts()
    # the runtime inside libtorch_python keeps no books; it is called a few times
    for op, n in made.items():
        most = n + (OWN_CALLS_MAX if op.startswith("cuda") else 0)
        check(f"{op}: all since, and no more than there were", n - before.get(op, 0) <= counted.get(op, 0) <= most, before.get(op, 0), counted.get(op), most)
    others = counted.keys() - made.keys()
    check("nothing else", all(op.startswith("cuda") and counted[op] <= OWN_CALLS_MAX for op in others), others, counted)


# Who else is busy on this machine is a true cause, too. These two leave it little to cause: the kernel gives a task of the
# first 87 times the time of a usual one, and runs one of the second before any.
FAVOURED, BEFORE_ALL = -20, ("chrt", "--fifo", "50")
# Beside an equal, a loop that often sleeps is let go first and may lose hardly more than 1 %: this one counts a ninth of the hog,
# and still nine times a usual task.
BEHIND_THE_HOG = ("nice", "-n", "10")


def favour_everything():
    """
    The training loop, the hog and the tracer are before everybody else: a tracer that is not favoured as well
    does not get to answer. Where the kernel groups tasks by session, nice(1) counts only within one, so that they are put
    into a session that counts for more.
    """
    if "INGERO_TEST_SESSION" not in os.environ:
        os.environ["INGERO_TEST_SESSION"] = "1"
        os.execvp("setsid", ["setsid", "--wait", sys.executable, *sys.argv])
    os.setpriority(os.PRIO_PROCESS, 0, FAVOURED)
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as file:
            file.write(str(FAVOURED))
    except OSError:
        pass  # a kernel without


def beside_a_hog(programs, hog_cpu, prefix=()):
    """A training loop on one CPU and a hog on another or the same; the trace and the hog's pid."""
    favour_everything()
    run = Run(programs, "a", "train.py", "plain", "--seconds", 8, "--pin", min(os.sched_getaffinity(0)))
    with ingero.start_hog(hog_cpu) as hog:
        try:
            trace = run.under_trace(prefix=prefix)
        finally:
            hog.kill()
    return trace, hog.pid


def contention(trace):
    return [row for row in trace.summary["findings"] if row["kind"] == "cpu_contention"]


def case_hog(check, programs):
    """On the training thread's CPU: it waits for the CPU, behind the hog, which is named as the cause."""
    trace, pid = beside_a_hog(programs, min(os.sched_getaffinity(0)), BEHIND_THE_HOG)
    check("a finding says so", contention(trace), trace.summary["findings"])
    check("the hog is its cause", any(row["cause"]["pid"] == pid and row["cause"]["comm"] == "hog" for row in contention(trace)),
          pid, [row["cause"] for row in contention(trace)], trace.summary["behind"])
    most = max(trace.summary["behind"], key=lambda row: row["ns"])
    check("and it had the CPU for most of the wait", most["pid"] == pid and most["comm"] == "hog", pid, trace.summary["behind"])


def case_elsewhere(check, programs):
    """A hog on a CPU where the training loop does not run is nobody's cause, whoever else is busy here."""
    cpus = os.sched_getaffinity(0)
    if len(cpus) < 2:
        kept.skip("needs two CPUs")
    trace, pid = beside_a_hog(programs, max(cpus))
    named = [row for row in trace.summary["behind"] if row["pid"] == pid] + [row for row in trace.summary["findings"] if row["cause"]["pid"] == pid]
    check("the hog is not named", not named, named)


def before_all(check, programs, what, *arguments):
    """A loop that nobody keeps from its CPU: nothing may be said of one."""
    run = Run(programs, "a", "train.py", *arguments)
    trace = run.under_trace(prefix=BEFORE_ALL)
    check(f"{what}: was traced", trace.status == 0 and sum(trace.counts().values()) > 0, trace.status, trace.stderr[-500:])
    check(f"{what}: no finding of a wait for the CPU", not contention(trace), contention(trace), trace.summary["behind"])
    return run, trace


def case_no_fault(check, programs):
    """A loop with some rest in it, which is the first to run when it wants to."""
    before_all(check, programs, "no fault", "plain", "--seconds", 6, "--pause-ms", 5)


def case_slow_worker(check, programs):
    """The loop waits for a batch most of the time: shown as a wait of its main thread between calls, in no call, and nobody's fault."""
    worker_ms, steps = 100, 40
    run, trace = before_all(check, programs, "a slow worker", "workers", "--workers", 1, "--worker-ms", worker_ms, "--steps", steps)
    said = run.report()
    duration_ns = said["end_ns"] - said["start_ns"]
    check("it did wait for its worker", duration_ns > steps * worker_ms * 1_000_000, duration_ns)
    waited_ns = sum(ns for row in trace.operations(pid=said["pid"], source="cuda") for name, ns in row["blame_ns"].items()
                    if name in ("sleep", "lock", "network", "other"))
    check("its calls have none of that wait", waited_ns < duration_ns / 10, waited_ns, duration_ns)
    rows = trace.operations(pid=said["pid"], op="wait_main", source="host")
    away_ns = sum(row["total_ns"] for row in rows)
    # the program's own clock has the CPU time of getting a batch, too, and the figures what it waits for in a step
    check("the wait is shown, as its own clock has it", 0.8 * said["batch_wait_ns"] <= away_ns <= duration_ns + said["batch_wait_ns"], said, rows)
    blocked_ns = sum(row["blame_ns"].get(name, 0) for row in rows for name in ("sleep", "lock", "network", "other"))
    check("as a wait for something, not for the CPU", blocked_ns > 0.9 * away_ns, rows)
    others = [row for row in trace.summary["findings"] if row["cause"]["pid"] not in (0, said["pid"])]
    check("no other process is blamed for anything", not others, others)


CASES = {name[len("case_"):]: function for name, function in globals().items() if name.startswith("case_")}


def main(build, case):
    if os.geteuid() != 0:
        kept.skip("capture needs root")
    check = kept.Checks()
    CASES[case](check, ingero.Programs(build))
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
