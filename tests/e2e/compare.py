# SPDX-License-Identifier: Apache-2.0
"""
`ingero compare` on recordings: compare.py BUILD.

Of demos and of real traced loops: verdicts, their exit statuses, the part that changed, JSON by its schema, and what cannot be
compared. tests/bench/compare.py has how often small changes are found.
"""
import gzip
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
import ingero  # noqa: E402
import kept  # noqa: E402
import schemas  # noqa: E402

STEPS = os.path.join(HERE, "../workloads/steps.py")
NOT_OURS = os.path.join(HERE, "../data/ingero-db/sample-gpu-node-01.db.gz")
DEMO_PID = 4204711
SLOWER, UNKNOWN = 3, 4
SECONDS = 9
COLUMNS = 80


def demo(home, name, scenario):
    path = home.path(name)
    home.answer("demo", scenario, "--speed", "20", "--db", path)
    return path


def compared(check, home, label, status, *words):
    """The JSON of an answer, which has to be as its schema says, and whose text has to fit."""
    done = home.run("compare", *words, "--json")
    if not check(f"{label}: exit status", done.returncode == status, done.returncode, done.stderr, done.stdout[:500]) or not done.stdout:
        return None
    answer = json.loads(done.stdout)
    check(f"{label}: as the schema says", not schemas.problems([answer], None, home.programs.root), schemas.problems([answer], None, home.programs.root))
    text = home.run("compare", *words)
    lines = text.stdout.splitlines()
    check(f"{label}: the text has the same status", text.returncode == status, text.returncode)
    check(f"{label}: the verdict comes first", lines and lines[0].startswith(answer["verdict"] if answer["verdict"] != "unknown" else "cannot judge "), lines[:1])
    check(f"{label}: 80 columns", max(map(len, lines)) <= COLUMNS, lines)
    for side in "ab":
        total = sum(part[f"{side}_ns"] for part in answer["parts"])
        check(f"{label}: the parts of {side} are its wall clock", abs(total - answer[side]["unit_ns"]) <= 0.001 * answer[side]["unit_ns"] + len(answer["parts"]),
              total, answer[side])
    return answer


def refused(check, home, label, status, said, *words):
    done = home.run("compare", *words)
    check(f"{label}: exit status", done.returncode == status, done.returncode, done.stdout[:200])
    check(f"{label}: says it", said in kept.words_of(done.stderr) and not done.stdout, done.stderr)


def demos_check(check, home):
    contention, incident, other = demo(home, "contention.db", "cpu-contention"), demo(home, "incident.db", "incident"), demo(home, "other.db", "incident")
    slower = compared(check, home, "slower", SLOWER, contention, incident)
    if slower:
        check("slower: much", slower["change_ratio"] > 1, slower["change_ratio"])
        told = next(part for part in slower["parts"] if part["is_told"])
        check("slower: by the device", (told["class"], told["op"]) == ("device", "cudaStreamSynchronize"), told)
        check("slower: of the program", (slower["process_name"], slower["a"]["pids"]) == ("python", [DEMO_PID]), slower["process_name"])
        check("slower: nothing was lost", not any(slower["a_lost"].values()), slower["a_lost"])
    compared(check, home, "slower, by less than asked", 0, contention, incident, "--fail-over", "9000%")
    faster = compared(check, home, "faster", 0, incident, contention)
    if faster:
        check("faster: says so", faster["verdict"] == "faster", faster["verdict"])
    same = compared(check, home, "an incident in each", 0, incident, other)
    if same:
        check("same: says so", same["verdict"] == "same" and abs(same["change_ratio"]) < 0.01, same["verdict"], same["change_ratio"])
    done = home.run("compare", incident, other, "--fail-over", "1%")
    check("not known so exactly", done.returncode == UNKNOWN, done.returncode, done.stdout)
    short = demo(home, "short.db", "incident")
    with kept.tables(short) as connection:  # as after two minutes: rows of 10 s are left
        connection.execute("DELETE FROM figures WHERE level = 1")
    unknown = compared(check, home, "too short", UNKNOWN, short, other)
    if unknown:
        check("unknown: why", "pieces of time with work that are needed" in unknown["why"], unknown["why"])
    for label, per in (("a unit of work", "cudaLaunchKernel"), ("another spelling", "cudastreamsync"), ("each call", "call")):
        answer = compared(check, home, label, SLOWER, contention, incident, "--per", per)
        if answer:
            check(f"{label}: is told", answer["per"].lower().startswith(per.lower()), answer["per"])
    refused(check, home, "an unknown unit", 1, "no operation is called 'nonsense'", contention, incident, "--per", "nonsense")
    refused(check, home, "one file", 1, "are one file", contention, contention)
    refused(check, home, "no file", 1, "gone.db", contention, home.path("gone.db"))
    refused(check, home, "no time of it", 1, "A is empty: no traced call was recorded then", "--db", contention, "..3d", "2d")
    run = compared(check, home, "a run by its name", 0, "--db", contention, "run:python", "run:python")
    if run:
        check("a run by its name: its process", run["a"]["pids"] == [DEMO_PID], run["a"])
    refused(check, home, "no such run", 1, "1 run of 'python' is recorded, and not 1 before the last", "--db", contention, "run:python~1", "run:python")
    refused(check, home, "no such program", 1, "no process of yours named 'pythno' made calls", "--db", contention, "run:pythno", "run:python")
    refused(check, home, "no process of it", 1, "no process 1 of yours made calls", "--db", contention, f"pid:{DEMO_PID}", "pid:1")


