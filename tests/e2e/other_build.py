#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
A client and a service of two builds talk, or say why they do not: other_build.py BUILD OTHER. Not in the suite: it needs the build
directory of another commit.

Each build's service records a program that calls exactly so much, and is asked by the other build's client. An answer has
the exact count of calls; a refusal is one sentence on the error output and a status of its own.
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../support"), os.path.join(HERE, "../workloads")]

import ingero  # noqa: E402 (needs the path above)
import kept  # noqa: E402

CALLS = 1009
QUESTIONS = (("status", "--json"), ("trace", "--json", "--duration", "1s"), ("explain", "--json"), ("blame", "--json"), ("query", "--json"),
             ("query", "--json", "--sql", "SELECT op_name, count FROM operations"), ("query", "--json", "--sql", "SELECT * FROM event_aggregates"),
             ("export", "--format", "db", "-o", "{to}"))


def told(done):
    """What came of a question: an answer, or the sentence that refuses it."""
    if done.returncode == 0:
        return "answered", done.stdout
    lines = done.stderr.strip().splitlines()
    return ("refused" if len(lines) == 1 else "broken"), done.stderr.strip()


def pair(server, client):
    """One build's service and the other's client: [(question, what came, text)]."""
    with kept.Kept(server) as world:
        load, _ = world.load("--calls", CALLS, "--threads", 1, "--mix", "launch=1")
        with kept.Service(world, "--db", world.db):
            tracing = subprocess.Popen([*world.prefix, world.programs.path("ingero"), "trace", "--json", "--record", "all", "--", *load],
                                       env=world.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if tracing.wait():
                raise ingero.Failed(f"the service's own client: {tracing.stderr.read()}")
            world.programs = ingero.Programs(client)
            for question in QUESTIONS:
                if not world.programs.has_option(question[0]):
                    continue  # of the younger build alone
                arguments = [word.format(to=world.path("export.db")) for word in question]
                yield " ".join(question), *told(world.run(*arguments))


def counted(text):
    """Calls in an answer of SQL's table of operations."""
    return sum(row["count"] for row in map(json.loads, text.splitlines()) if row["op_name"] == "cudaLaunchKernel")


def main():
    builds = sys.argv[1:]
    if len(builds) != 2:
        print(__doc__.strip().split("\n\n", 1)[0])
        return 2
    failures = 0
    for server, client in (builds, builds[::-1]):
        print(f"service of {server}, client of {client}")
        for question, outcome, text in pair(server, client):
            is_right = outcome != "broken" and ("operations" not in question or outcome == "refused" or counted(text) == CALLS)
            failures += not is_right
            print(f"  {question}: {outcome}{'' if is_right else ', WRONG'}" + (f": {text[:300]}" if outcome != "answered" or not is_right else ""))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
