#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scripts parse, stop at the first error, and those with an interpreter line can be started."""
import ast
import os
import subprocess

import tree


def check(files_tree):
    problems = []
    for name in files_tree.files("*"):
        if name.endswith((".c", ".h", ".json", ".gz", ".txt", ".md")) or name.startswith("tests/fuzz/corpus/"):
            continue
        with open(files_tree.path(name), "rb") as file:
            start = file.read(64).split(b"\n")[0].decode(errors="replace")
        if name.endswith(".py") or "python" in start:
            try:
                ast.parse(files_tree.text(name))
            except SyntaxError as error:
                problems.append(f"{name}:{error.lineno}: {error.msg}")
        if not start.startswith("#!"):
            continue
        if "sh" in os.path.basename(start.split()[0]):
            result = subprocess.run(["bash", "-n", files_tree.path(name)], capture_output=True, text=True, check=False)
            if result.returncode:
                problems.append(f"{name}: {result.stderr.strip()}")
            if "set -euo pipefail" not in files_tree.text(name):
                problems.append(f"{name}: no 'set -euo pipefail'")
    return problems


tree.run(check, [
    ("shell that does not parse", {"a": "#!/bin/bash\nset -euo pipefail\nif\n"}, "a: "),
    ("shell that goes on after errors", {"a.sh": "#!/bin/bash\necho\n"}, "pipefail"),
    ("Python that does not parse", {"a.py": "def f(:\n"}, "a.py:1"),
    ("Python by its first line alone", {"a": "#!/usr/bin/env python3\ndef f(:\n"}, "a:2"),
    ("both well", {"a.py": "#!/usr/bin/env python3\n", "b": "#!/bin/bash\nset -euo pipefail\n"}, None),
])
