#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
kept_answers.py BUILD [CASE]...: explain's answer is honest when there is little to tell: nothing recorded, no events,
only healthy ones, losses, a process that is gone, a window before or after everything, an id that nobody or that
several have.

Needs root (or it is skipped).
"""
import os
import pathlib
import subprocess
import sys
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import ingero  # noqa: E402
import kept  # noqa: E402


def one_line(check, name, done, *said):
    """A refusal: status 1, one sentence, nothing else."""
    check(name, done.returncode == 1 and not done.stdout and done.stderr.startswith("ingero: ") and done.stderr.count("\n") == 1 and
          all(one in done.stderr for one in said), done.returncode, done.stdout, done.stderr)


def text_of(home, *arguments):
    return kept.words_of(home.answer("explain", *arguments))


def test_no_database(check, home):
    for options in ((), ("--json",), ("--chains",), ("--last", 10)):
        one_line(check, f"no database {options}", home.run("explain", *options, environment={"INGERO_DB": ""}), "nothing was recorded yet",
                 "sudo ingero trace", "ingero demo")
    one_line(check, "no such file", home.run("explain", "--db", home.path("none.db")), "none.db", "No such file")
    one_line(check, "a directory", home.run("explain", "--db", home.directory), "is a directory", "name a database file in it")
    check("nothing was made", os.listdir(home.directory) == [], os.listdir(home.directory))


def test_no_events(check, home):
    """Recorded, and nobody called anything."""
    home.answer("trace", "--json", "--", "true")
    answer = home.explain()
    check("no findings", answer["findings"] == [] == answer["operations"], answer)
    check("no calls", answer["window"]["calls"] == 0 == answer["window"]["events"], answer["window"])
    check("who recorded", len(answer["sessions"]) == 1, answer["sessions"])
    text = text_of(home)
    check("says so", text.startswith("No CUDA calls: no process of any user made one") and "recorded by ingero-collectord" in text, text)


def test_healthy(check, home):
    command, _ = home.load("--duration", "1s", "--rate", 200)
    home.answer("trace", "--json", "--", *command)
    answer = home.explain()
    check("no findings above LOW", all(f["severity"] == "LOW" for f in answer["findings"]), answer["findings"])
    text = text_of(home)
    if not answer["findings"]:
        check("says so", "No finding: no process" in text and "had significant delays" in text and "sleeping: the program asked to" in text, text)
        check("and what it watched", f"{answer['window']['calls']:,} calls of 1 process".replace(",", " ") in " ".join(text.split()) and "recorded by" in text, text)
    last = home.explain("--last", 1)["window"]
    check("the last call, not the end of its process behind it", last["events"] >= 1, last)
    pid = answer["operations"][0]["pid"]
    check("gone, and still known", not os.path.exists(f"/proc/{pid}"))
    of_pid = home.explain("-p", pid)
    check("asked by its pid", of_pid["window"]["calls"] == answer["window"]["calls"], of_pid["window"], answer["window"])
    check("in words", f"pid {pid}" in text_of(home, "-p", pid), text_of(home, "-p", pid))
    other = home.explain("-p", 1)
    check("of another pid nothing", other["window"]["calls"] == 0 and not other["findings"], other["window"])

    for name, window in (("before", ("--from", "2001-01-01", "--to", "2001-01-02")), ("after", ("--from", "2099-01-01", "--to", "2099-01-02"))):
        outside = home.explain(*window)
        check(f"{name}: nothing", not outside["findings"] and outside["window"]["calls"] == 0 == outside["window"]["events"] and
              not outside["operations"] and not outside["sessions"], outside)
        text = text_of(home, *window)
        check(f"{name}: says so, and what there is", text.startswith("nothing was recorded") and "the recording goes from" in text and
              "ask with --from '" in text, text)
    backwards = home.run("explain", "--from", "2001-01-02", "--to", "2001-01-01")
    check("backwards: refused", backwards.returncode in (1, 2) and backwards.stderr.count("\n") == 1, backwards.stderr)


def test_last_of_each(check, home):
    """Asked for its last call, each of those that came one after the other is told of, whoever called behind it."""
    command, _ = home.load("--duration", "370ms", "--rate", 200)
    home.answer("trace", "--json", "--", "sh", "-c", " && ".join([" ".join(command)] * 6))
    pids = {operation["pid"] for operation in home.explain("--per-process")["operations"] if operation["op"].startswith("cuda")}
    check("six processes", len(pids) == 6, pids)
    for pid in pids:
        last = home.explain("--last", 1, "-p", pid)
        check("the last call of one", last["window"]["events"] == 1 <= last["window"]["calls"] and
              {operation["pid"] for operation in last["operations"]} == {pid}, pid, last["window"], last["operations"])


def test_losses(check, home):
    """More than a small ring bears: counts stay exact, and what was lost is said wherever it matters."""
    command, _ = home.load("--calls", 150000, "--threads", 2)
    trace = ingero.Trace(home.answer("trace", "--json", "--record", "all", "--ringbuf-size", "4k", "--", *command))
    lost = trace.lost().get("ring_full", 0)
    answer = home.explain()
    check("lost at all", lost > 0, trace.lost())
    check("the same losses", answer["losses"]["ring_full"] == lost, answer["losses"], trace.lost())
    check("counts are exact", answer["window"]["calls"] == sum(trace.counts().values()), answer["window"])
    check("kept and lost are all", answer["window"]["events"] + lost == answer["window"]["calls"], answer["window"], lost)
    # what a busy machine did to `behind` and `stacks` is not for this test to say
    reasons = {gap["reason"] for gap in answer["gaps"]} - {"behind", "stacks"}
    check("a gap tells when", reasons == {"ring_full"}, answer["gaps"])
    text = text_of(home)
    check("in words", "nothing lost" not in text and f"{lost:,} single calls not kept".replace(",", " ") in text, text)


def twin(path, one):
    """The same finding again under an id that begins like the first's."""
    other = one[:12] + f"{int(one[12:], 16) ^ 1:04x}"
    with kept.tables(path) as connection:
        row = list(connection.execute("SELECT * FROM finding WHERE id = ?", (one,)).fetchone())
        data = row[-1].replace(one.encode(), other.encode(), 1)
        row[0], row[-2], row[-1] = other, zlib.crc32(data), data
        connection.execute(f"INSERT INTO finding VALUES ({', '.join('?' * len(row))})", row)
    return other


