# SPDX-License-Identifier: Apache-2.0
"""
Every operation, in every form that workloads can call: each call is seen once, with the arguments its caller
gave, its bytes are summed, and what it forwards to the driver is seen inside it: arguments.py BUILD BACK_END.
"""
import json
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
import books_of  # noqa: E402
import ingero  # noqa: E402
import ops_def  # noqa: E402

# what caller_init() calls before the rows of calls.c: its two buffers on the device
BEFORE = 2
# exports that are the operation under another name
ALIASES = {"__cudaLaunchKernel": "cudaLaunchKernel"}


def meanings():
    """{operation: (layer, [field of cudaload's line for each kept argument])}"""
    return {op.name: (op.layer, [meaning.lower() for _, _, meaning in ops_def.arguments(op)]) for op in ops_def.ops()}


def expected(lines, known):
    """(operation, arguments, result) of each row of calls.c that is one."""
    calls = []
    for line in lines:
        name = books_of.SUFFIX.sub("", line["op"], count=1)
        name = ALIASES.get(name, name)
        if name in known:
            calls.append((name, [line[field] for field in known[name][1]], line["ret_code"]))
    return calls


def check_forwarded(events, known):
    """Inside a call there are those of the layers that its own calls, which move as many bytes."""
    called = {layer.layer: layer.calls.split() for layer in ops_def.layers()}
    stack = []
    for event in events:
        stack[event["depth"]:] = [event]
        if event["depth"] == 0:
            continue
        outer = stack[-2]
        fields, outer_fields = known[event["op"]][1], known[outer["op"]][1]
        if known[event["op"]][0] not in called[known[outer["op"]][0]]:
            yield f"{event['op']} inside {outer['op']}"
        if fields[:1] == ["bytes"] and outer_fields[:1] == ["bytes"] and event["args"][0] != outer["args"][0]:
            yield f"{event['op']} of {event['args'][0]} bytes inside {outer['op']} of {outer['args'][0]}"


def check(trace, lines, known):
    events = sorted(trace.events, key=lambda event: (event["timestamp"], event["depth"]))
    made = [(event["op"], event["args"], event["ret_code"]) for event in events if event["depth"] == 0]
    wanted = expected(lines, known)
    if trace.status:
        yield f"exit status {trace.status}: {trace.stderr}"
    if trace.lost():
        yield f"lost {trace.lost()}"
    if [op for op, _, _ in made[:BEFORE]] != ["cudaMalloc"] * BEFORE:
        yield f"the calls begin with {made[:BEFORE]}"
    for number, (got, want) in enumerate(zip(made[BEFORE:], wanted)):
        if got != want:
            yield f"call {number}: made {want}, reported {got}"
    if len(made) - BEFORE != len(wanted):
        yield f"{len(wanted)} calls were made, {len(made) - BEFORE} reported"
    if missing := known.keys() - {event["op"] for event in events}:
        yield f"never called: {sorted(missing)}"
    for row in trace.operations():
        own = [event for event in events if event["op"] == row["op"]]
        if row["count"] != len(own):
            yield f"{row['op']}: {row['count']} in the summary, {len(own)} events"
        n_bytes = sum(event["args"][0] for event in own) if known[row["op"]][1][:1] == ["bytes"] else 0
        if row["bytes"] != n_bytes:
            yield f"{row['op']}: {row['bytes']} bytes in the summary, {n_bytes} in the events"
    yield from check_forwarded(events, known)


def main():
    build, back_end = sys.argv[1:3]
    if os.geteuid() != 0:
        print("skipped: needs root to trace")
        return 77
    programs, known = ingero.Programs(build), meanings()
    with tempfile.TemporaryDirectory(prefix="ingero-arguments-") as directory:
        said = os.path.join(directory, "lines")
        command = ["sh", "-c", f"exec '{programs.path('cudaload')}' --each >'{said}'"]
        trace = ingero.trace(programs, "--back-end", back_end, "--record", "all", command=command,
                             environment={"INGERO_STANDIN_QUIET": "1"})
        with open(said, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
    wrong = list(check(trace, lines, known))
    for text in wrong:
        print(text)
    print(f"{len(known)} operations, {len(lines)} calls by hand, {len(trace.events)} events, {len(wrong)} wrong")
    return 1 if wrong or not lines else 0


try:
    sys.exit(main())
except ingero.Failed as error:
    print(error)
    sys.exit(1)
