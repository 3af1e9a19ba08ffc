#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
see_owner.py BUILD: what `./dev run` starts as the owner of the checkout is traced and explained, whoever typed sudo; and says what
README.md shows of it, but for the figures.

Needs root (or it is skipped).
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

SEE = pathlib.Path(__file__).resolve().parent.parent / "support" / "see.py"
SUDO = {"SUDO_UID": "65533", "SUDO_GID": "65533", "SUDO_USER": "another"}  # runs nothing
OWNERS = (0, 65534)
README = SEE.parent.parent.parent / "README.md"
SHOWN = ("tracing took ", "what it means")  # lines of each run, whatever it finds


def can_run(uid, *programs):
    """Nobody's way to them may be closed, as in root's home."""
    return all(subprocess.run(["test", "-x", program], user=uid, group=uid, extra_groups=[], check=False).returncode == 0 for program in programs)


def words(text):
    """Without figures and line breaks; a range is a figure."""
    return " ".join(re.sub(r"\d[\d.]* %( to \d[\d.]* %)?", "N %", text).split())


def readme_lines():
    return [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith(SHOWN)]


def main(build):
    if os.geteuid() != 0:
        print("skipped: a private daemon captures as root only", file=sys.stderr)
        return 77
    python = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else shutil.which("python3")
    failed = 0
    shown = readme_lines()
    if len(shown) != len(SHOWN):
        print(f"README.md shows {shown}")
        failed += 1
    for uid in OWNERS:
        if not can_run(uid, python, os.path.join(build, "workloads", "cudaload")):
            print(f"skipped: user {uid} cannot reach {python} or {build}", file=sys.stderr)
            return 1 if failed else 77
        done = subprocess.run([python, SEE, "--build", build, "--user", str(uid), "--group", str(uid), "--seconds", "2"], env={**os.environ, **SUDO},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
        traced, found, explained = done.stdout.partition("runs that command itself")
        is_right = done.returncode == 0 and found and "cudaload" in explained and "cudaload" in traced.partition("about the hog.")[2]
        strange = [line for line in shown if words(line) not in words(traced)]
        if strange:
            print(f"README.md shows what is not printed: {strange}")
        failed += not is_right or bool(strange)
        print(f"owner {uid}: {'ok' if is_right else f'status {done.returncode}: {done.stdout[-3000:]}{done.stderr[-3000:]}'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
