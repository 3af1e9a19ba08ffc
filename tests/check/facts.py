#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Every class of blame and every loss has one row: messages have its field, the schema its words. Every kind of resource, and of cause, is
in each list of them. facts.py ROOT [--rewrite]
"""
import json
import re
import sys

import tree

SCHEMA = "docs/schema/common.schema.json"
STRING = r'"((?:[^"\\]|\\.)*)"'
BLAME = re.compile(rf"^BLAME\((\w+), (\w+),\s*{STRING},\s*{STRING},", re.M)
LOSS = re.compile(rf"^(?:LOSS\(\w+, (\w+)|LOST\((\w+)), (?:COUNTS|DETAIL|BEFORE),\s*{STRING},\s*{STRING}\)", re.M)
RESOURCE = re.compile(r'^RESOURCE\(\w+, "(\w+)"', re.M)
CAUSE = re.compile(r'\.kind = "(\w+)"')
SQL_KINDS = re.compile(r"^\| `resource_kind` \|.*", re.M)
FIELD = re.compile(r"^\s*(?:optional )?uint64 (\w+) = \d+;", re.M)


def rows(files_tree):
    """Fields and words of the two tables: {definition of the schema: {field: words}}."""
    blame = {field: phrase for _, field, _, phrase in BLAME.findall(files_tree.text("bpf/blame.def"))}
    losses = {}
    for loss, lost, _, many in LOSS.findall(files_tree.text("bpf/losses.def")):
        losses[loss or lost] = many
    return {"blame": blame, "lost": losses}


def fields(text, name):
    return FIELD.findall(re.search(rf"^message {name} {{(.*?)^}}", text, re.M | re.S)[1])


def message(files_tree, name, words):
    return re.search(rf"^message {words} {{(.*?)^}}", files_tree.text(name), re.M | re.S)[1]


def missing(files_tree):
    resources = RESOURCE.findall(files_tree.text("bpf/resources.def"))
    definitions = json.loads(files_tree.text(SCHEMA))["$defs"]
    known = definitions["resource"]["properties"]["kind"]["enum"]
    if known != resources:
        yield f"bpf/resources.def: its kinds are {resources}, those of {SCHEMA} are {known}"
    pages = "".join(files_tree.text(name) for name in files_tree.files("docs/detectors/*.md"))
    lists = {"docs/sql.md": SQL_KINDS.search(files_tree.text("docs/sql.md"))[0],
             "proto/ingero/v1/account.proto": message(files_tree, "proto/ingero/v1/account.proto", "Resource"),
             "proto/ingero/v1/finding.proto": message(files_tree, "proto/ingero/v1/finding.proto", "Cause"),
             SCHEMA: definitions["cause"]["properties"]["kind"]["description"],
             "docs/detectors": " ".join(re.findall(r"`(\w+)`", pages))}
    causes = CAUSE.findall(files_tree.text("collectord/detect/cause.c"))
    for kinds, places in ((resources, ("docs/sql.md", "proto/ingero/v1/account.proto")), (causes, ("proto/ingero/v1/finding.proto", SCHEMA, "docs/detectors"))):
        for place in places:
            for kind in kinds:
                if not re.search(rf"\b{kind}\b", lists[place]):
                    yield f"{place}: its list of kinds lacks {kind}"


def wrong(files_tree):
    yield from missing(files_tree)
    tables = rows(files_tree)
    blame, losses = list(tables["blame"]), list(tables["lost"])
    declared = fields(files_tree.text("proto/ingero/v1/blame.proto"), "Blame")
    if blame != declared:
        yield f"bpf/blame.def: its classes are {blame}, the fields of message Blame are {declared}"
    declared = fields(files_tree.text("proto/ingero/v1/ingero.proto"), "Lost")
    for name in sorted(set(losses) ^ set(declared)):
        yield f"bpf/losses.def: {name} is in one of this file and message Lost alone"
    definitions = json.loads(files_tree.text(SCHEMA))["$defs"]
    for definition, table in tables.items():
        properties = definitions[definition]["properties"]
        for field, words in table.items():
            if properties.get(field, {}).get("description") != words:
                yield f"{SCHEMA}: {definition}.{field} does not have the words of its row: --rewrite"


def check(files_tree):
    return list(wrong(files_tree))


def rewrite(files_tree):
    schema = json.loads(files_tree.text(SCHEMA))
    for definition, table in rows(files_tree).items():
        for field, words in table.items():
            schema["$defs"][definition]["properties"][field]["description"] = words
    with open(files_tree.path(SCHEMA), "w", encoding="utf-8") as file:
        file.write(json.dumps(schema, indent=1, ensure_ascii=False) + "\n")


def sample(words="waiting", field="lock", proto="lock", lost="depth", resource="pipe", listed="pipe", cause="disk", told="disk, tool"):
    schema = {"$defs": {"blame": {"properties": {field: {"description": words}}}, "lost": {"properties": {"depth": {"description": "calls"}}},
                        "resource": {"properties": {"kind": {"enum": ["pipe"]}}}, "cause": {"properties": {"kind": {"description": told}}}}}
    return {
        "bpf/resources.def": f'RESOURCE(NONE, "", "")\nRESOURCE(PIPE, "{resource}", "pipe")\n',
        "collectord/detect/cause.c": f'{{ .kind = "{cause}" }}\n',
        "docs/detectors/starved.md": "| `disk` | |\n| `lock` | |\n",
        "docs/sql.md": f"| `resource_kind` | TEXT | {listed} |\n",
        "proto/ingero/v1/account.proto": "message Resource {\n  string kind = 1; // pipe\n}\n",
        "proto/ingero/v1/finding.proto": "message Cause {\n  string kind = 1; // of starved: disk, tool\n}\n",
        "bpf/blame.def": f'BLAME(LOCK, {field}, "lock",\n      "waiting", NULL)\n',
        "bpf/losses.def": f'LOSS(DEPTH, {lost}, COUNTS, "call",\n     "calls")\n',
        "proto/ingero/v1/blame.proto": f"message Blame {{\n  optional uint64 {proto} = 1; // x\n}}\n",
        "proto/ingero/v1/ingero.proto": "message Lost {\n  uint64 depth = 1;\n}\n",
        SCHEMA: json.dumps(schema),
    }


if "--rewrite" in sys.argv:
    rewrite(tree.Tree(sys.argv[1]))
    sys.exit(0)
tree.run(check, [
    ("other words", sample(words="sleeping"), "blame.lock does not have the words"),
    ("a class without a field", sample(proto="sleep"), "the fields of message Blame are ['sleep']"),
    ("a loss without a field", sample(lost="ring"), "ring is in one of this file and message Lost alone"),
    ("a resource that is in no list", sample(resource="peer"), "its kinds are ['peer']"),
    ("a resource that SQL does not name", sample(listed="pipes"), "docs/sql.md: its list of kinds lacks pipe"),
    ("a cause that the message does not name", sample(cause="lock"), "finding.proto: its list of kinds lacks lock"),
    ("a cause that the schema does not name", sample(told="tool"), "schema.json: its list of kinds lacks disk"),
    ("a cause without a page", sample(cause="tool"), "docs/detectors: its list of kinds lacks tool"),
    ("all in order", sample(), None),
])
