# SPDX-License-Identifier: Apache-2.0
"""Programs of Rust crates, for tests: cargo builds each once, in the user's cache."""
import os
import pathlib
import shutil
import subprocess

import kept

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "ingero-crates"
# Messages if the registry cannot be reached, as opposed to a wrong answer.
UNREACHABLE = ("failed to download", "Could not resolve host", "network failure", "spurious network error", "failed to fetch")


def cargo():
    """The program; one of root's own home is not in the path of sudo. Without it, the test is left out."""
    return shutil.which("cargo") or shutil.which("cargo", path=os.path.expanduser("~/.cargo/bin")) or kept.skip("no cargo")


def installed(name, version, *options):
    """Folder of the programs of a crate."""
    folder = CACHE / f"{name}-{version}"
    if not (folder / "done").exists():
        command = [cargo(), "install", name, "--version", version, "--locked", "--quiet", "--root", str(folder), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode and any(words in done.stderr for words in UNREACHABLE):
            kept.skip(f"{name} {version} cannot be fetched: {done.stderr.strip().splitlines()[-1]}")
        done.check_returncode()
        (folder / "done").touch()
    return folder / "bin"
