# SPDX-License-Identifier: Apache-2.0
"""Programs and modules of Python packages, for tests: pip installs each set once, in a virtual environment in the user's cache."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import kept

# The packages want 3.10 or newer, and few have wheels for the newest one.
PYTHONS = ("python3.12", "python3.11", "python3.10", sys.executable)
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "ingero-python"


def python():
    """A Python that can make virtual environments. Without one, the test is left out."""
    for name in PYTHONS:
        path = shutil.which(name)
        if path and subprocess.run([path, "-c", "import ensurepip, venv"], capture_output=True, check=False).returncode == 0:
            return path
    return kept.skip("no Python 3.10 to 3.12 with venv")


def installed(*packages):
    """Folder of the programs of packages, of pip's form name==version; `python` among them imports the packages."""
    folder = CACHE / re.sub("[^a-z0-9.-]+", "-", " ".join(packages).lower()).strip("-")
    if not (folder / "done").exists():
        subprocess.run([python(), "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *packages], check=True)
        (folder / "done").touch()
    return folder / "bin"
