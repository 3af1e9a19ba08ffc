#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Python interpreters of other distributions and builders, for tests: fetched as packages by name, kept in the user's cache, never in the tree.

    python_builds.py list             lists them, and whether each is here
    python_builds.py fetch [NAME...]  fetches those that are missing, prints their paths
                                      exit status 77: a package cannot be downloaded

Nothing is installed on the machine: each interpreter runs with the libraries that were fetched with it, by a script beside it. The paths,
joined by ':', are for INGERO_TEST_PYTHONS.
"""
import collections
import fcntl
import glob
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile

from real_libraries import Unreachable, apt_environment, run, skip

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "ingero-pythons")

# The suite's newest package; options: of apt's source. A copy of the suite that changes daily may be older than it allows.
Debian = collections.namedtuple("Debian", "suite version options is_shared", defaults=("", False))
Maven = collections.namedtuple("Maven", "artifact sha256 version")
OLD = "check-valid-until=no"

BUILDS = {
    "debian-11-3.9": Debian("bullseye", "3.9"),
    "debian-13-3.13": Debian("trixie", "3.13"),
    "debian-13-3.13-shared": Debian("trixie", "3.13", is_shared=True),
    "debian-sid-3.13": Debian("sid", "3.13", OLD),
    "debian-sid-3.14": Debian("sid", "3.14", OLD),
    "debian-sid-3.14-shared": Debian("sid", "3.14", OLD, True),
    "debian-sid-3.15": Debian("sid", "3.15", OLD),
    "debian-sid-3.15-shared": Debian("sid", "3.15", OLD, True),
    "javacpp-3.9": Maven("org.bytedeco:cpython:3.9.6-1.5.6:jar:linux-x86_64", "e8c42da2fe5658f6d8f270193ed84463bf768123bace0859731b31cbfbddb35f", "3.9"),
    "javacpp-3.11": Maven("org.bytedeco:cpython:3.11.3-1.5.9:jar:linux-x86_64", "668b42f6a8b1a9789de7d3ca54a81fefb754cd8e885554b42858bbcbc0dd497c", "3.11"),
    "javacpp-3.14": Maven("org.bytedeco:cpython:3.14.3-1.5.13:jar:linux-x86_64", "eb5f1a6fe2dc498ac18927189a37f28a47b0ba06ae6bd85112eff023fe2eb46f", "3.14"),
}

# The C library itself: a program of an older Debian uses the machine's, which is newer.
LIBC = ("ld-", "libc.", "libc-", "libm.", "libm-", "libmvec", "libpthread", "libdl", "libutil", "librt", "libresolv", "libnss_", "libanl", "libthread_db",
        "libcrypt.", "libnsl-")
MAIN = "int Py_BytesMain(int argc, char **argv);\nint main(int argc, char **argv) { return Py_BytesMain(argc, argv); }\n"


def _script(path, command):
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{command} \"$@\"\n")
    os.chmod(path, 0o755)


def _link_shared(directory, version):
    """A program of the library alone; its symbols are those of this C library, which is not newer."""
    (library,) = glob.glob(os.path.join(directory, "usr/lib/*", f"libpython{version}.so.1.0"))
    program = os.path.join(directory, "usr/bin/python-shared")
    subprocess.run(["cc", "-x", "c", "-", "-x", "none", "-o", program, library, "-Wl,--unresolved-symbols=ignore-in-shared-libs"],
                   input=MAIN, text=True, check=True)
    return "python-shared"


def _fetch_debian(build, directory, place):
    """All packages that the interpreter needs, unpacked as in a root."""
    state = os.path.join(directory, "apt")
    environment = apt_environment(state, build.suite, "main", build.options)
    packages = [f"python{build.version}", f"libpython{build.version}"]
    run(["apt-get", "-qq", "-y", "--no-install-recommends", "--download-only", "install", *packages], env=environment)
    for path in glob.glob(os.path.join(state, "archives", "*.deb")):
        run(["dpkg-deb", "--extract", path, directory])
    shutil.rmtree(state)
    program = _link_shared(directory, build.version) if build.is_shared else f"python{build.version}"
    own = os.path.join(directory, "own")
    os.mkdir(own)
    for path in glob.glob(os.path.join(directory, "lib", "*-linux-gnu", "*.so.*")) + glob.glob(os.path.join(directory, "usr/lib", "*-linux-gnu", "*.so.*")):
        if not os.path.basename(path).startswith(LIBC):
            os.symlink(os.path.relpath(path, own), os.path.join(own, os.path.basename(path)))
    loaders = [os.path.relpath(path, directory) for path in glob.glob(os.path.join(directory, "usr/lib64", "ld-linux-*.so.*"))]
    program = shlex.quote(os.path.join(place, "usr/bin", program))
    if loaders:
        libraries = ":".join(os.path.join(place, os.path.relpath(path, directory)) for path in glob.glob(os.path.join(directory, "usr/lib", "*-linux-gnu")))
        command = f"exec {shlex.quote(os.path.join(place, loaders[0]))} --argv0 \"$0\" --library-path {shlex.quote(libraries)} {program}"
    else:
        command = f"LD_LIBRARY_PATH={shlex.quote(os.path.join(place, 'own'))} exec {program}"
    _script(os.path.join(directory, "usr/bin/python3"), command)


def _fetch_maven(build, directory, place):
    if not shutil.which("mvn"):
        raise Unreachable("there is no 'mvn' here")
    run(["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={build.artifact}", f"-DoutputDirectory={directory}", "-Dmdep.useBaseVersion=true"], cwd=directory)
    (path,) = glob.glob(os.path.join(directory, "*.jar"))
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    if digest != build.sha256:
        raise Unreachable(f"the package is not the one that is known: its SHA-256 is {digest}")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(directory, [name for name in archive.namelist() if "/test/" not in name])
    os.unlink(path)
    inside = "org/bytedeco/cpython/linux-x86_64"
    for program in glob.glob(os.path.join(directory, inside, "bin", "*")):
        os.chmod(program, 0o755)
    home = os.path.join(place, inside)
    os.makedirs(os.path.join(directory, "usr/bin"))
    _script(os.path.join(directory, "usr/bin/python3"),
            f"LD_LIBRARY_PATH={shlex.quote(f'{home}:{home}/lib')} exec {shlex.quote(f'{home}/bin/python{build.version}')}")


def path_of(name):
    """The script that runs it, also if it is not here."""
    return os.path.join(CACHE, name, "usr/bin/python3")


def get(name):
    """Path of an interpreter, which is fetched at the first call, by one caller at a time."""
    if platform.machine() != "x86_64":
        raise Unreachable(f"interpreters are known for x86_64, and this is {platform.machine()}")
    build, place = BUILDS[name], os.path.join(CACHE, name)
    os.makedirs(CACHE, exist_ok=True)
    with open(place + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(place):
            with tempfile.TemporaryDirectory(dir=CACHE) as directory:
                try:
                    (_fetch_debian if isinstance(build, Debian) else _fetch_maven)(build, directory, place)
                except Unreachable as error:
                    raise Unreachable(f"{name} cannot be fetched: {error}") from None
                os.chmod(directory, 0o755)
                os.rename(directory, place)
                os.mkdir(directory)  # for the context to remove
    return path_of(name)


def version_of(path):
    """The version that an interpreter tells, as '3.14.10'."""
    return subprocess.run([path, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"], capture_output=True, text=True, check=True).stdout.strip()


def main():
    what, names = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("", [])
    if what not in ("list", "fetch") or set(names) - set(BUILDS) or (what == "list" and names):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        for name in names or BUILDS:
            path = path_of(name) if what == "list" else get(name)
            print(f"{name}: {path if os.path.exists(path) else 'not here'}" if what == "list" else path, flush=True)
    except Unreachable as error:
        return skip(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