def foreign_check(check, home):
    """A file of Ingero has calls, and no account of threads."""
    path = home.path("foreign.db")
    with gzip.open(NOT_OURS) as packed, open(path, "wb") as plain:
        shutil.copyfileobj(packed, plain)
    own = home.path("contention.db")
    refused(check, home, "a file of another program", 1, "B was recorded by another program", own, path)
    refused(check, home, "times of it", 1, "A was recorded by another program", "--db", path, "..1m", "1m")


def steps_run(home, kernels_us):
    """Loops of these kernels, side by side: their process ids."""
    libraries = os.path.dirname(home.programs.library("libcudart.so.12"))
    runs = [subprocess.Popen([sys.executable, "-S", STEPS, "--libraries", libraries, "--seconds", str(SECONDS), "--wait-for-stdin", "--kernel-us", str(us)],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "LD_LIBRARY_PATH": libraries}) for us in kernels_us]
    pids = [int(run.stdout.readline()) for run in runs]
    for run in runs:
        run.stdin.close()
    for run in runs:
        run.wait()
        run.stdout.close()
    return pids


def traced_check(check, home):
    """Real loops: two alike, and one whose kernels take a quarter longer."""
    tracing = ingero.Tracing(home.programs, "--pid", str(os.getpid()), "--db", home.db)
    try:
        ingero.wait_for(tracing.lines, "the start of the trace")
        pids = steps_run(home, (500, 500, 625))
    finally:
        trace = tracing.stop()
    if any(family["name"] == "sched" and family["state"] == "absent" for family in trace.start["families"]):
        print("this kernel does not tell of task switches: accounts have no parts", file=sys.stderr)
        return
    first, alike, longer = (f"pid:{pid}" for pid in pids)
    answer = compared(check, home, "longer kernels", SLOWER, "--db", home.db, first, longer)
    if answer:
        without = answer["basis"] == "without_runnable"
        told = next(part for part in answer["parts"] if part["is_told"] and not (without and part["class"] == "runnable"))
        check("longer kernels: waits for the device", (told["where"], told["class"], told["op"]) == ("in", "device", "cudaStreamSynchronize"), answer["parts"][:3])
        check("longer kernels: script", answer["program"]["script"] == "steps.py", answer["program"])
        check("longer kernels: per synchronise", answer["per"] == "cudaStreamSynchronize", answer["per"])
        launches = next(row for row in answer["operations"] if row["op"] == "cudaLaunchKernel")
        check("longer kernels: as many launches", abs(launches["a"]["per_unit"] - 9) < 0.1 and abs(launches["b"]["per_unit"] - 9) < 0.1, launches)
    # with a load on this machine beside it, alike may be not known so well; it is never slower
    done = home.run("compare", "--json", "--db", home.db, first, alike)
    check("alike: not slower", done.returncode in (0, UNKNOWN) and json.loads(done.stdout)["verdict"] in ("same", "unknown"), done.returncode, done.stdout[:300])


def main(build):
    check = kept.Checks()
    with kept.Kept(build) as home:
        demos_check(check, home)
        foreign_check(check, home)
        if os.geteuid() == 0:
            with ingero.mapped(home.programs.library("libcudart.so.12")):
                traced_check(check, home)
        else:
            print("capture needs root: no loop was traced", file=sys.stderr)
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
