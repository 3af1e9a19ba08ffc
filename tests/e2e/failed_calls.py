# SPDX-License-Identifier: Apache-2.0
"""
Where failed calls are counted, the code that they returned stands there with its name: failed_calls.py BUILD.

In the summary of a trace as text and JSON and in explain of the recording; none where no call failed. Codes after which nothing works,
and allocations without memory, are findings.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
import ingero  # noqa: E402
import kept  # noqa: E402

# What the stand-in is told to return: its name in the runtime, and the finding with its severity.
CASES = {
    "2": ("cudaErrorMemoryAllocation", ("device_oom", "MEDIUM")),
    "700": ("cudaErrorIllegalAddress", ("call_error", "HIGH")),
    "31999": (None, None),
}
KINDS = ("call_error", "device_oom")


def rows_of(lines, kind):
    return {row["op"]: row for line in lines if line["type"] == kind for row in line["operations"] if row["source"] == "cuda"}


def look(check, place, code, name, want):
    words = f"{code} {name}" if name else code
    command, _ = place.load("--calls", 20, "--op", "malloc", "--fail-every", 5, "--fail-code", code)
    done = place.run("trace", "--json", "--db", place.db, "--", *command)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    failed = rows_of(lines, "summary").get("cudaMalloc", {})
    check(f"{code}: as JSON", failed.get("errors", 0) > 1 and failed.get("error_code") == int(code) and failed.get("error_name") == name, failed, done.stderr)

    command, _ = place.load("--calls", 20, "--op", "malloc", "--fail-every", 5, "--fail-code", code)
    said = kept.words_of(place.run("trace", "--db", place.db, "--", *command).stderr)
    check(f"{code}: in words", f"failed, at least one with {words}." in said, said)
    said = kept.words_of(place.answer("explain", "--db", place.db))
    check(f"{code}: explained later", f"failed, at least one with {words}." in said, said)
    findings = json.loads(place.answer("explain", "--json", "--db", place.db))["findings"]
    found = [(finding["kind"], finding["severity"]) for finding in findings if finding["kind"] in KINDS]
    # One of each trace.
    check(f"{code}: found", found == [want] * (2 if want else 0), found)
    os.unlink(place.db)


def look_whole(check, place):
    command, _ = place.load("--calls", 20, "--op", "malloc")
    lines = [json.loads(line) for line in place.answer("trace", "--json", "--db", "none", "--", *command).splitlines()]
    whole = rows_of(lines, "summary")
    check("no failure: no code", "cudaMalloc" in whole and not any("error_code" in row or "error_name" in row for row in whole.values()), whole)


def main(build):
    if os.geteuid() != 0:
        kept.skip("capture needs root")
    check = kept.Checks()
    with kept.Kept(build) as place:
        for code, (name, want) in CASES.items():
            look(check, place, code, name, want)
        look_whole(check, place)
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
