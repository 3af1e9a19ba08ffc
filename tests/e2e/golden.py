#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Answers of a known state of the tree to all questions, on databases that it wrote and on its demos, are today's answers, or the
difference is listed and explained: golden.py BUILD [--rewrite [WHY] | --record [answers]].

--rewrite writes today's differences into tests/data/golden/differences.md, WHY beside those that are new; --record makes databases and
answers anew, or the answers alone, with the programs of BUILD (needs root).
"""
import difflib
import getpass
import gzip
import hashlib
import json
import os
import pathlib
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "workloads")]
import ingero  # noqa: E402
import kept  # noqa: E402
import service_users  # noqa: E402

GOLDEN = HERE.parent / "data/golden"
ANSWERS = GOLDEN / "answers.json.gz"
DIFFERENCES = GOLDEN / "differences.md"
DATABASES = ("incident", "cold-start", "cpu-contention", "trace", "service")
DEMOS = DATABASES[:3]
RECORDED_NS = 1736942400 * 10**9  # 2025-01-15 12:00 UTC: what is shown of a time does not depend on today
LINES_KEPT = 150  # of an answer; of what is longer the rest is a sum
DIFF_SHOWN = 24
UNEXPLAINED = "not explained"

OF_THE_RUN = ("kernel", "store", "start_time", "daemon_cpu_ns", "daemon_rss_bytes")
CALL_ID = re.compile(r"\b(\d+)\.[0-9a-f]{6,}\.(\d+)\b")
FINDING_ID = re.compile(r"[0-9a-f]{16}")
CLOCK = re.compile(r"\b\d\d:\d\d:\d\d(?:\.\d+)?\b")


class Subject:
    """What is asked: a directory with one database, or a demo."""

    def __init__(self, build, directory):
        self.programs = ingero.Programs(build)
        self.directory = directory
        self.environment = {**self.programs.environment(directory), "TZ": "UTC", "TMPDIR": directory}

    def run(self, *arguments):
        command = [self.programs.path("ingero-cli"), *arguments]
        done = subprocess.run(command, env=self.environment, cwd=self.directory, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return done.returncode, done.stdout, done.stderr.decode()

    def answer(self, *arguments):
        """One answer as it is kept: lines, however long each was."""
        status, out, error = self.run(*arguments)
        text = out.decode()
        if "--json" in arguments:
            text = "\n".join(json.dumps(json.loads(line), indent=1, ensure_ascii=False) for line in text.splitlines())
        text = (text + ("\n" + error if error else "")).replace(self.directory, "DIRECTORY")
        return shortened([f"exit status {status}", *text.splitlines()])


def shortened(lines):
    """The beginning of an answer, and a sum of the whole of it."""
    if len(lines) <= LINES_KEPT:
        return lines
    return [*lines[:LINES_KEPT], f"... {len(lines)} lines, sha256 {hashlib.sha256(chr(10).join(lines).encode()).hexdigest()}"]


# --- databases ---

def questions(subject):
    """{name: arguments} of one database; which findings and calls there are is asked of it, too."""
    found = {"explain": ["explain"], "explain --json": ["explain", "--json"], "explain --per-process": ["explain", "--per-process"],
             "explain --per-process --json": ["explain", "--per-process", "--json"], "explain --chains": ["explain", "--chains"],
             "explain --chains --json": ["explain", "--chains", "--json"], "explain --last": ["explain", "--last", "100", "--json"],
             "explain --from": ["explain", "--from", "2025-01-15 12:00:02", "--to", "2025-01-15 12:00:04"],
             "explain --from --json": ["explain", "--json", "--from", "2025-01-15 12:00:02", "--to", "2025-01-15 12:00:04"],
             "explain, nothing there": ["explain", "--from", "2001-01-01", "--to", "2001-01-02"],
             "query": ["query"], "query --json": ["query", "--json"], "query --limit": ["query", "--limit", "20"],
             "query --op": ["query", "--op", "cudaMemcpyAsync", "--json"], "query --min-duration": ["query", "--min-duration", "2ms"],
             "query --from": ["query", "--from", "2025-01-15 12:00:02", "--to", "2025-01-15 12:00:03", "--json"], "tables": ["query", ".tables"],
             "statistics by SQL": ["query", "SELECT op_name, count(*), sum(duration), min(duration), max(duration) FROM events GROUP BY op_name ORDER BY 1"],
             "SQL that is wrong": ["query", "SELECT nothing FROM nowhere"]}
    answer = json.loads(subject.run("explain", "--json", "--per-process", "--db", "golden.db")[1])
    for i, finding in enumerate(answer["findings"]):
        found[f"finding {i}"] = ["explain", finding["id"]]
        found[f"finding {i} --json"] = ["explain", "--json", finding["id"]]
        for k, call in enumerate(finding.get("examples", [])[:1]):
            found[f"call {i}.{k}"] = ["explain", call["id"]]
            found[f"call {i}.{k} --json"] = ["explain", "--json", call["id"]]
    for i, pid in enumerate(sorted({row["pid"] for row in answer["operations"]})):
        found[f"process {i}"] = ["explain", "-p", str(pid)]
    return found


def table_answer(subject, table):
    """Rows in an order of their own: what a table gives first is nobody's promise."""
    status, out, error = subject.run("query", "--db", "golden.db", f"SELECT * FROM {table}")
    head, *rows = (out.decode() + error).splitlines() or [""]
    return shortened([f"exit status {status}", head, *sorted(rows)])