def test_ids(check, home):
    home.answer("demo", "cpu-contention", "--speed", "20", "--db", home.db)
    one = home.explain()["findings"][0]["id"]
    check("by its beginning", home.explain(one[:6])["findings"][0]["id"] == one)
    one_line(check, "unknown", home.run("explain", "0123456789abcdef"), "0123456789abcdef")
    one_line(check, "unknown beginning", home.run("explain", "--json", f"{int(one[:6], 16) ^ 1:06x}"))
    one_line(check, "unknown call", home.run("explain", "1.abc.1"), "1.abc.1")
    for wrong in ("", "xyz", "1.2", "../etc"):
        done = home.run("explain", "--", wrong)
        check(f"'{wrong}' is no id", done.returncode in (1, 2) and done.stderr.count("\n") == 1, done.stderr)
    other = twin(home.db, one)
    one_line(check, "ambiguous", home.run("explain", one[:6]), one[:6])
    one_line(check, "ambiguous as JSON", home.run("explain", "--json", one[:6]), one[:6])
    for whole in (one, other):
        check("whole, it is one", [f["id"] for f in home.explain(whole)["findings"]] == [whole])
    call = home.explain(one)["findings"][0]["examples"][0]["id"]
    check("a call", home.explain(call)["call"]["id"] == call)


def test_demo(check, home):
    """A demo tells one story once: no line of a finding twice, no command that would find nothing."""
    out = home.answer("demo", "cpu-contention", "--speed", "20", environment={"TMPDIR": home.directory})
    lines = [line for line in out.splitlines() if line.strip()]
    doubled = [line for line in lines if line.startswith("▲") and lines.count(line) > 1]
    words = kept.words_of(out)
    check("the end once", words.count("over after") == 1, doubled, out)
    check("one report", "what it means" not in out and words.count("1 HIGH cudaStreamSynchronize") == 1, out)
    check("no id that leads nowhere", "ingero explain" not in words, out)
    kept_db = home.path("kept.db")
    out = kept.words_of(home.answer("demo", "cpu-contention", "--speed", "20", "--db", kept_db))
    check("kept: the whole command", f"ingero explain --db {kept_db}" in out, out)


def main(build, names):
    if os.geteuid() != 0:
        kept.skip("capture needs root")
    check = kept.Checks()
    tests = {name[5:]: test for name, test in globals().items() if name.startswith("test_")}
    for name in names or tests:
        with kept.Kept(build) as home:
            try:
                tests[name](check, home)
            except (ingero.Failed, OSError, subprocess.SubprocessError, LookupError, ValueError) as error:
                check(name, False, repr(error))
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
