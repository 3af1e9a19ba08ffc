#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
stacks_answers.py BUILD CASE: everything that tells of stored stacks tells the same: the trace itself, `stacks`, `explain ID`, SQL and the
export. A user is told of his own.

answers: the sums over call sites are those of the calls; findings: their line; users: through a service. Needs root (or it is skipped).
"""
import collections
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import gil_waits  # noqa: E402
import ingero  # noqa: E402
import kept  # noqa: E402
import service_users  # noqa: E402
import stacks_of  # noqa: E402

WORKLOADS = HERE.parent / "workloads"
SHAPES = ("plain", "tasks", "from_c", "classes", "compiled", "not_ascii")
SOURCES = ("cuda", "driver")


def line_of_call():
    """The line of callers_shapes.py that makes nearly all calls."""
    lines = (WORKLOADS / "callers_shapes.py").read_text(encoding="utf-8").splitlines()
    return lines.index("        function(here.pointer, here.bytes)") + 1


SITE = f"callers_shapes.py:{line_of_call()} in call"


def command_of(home, report, script=WORKLOADS / "callers.py"):
    return ["/usr/bin/python3", "-B", str(script), "--libraries", os.path.dirname(home.programs.library("libcuda.so.1")), "--report", report]


def words(stack):
    """(function, line) of each Python frame of an event."""
    return [(frame.get("py_func"), frame.get("py_line")) for frame in stack if stacks_of.is_python(frame)]


def test_stacks(check, home, calls):
    """The table and every measure: sums over all sites are those of the calls."""
    outermost = [call for call in calls if not call["depth"]]
    n = len(outermost)
    check("stacks: calls of the driver are within calls of the runtime", 0 < n < len(calls), n, len(calls))
    text = kept.words_of(home.answer("stacks", "--db", home.db))
    check("stacks: the line that calls", SITE.rsplit(" ", 1)[0] in text, text[:1500])
    for by, total in (("count", n), ("time", sum(call["duration_ns"] for call in outermost))):
        folded = home.answer("stacks", "--db", home.db, "--format", "folded", "--measure", by)
        weights = [int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()]
        check(f"folded by {by}: the sum is that of the calls, those within others not again", abs(sum(weights) - total) <= len(weights), sum(weights), total)
        orders = [[re.match(r"\w*", frame)[0] for frame in line.rsplit(" ", 1)[0].split(";")] for line in folded.splitlines()]
        orders = [order for order in orders if {"main", "call"} <= set(order)]
        check(f"folded by {by}: outermost first", orders and all(order.index("main") < order.index("call") for order in orders), folded[:500])
    one = home.answer("stacks", "--db", home.db, "--format", "folded", "--op", "cudaMalloc", "--measure", "count")
    check("folded of one operation", sum(int(line.rsplit(" ", 1)[1]) for line in one.splitlines()) == sum(call["op"] == "cudaMalloc" for call in calls))
    inner = home.answer("stacks", "--db", home.db, "--format", "folded", "--op", "cuMemAlloc", "--measure", "count")
    check("folded of an operation of the driver", sum(int(line.rsplit(" ", 1)[1]) for line in inner.splitlines()) == sum(call["op"] == "cuMemAlloc" for call in calls) > 0, inner)
    told = [json.loads(line) for line in home.answer("stacks", "--json", "--db", home.db).splitlines()]
    check("JSON: each site has its place", told and all(re.search("callers_shapes.py", json.dumps(line)) for line in told[:1]), told[:1])


def test_explain(check, home, calls):
    """One call: its frames in the order of the trace's, native ones between those of Python."""
    call = max((call for call in calls if call["op"] == "cudaMalloc" and "stack" in call), key=lambda call: len(words(call["stack"])))
    text = home.answer("explain", "--db", home.db, call["id"])
    place = -1
    for function, line in words(call["stack"])[:8]:
        found = text.find(f":{line} in {function}", place + 1)
        check(f"explain ID: {function}, line {line}", found > place, text[-3000:])
        place = max(place, found)
    check("explain ID: native frames, too", "cudaMalloc" in text and "[Python]" in text, text[-2000:])
    told = json.loads(home.answer("explain", "--json", "--db", home.db, call["id"]))["call"]
    check.same("explain ID --json: the same stack", told.get("stack"), call["stack"])
    queried = [json.loads(line) for line in home.answer("query", "--json", "--db", home.db, "--limit", 100000).splitlines()]
    of = {row["id"]: row for row in queried}
    differ = [(call["id"], call["op"]) for call in calls if of.get(call["id"], {}).get("stack") != call.get("stack")]
    check("query --json: the stacks of the trace", not differ, len(differ), differ[:3])


