# SPDX-License-Identifier: Apache-2.0
"""Libraries and programs that know nothing of us, under any file name, are traced to the call: foreign.py BUILD BACK_END."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
import ingero  # noqa: E402

EXPECTED = {  # of one run of the program: count, errors, bytes
    "cudaMalloc": (101, 1, 5037), "cudaFree": (101, 0, 0), "cudaLaunchKernel": (1111, 0, 0),
    "cudaMemcpyAsync": (101, 0, 707), "cudaStreamSynchronize": (101, 0, 0),
    "cuMemAlloc": (101, 1, 5037), "cuMemFree": (101, 0, 0), "cuLaunchKernel": (1111, 0, 0),
    "cuMemcpyHtoDAsync": (101, 0, 707), "cuStreamSynchronize": (101, 0, 0),
}


def shell(text):
    return ["/bin/sh", "-c", text]


# name, command with {program} and {odd} (the runtime under a name of nobody's), how many runs it makes
CASES = [
    ("linked", ["{program}"], 1, 3),
    ("opened by name", ["{program}", "libcudart.so.12"], 1, 3),
    ("opened under another file name", ["{program}", "{odd}"], 1, 3),
    ("three children of a shell, one in a session of its own", shell("{program} & {program}; setsid {program}; wait"), 3, 0),
    ("exec after exec", shell("exec /bin/sh -c 'exec {program}'"), 1, 3),
]


def compare(trace, runs):
    got = {}
    for row in trace.operations():
        sums = got.setdefault(row["op"], [0, 0, 0])
        for i, key in enumerate(("count", "errors", "bytes")):
            sums[i] += row[key]
    return [f"{op}: {tuple(got.get(op, ()))}, want {tuple(n * runs for n in want)}" for op, want in EXPECTED.items()
            if tuple(got.get(op, ())) != tuple(n * runs for n in want)]


def compare_cost(trace):
    """Their driver's functions have no cheap place for a probe: what tracing them took is no less than what was taken out of their durations."""
    inside_ns = sum(row["total_raw_ns"] - row["total_ns"] for row in trace.operations(source="driver"))
    cost = trace.summary["cost"]
    told_ns = cost["probe_ns"]
    wrong = [] if told_ns >= inside_ns > 0 else [f"tracing took {told_ns} ns, it says, which is less than the {inside_ns} taken out of calls"]
    if not 0 < cost["low_ratio"] <= cost["probe_ratio"] <= cost["high_ratio"] <= 1:
        wrong.append(f"no range: {cost}")
    return wrong


def late(programs, directory, back_end):
    """The program runs already and is named by its process id."""
    program = subprocess.Popen([programs.path("foreign-program")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "LD_LIBRARY_PATH": directory, "FOREIGN_WAIT": "1"})
    program.stdout.readline()
    tracing = subprocess.Popen([programs.path("ingero-cli"), "trace", "--json", "--back-end", back_end, "--calls", "all", "--pid", str(program.pid)],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    said = tracing.stdout.readline()  # the start: what there is to attach is attached
    program.communicate("\n")
    tracing.send_signal(signal.SIGINT)
    said += tracing.stdout.read()  # not communicate(), which knows nothing of what readline() read ahead
    tracing.wait()
    trace = ingero.Trace(said)
    return compare(trace, 1) + compare_cost(trace)


def main():
    build, back_end = sys.argv[1:3]
    if os.geteuid() != 0:
        print("skipped: needs root to trace")
        return 77
    programs = ingero.Programs(build)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="ingero-foreign-") as directory:
        names = {"program": programs.path("foreign-program"), "odd": os.path.join(directory, "object.17")}
        for name in ("libcudart.so.12", "libcuda.so.1"):
            # as packages install them: the soname is a link to a longer name
            shutil.copy(os.path.join(programs.build, "tests/foreign", name), os.path.join(directory, name + ".7.13"))
            os.symlink(name + ".7.13", os.path.join(directory, name))
        shutil.copy(os.path.join(directory, "libcudart.so.12"), names["odd"])
        for case, command, runs, status in CASES:
            trace = ingero.trace(programs, "--back-end", back_end, command=[word.format(**names) for word in command],
                                 environment={"LD_LIBRARY_PATH": directory})
            wrong = compare(trace, runs)
            if trace.status != status:
                wrong.append(f"exit status {trace.status}, want {status}: {trace.stderr[-300:]}")
            if trace.lost():
                wrong.append(f"lost {trace.lost()}")
            wrong += compare_cost(trace)
            for text in wrong:
                print(f"[{case}] {text}")
            failed += bool(wrong)
        wrong = late(programs, directory, back_end)
        for text in wrong:
            print(f"[named while it runs] {text}")
        failed += bool(wrong)
    print(f"{len(CASES) + 1 - failed} exact, {failed} not")
    return 1 if failed else 0


sys.exit(main())
