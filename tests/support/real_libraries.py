#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
The vendor's own libraries and headers, for tests: fetched as packages by name, kept in the user's cache, never in the
tree. As a program it fetches the named ones, or all, and prints their paths: real_libraries.py [NAME...]

Nothing is installed on the machine: wheels are downloaded by pip and unpacked; Debian's packages are downloaded by
apt with separate state, from the mirror configured for the machine's apt. Wheels are pinned by hash, Debian's packages
by the archive's signature; if a suite has a newer version, that one is used, and a message says so.

Unreachable is raised if a package cannot be downloaded: tests then skip, with skip(). If INGERO_NEED_PACKAGES is
set, as for every change, they fail instead.
"""
import collections
import fcntl
import glob
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "ingero-real")
TRIES = 3
TIMEOUT_S = 300

Wheel = collections.namedtuple("Wheel", "package version python sha256")
Deb = collections.namedtuple("Deb", "package version suite")
# layer as in bpf/ops.def; file within the package; headers: a directory within it, or None
Library = collections.namedtuple("Library", "name layer source file headers")

LIBRARIES = (
    # auditwheel renames what it packs: this is how the runtime of CUDA 10.2 comes with Python packages
    Library("libcudart-10.2", "RUNTIME",
            Wheel("cumm-cu102", "0.5.3", "3.8", "bb416220e3fafea21dc0c0aaea8a97af9e023718554dd84796c0c0a85180216b"),
            "cumm_cu102.libs/libcudart-80664282.so.10.2.89", None),
    Library("libcudart-11.8", "RUNTIME",
            Wheel("nvidia-cuda-runtime-cu11", "11.8.89", "3", "92d04069a987e1fbc9213f8376d265df0f7bb42617d44f5eda1f496acea7f2d1"),
            "nvidia/cuda_runtime/lib/libcudart.so.11.0", "nvidia/cuda_runtime/include"),
    Library("libcudart-12.9", "RUNTIME",
            Wheel("nvidia-cuda-runtime-cu12", "12.9.79", "3", "25bba2dfb01d48a9b59ca474a1ac43c6ebf7011f1b0b8cc44f54eb6ac48a96c3"),
            "nvidia/cuda_runtime/lib/libcudart.so.12", "nvidia/cuda_runtime/include"),
    Library("libcudart-13.5", "RUNTIME",
            Wheel("nvidia-cuda-runtime", "13.5.37", "3", "df2b79a8852f10d1fef8c848489c49eebb5754051bf870202a862831412b179d"),
            "nvidia/cu13/lib/libcudart.so.13", "nvidia/cu13/include"),
    Library("libnccl-2.19", "NCCL",
            Wheel("nvidia-nccl-cu12", "2.19.3", "3", "a9734707a2c96443331c1e48c717024aa6678a0e2a4cb66b2c364d18cee6b48d"),
            "nvidia/nccl/lib/libnccl.so.2", "nvidia/nccl/include"),
    Library("libcuda-470", "DRIVER", Deb("libcuda1", "470.256.02-2", "bullseye"), "usr/lib/*/nvidia/current/libcuda.so.470.*", None),
    Library("libcuda-535", "DRIVER", Deb("libcuda1", "535.261.03-1", "bookworm"), "usr/lib/*/nvidia/current/libcuda.so.535.*", None),
    Library("libcuda-550", "DRIVER", Deb("libcuda1", "550.163.01-2", "trixie"), "usr/lib/*/nvidia/current/libcuda.so.550.*", None),
)


class Unreachable(Exception):
    """A package cannot be downloaded; the message has its name and the reason."""


def skip(error):
    """Ends a test whose libraries cannot be downloaded."""
    if os.environ.get("INGERO_NEED_PACKAGES"):
        print(f"failed: {error}, and INGERO_NEED_PACKAGES forbids to skip")
        return 1
    print(f"skipped: {error}")
    return 77


def run(command, **options):
    """Runs a command, with retries for network errors. Returns its output; raises Unreachable."""
    for _ in range(TRIES):
        try:
            result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    timeout=TIMEOUT_S, check=False, **options)
        except (OSError, subprocess.TimeoutExpired) as error:
            said = str(error)
            continue
        if result.returncode == 0:
            return result.stdout.decode()
        said = result.stderr.decode().strip()
    raise Unreachable(f"'{command[0]}' fails: {(said.splitlines() or ['without a word'])[-1][:200]}")


def _fetch_wheel(wheel, directory):
    wanted = os.path.join(directory, "wanted.txt")
    with open(wanted, "w", encoding="ascii") as file:
        file.write(f"{wheel.package}=={wheel.version} --hash=sha256:{wheel.sha256}\n")
    platforms = [part for name in ("manylinux_2_17", "manylinux2014", "manylinux1") for part in ("--platform", f"{name}_x86_64")]
    run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:",
          "--require-hashes", "--python-version", wheel.python, *platforms, "--dest", directory, "--requirement", wanted])
    (path,) = glob.glob(os.path.join(directory, "*.whl"))
    with zipfile.ZipFile(path) as archive:
        archive.extractall(directory)


APT = """Dir::Etc {{ sourcelist "{0}/sources"; sourceparts "/dev/null"; main "/dev/null"; parts "/dev/null"; preferencesparts "/dev/null"; }};
Dir::State {{ lists "{0}/lists"; status "{0}/status"; }};
Dir::Cache {{ archives "{0}/archives"; pkgcache ""; srcpkgcache ""; }};
Acquire {{ Languages "none"; Retries "3"; }};
APT::Sandbox::User "root";
APT::Architecture "amd64";
Dir::Log "{0}";
"""


def apt_environment(state, suite, component, options=""):
    """Environment for an apt with state of its own in a new directory, which knows one suite. options: of its source, 'name=value'"""
    mirrors = run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian", "Label: Debian"])
    if not mirrors.strip():
        raise Unreachable("apt knows no Debian mirror here: run 'apt-get update' once")
    for part in ("lists/partial", "archives/partial"):
        os.makedirs(os.path.join(state, part))
    signed = "signed-by=/usr/share/keyrings/debian-archive-keyring.gpg"
    files = {"status": "", "conf": APT.format(state), "sources": f"deb [{' '.join([signed, options]).strip()}] {mirrors.split()[0]} {suite} {component}\n"}
    for name, text in files.items():
        with open(os.path.join(state, name), "w", encoding="utf-8") as file:
            file.write(text)
    environment = dict(os.environ, APT_CONFIG=os.path.join(state, "conf"))
    run(["apt-get", "-qq", "update"], env=environment)
    return environment


def _fetch_deb(deb, directory):
    environment = apt_environment(os.path.join(directory, "apt"), deb.suite, "non-free")
    try:
        run(["apt-get", "-qq", "download", f"{deb.package}={deb.version}"], env=environment, cwd=directory)
    except Unreachable:
        run(["apt-get", "-qq", "download", deb.package], env=environment, cwd=directory)
        print(f"{deb.suite} has no {deb.package} {deb.version} any more: taking what it has", file=sys.stderr)
    (path,) = glob.glob(os.path.join(directory, "*.deb"))
    run(["dpkg-deb", "--extract", path, directory])


def _directory(library):
    """Directory of the unpacked package, which is fetched at the first call, by one caller at a time."""
    if platform.machine() != "x86_64":
        raise Unreachable(f"real libraries are known for x86_64, and this is {platform.machine()}")
    source = library.source
    place = os.path.join(CACHE, f"{source.package}-{source.version}".replace("~", "-"))
    os.makedirs(CACHE, exist_ok=True)
    with open(place + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(place):
            with tempfile.TemporaryDirectory(dir=CACHE) as directory:
                try:
                    (_fetch_wheel if isinstance(source, Wheel) else _fetch_deb)(source, directory)
                except Unreachable as error:
                    raise Unreachable(f"{library.name}, package {source.package} {source.version}, cannot be fetched: {error}") from None
                for left in glob.glob(os.path.join(directory, "*.whl")) + glob.glob(os.path.join(directory, "*.deb")):
                    os.unlink(left)
                shutil.rmtree(os.path.join(directory, "apt"), ignore_errors=True)
                os.chmod(directory, 0o755)
                os.rename(directory, place)
                os.mkdir(directory)  # for the context to remove
    return place


def get(library):
    """Path of the library's file."""
    found = glob.glob(os.path.join(_directory(library), library.file))
    if len(found) != 1:
        raise Unreachable(f"package {library.source.package} {library.source.version} holds {len(found)} files like '{library.file}'")
    return found[0]


def headers(library):
    """Directory of the headers; None: the package has none."""
    return os.path.join(_directory(library), library.headers) if library.headers else None


def find(name):
    return next(library for library in LIBRARIES if library.name == name)


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def main():
    try:
        for library in [find(name) for name in sys.argv[1:]] or LIBRARIES:
            print(library.name, get(library))
    except Unreachable as error:
        return skip(error)
    except StopIteration:
        print(f"which library? One of: {', '.join(library.name for library in LIBRARIES)}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