def export_answer(subject):
    """The exported file as its tables have it."""
    status, _, error = subject.run("export", "-o", "exported.db", "--db", "golden.db")
    lines = [f"exit status {status}", *error.replace(subject.directory, "DIRECTORY").splitlines()]
    path = os.path.join(subject.directory, "exported.db")
    if not os.path.exists(path):
        return {"export": lines}
    answers = {}
    connection = sqlite3.connect(path)
    for name, kind, text in connection.execute("SELECT name, type, sql FROM sqlite_master ORDER BY name").fetchall():
        lines.append(f"{kind} {name}: {' '.join((text or '').split())}")
        if kind == "table":
            rows = connection.execute(f'SELECT * FROM "{name}"').fetchall()
            answers[f"export, {name}"] = shortened(sorted(map(repr, rows)))
    connection.close()
    answers["export"] = lines
    return answers


def database_answers(build, name):
    with tempfile.TemporaryDirectory(prefix="ingero-golden-") as directory:
        with gzip.open(GOLDEN / f"{name}.db.gz") as packed:
            pathlib.Path(directory, "golden.db").write_bytes(packed.read())
        before = pathlib.Path(directory, "golden.db").read_bytes()
        subject = Subject(build, directory)
        answers = {question: subject.answer(*arguments, "--db", "golden.db") for question, arguments in questions(subject).items()}
        for table in subject.run("query", "--db", "golden.db", ".tables")[1].decode().split()[1:]:
            answers[f"table {table}"] = table_answer(subject, table)
        answers.update(export_answer(subject))
        if pathlib.Path(directory, "golden.db").read_bytes() != before:
            answers["the file afterwards"] = ["was written to"]
        return answers


# --- demos ---

def plain(value, start_ns):
    """A line of a demo without what differs from one run, or one machine, to the next."""
    if isinstance(value, dict):
        value = {key: plain(one, start_ns) for key, one in value.items() if key not in OF_THE_RUN}
        if "window_ns" in value:
            value["window_ns"] = round(value["window_ns"], -7)
        return {key: "USER" if key in ("uid", "user") and one in (os.getuid(), getpass.getuser()) else one for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one, start_ns) for one in value]
    if isinstance(value, float):
        return float(f"{value:.3g}")
    if isinstance(value, str):
        if kept.TIME.fullmatch(value):
            return f"start + {(kept.unix_ns(value) - start_ns) / 1e9:.3f}"
        if FINDING_ID.fullmatch(value):
            return "FINDING"
        return CALL_ID.sub(r"\1.TIME.\2", value)
    return value


def demo_text(text):
    text = CLOCK.sub("HH:MM:SS", text)
    for word, said in ((socket.gethostname(), "HOST"), (getpass.getuser(), "USER")):
        text = re.sub(rf"\b{re.escape(word)}\b", said, text)
    return text


def demo_answers(build):
    answers = {}
    with tempfile.TemporaryDirectory(prefix="ingero-golden-") as directory:
        subject = Subject(build, directory)
        answers["list"] = subject.answer("demo")
        for name in DEMOS:
            status, out, error = subject.run("demo", name, "--speed", "1000")
            answers[name] = [f"exit status {status}", *demo_text(out.decode() + error).splitlines()]
            status, out, error = subject.run("demo", name, "--speed", "1000", "--json")
            lines = [json.loads(line) for line in out.decode().splitlines()]
            start_ns = kept.unix_ns(lines[0]["timestamp"])
            for kind in sorted({line["type"] for line in lines}):
                told = [plain(line, start_ns) for line in lines if line["type"] == kind]
                text = "\n".join(json.dumps(line, indent=1, ensure_ascii=False) for line in told)
                answers[f"{name} --json, {kind}"] = shortened([f"exit status {status}", *error.splitlines(), *text.splitlines()])
    return answers


# --- what differs ---

def all_answers(build):
    answers = {"demo": demo_answers(build)}
    for name in DATABASES:
        answers[name] = database_answers(build, name)
    return {f"{subject}: {question}": lines for subject, of in answers.items() for question, lines in of.items()}


def difference(before, now):
    """Lines that are gone and lines that are new."""
    return [line for line in difflib.unified_diff(before, now, n=0, lineterm="") if not line.startswith(("---", "+++", "@@"))]


def sum_of(lines):
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


SECTION = re.compile(r"^## (?P<name>.+)\n\nwhy: (?P<why>.*)\n\nsum: (?P<sum>\w+)\n", re.M)


def explained(text):
    """{question: (why, sum)}"""
    return {match["name"]: (match["why"], match["sum"]) for match in SECTION.finditer(text)}


