# SPDX-License-Identifier: Apache-2.0
"""Programs of npm packages, for tests: npm fetches each once, and a Node that is new enough beside it."""
import os
import pathlib
import re
import shutil
import subprocess

import kept

NODE = "node@24"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "ingero-npm"


def installed(*packages):
    """Folder of packages, of npm's form name@version. Without npm, the test is left out."""
    if not shutil.which("npm"):
        kept.skip("no npm")
    folder = CACHE / re.sub("[^a-z0-9.-]+", "-", " ".join(packages)).strip("-")
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--loglevel=error", "--no-fund", "--no-audit", "--prefix", str(folder), NODE, *packages], check=True,
                       stdout=subprocess.DEVNULL)
        (folder / "done").touch()
    return folder / "node_modules"


def command(package, program, *arguments):
    """Command line of one program of a package."""
    modules = installed(package)
    return [str(modules / ".bin" / "node"), str(modules / ".bin" / program), *arguments]
