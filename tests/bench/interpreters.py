# SPDX-License-Identifier: Apache-2.0
"""Stacks through Python interpreters of other distributions and builders, against what the interpreters and a program themselves say: how many differ."""
import collections
import importlib.util
import pathlib
import re
import subprocess

import kept
import python_builds
import stacks_of

MEASURES = ("bpf", "collectord/stacks", "collectord/children")

# A benchmark has the same name.
E2E = importlib.util.spec_from_file_location("stacks_e2e", pathlib.Path(__file__).resolve().parent.parent / "e2e" / "stacks.py")
stacks = importlib.util.module_from_spec(E2E)
E2E.loader.exec_module(stacks)

SAID = re.compile(r": (\d+) stacks, (\d+) frames$")
LIMIT_S = 300


def walk(bench, python):
    """The walk alone, in threads of the interpreter, which says what each stack is: tests/bpf/python.c."""
    done = subprocess.run([bench.tools.path("bpf_python"), python], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    found = [match for match in map(SAID.search, done.stdout.splitlines()) if match]
    return {"stacks": sum(int(match[1]) for match in found), "failed": done.returncode, "said": " ".join(done.stderr.split())[:200] if done.returncode else ""}


def trace(bench, python):
    """A traced program with all shapes of stacks: tests/e2e/stacks.py."""
    check = kept.Checks()
    with stacks.Run(bench.programs, check, python) as run:
        told = run.under(run.python(python, "--rounds", 2))
        judge = stacks_of.Judge()
        judge.compare(run.calls(), told.events)
    differ = collections.Counter(f"{call.split()[0]}: {what}" for call, what, *_ in judge.problems)
    return {"calls": sum(judge.n.values()), "complete": sum(judge.n_complete.values()), "whys": {why: n for why, n in judge.whys.items() if why},
            "differ": sum(differ.values()), "how": ", ".join(differ)[:200]}


PARTS = {"walk": walk, "trace": trace}


def one(bench, name, part):
    """Figures of one interpreter; of one that cannot be fetched, why."""
    try:
        python = python_builds.get(name)
    except python_builds.Unreachable as error:
        return {"missing": str(error)[:200]}
    return {"version": python_builds.version_of(python), **PARTS[part](bench, python)}


def rows(bench, name, walked, traced):
    missing = walked.get("missing") or traced.get("missing")
    if missing:
        bench.row(f"{name}: not fetched", 1, "interpreters", limit=0, note=missing)
        return
    title = f"{walked['version']} ({name})"
    bench.row(f"{title}: stacks of the walk alone, with and without the probe of freed code objects", walked["stacks"], "stacks", least=1)
    bench.row(f"{title}: runs with one that differs", int(walked["failed"] != 0), "runs", limit=0, note=walked["said"])
    bench.row(f"{title}: recorded calls of a program", traced["calls"], "calls", least=1)
    bench.row(f"{title}: with a stack that differs", traced["differ"], "calls", limit=0, note=traced["how"])
    bench.row(f"{title}: with a complete stack", traced["complete"], "calls", note=", ".join(f"{n}: {why}" for why, n in traced["whys"].items()))


def measure(bench):
    jobs = {f"{part} {name}": lambda _, name=name, part=part: one(bench, name, part) for part in PARTS for name in python_builds.BUILDS}
    found = bench.results({job: do for job, do in jobs.items() if bench.only.search(job)}, 1)
    for name in python_builds.BUILDS:
        if f"walk {name}" in found and f"trace {name}" in found:
            rows(bench, name, found[f"walk {name}"], found[f"trace {name}"])
