# SPDX-License-Identifier: Apache-2.0
"""Checks the library search paths of ELF files: no directory may be writable by other users."""
import os
import re
import stat
import subprocess

ORIGIN = re.compile(r"\$(ORIGIN\b|\{ORIGIN\})")
HEADER = re.compile(r"^File: (.*)$", re.M)
PATHS = re.compile(r"\((RPATH|RUNPATH)\).*?\[(.*)\]$", re.M)
NAMES = re.compile(r"\((NEEDED|AUDIT|DEPAUDIT|FILTER|AUXILIARY)\).*?\[(.*)\]$", re.M)
LOADER = re.compile(r"\[Requesting program interpreter: (.*)\]")


def is_linked(path):
    """Whether it is an ELF file for the loader: a program or a shared library, not an object file or an archive."""
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        head = file.read(18)
    return head[:4] == b"\x7fELF" and len(head) == 18 and int.from_bytes(head[16:18], "little" if head[5] == 1 else "big") in (2, 3)


def linked_below(directory):
    """Lists linked files; CMake's own test programs in CMakeFiles are left out."""
    found = []
    for below, directories, names in os.walk(directory):
        directories[:] = sorted(d for d in directories if d != "CMakeFiles")
        found += [path for path in (os.path.join(below, name) for name in sorted(names)) if is_linked(path)]
    return found


def open_to_strangers(directory):
    """The directory, or a parent of it, that other users can write to; None."""
    is_there = os.path.isdir(directory)
    while not os.path.isdir(directory):  # a missing directory can be made by users who can write to its parent
        directory = os.path.dirname(directory)
    mode = os.stat(directory).st_mode
    if mode & stat.S_IWOTH:
        return directory
    # In a sticky directory existing entries are safe; missing ones were checked above.
    while directory != "/":
        directory = os.path.dirname(directory)
        mode = os.stat(directory).st_mode
        if mode & stat.S_IWOTH and not (is_there and mode & stat.S_ISVTX):
            return directory
    return None


def problems_of_element(element, path):
    if not element:
        return "an empty element, which is the current directory"
    place = ORIGIN.sub(os.path.dirname(os.path.abspath(path)), element)
    if not os.path.isabs(place) or "$" in place:
        return f"'{element}', which is relative"
    writable = open_to_strangers(os.path.normpath(place))
    return f"'{element}', and everybody may write {writable}" if writable else None


def problems_of(told, path):
    """told: output of readelf for the file"""
    found = []
    for kind, value in PATHS.findall(told):
        found += [f"{kind} has {problem}" for problem in (problems_of_element(element, path) for element in value.split(":")) if problem]
    found += [f"{kind} names '{value}' by a relative path" for kind, value in NAMES.findall(told) if "/" in value and not os.path.isabs(value)]
    found += [f"its loader is '{value}', a relative path" for value in LOADER.findall(told) if not os.path.isabs(value)]
    return [f"{path}: {problem}" for problem in found]


def problems_below(directory):
    """Returns one sentence for each problem, and the number of checked files."""
    files = linked_below(directory)
    if not files:
        return [], 0
    told = subprocess.run(["readelf", "--dynamic", "--program-headers", "--wide", *files], capture_output=True, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout
    parts = HEADER.split(told)[1:] if len(files) > 1 else [files[0], told]
    found = []
    for path, part in zip(parts[::2], parts[1::2]):
        found += problems_of(part, path)
    return found, len(files)
