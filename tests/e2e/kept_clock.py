#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
kept_clock.py BUILD [CASE]...: a clock that is set, a machine that slept, summer time that begins and ends, two boots
in one file: everything in its order, at the times that clocks on the wall showed.

A demo is recorded, then its clock is turned as the recorder writes it.
"""
import datetime
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import ingero  # noqa: E402
import kept  # noqa: E402

BERLIN = {"TZ": "CET-1CEST,M3.5.0,M10.5.0/3"}  # Europe/Berlin, where its file is not installed, too
HOUR_NS = 3600 * 10**9
LAST_OF_ALL = ("--from", "2001-01-01", "--to", "2100-01-01")


def utc_ns(*fields):
    return int(datetime.datetime(*fields, tzinfo=datetime.timezone.utc).timestamp()) * 10**9


def play(home):
    home.answer("demo", "cpu-contention", "--speed", "50", "--db", home.db)


def calls_of(home, *options, **more):
    out = home.answer("query", "--json", "--limit", 1000000, "--db", home.db, *options, **more)
    return [json.loads(line) for line in out.splitlines()]


def starts(calls):
    """Their moments by the clock that nobody turns: the middle of an id."""
    return [(int(boot), int(start, 16)) for boot, start, _ in (call["id"].split(".") for call in calls)]


def step(path, at_mono_ns, by_ns):
    """From that moment on the clock on the wall showed so much more."""
    with kept.tables(path) as connection:
        boot, mono, unix = connection.execute("SELECT boot, mono_ns, unix_ns FROM clock ORDER BY mono_ns DESC LIMIT 1").fetchone()
        connection.execute("INSERT INTO clock VALUES (?, ?, ?)", (boot, at_mono_ns, at_mono_ns + unix - mono + by_ns))


def in_order(check, name, calls, before):
    check(f"{name}: all of them", len(calls) == before, len(calls), before)
    check(f"{name}: in their order", starts(calls) == sorted(starts(calls)), calls[:1], calls[-1:])


def summer_time(check, name, home, moment_ns, around):
    """The finding, 5 s long, lies around the moment at which the clocks are changed."""
    finding = home.explain(*LAST_OF_ALL)["findings"][0]
    begin, end = kept.unix_ns(finding["start"]), kept.unix_ns(finding["end"])
    kept.turn_clock(home.db, moment_ns - (begin + end) // 2)
    answer = home.explain("--db", home.db, *LAST_OF_ALL)
    moved = answer["findings"][0]
    check(f"{name}: as long as before", kept.unix_ns(moved["end"]) - kept.unix_ns(moved["start"]) == end - begin, moved)
    check(f"{name}: around it", kept.unix_ns(moved["start"]) < moment_ns < kept.unix_ns(moved["end"]), moved)
    check.same(f"{name}: the same again", home.explain(*LAST_OF_ALL, environment=BERLIN), answer)
    calls = calls_of(home, environment=BERLIN)
    in_order(check, name, calls, answer["window"]["events"])
    times = [call["timestamp"] for call in calls]
    check(f"{name}: JSON is UTC, and goes on", times == sorted(times), times[:1], times[-1:])
    text = kept.words_of(home.answer("explain", "--from", "2001-01-01", environment=BERLIN))
    check(f"{name}: by the clocks on the wall", all(one in text for one in around), text)
    shown = home.answer("query", "--limit", 100000, "--db", home.db, environment=BERLIN)
    check(f"{name}: query, too", len(shown.splitlines()) == len(calls) + 1)
    half = home.explain("--from", kept.time_text(moment_ns), "--to", "2100-01-01", environment=BERLIN)["window"]
    check(f"{name}: from that moment on", 0 < half["events"] < answer["window"]["events"], half, answer["window"])


def test_spring(check, home):
    play(home)
    summer_time(check, "spring", home, utc_ns(2026, 3, 29, 1), ("01:59:57", "03:00:02"))


def test_autumn(check, home):
    """An hour that comes twice says which one it is."""
    play(home)
    summer_time(check, "autumn", home, utc_ns(2026, 10, 25, 1), ("02:59:57 CEST", "02:00:02 CET"))


def stepped(check, name, home, by_ns):
    play(home)
    before = calls_of(home)
    middle = starts(before)[len(before) // 2][1]
    step(home.db, middle, by_ns)
    calls = calls_of(home, *LAST_OF_ALL)
    times = [kept.unix_ns(call["timestamp"]) for call in calls]
    in_order(check, name, calls, len(before))
    newest = calls_of(home, *LAST_OF_ALL, "--limit", len(before) // 4)
    in_order(check, f"{name}, the newest", newest, len(before) // 4)
    check(f"{name}: the newest are the last that were made", newest == calls[-len(newest):], newest[:1], newest[-1:])
    rows = home.sql("SELECT timestamp FROM events ORDER BY timestamp")
    check(f"{name}: SQL is asked for another order", [row["timestamp"] for row in rows] == sorted(times), len(rows))
    expected = {was["id"]: kept.unix_ns(was["timestamp"]) + (by_ns if starts([was])[0][1] >= middle else 0) for was in before}
    check(f"{name}: each once, at the time it was", {call["id"]: at for call, at in zip(calls, times)} == expected and
          len(calls) == len(before), len(calls), len(before))
    return before, calls


def test_step_on(check, home):
    """Set forward by an hour: as after a suspend, nothing was in between."""
    before, calls = stepped(check, "on", home, HOUR_NS)
    times = [kept.unix_ns(call["timestamp"]) for call in calls]
    check("on: in the order of their times", times == sorted(times))
    first, last = kept.unix_ns(before[0]["timestamp"]), kept.unix_ns(before[-1]["timestamp"])
    between = (kept.time_text(last + 60 * 10**9), kept.time_text(first + HOUR_NS - 60 * 10**9))
    asleep = home.explain("--from", between[0], "--to", between[1])
    check("on: nothing in between", asleep["window"]["events"] == 0 == asleep["window"]["calls"], asleep["window"])
    one, other = (home.explain("--from", begin, "--to", end)["window"]["events"] for begin, end in
                  (("2001-01-01", between[0]), (between[1], "2100-01-01")))
    check("on: each call on one side", one > 0 and other > 0 and one + other == len(before), one, other, len(before))


def test_step_back(check, home):
    """Set back by an hour: two hours of the same name, each call once, and those behind the step come last."""
    before, calls = stepped(check, "back", home, -HOUR_NS)
    check("back: behind the step it is earlier", calls[0]["timestamp"] > calls[-1]["timestamp"], calls[:1], calls[-1:])
    whole = home.explain(*LAST_OF_ALL)
    check("back: each call once", whole["window"]["events"] == len(before), whole["window"])
    last = home.explain("--last", 10)
    check("back: the last ten", last["window"]["events"] >= 10, last["window"])


def test_two_boots(check, home):
    """Monotonic clocks begin anew: calls of two boots whose clocks overlap are told apart and lie in their own time."""
    play(home)
    kept.turn_clock(home.db, -kept.DAY_NS)
    with kept.tables(home.db) as connection:
        connection.execute("UPDATE boot SET boot_id = '00000000-0000-4000-8000-000000000001'")
    first = calls_of(home)
    first_answer = home.explain(*LAST_OF_ALL)
    play(home)
    calls = calls_of(home)
    in_order(check, "boots", calls, 2 * len(first))
    times = [call["timestamp"] for call in calls]
    check("boots: by the clock", times == sorted(times))
    check("boots: told apart", {boot for boot, _ in starts(calls)} == {1, 2})
    noon = kept.time_text(kept.unix_ns(first[-1]["timestamp"]) + kept.DAY_NS // 2)
    older, newer = home.explain("--from", "2001-01-01", "--to", noon), home.explain("--from", noon, "--to", "2100-01-01")
    for key in ("window", "findings", "operations"):
        check.same(f"boots: the old one's {key}", older[key], first_answer[key])
    check("boots: the new one's", newer["window"]["calls"] == older["window"]["calls"] and len(newer["findings"]) == 1 and
          len(newer["sessions"]) == 1 == len(older["sessions"]), newer["window"], older["window"])
    text = home.answer("explain", "--chains", environment=BERLIN)
    check("boots: both findings", text.count(" HIGH ") == 2 and text.count("python") == 2, text)


def main(build, names):
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
