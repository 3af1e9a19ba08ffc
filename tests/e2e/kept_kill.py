#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
kept_kill.py BUILD: a daemon that is killed while it records loses nothing that an answer had shown, leaves nothing
behind in the kernel and no process, harms no program, and the next one goes on in the same file and says what is
missing.

Needs root (or it is skipped).
"""
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import ingero  # noqa: E402
import kept  # noqa: E402

POINTS = 3
BPFTOOL_PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"


def kernel_ids(pid):
    """{(kind, id)} of every program, map and link that the process holds."""
    found = set()
    for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            fields = dict(line.split(":", 1) for line in path.read_text(encoding="ascii").splitlines() if ":" in line)
            for kind in ("map", "prog", "link"):
                if f"{kind}_id" in fields:
                    found.add((kind, int(fields[f"{kind}_id"])))
    return found


def still_there(ids):
    """Which of them the kernel still has."""
    def has(kind, number):
        return subprocess.run(["bpftool", kind, "show", "id", str(number)], env={**os.environ, "PATH": BPFTOOL_PATH},
                              capture_output=True, check=False).returncode == 0
    return {one for one in ids if has(*one)}


def family(pid):
    """Processes below this one."""
    found = set()
    with contextlib.suppress(OSError):
        for child in ingero.children(pid):
            found |= {child} | family(child)
    return found


def shown(home, *options):
    """What an answer shows of what is kept: calls counted, calls kept, {finding: lost_ns}."""
    answer = home.explain("--from", "2001-01-01", *options)
    return answer, {finding["id"]: finding["lost_ns"] for finding in answer["findings"]}


def one_point(check, home, i):
    """Until so much is shown; then at any moment."""
    name = f"point {i}"
    least = random.randrange(1, 3000)
    command, _ = home.load("--duration", "3600s", "--rate", 2000, "--pin", 0)
    with kept.Service(home, "--db", home.db) as service:
        before, _ = shown(home) if i else ({"window": {"events": 0}}, None)
        program = subprocess.Popen(command, env=home.environment, stdin=subprocess.DEVNULL)
        trace = subprocess.Popen([*home.prefix, home.programs.path("ingero"), "trace", "--record", "all", "--json", "--pid", str(program.pid)],
                                 env=home.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            ingero.wait_for(lambda: shown(home)[0]["window"]["events"] >= before["window"]["events"] + least, f"{name}: {least} calls")
            answer, findings = shown(home)
            ids, children = kernel_ids(service.process.pid), family(service.process.pid)
            check(f"{name}: it records", answer["is_recording"] is True, answer["is_recording"])
            check(f"{name}: it holds something", len(ids) > 10 and children, ids, children)
            service.process.send_signal(signal.SIGKILL)
            service.process.wait()
            trace.wait()
            said = trace.stderr.read().decode()
            check(f"{name}: the client says so", trace.returncode == 1 and said.count("\n") == 1, trace.returncode, said)
            check(f"{name}: the program goes on", program.poll() is None, program.returncode)
            ingero.wait_for(lambda: not still_there(ids), f"{name}: the end of {len(ids)} programs, maps and links")
            ingero.wait_for(lambda: not any(os.path.exists(f"/proc/{child}") for child in children), f"{name}: the end of its children")
        finally:
            for process in (program, trace):
                process.kill()
                process.wait()
            trace.stderr.close()

    after, found = shown(home, "--db", home.db)
    check(f"{name}: nobody records", after["is_recording"] is False, after["is_recording"])
    for key in ("events", "calls"):
        check(f"{name}: no {key} lost", after["window"][key] >= answer["window"][key], answer["window"], after["window"])
    check(f"{name}: no finding lost", findings.keys() <= found.keys(), findings, found)
    return after


def main(build):
    if os.geteuid() != 0:
        kept.skip("capture needs root")
    seed = random.randrange(1 << 32)
    random.seed(seed)
    check = kept.Checks()
    hog = ingero.start_hog(0)
    try:
        with kept.Kept(build) as home:
            for i in range(POINTS):
                last = one_point(check, home, i)
            command, _ = home.load("--calls", 50)
            home.answer("trace", "--record", "all", "--json", "--db", home.db, "--", *command)
            answer, _ = shown(home, "--db", home.db)
            ends = [gap for gap in answer["gaps"] if gap["reason"] == "recorder_ended"]
            check("every end has its gap", len(ends) == POINTS, answer["gaps"])
            check("in order", all(one["to"] <= other["from"] for one, other in zip(ends, ends[1:])), ends)
            check("it goes on", answer["window"]["events"] > last["window"]["events"], answer["window"], last["window"])
            with kept.tables(home.db) as connection:
                check("whole", connection.execute("PRAGMA integrity_check").fetchone() == ("ok",))
            text = kept.words_of(home.answer("explain", "--db", home.db, "--from", "2001-01-01"))
            check("explain says so", "not recorded" in text or "recorder ended" in text or "ended without" in text, text)
    finally:
        hog.kill()
        hog.wait()
    print(f"{len(check.failed)} failed" + (f" (seed {seed})" if check.failed else ""))
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