def section(name, why, diff):
    shown = diff[:DIFF_SHOWN] + ([f"... {len(diff)} lines"] if len(diff) > DIFF_SHOWN else [])
    return f"## {name}\n\nwhy: {why}\n\nsum: {sum_of(diff)}\n\n```diff\n" + "\n".join(shown) + "\n```\n"


HEADING = """# What is answered otherwise since

`tests/e2e/golden.py BUILD --rewrite WHY` writes this page; the test e2e.golden fails where an answer differs and is not here with
its reason.
"""


def differences(before, now):
    found = {}
    for name in sorted(before.keys() | now.keys()):
        lines = difference(before.get(name, []), now.get(name, []))
        if lines:
            found[name] = lines
    return found


def rewrite(found, known, why):
    sections = []
    for name, lines in found.items():
        old_why, old_sum = known.get(name, (UNEXPLAINED, ""))
        sections.append(section(name, old_why if old_sum == sum_of(lines) else why, lines))
    DIFFERENCES.write_text("\n".join([HEADING, *sections]), encoding="utf-8")
    print(f"{len(found)} answers differ")


def complaints(found, known):
    for name, lines in found.items():
        why, known_sum = known.get(name, ("", ""))
        if known_sum != sum_of(lines) or why in ("", UNEXPLAINED):
            shown = "\n".join(lines[:60])
            yield f"{name}: answered otherwise, and tests/data/golden/differences.md does not say why:\n{shown}"
    for name in known.keys() - found.keys():
        yield f"{name}: answered as ever, tests/data/golden/differences.md says otherwise"


# --- how it was recorded ---

def pack(path, name):
    """The file as if it had begun at a fixed time, with nothing beside it."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    with kept.tables(path) as connection:
        unix_ns = connection.execute("SELECT min(unix_ns) FROM clock").fetchone()[0]
    kept.turn_clock(path, RECORDED_NS - unix_ns)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    with gzip.GzipFile(GOLDEN / f"{name}.db.gz", "wb", 9, mtime=0) as packed:
        packed.write(pathlib.Path(path).read_bytes())


LOAD = ("--mix", "launch=71,memcpy=13,sync=6,malloc=5,free=5", "--duration", "4s", "--inside-us", "300", "--pin", "0")


def record_trace(home):
    """Beside a hog, with a ring that does not hold all: findings and losses."""
    command, _ = home.load(*LOAD)
    hog = ingero.start_hog(0)
    try:
        home.answer("trace", "--json", "--record", "all", "--ringbuf-size", "4k", "--db", home.db, "--", *command)
    finally:
        hog.kill()
        hog.wait()
    pack(home.db, "trace")


def record_service(home):
    """Two users, each with a program; one beside a hog."""
    database = home.path("state/ingero.db")
    uids = [service_users.USERS[name] for name in ("first", "second")]
    service_users.add_people(home)
    with kept.lists_given_back(), service_users.job_that_runs(home), service_users.service(home, ",".join(map(str, uids))) as service:
        service_users.wait_for_libraries(home)
        hog = ingero.start_hog(1)
        loads = [subprocess.Popen([home.programs.path("cudaload"), *LOAD[:-1], str(cpu)], user=uid, group=uid, extra_groups=[], cwd="/",
                                  stdin=subprocess.DEVNULL, env={"INGERO_STANDIN_QUIET": "1"}) for cpu, uid in enumerate(uids)]
        ended = [load.wait() for load in loads]
        hog.kill()
        hog.wait()
        time.sleep(3)  # what is found, and the last seconds
        if any(ended):
            raise ingero.Failed(f"programs ended with {ended}: {service.said()}")
    pack(database, "service")


def record(build, answers_alone):
    for name in () if answers_alone else DEMOS:
        with kept.Kept(build) as home:
            home.answer("demo", name, "--speed", "1000", "--db", home.db)
            pack(home.db, name)
    for make in () if answers_alone else (record_trace, record_service):
        with kept.Kept(build) as home:
            make(home)
    with gzip.GzipFile(ANSWERS, "wb", 9, mtime=0) as packed:
        packed.write(json.dumps(all_answers(build), indent=1, ensure_ascii=False).encode())
    DIFFERENCES.write_text(HEADING, encoding="utf-8")


def main():
    build, *rest = sys.argv[1:]
    if rest[:1] == ["--record"]:
        kept.in_own_mounts("recording needs root")
        record(build, answers_alone=rest[1:] == ["answers"])
        return 0
    with gzip.open(ANSWERS) as packed:
        before = json.load(packed)
    found = differences(before, all_answers(build))
    known = explained(DIFFERENCES.read_text(encoding="utf-8"))
    if rest[:1] == ["--rewrite"]:
        rewrite(found, known, " ".join(rest[1:]) or UNEXPLAINED)
        return 0
    wrong = list(complaints(found, known))
    for one in wrong:
        print(one)
    print(f"{len(before)} answers, {len(found)} of them differ, {len(wrong)} not as listed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
