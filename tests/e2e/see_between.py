#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
see_between.py BUILD [torch]: `./dev run --between`: of a program that computes between its calls, a hog on its CPU takes
that time; that is HIGH, by the pid of the hog, in what is shown live, in the summary and in what was kept.

Needs root (or it is skipped); torch: and that set-up a is made (./dev test --torch).
"""
import os
import pathlib
import re
import subprocess
import sys

SUPPORT = pathlib.Path(__file__).resolve().parent.parent / "support"
sys.path.insert(0, str(SUPPORT))

import set_ups  # noqa: E402 (needs the path above)


def main(build, *rest):
    is_torch = rest == ("torch",)
    if os.geteuid() != 0:
        print("skipped: a private daemon captures as root only", file=sys.stderr)
        return 77
    if is_torch and not set_ups.find("a"):
        print(f"skipped: {set_ups.why_not('a')}", file=sys.stderr)
        return 77
    done = subprocess.run([sys.executable, SUPPORT / "see.py", "--build", build, "--seconds", "8", "--between",
                           *(("--torch", "--set-up", "a", "standin") if is_torch else ())],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
    said = " ".join(done.stdout.split())  # as if lines had no end
    live, _, kept = said.partition("This demonstration runs that command itself")
    program, hog = re.search(r"python, pid (\d+)", said), re.search(r"hog, pid (\d+)", said)
    if done.returncode != 0 or not kept or not program or not hog:
        print(f"status {done.returncode}: {done.stdout[-3000:]}{done.stderr[-3000:]}", file=sys.stderr)
        return 1
    program, hog = program[1], hog[1]
    script = "train.py" if is_torch else "between.py"
    account, _, finding = kept.partition(f"1 HIGH {script}")
    wanted = {
        "live: HIGH, by the pid of the hog": re.search(rf"HIGH [^▲]*{re.escape(script)} \(pid {program}\) waited for the CPU behind hog \(pid {hog}, ", live),
        "live: the thread's account or its short form": re.search(rf"ready, no CPU [^%]*behind hog \({hog}\)|% ready behind hog", live),
        "kept: HIGH, between the calls": " waited for the CPU between its calls" in finding,
        "kept: of the program": f"(pid {program}, " in finding,
        "kept: behind the hog": f"behind hog (pid {hog}, " in finding,
        "kept: what to do": f"both are pinned to CPU 1; taskset -acp CPUS {hog}" in " ".join(finding.split()),
        "kept: the account names the hog": re.search(rf"ready, no CPU [^%]*behind hog \({hog}\)", account),
    }
    missed = [what for what, found in wanted.items() if not found]
    for what in missed:
        print(f"not said: {what}", file=sys.stderr)
    if missed:
        print(done.stdout[-6000:], file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
