#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One word for one thing: words.txt names the twins that are not used. No sentence of a program has a word twice."""
import fnmatch
import re

import tree

LOOKED_AT = ("*.c", "*.h", "*.def", "*.proto", "*.py", "*.md", "*.cmake", "*CMakeLists.txt", "dev", "tests/vm/*")
ITSELF = ("tests/check/words.*",)
# Sentences are literals side by side: a word is easily left at the end of one and begins the next.
PROGRAMS = ("base/*", "cli/*", "collectord/*", "libingero/*", "mcp-server/*", "proto/*", "web/*")
LITERALS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:[\s\\]*"(?:[^"\\\n]|\\.)*")*')
BETWEEN = re.compile(r'(?<!\\)"[\s\\]*"')
TWICE = re.compile(r"\b(an?|and|are|as|at|be|by|for|from|has|in|is|it|not|of|on|one|or|that|the|to|with|without) \1\b", re.I)


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
    for name in files_tree.files("*.c", "*.h", "*.def"):
        if any(fnmatch.fnmatch(name, pattern) for pattern in PROGRAMS):
            code = files_tree.text(name)
            for literals in LITERALS.finditer(code):
                match = TWICE.search(BETWEEN.sub("", literals[0]))
                if match:
                    problems.append(f"{name}:{code.count(chr(10), 0, literals.start()) + 1}: '{match[0]}' in a sentence")
    return problems


TABLE = "finding ; incident|causal_chain ; docs/other.md\n"
tree.run(check, [
    ("in a comment", {"tests/check/words.txt": TABLE, "a.c": "/* an Incident */\n"}, "a.c:1: 'Incident'"),
    ("inside a name", {"tests/check/words.txt": TABLE, "a.c": "int incident_count;\n"}, "the word here is 'finding'"),
    ("two words", {"tests/check/words.txt": TABLE, "README.md": "the causal chain\n"}, "causal chain"),
    ("a broken row", {"tests/check/words.txt": "finding incident\n"}, "three fields"),
    ("a longer word", {"tests/check/words.txt": TABLE, "a.c": "int coincident, incidental;\n"}, None),
    ("a word twice", {"tests/check/words.txt": TABLE, "cli/a.c": '\t"with the "\n\t"and "\n\t"and losses";\n'}, "cli/a.c:1: 'and and'"),
    ("a word twice, in other literals", {"tests/check/words.txt": TABLE, "cli/a.c": 'f("is", "is");\n'}, None),
    ("where it is right", {"tests/check/words.txt": TABLE, "docs/other.md": "incident\n"}, None),
])
