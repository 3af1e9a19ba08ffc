#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layout of C files as .clang-format says: layout.py [--rewrite]. Releases of clang-format differ: 14 decides."""
import os
import subprocess
import sys

import tree

RELEASE = "14"
NOT_C = ("bpf/ops.def",)  # a table: its columns are laid out by hand


def formatter():
    for name in (f"clang-format-{RELEASE}", "clang-format"):
        try:
            told = subprocess.run([name, "--version"], capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            continue
        if f"version {RELEASE}." in told:
            return name
    sys.exit(f"layout is decided by clang-format {RELEASE} (Debian 12), which is not here")


def main():
    ours = tree.Tree(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    files = [ours.path(name) for name in ours.files("*.c", "*.h") if name not in NOT_C and "__ASSEMBLER__" not in ours.text(name)]
    arguments = ["-i"] if sys.argv[1:] == ["--rewrite"] else ["--dry-run", "--Werror"]
    return subprocess.run([formatter(), *arguments, *files], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
