#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
all_warnings.py BUILD [NAME...]: every C and C++ file of a configured build, compiled as each of CMake's optimised build types
does it, by gcc and clang: neither may warn. NAME limits the run to files with one of these in their path.

What gcc warns of at -O2 and -O3 it finds while optimising, so each file is compiled three times; of clang's warnings all but
those about its own passes come before that. Part of ./dev lint and not of the suite: three minutes on two idle CPUs.
"""
import json
import os
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

TYPES = {"Release": ["-O3", "-DNDEBUG"], "RelWithDebInfo": ["-O2", "-DNDEBUG"], "MinSizeRel": ["-Os", "-DNDEBUG"]}
HARDENED = ["-fstack-protector-strong", "-D_FORTIFY_SOURCE=2"]  # cmake/Flags.cmake, without sanitizers
COMPILERS = {"gcc": ({".c": "gcc", ".cc": "g++"}, ["-S", "-o", os.devnull]),
             "clang": ({".c": "clang", ".cc": "clang++"}, ["-fsyntax-only", "-Wno-unknown-warning-option"])}
# of the configured build alone: what another build type or compiler says in its own way
DROPPED = ("-O", "-g", "-fsanitize", "-fno-sanitize", "-Werror", "-DINGERO_SANITIZED", "-DNDEBUG", "-D_FORTIFY_SOURCE")

SAMPLES = {"uninitialised at -O2": ("gcc", "int f(int);int f(int a){int b;if(a)b=a;return b;}", True),
           "truncated at -O2": ("gcc", '#include <stdio.h>\nint f(int);int f(int a){char b[4];(void)snprintf(b,sizeof(b),"%08d",a);return b[0];}', True),
           "unused": ("clang", "static int f(void){return 1;}", True),
           "nothing": ("gcc", "int f(int);int f(int a){return a;}", False)}


def commands(build):
    """One of each file: (path, directory, words of the compiler, without those that are the build's own)."""
    found = {}
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        for row in json.load(file):
            words = shlex.split(row["command"])
            while words and not os.path.basename(words[0]).rstrip("+-0123456789.") in ("cc", "c", "gcc", "g", "clang"):
                words.pop(0)  # ccache and its like
            kept, skip = [], False
            for word in words[1:]:
                if skip or word in ("-c", "-o"):
                    skip = word == "-o"
                elif not word.startswith(DROPPED) and word != row["file"]:
                    kept.append(word)
            found.setdefault(os.path.join(row["directory"], row["file"]), (row["directory"], kept))
    return found


def warnings_of(job):
    compiler, build_type, path, directory, words = job
    names, more = COMPILERS[compiler]
    name = names.get(os.path.splitext(path)[1])
    if not name:
        return []  # assembly
    said = subprocess.run([name, *TYPES[build_type], *HARDENED, *words, *more, path], cwd=directory, capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C"})
    lines = [line for line in said.stderr.splitlines() if "warning:" in line or "error:" in line]
    if said.returncode and not lines:
        lines = said.stderr.splitlines()[-3:] or [f"exit status {said.returncode}"]
    return [f"{compiler} {build_type}: {line}" + ("" if line.startswith(path) else f" ({path})") for line in lines]


def jobs_of(rows, build_types):
    for path, (directory, words) in rows.items():
        for build_type in build_types:
            for compiler in COMPILERS:
                if compiler == "gcc" or build_type == "RelWithDebInfo":
                    yield compiler, build_type, path, directory, words


def wrong_samples():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "sample.c")
        for name, (compiler, text, is_bad) in SAMPLES.items():
            with open(path, "w", encoding="utf-8") as file:
                file.write(text + "\n")
            said = warnings_of((compiler, "RelWithDebInfo", path, directory, ["-Wall", "-Wextra", "-std=gnu17"]))
            if bool(said) != is_bad:
                yield f"sample '{name}': {said or 'no warning'}"


def main():
    build, *names = sys.argv[1:]
    rows = {path: row for path, row in commands(os.path.abspath(build)).items() if not names or any(name in path for name in names)}
    problems = list(wrong_samples())
    if not rows:
        problems.append(f"{build}: no file to compile")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for said in pool.map(warnings_of, jobs_of(rows, TYPES)):
            problems += said
    for problem in dict.fromkeys(problems):
        print(problem)
    if not problems:
        print(f"no warning in {len(rows)} files: gcc and clang, {', '.join(TYPES)}")
    sys.exit(1 if problems else 0)


main()