def frames_of(row):
    return json.loads(row["frames"]) if isinstance(row["frames"], str) else row["frames"]


def check_stack_traces(check, name, calls, events, traces):
    """Ingero's tables. events: rows with stack_hash, in order; traces: {hash: frames}"""
    used = [row["stack_hash"] for row in events if row["stack_hash"]]
    check(f"{name}: each call has its stack", len(used) == len(calls), len(used), len(calls))
    check(f"{name}: and each of these is there", set(used) <= set(traces), len(set(used) - set(traces)))
    check(f"{name}: none is there twice", len({json.dumps(frames) for frames in traces.values()}) == len(traces), len(traces))
    told = collections.Counter(tuple((frame.get("pfn"), frame.get("pl")) for frame in traces[one] if "pfn" in frame) for one in used if one in traces)
    wanted = collections.Counter(tuple(words(call["stack"])) for call in calls)
    check(f"{name}: Python frames are those of the trace", told == wanted, list((told - wanted).items())[:2], list((wanted - told).items())[:2])


def test_sql(check, home, calls):
    where = f"WHERE source_name IN {SOURCES}"
    events = home.sql(f"SELECT stack_hash FROM events {where}", "--db", home.db)
    traces = {row["hash"]: frames_of(row) for row in home.sql("SELECT hash, frames FROM stack_traces", "--db", home.db)}
    check_stack_traces(check, "SQL", calls, events, traces)
    sites = home.sql("SELECT * FROM call_sites", "--db", home.db)
    check("SQL call_sites: the sum is that of the calls", sum(row["count"] for row in sites) == len(calls), len(calls), sites[:2])
    check("SQL call_sites: those within others say so", sum(row["count"] for row in sites if row["is_inner"]) == sum(call["depth"] > 0 for call in calls), sites[:2])
    check("SQL call_sites: the line", any(row["site_line"] == line_of_call() and row["site_func"] == "call" and row["site_file"].endswith("callers_shapes.py") for row in sites), sites[:3])


def test_export(check, home, calls):
    path = home.path("exported.db")
    home.answer("export", "--format", "db", "--db", home.db, "-o", path)
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        connection.row_factory = sqlite3.Row
        ids = tuple(connection.execute(f"SELECT id FROM sources WHERE lower(name) IN {SOURCES}"))
        events = [dict(row) for row in connection.execute(f"SELECT stack_hash FROM events WHERE source IN ({','.join(str(row['id']) for row in ids)})")]
        traces = {row["hash"]: frames_of(row) for row in connection.execute("SELECT hash, frames FROM stack_traces")}
    check_stack_traces(check, "export", calls, events, traces)


def test_debug(check, home):
    """`trace --debug` prints each call's frames as Ingero does, on stderr."""
    done = home.run("trace", "--db", home.path("debug.db"), "--record", "all", "--debug", "--", *command_of(home, home.path("debug"), ), "plain")
    check("trace --debug: frames", done.returncode == 0 and "[Python]" in done.stderr and "[Native]" in done.stderr and SITE in done.stderr,
          done.returncode, done.stderr[-2000:])


def case_answers(check, build):
    with kept.Kept(build) as home:
        report = home.path("calls")
        trace = ingero.trace(home.programs, "--db", home.db, "--record", "all", "--stack", "all", command=[*command_of(home, report), *SHAPES],
                             environment={"INGERO_STANDIN_QUIET": "1"})
        check("the trace ended well", trace.status == 0 and not trace.lost(), trace.status, trace.stderr[-500:], trace.lost())
        calls = [event for event in trace.events if event["source"] in SOURCES]
        check("calls with stacks", len(calls) > 100 and all("stack" in call for call in calls), len(calls))
        for test in (test_stacks, test_explain, test_sql, test_export):
            test(check, home, calls)
        test_debug(check, home)


# ---- findings ----

LOOP = WORKLOADS / "cudaload.py"
CALLS_AT = "        code = self.functions[name](*arguments)"


