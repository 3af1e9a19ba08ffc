#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command with a share of one CPU, by a control group of its own, version 1 or 2.

    quota.py --percent 40 [--period-us 100000] [--report FILE] -- COMMAND ...

The report is the group's cpu.stat as JSON, with throttled_ns whatever the version calls it: what the
kernel itself says was withheld. Needs root. The exit status is the command's; 77 where no group can
be made, with the reason. The group is gone afterwards.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time


def find_controller():
    """Where the cpu controller is mounted, and its version."""
    with open("/proc/self/mounts", encoding="utf-8") as f:
        rows = [line.split()[1:4] for line in f]
    for where, kind, options in rows:
        if kind == "cgroup" and "cpu" in options.split(","):
            return where, 1
    for where, kind, _ in rows:
        if kind == "cgroup2":
            with open(os.path.join(where, "cgroup.controllers"), encoding="ascii") as f:
                if "cpu" in f.read().split():
                    return where, 2
    raise OSError("no hierarchy has the cpu controller")


def write(directory, name, text):
    with open(os.path.join(directory, name), "w", encoding="ascii") as f:
        f.write(str(text))


def make_group(quota_us, period_us):
    """The directory of a new group with the quota set."""
    where, version = find_controller()
    group = os.path.join(where, f"ingero-quota-{os.getpid()}")
    if version == 2:
        write(where, "cgroup.subtree_control", "+cpu")
    os.mkdir(group)
    if version == 2:
        write(group, "cpu.max", f"{quota_us} {period_us}")
    else:
        write(group, "cpu.cfs_period_us", period_us)
        write(group, "cpu.cfs_quota_us", quota_us)
    return group


def remove_group(group):
    """Whatever the command left running in the group ends with it."""
    while True:
        with open(os.path.join(group, "cgroup.procs"), encoding="ascii") as f:
            pids = [int(line) for line in f]
        if not pids:
            break
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)  # until the kernel has let go of them
    os.rmdir(group)


def read_stat(group):
    with open(os.path.join(group, "cpu.stat"), encoding="ascii") as f:
        stat = {key: int(value) for key, value in (line.split() for line in f)}
    stat["throttled_ns"] = stat["throttled_time"] if "throttled_time" in stat else stat["throttled_usec"] * 1000
    return stat


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--percent", type=float, required=True, help="of one CPU")
    parser.add_argument("--period-us", type=int, default=100000)
    parser.add_argument("--report", help="JSON at the end; - is stderr")
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()

    try:
        group = make_group(int(args.period_us * args.percent / 100), args.period_us)
    except OSError as error:
        print(f"quota: no control group: {error}", file=sys.stderr)
        return 77
    try:
        with subprocess.Popen(args.command, preexec_fn=lambda: write(group, "cgroup.procs", os.getpid())) as child:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda n, _: child.send_signal(n))
            status = child.wait()
        stat = read_stat(group)
    except FileNotFoundError:
        print(f"quota: cannot start '{args.command[0]}': no such program", file=sys.stderr)
        return 127
    finally:
        remove_group(group)
    if args.report:
        with (sys.stderr if args.report == "-" else open(args.report, "w", encoding="ascii")) as f:
            json.dump(stat, f)
            f.write("\n")
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
