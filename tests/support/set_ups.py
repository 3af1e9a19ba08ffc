#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Virtual environments with real GPU software, made once for each user and kept outside the tree.

    set_ups.py list          lists the set-ups, and whether each is made
    set_ups.py where         prints the directory of the set-ups
    set_ups.py choose        prints which set-up to use on this machine, and with which libraries: 'a standin', 'b standin' or 'b device'
    set_ups.py make NAME...  makes missing set-ups; prints their sizes first
                             exit status 3: the package index cannot be reached; 4: no Python for it here

Wheels are pinned by hash (tests/workloads/torch/requirements/NAME.txt; a new list by 'uv pip compile --generate-hashes').
With sudo, ./dev makes them as the user of sudo; this program makes them as the user that runs it.
"""
import collections
import fcntl
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
WORKLOADS = os.path.join(HERE, "..", "workloads", "torch")
UNREACHABLE, NO_PYTHON = 3, 4

# pythons: versions supported by the pinned wheels, best first; capability: required compute capability of the device;
# runtime: the stand-in library that it needs besides that of the driver
SetUp = collections.namedtuple("SetUp", "name what pythons download_mb disk_mb capability runtime", defaults=(None,))
SET_UPS = {row.name: row for row in (
    SetUp("a", "PyTorch 1.12.1 with CUDA 10.2's runtime and cuBLAS", ("3.10", "3.9", "3.8", "3.7"), 776, 1700, "7.0"),
    SetUp("b", "PyTorch 2.15.0 for CUDA 13, on a runtime of ours", ("3.11", "3.13", "3.12", "3.14", "3.10"), 2700, 4300, "9.0", "libcudart.so.13"),
    SetUp("c", "numba-cuda 0.30.4, which calls the driver alone", ("3.11", "3.13", "3.12", "3.14"), 275, 800, "9.0"),
)}
# Messages of pip if the index cannot be reached, as opposed to a wrong answer.
NO_INDEX = ("NewConnectionError", "ConnectTimeout", "ConnectionError", "Temporary failure in name resolution", "ProxyError",
            "Name or service not known", "Network is unreachable", "Read timed out", "ReadTimeoutError", "Connection refused",
            "Connection reset by peer", "Max retries exceeded")


class Unavailable(Exception):
    """A set-up cannot be made on this machine; the message has its name and the reason."""

    def __init__(self, text, status):
        super().__init__(text)
        self.status = status


def kept_in():
    named = os.environ.get("INGERO_TORCH_CACHE")
    if named:
        return named
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ingero-torch")


def find_python(versions):
    """First of these versions that is installed, by the system or by pyenv."""
    for version in versions:
        found = shutil.which(f"python{version}")
        candidates = [found] if found else []
        pyenv = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
        candidates += sorted(glob.glob(os.path.join(pyenv, "versions", version + ".*", "bin", "python")))
        for path in candidates:
            # a shim of pyenv is found by name but may not work
            try:
                said = subprocess.run([path, "-c", "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"],
                                      capture_output=True, text=True, check=False)
            except OSError:
                continue
            if said.returncode == 0 and said.stdout.strip() == version:
                return path, version
    return None, None


def requirements(set_up):
    return os.path.join(WORKLOADS, "requirements", set_up.name + ".txt")


def place(set_up, version):
    """Directory of a set-up; its name depends on the list of wheels."""
    with open(requirements(set_up), "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()[:12]
    return os.path.join(kept_in(), f"{set_up.name}-{version}-{digest}")


def find(name):
    """Python of a set-up; None: it is not made."""
    for version in SET_UPS[name].pythons:
        directory = place(SET_UPS[name], version)
        if os.path.exists(os.path.join(directory, "complete")):
            return os.path.join(directory, "bin", "python")
    return None


# In a separate process, since a driver's library stays loaded. CUDA 13 needs a driver of at least its version.
HAS_DEVICE = """
import ctypes, sys
driver, value = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
newest = driver.cuDriverGetVersion(ctypes.byref(value)) == 0 and value.value >= 13000
sys.exit(not (newest and driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(value)) == 0 and value.value > 0))
"""


def has_device():
    """Whether PyTorch 2 finds a GPU here, through the vendor's own driver."""
    try:
        return subprocess.run([sys.executable, "-c", HAS_DEVICE], capture_output=True, timeout=30, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def choose():
    """(set-up, 'device' or 'standin'): a real device if there is one, else the smaller download with an installed Python."""
    if has_device():
        return "b", "device"
    for name in ("a", "b"):
        if find(name) or find_python(SET_UPS[name].pythons)[0]:
            return name, "standin"
    return "b", "standin"  # its Pythons are those of distributions; errors then name it


def why_not(name):
    """One sentence: why a set-up is not made."""
    set_up = SET_UPS[name]
    if not find_python(set_up.pythons)[0]:
        return f"set-up {name} ({set_up.what}) needs Python {' or '.join(set_up.pythons)}, and none with venv is installed"
    return f"set-up {name} ({set_up.what}) is not made: ./dev test --torch{'-b' if name == 'b' else ''} makes it"


def environment(name, standins):
    """Environment for a program of a set-up to run with the stand-in libraries of that directory."""
    # PyTorch 2 finds the runtime of its own wheel by DT_RPATH, which precedes LD_LIBRARY_PATH; a preloaded library precedes both
    runtime = SET_UPS[name].runtime
    return {"LD_LIBRARY_PATH": standins, "INGERO_STANDIN_CAPABILITY": SET_UPS[name].capability, "INGERO_STANDIN_QUIET": "1",
            **({"LD_PRELOAD": os.path.join(standins, runtime)} if runtime else {})}


def install(set_up, python, directory):
    shutil.rmtree(directory, ignore_errors=True)
    subprocess.run([python, "-m", "venv", directory], check=True)
    command = [os.path.join(directory, "bin", "python"), "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "--retries", "2",
               "--timeout", "20", "install", "--require-hashes", "--no-deps", "--no-compile", "--only-binary", ":all:",
               "-r", requirements(set_up)]
    if not sys.stdout.isatty():
        command += ["--progress-bar", "off"]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as error:
        with subprocess.Popen(command, stdout=None if sys.stdout.isatty() else subprocess.PIPE, stderr=error, text=True) as pip:
            for line in pip.stdout or ():
                if line.startswith("  Downloading"):
                    print(line.rstrip(), flush=True)
        error.seek(0)
        said = error.read()
    if pip.returncode == 0:
        with open(os.path.join(directory, "complete"), "w", encoding="ascii") as file:
            file.write("made by set_ups.py\n")
        return
    shutil.rmtree(directory, ignore_errors=True)
    if any(sign in said for sign in NO_INDEX):
        raise Unavailable(f"set-up {set_up.name} ({set_up.what}) was not made: the package index cannot be reached", UNREACHABLE)
    raise SystemExit(f"set_ups.py: set-up {set_up.name} could not be made: {said.strip()[-1000:]}")


def make(name):
    """Makes a set-up if it is missing. Returns its Python."""
    set_up = SET_UPS[name]
    made = find(name)
    if made:
        return made
    python, version = find_python(set_up.pythons)
    if not python:
        raise Unavailable(why_not(name), NO_PYTHON)
    directory = place(set_up, version)
    os.makedirs(kept_in(), exist_ok=True)
    with open(os.path.join(kept_in(), name + ".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one download for any number of callers
        made = find(name)
        if made:
            return made
        free_mb = shutil.disk_usage(kept_in()).free >> 20
        print(f"{set_up.what}: {set_up.download_mb} MB to download, {set_up.disk_mb} MB in {directory} (free there: {free_mb} MB)", flush=True)
        if free_mb < 2 * set_up.disk_mb:
            raise SystemExit(f"set_ups.py: {kept_in()} has {free_mb} MB free and making set-up {name} takes up to {2 * set_up.disk_mb}: "
                             f"make room, or set INGERO_TORCH_CACHE to another directory")
        install(set_up, python, directory)
    return os.path.join(directory, "bin", "python")


def main():
    what, names = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("", [])
    unknown = [name for name in names if name not in SET_UPS]
    if what not in ("list", "where", "choose", "make") or unknown or (what == "make" and not names):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    if what == "where":
        print(kept_in())
    elif what == "choose":
        print(*choose())
    elif what == "list":
        for set_up in SET_UPS.values():
            print(f"{set_up.name}  {set_up.what}: {find(set_up.name) or 'not made'}")
    else:
        status = 0
        for name in names:
            try:
                make(name)
            except Unavailable as problem:
                print(f"set_ups.py: {problem}", file=sys.stderr)
                status = status if status == UNREACHABLE else problem.status
        return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