def case_findings(check, build):
    """A finding names the line that made the calls, with each interpreter."""
    line = LOOP.read_text(encoding="utf-8").splitlines().index(CALLS_AT) + 1
    for name, python in gil_waits.interpreters():
        with kept.Kept(build) as home:
            command = ["taskset", "-c", "0", python, "-B", str(LOOP), "--libraries", os.path.dirname(home.programs.library("libcuda.so.1")), "--seconds", "6"]
            hog = ingero.start_hog(0)
            try:
                trace = ingero.trace(home.programs, "--db", home.db, command=command,
                                     environment={"INGERO_STANDIN_QUIET": "1", "INGERO_STANDIN_INSIDE": "cudaLaunchKernel=300us:spin"})
            finally:
                hog.kill()
                hog.wait()
            check(f"{name}: the trace ended well", trace.status == 0, trace.status, trace.stderr[-500:])
            found = [one for one in home.explain("--db", home.db)["findings"] if one["kind"] == "cpu_contention"]
            told = [(os.path.basename(one.get("from", {}).get("file", "")), one.get("from", {}).get("func"), one.get("from", {}).get("line")) for one in found]
            check(f"{name}: from the line that calls", told and set(told) == {(LOOP.name, "call", line)}, told, found)
            text = kept.words_of(home.answer("explain", "--db", home.db))
            check(f"{name}: in words", f"{LOOP.name}:{line} in call" in text, text[:2000])


# ---- two users ----

QUESTIONS = (("stacks",), ("stacks", "--json"), *(("stacks", "--format", form) for form in ("folded", "svg", "speedscope")),
             ("query", "--json", "--sql", "SELECT * FROM stack_traces"), ("query", "--json", "--sql", "SELECT * FROM call_sites"),
             ("query", "--json", "--sql", "SELECT * FROM events"), ("query", "--json"), ("explain", "--json", "--per-process"), ("explain",))


def ask(home, name, *question):
    return service_users.ask(home, name, *question).stdout


def record(home, name):
    """One program of a user's, whose functions and file have a name of his own."""
    place = pathlib.Path(home.path(name))
    for source in WORKLOADS.glob("callers*.py"):
        text = source.read_text(encoding="utf-8").replace("recurse", f"of_{name}")
        (place / source.name).write_text(text, encoding="utf-8")
    traced = service_users.ask(home, name, "trace", "--json", "--record", "all", "--stack", "all", "--", *command_of(
        home, str(place / "report"), place / "callers.py"), "plain", "recursion")
    events = [line for line in map(json.loads, traced.stdout.splitlines()) if line["type"] == "event" and line["source"] in SOURCES]
    return traced, events


def case_users(check, build):
    kept.in_own_mounts("users of a service need root")
    with kept.Kept(build) as home:
        service_users.add_people(home)
        with kept.lists_given_back():
            if subprocess.run([*service_users.become("first"), home.programs.path("ingero"), "version"], check=False, capture_output=True).returncode:
                kept.skip(f"{build} cannot be run by other users")
            with service_users.service(home, "everyone"):
                events = {}
                for name in ("first", "second"):
                    traced, events[name] = record(home, name)
                    functions = {frame.get("py_func") for event in events[name] for frame in event.get("stack", [])}
                    check(f"{name}: live, his own", traced.returncode == 0 and f"of_{name}" in functions, traced.returncode, traced.stderr[-500:], functions)
                for name, other in (("first", "second"), ("second", "first"), ("other", "first"), ("other", "second")):
                    for question in QUESTIONS:
                        text = ask(home, name, *question)
                        check(f"{name}: {' '.join(question)}: nothing of {other}'s", f"of_{other}" not in text and home.path(other) not in text, text[-800:])
                        if name != "other" and question[0] == "stacks" or "stack_traces" in question[-1] and name != "other":
                            check(f"{name}: {' '.join(question)}: his own", f"of_{name}" in text or question[:2] in (("stacks",), ("stacks", "--json")), text[-800:])
                    identity = events[other][0]["id"]
                    told = service_users.ask(home, name, "explain", identity)
                    check(f"{name}: a call of {other}'s by its id", told.returncode == 1 and f"of_{other}" not in told.stdout + told.stderr, told)
                    check(f"{name}: his own by its id", name == "other" or "callers_shapes.py" in ask(home, name, "explain", events[name][0]["id"]))
                for name in ("first", "second"):
                    check(f"reader: {name}'s", f"of_{name}" in ask(home, "reader", "stacks", "--format", "folded"))


CASES = {name[5:]: function for name, function in list(globals().items()) if name.startswith("case_")}


def main(build, case):
    return kept.run_case(case, lambda check: CASES[case](check, build))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
