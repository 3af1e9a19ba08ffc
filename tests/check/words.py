#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One word for one thing: words.txt names the twins that are not used."""
import fnmatch
import re

import tree

LOOKED_AT = ("*.c", "*.h", "*.def", "*.proto", "*.py", "*.md", "*.cmake", "*CMakeLists.txt", "dev", "tests/vm/*")
ITSELF = ("tests/check/words.*",)


def rows_of(text):
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split(";")]
        if len(fields) != 3 or not fields[0] or not fields[1]:
            raise ValueError(f"tests/check/words.txt:{number}: three fields, separated by ';'")
        yield fields[0], fields[1].split("|"), fields[2].split()


def check(files_tree):
    try:
        rows = list(rows_of(files_tree.text("tests/check/words.txt")))
    except ValueError as error:
        return [str(error)]
    problems = []
    compiled = []
    for word, twins, exempt in rows:
        # letters and digits bound a word, so foo_twin and twin_foo are found, too
        pattern = "|".join(re.escape(twin).replace("_", "[ _-]") for twin in twins)
        compiled.append((word, re.compile(rf"(?<![A-Za-z0-9])({pattern})(?![A-Za-z0-9])", re.I), exempt))
    for name in files_tree.files(*LOOKED_AT):
        if any(fnmatch.fnmatch(name, pattern) for pattern in ITSELF):
            continue
        for number, line in enumerate(files_tree.lines(name), 1):
            for word, pattern, exempt in compiled:
                match = pattern.search(line)
                if match and not any(fnmatch.fnmatch(name, glob) for glob in exempt):
                    problems.append(f"{name}:{number}: '{match[1]}': the word here is '{word}'")
    return problems


TABLE = "finding ; incident|causal_chain ; docs/other.md\n"
tree.run(check, [
    ("in a comment", {"tests/check/words.txt": TABLE, "a.c": "/* an Incident */\n"}, "a.c:1: 'Incident'"),
    ("inside a name", {"tests/check/words.txt": TABLE, "a.c": "int incident_count;\n"}, "the word here is 'finding'"),
    ("two words", {"tests/check/words.txt": TABLE, "README.md": "the causal chain\n"}, "causal chain"),
    ("a broken row", {"tests/check/words.txt": "finding incident\n"}, "three fields"),
    ("a longer word", {"tests/check/words.txt": TABLE, "a.c": "int coincident, incidental;\n"}, None),
    ("where it is right", {"tests/check/words.txt": TABLE, "docs/other.md": "incident\n"}, None),
])
