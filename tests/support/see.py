#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
The main job, to look at: a CUDA program shares its CPU with a hog, Ingero watches the program and says why it is slow.

see.py --build DIR [--user UID --group GID] [--seconds N], as root. The program and the hog run as that user. Uses a home
directory of its own, removed at the end; whatever way it ends, nothing stays behind.
"""
import argparse
import os
import signal
import subprocess
import sys
import tempfile

import ingero

# Launches, and synchronises that spin for 2 ms as the runtime does by default: it wants more than half of the CPU.
WORKLOAD = ("--mix", "launch=8,sync=1", "--rate", "5000", "--sync", "spin", "--sync-us", "2000", "--inside-us", "10")
TEXT = """\

On CPU {cpu} a CUDA program launches kernels and waits for them: cudaload, pid {program}.
Somebody else's job computes on the same CPU: hog, pid {hog}.
Ingero watches the program for {seconds} s; nobody tells it about the hog.
"""
END = """
The hog was started here, to be found; it is gone. Your own programs:
  sudo {ingero} trace -- PROGRAM    or    trace --pid PID
"""


def outlives_not(name):
    """In front of a command: it gets this signal when we are gone, even killed."""
    return ["setpriv", "--pdeathsig", name, "--"]


def end(process):
    if process and process.poll() is None:
        process.kill()
        process.wait()


def leave(number, _frame):
    sys.exit(128 + number)


def main():
    parser = argparse.ArgumentParser(prog="./dev run", description="trace the bundled CUDA workload beside a CPU hog")
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--user", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--group", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=int, default=12, help="how long to watch (default 12)")
    arguments = parser.parse_args()
    programs = ingero.Programs(arguments.build)
    cpu = max(os.sched_getaffinity(0))
    # a session of their own: Ctrl-C ends the trace, which then sums up, and not what it watches
    who = {"start_new_session": True, "user": arguments.user, "group": arguments.group, "extra_groups": []} if os.geteuid() == 0 else {}

    signal.signal(signal.SIGINT, lambda *_: None)  # the trace ends by it, and then so do we
    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGHUP, leave)
    program = hog = trace = None
    with tempfile.TemporaryDirectory(prefix="ingero-") as home:
        try:
            hog = ingero.start_hog(cpu, **who)
            program = subprocess.Popen([*outlives_not("KILL"), programs.path("cudaload"), *WORKLOAD, "--pin", str(cpu), "--duration", f"{arguments.seconds + 60}s"],
                                       stdin=subprocess.DEVNULL, env={**os.environ, "INGERO_STANDIN_QUIET": "1"}, **who)
            print(TEXT.format(program=program.pid, hog=hog.pid, cpu=cpu, seconds=arguments.seconds), flush=True)
            trace = subprocess.Popen([*outlives_not("INT"), programs.path("ingero"), "trace", "--pid", str(program.pid), "--duration", f"{arguments.seconds}s"],
                                     env={**os.environ, "HOME": home})
            status = trace.wait()
        finally:
            end(program)
            end(hog)
            if trace and trace.poll() is None:
                trace.terminate()  # it takes its probes away before it ends
                trace.wait()
    print(END.format(ingero=os.path.relpath(programs.path("ingero"))))
    return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ingero.Failed as error:
        sys.exit(f"dev run: {error}")
