#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What counts as a line of code: neither blank lines nor comments, wherever a comment's signs stand."""
import importlib.util
import pathlib
import sys

SUPPORT = pathlib.Path(__file__).resolve().parents[2] / "support"
# file, its text, lines; None: not counted
ROWS = (
    ("base/a.c", "// one\nint a;\n\n/* two\n\nthree */ int b; /* four */\n", 2),
    ("base/a.c", 'char *a = "// no comment /*";\nint b; // "one"\nint c = \'"\'; /* " */\n', 3),
    ("base/a.h", "#define A \\\n\t1\n", 2),
    ("bpf/ops.def", "/* id */\nROW(1)\n\n", 1),
    ("proto/ingero/v1/a.proto", "// what it is\nmessage A {}\n", 1),
    ("collectord/archive/write/schema.sql", "-- table\nCREATE TABLE a(b); -- its rows\n", 1),
    ("proto/methods.cmake", "# reads\nfile(READ a)\n", 1),
    ("cli/make.py", '#!/usr/bin/env python3\n# what\n"""What it\n\ndoes"""\nprint("# no comment")\n', 1),
    ("cmake/Flags.cmake", "option(A)\n", None),
    ("tests/unit/base/a.c", "int a;\n", None),
    ("docs/a.h", "int a;\n", None),
    ("build-debug/a.c", "int a;\n", None),
)


def main():
    spec = importlib.util.spec_from_file_location("lines", SUPPORT / "lines.py")
    lines = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lines)
    failed = [f"{name}: {lines.lines_of(name, text)}, not {wanted}, of {text!r}" for name, text, wanted in ROWS if lines.lines_of(name, text) != wanted]
    for line in failed:
        print(line, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
