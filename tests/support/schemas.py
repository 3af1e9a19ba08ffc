# SPDX-License-Identifier: Apache-2.0
"""The schemas of docs/schema, and checks of the output of `ingero ... --json` against them."""
import functools
import json
import pathlib
import sys
import threading
import warnings

try:
    import jsonschema
except ImportError:
    jsonschema = None

# Debian 12 has 4.10, which has no successor of RefResolver.
warnings.filterwarnings("ignore", message=".*RefResolver.*", category=DeprecationWarning)

ROOT = pathlib.Path(__file__).resolve().parents[2]
ONE_THREAD = threading.Lock()  # a resolver keeps a stack of what it follows
LINES_OF_A_TYPE = 200  # lines checked of a long trace; the same code writes all lines of a type


@functools.lru_cache(maxsize=None)
def load(root=ROOT):
    """The validator of each type, and all schemas by their $id. root: of the tree that has them"""
    store = {}
    for path in sorted(pathlib.Path(root, "docs/schema").glob("*.schema.json")):
        schema = json.loads(path.read_text())
        store[schema["$id"]] = schema
    validators = {}
    for schema in store.values():
        jsonschema.Draft202012Validator.check_schema(schema)
        resolver = jsonschema.RefResolver(schema["$id"], schema, store=store)
        validator = jsonschema.Draft202012Validator(schema, resolver=resolver)
        if "type" in schema.get("properties", {}):
            validators[schema["properties"]["type"]["const"]] = validator
        else:
            validators[schema["$id"].rsplit("/", 1)[1]] = validator  # shared parts of schemas, and the named schemas
    return validators, store


def problem_of(error):
    return f"{'.'.join(map(str, error.absolute_path))}: {error.message[:300]}"


@functools.lru_cache(maxsize=None)
def say_unchecked():
    print("JSON is not compared with its schema: no python3-jsonschema", file=sys.stderr, flush=True)


def problems(lines, name=None, root=ROOT):
    """
    Violations of docs/schema in the first lines of each type, one sentence each; without python3-jsonschema a sentence says so.
    lines: objects; name: name of the schema, for lines whose keys depend on the request; root: source tree of the program that printed them
    """
    if jsonschema is None:
        say_unchecked()
        return []
    validators, _ = load(root)
    found, seen = [], {}
    for number, line in enumerate(lines, 1):
        kind = f"{name}.schema.json" if name else line.get("type")
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] > LINES_OF_A_TYPE:
            continue
        if kind not in validators:
            found.append(f"line {number}: there is no schema of '{kind}'")
            continue
        with ONE_THREAD:
            found += [f"line {number} ({kind}): {problem_of(error)}" for error in validators[kind].iter_errors(line)]
    return found
