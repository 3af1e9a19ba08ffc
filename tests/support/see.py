#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
A demonstration of the main use: a CUDA program shares its CPU with a hog; Ingero traces the program and shows why it is slow.

see.py --build DIR [--user UID --group GID] [--seconds N] [--between], as root. The program and the hog run as that user.
Uses a private home directory, removed at the end; no process or file remains, however it ends.
"""
import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time

import ingero
import set_ups

# Launches, and synchronises that spin for 2 ms as the runtime does by default: the loop needs more than half of the CPU.
WORKLOAD = ("--mix", "launch=8,sync=1", "--rate", "5000", "--sync", "spin", "--sync-us", "2000", "--inside-us", "10")
WORKLOADS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "workloads")
TRAIN = os.path.join(WORKLOADS, "torch", "train.py")
COMPUTE_MS = "8"  # in Python, between the calls of one step and those of the next
TEXT = ("On CPU {cpu}: {what}, pid {program}.", "Somebody else's job computes on the same CPU: hog, pid {hog}.",
        "Ingero watches the program for {seconds} s; nobody tells it about the hog.")
END = """
The hog of this demonstration has ended, and its recording is removed.
Your own programs:
  sudo {ingero} trace -- PROGRAM    or    trace --pid PID
"""


def outlives_not(name):
    """Prefix of a command that gets this signal when this program ends, even if killed."""
    return ["setpriv", "--pdeathsig", name, "--"]


def end(process):
    if process and process.poll() is None:
        process.kill()
        process.wait()


def leave(number, _frame):
    sys.exit(128 + number)


def asked_by(uid, gid, environment):
    """
    The owner of the program asks about it: in a checkout of another user, the user of sudo is shown nothing of
    that user's programs. root asks as root.
    """
    kept = {name: value for name, value in environment.items() if not name.startswith("SUDO_")}
    return {**kept, "SUDO_UID": str(uid), "SUDO_GID": str(gid)} if uid else kept


def bundled(programs):
    """(description, command, environment)"""
    return ("a CUDA program launches kernels and waits for them: cudaload", [programs.path("cudaload"), *WORKLOAD],
            {"INGERO_STANDIN_QUIET": "1"})


def between(programs):
    standins = os.path.join(programs.build, "standins")
    return (f"a Python program computes {COMPUTE_MS} ms of its own before each step on the GPU: python",
            [sys.executable, "-S", os.path.join(WORKLOADS, "between.py"), "--libraries", standins, "--loses", "nothing",
             "--compute-ms", COMPUTE_MS], {"LD_LIBRARY_PATH": standins, "INGERO_STANDIN_QUIET": "1"})


def training(programs, is_between, name, over):
    python = set_ups.find(name)
    if not python:
        raise ingero.Failed(set_ups.why_not(name))
    command = [python, TRAIN, "plain", "--wait-for-stdin", *(("--compute-ms", COMPUTE_MS) if is_between else ())]
    with_work = f", with {COMPUTE_MS} ms of its own Python before each step" if is_between else ""
    if over == "device":
        return f"PyTorch 2 trains a small network on the GPU{with_work}: python", command, {}
    if set_ups.SET_UPS[name].runtime:
        command.append("--without-blas")
    # a long kernel: the loop then waits for the device as on a GPU
    device = {"INGERO_STANDIN_KERNEL": "60us"}
    return (f"{set_ups.SET_UPS[name].what}, trains a small network without a GPU{with_work}: python", command,
            {**set_ups.environment(name, os.path.join(programs.build, "standins")), **device})


def say(text):
    """A paragraph, no wider than the terminal."""
    width = min(shutil.get_terminal_size((80, 24)).columns, 100)
    print(textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False), flush=True)


def choose(programs, arguments):
    if arguments.torch:
        return training(programs, arguments.between, *(arguments.set_up or set_ups.choose()))
    return (between if arguments.between else bundled)(programs)


def wait_for_closers(before):
    """Waits until no process remains: perf events, used on kernels before 6.6, are closed by a process that outlives the trace."""
    said = None
    while left := sum(n for pid, n in ingero.closers().items() if pid not in before):
        if said is None or left <= said * 3 // 4:
            say(f"Closing {left} probes of the trace, which takes this kernel up to {left * 0.7:.0f} s ...")
            said = left
        time.sleep(0.2)


def until(seconds, is_python):
    return ("--seconds", str(seconds)) if is_python else ("--duration", f"{seconds}s")


def main():
    parser = argparse.ArgumentParser(prog="./dev run", allow_abbrev=False, description="trace the bundled CUDA workload beside a CPU hog")
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--user", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--group", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=int, default=12, help="how long to watch (default 12)")
    parser.add_argument("--torch", action="store_true", help="train a small network with real PyTorch, instead of the bundled program")
    parser.add_argument("--between", action="store_true", help="a program that loses its CPU between its calls: it computes in Python before each step")
    parser.add_argument("--set-up", nargs=2, metavar=("NAME", "OVER"), help=argparse.SUPPRESS)
    parser.add_argument("--only-options", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only_options:
        return 0
    programs = ingero.Programs(arguments.build)
    cpu = max(os.sched_getaffinity(0))
    # a separate session: Ctrl-C ends the trace, which then prints its summary, but not the traced program
    who = {"start_new_session": True, "user": arguments.user, "group": arguments.group, "extra_groups": []} if os.geteuid() == 0 else {}

    signal.signal(signal.SIGINT, lambda *_: None)  # the trace ends by it, and then so do we
    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGHUP, leave)
    program = hog = trace = None
    there_before = set(ingero.closers())
    with tempfile.TemporaryDirectory(prefix="ingero-") as home:
        if who:  # the recording belongs to the user of sudo
            os.chown(home, arguments.user, arguments.group)
        try:
            hog = ingero.start_hog(cpu, **who)
            what, command, environment = choose(programs, arguments)
            program = subprocess.Popen([*outlives_not("KILL"), *command, "--pin", str(cpu), *until(arguments.seconds + 60, arguments.torch or arguments.between)],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}, **who)
            if arguments.torch:
                print("\nStarting PyTorch ...", flush=True)
                if program.stdout.readline() != "ready\n":
                    raise ingero.Failed("PyTorch did not start: see above")
                program.stdin.write("go\n")
                program.stdin.flush()
            print()
            for text in TEXT:
                say(text.format(what=what, program=program.pid, hog=hog.pid, cpu=cpu, seconds=arguments.seconds))
            print(flush=True)
            asking = {**asked_by(arguments.user, arguments.group, os.environ), "HOME": home}
            database = ["--db", os.path.join(home, "seen.db")]
            trace = subprocess.Popen([*outlives_not("INT"), programs.path("ingero"), "trace", "--pid", str(program.pid),
                                      "--duration", f"{arguments.seconds}s", *database], env=asking)
            status = trace.wait()
            print("\nThis demonstration runs that command itself, as it removes its recording at the end:\n", flush=True)
            explained = subprocess.run([programs.path("ingero"), "explain", "--all", *database], env=asking, check=False)
            status = status or explained.returncode
        finally:
            end(program)
            end(hog)
            if trace and trace.poll() is None:
                trace.terminate()  # the trace detaches its probes before it ends
                trace.wait()
    wait_for_closers(there_before)
    print(END.format(ingero=os.path.relpath(programs.path("ingero"))))
    return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ingero.Failed as error:
        sys.exit(f"dev run: {error}")
