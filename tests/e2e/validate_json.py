#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Validates lines of JSON, each by its `type`, against docs/schema.

  validate_json.py < lines                     lines of `ingero ... --json`
  validate_json.py -- PROGRAM [ARGUMENT...]    what a program prints
  --schema NAME  every line by docs/schema/NAME.schema.json: for lines whose keys their reader chose
  --every-key   besides, every key of every schema must occur in some line, and
                texts may be any text (for lines that a test filled in)

Fails on a line without or with an unknown type, on what is no JSON, and on no
lines at all. Exit status 77 (skipped) without python3-jsonschema.
"""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import schemas  # noqa: E402 (needs the path above)

FREE_TEXT = ("enum", "pattern")  # what --every-key does not look at


def undocumented(store):
    """Keys without a description, numbers without a unit that need one."""
    def walk(name, node, key):
        if isinstance(node, dict):
            for child, schema in node.get("properties", {}).items():
                if "$ref" not in schema and "description" not in schema:
                    yield f"{name}: '{child}' has no description"
                if child.endswith(("_ns", "_bytes", "_ratio")) and "$ref" not in schema and "unit" not in schema:
                    yield f"{name}: '{child}' has no unit"
            more = node.get("additionalProperties")
            if node.get("type") == "object" and more is not False and "description" not in (more or {}):
                yield f"{name}: an object at '{key}' takes any key"
            for child, schema in node.items():
                yield from walk(name, schema, child)
        elif isinstance(node, list):
            for schema in node:
                yield from walk(name, schema, key)

    for name, schema in store.items():
        yield from walk(name, schema, "")


def keys_of(node, found):
    """Every object's keys, as sets that can be compared with a schema's."""
    if isinstance(node, dict):
        found.add(frozenset(node))
        for child in node.values():
            keys_of(child, found)
    elif isinstance(node, list):
        for child in node:
            keys_of(child, found)


def missing_keys(store, lines):
    """Objects of the schemas that no line shows with all their keys."""
    found = set()
    for line in lines:
        keys_of(line, found)

    def walk(name, node):
        if isinstance(node, dict):
            if "properties" in node and frozenset(node["properties"]) not in found:
                yield f"{name}: no line has exactly the keys {sorted(node['properties'])}"
            for child in node.values():
                yield from walk(name, child)

    for name, schema in store.items():
        if not name.endswith("version.schema.json"):  # not a message: printed by the command itself
            yield from walk(name, schema)


def main(arguments):
    if schemas.jsonschema is None:
        print("skipped: no python3-jsonschema", file=sys.stderr)
        return 77
    validators, store = schemas.load()
    problems = list(undocumented(store))
    every_key = "--every-key" in arguments
    name = arguments[arguments.index("--schema") + 1] + ".schema.json" if "--schema" in arguments else None

    if "--" in arguments:
        command = arguments[arguments.index("--") + 1:]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
        if done.returncode:
            problems.append(f"{command[0]} ended with status {done.returncode}")
        text = done.stdout
    else:
        text = sys.stdin.buffer.read()

    lines = []
    counts = {}
    for number, raw in enumerate(text.decode().splitlines(), 1):
        try:
            line = json.loads(raw)
            kind = name or line["type"]
            validator = validators[kind]
        except (ValueError, KeyError, TypeError) as error:
            problems.append(f"line {number}: {type(error).__name__} {error}: {raw[:200]}")
            continue
        lines.append(line)
        counts[kind] = counts.get(kind, 0) + 1
        for error in validator.iter_errors(line):
            if not (every_key and error.validator in FREE_TEXT):
                problems.append(f"line {number} ({kind}): {schemas.problem_of(error)}")
    if not lines:
        problems.append("no lines at all")
    if every_key:
        problems += missing_keys(store, lines)

    for problem in problems[:40]:
        print(problem, file=sys.stderr)
    print(", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())), f"- {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
