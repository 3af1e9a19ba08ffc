#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
without.py BUILD: no CUDA library anywhere; then also no description of the kernel's types, as a user and as root, with no
daemon; then a wrong configuration: every command says plainly what is missing, offers what works all the same, and that works.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import ingero  # noqa: E402
import kept  # noqa: E402

USER = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
# What is said, in one line of blanks.
NO_DAEMON = ("ingero-collectord is not running here; start it with 'systemctl start ingero-collectord', or do without it: 'sudo ingero {}'; "
             "'ingero demo', 'ingero check' and 'ingero explain' of a recording need neither")
NOTHING = "nothing was recorded yet: no file '{home}/.ingero/ingero.db'; 'sudo ingero trace' creates it, 'ingero demo "
NO_TYPES = ("this kernel does not describe its types (/sys/kernel/btf/vmlinux: No such file or directory); use one built with "
            "CONFIG_DEBUG_INFO_BTF, and in a container let it see /sys/kernel/btf")
WORKS = "; 'ingero demo', 'ingero check' and 'ingero explain' of what was recorded work"
NO_CUDA = "cuda_libraries no system-wide CUDA library → programs that bring their own libraries are traced, too"
BAD = "record:\n  whom: everyone\n  cals: slow\n"
BAD_AT = "/etc/ingero/ingero.yaml:3:3: unknown key 'cals' in 'record'; did you mean 'calls'?"
# who, command, exit status, what it has to say
NO_LIBRARY = (
    # of one program: other tests' may run beside it
    ("root", ("trace", "--", "true"), 0, "No CUDA calls: no process of 'true' made one"),
    ("root", ("trace", "--json", "--", "true"), 0, '"operations":[]'),
    ("root", ("status",), 0, "libraries none: no traced process maps a CUDA library"),
    ("root", ("check",), 0, NO_CUDA),
    ("user", ("check",), 0, NO_CUDA),
    ("user", ("demo", "cold-start", "--speed", "1000"), 0, "This was a demo"),
)
CASES = (
    ("user", ("trace", "--duration", "1s"), 1, NO_DAEMON.format("trace")),
    ("user", ("trace", "--", "true"), 1, NO_DAEMON.format("trace")),
    ("user", ("status",), 1, NO_DAEMON.format("status")),
    ("user", ("explain",), 1, NOTHING),
    ("user", ("query", "SELECT 1"), 1, NOTHING),
    ("user", ("export", "-o", "-"), 1, NOTHING),
    ("user", ("demo", "cold-start", "--speed", "1000"), 0, "This was a demo"),
    ("user", ("check",), 1, NO_CUDA),
    ("user", ("check",), 1, "configuration no file /etc/ingero/ingero.yaml: every option has its default"),
    ("user", ("config", "show"), 0, "whom: auto"),
    ("root", ("trace", "--duration", "1s"), 1, f"ingero: cannot capture: {NO_TYPES}{WORKS}"),
    ("root", ("status",), 0, "back end none: this kernel does not describe its types"),
    ("root", ("check",), 1, "/sys/kernel/btf"),
    ("root", ("explain",), 1, NOTHING),
    ("root", ("demo", "cold-start", "--speed", "1000"), 0, "This was a demo"),
    ("root", ("config", "show"), 0, "whom: auto"),
)


WRONG_CONFIGURATION = (
    ("user", ("check",), 1, f"fail configuration {BAD_AT} → correct the file, verify it with 'ingero config check', "
                            "then 'systemctl restart ingero-collectord'"),
    ("root", ("check",), 1, f"fail configuration {BAD_AT}"),
    ("user", ("config", "check"), 1, f"ingero: {BAD_AT}"),
    ("user", ("demo", "cold-start", "--speed", "1000"), 0, "This was a demo"),
)


def hide_libraries():
    """No cache of the dynamic linker, and nothing where CUDA is installed; /etc is one of our own."""
    with tempfile.TemporaryDirectory(prefix="ingero-without-") as copy:
        subprocess.run(["cp", "-a", "/etc/.", copy], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "none", "/etc"], check=True)
        subprocess.run(["cp", "-a", f"{copy}/.", "/etc"], check=True)
    shutil.rmtree("/etc/ingero", ignore_errors=True)
    pathlib.Path("/etc/ld.so.cache").unlink(missing_ok=True)
    for place in ("/usr/local/cuda", "/usr/lib/wsl", "/opt/cuda"):
        if os.path.isdir(place):
            subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)


def ask(check, programs, world, cases):
    for who, command, status, sentence in cases:
        with tempfile.TemporaryDirectory(prefix="ingero-without-") as home:
            os.chmod(home, 0o777)
            environment = {**{name: value for name, value in programs.environment(home).items() if name != "INGERO_DB"}, "COLUMNS": "1000"}
            done = subprocess.run([*(USER if who == "user" else []), programs.path("ingero-cli"), *command], cwd="/", env=environment,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
        said = " ".join((done.stdout + done.stderr).split())
        name = f"{world}: {who}: {' '.join(command)}"
        check(f"{name}: exit status {status}", done.returncode == status, done.returncode, done.stderr[-500:])
        check(f"{name}: says it", sentence.format(home=home) in said, said[-1500:])
        check(f"{name}: in one sentence", status == 0 or command == ("check",) or len(done.stderr.splitlines()) == 1, done.stderr)


def main(build):
    kept.in_own_mounts("hiding what the machine has needs root")
    check = kept.Checks()
    programs = ingero.Programs(build)
    if subprocess.run([*USER, programs.path("ingero-cli"), "version"], check=False, capture_output=True).returncode:
        kept.skip(f"{build} cannot be run by other users")
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
    hide_libraries()
    if os.path.isdir("/sys/kernel/btf"):
        ask(check, programs, "no library", NO_LIBRARY)
        subprocess.run(["mount", "-t", "tmpfs", "none", "/sys/kernel/btf"], check=True)
    ask(check, programs, "nothing", CASES)
    os.mkdir("/etc/ingero", 0o755)
    with open("/etc/ingero/ingero.yaml", "w", encoding="utf-8") as file:
        file.write(BAD)
    os.chmod("/etc/ingero/ingero.yaml", 0o644)
    ask(check, programs, "wrong configuration", WRONG_CONFIGURATION)
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
