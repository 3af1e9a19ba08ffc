#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each program links its own libraries and no others: clients neither libbpf nor a database, the daemon no network stack."""
import os
import re
import shutil
import subprocess

import tree

# the C library, the compiler's run time, sanitizers
EVERYWHERE = re.compile(r"^(libc|libm|libgcc_s|libstdc\+\+|libpthread|libdl|librt|ld-linux[\w-]*|libasan|libubsan|libtsan)\.so")
NEEDED = re.compile(r"\(NEEDED\).*\[([^]]+)\]")


def needed(path):
    result = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True)
    return NEEDED.findall(result.stdout)


def check(files_tree, binaries):
    problems = []
    if not os.path.isabs(binaries):
        binaries = files_tree.path(binaries)
    for _, (program, *allowed) in tree.table(files_tree.text("tests/check/links.txt")):
        path = os.path.join(binaries, program)
        if not os.path.exists(path):
            problems.append(f"{program}: was not built")
            continue
        for library in needed(path):
            if not EVERYWHERE.match(library) and library.split(".so")[0] not in allowed:
                problems.append(f"{program}: links {library}, which tests/check/links.txt does not allow")
    return problems


# any program with libraries of its own serves as a sample
CMAKE = shutil.which("cmake")
tree.run(check, [
    ("links more than it may", {"tests/check/links.txt": f"{CMAKE} libno\n"}, "does not allow"),
    ("not there", {"tests/check/links.txt": "no-such-program\n"}, "was not built"),
    ("links what it may", {"tests/check/links.txt": " ".join([CMAKE] + [name.split(".so")[0] for name in needed(CMAKE)]) + "\n"}, None),
])
