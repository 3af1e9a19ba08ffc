#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header compiles when it is the first one: C, and for what clients include C++, too."""
import json
import os
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor

import tree

C = ["-x", "c", "-std=gnu17", "-Wall", "-Wextra", "-Wundef", "-Wstrict-prototypes"]
CXX = ["-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-Wundef"]
KERNEL = ["-x", "c", "-target", "bpf", "-mcpu=v3", "-g", "-O2", "-D__bpf__", "-D__TARGET_ARCH_" + {"x86_64": "x86", "aarch64": "arm64"}[os.uname().machine], "-Wall", "-Wextra"]
# a header may offer more than one file uses
QUIET = ["-Wno-unused-function", "-Wno-unused-variable", "-fsyntax-only", "-Werror", "-D_GNU_SOURCE", '-DINGERO_VERSION="0"']


def searched(build):
    """Directories outside the tree that the build was configured to search: libraries' and generated headers."""
    options = []
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        for command in json.load(file):
            words = shlex.split(command["command"])
            for word, following in zip(words, words[1:] + [""]):
                if word == "-isystem":
                    options.append(("-isystem", following))
                elif word.startswith("-I" + build):
                    options.append(("-isystem", word[2:]))
    return [word for option in dict.fromkeys(options) for word in option]


def kernel_side(files_tree, kernel_types):
    """Headers of bpf/ that see the kernel's own types, themselves or through another: no compiler of user space reads them."""
    found = {kernel_types}
    includes = {name: set(re.findall(r'^#include "([^"]+)"', files_tree.text(name), re.M)) for name in files_tree.files("bpf/*.h")}
    while True:
        more = {name for name, included in includes.items() if included & {os.path.basename(path) for path in found}} | found
        if more == found:
            return found
        found = more


def jobs_of(files_tree, build, cc, cxx, clang):
    own = ["-I" + files_tree.path(d) for d in ("", "collectord", "libingero/include", "bpf", "tests/support")]
    outside = searched(build)
    names = files_tree.files("*.h")
    kernel_types = "bpf/kernel.h"
    only_kernel = kernel_side(files_tree, kernel_types)
    for name in names:
        file = files_tree.path(name)
        # through a file of one line: a header compiled by itself may miss its own #pragma once
        text = f'#include "{file}"\n'
        if re.search(r"^#if.*__ASSEMBLER__.*\n#error", files_tree.text(name), re.M):
            yield name, [cc, "-x", "assembler-with-cpp", "-c", "-o", os.devnull, *own, "-"], text
            continue
        if name.startswith("bpf/") and kernel_types in names:
            # the kernel's types come first there, and take the place of the C library's
            yield name, [clang, *KERNEL, *QUIET, "-Wno-unused-parameter", *own, "-"], f'#include "{kernel_types}"\n' + text
        if name not in only_kernel:
            yield name, [cc, *C, *QUIET, *own, *outside, "-"], text
        if name.startswith("libingero/include/"):
            yield name, [cxx, *CXX, *QUIET, *own, *outside, "-"], text


def check(files_tree, build, cc, cxx, clang):
    def compile_one(job):
        name, command, text = job
        result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        return f"{name}: does not compile alone with {os.path.basename(command[0])}\n{result.stderr}" if result.returncode else None

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [problem for problem in pool.map(compile_one, jobs_of(files_tree, build, cc, cxx, clang)) if problem]


tree.run(check, [
    ("needs another header first", {"base/a.h": "#pragma once\nstatic inline size_t f(void) { return 1; }\n"}, "base/a.h: does not compile alone"),
    ("public, with a word of C++", {"libingero/include/p.h": "#pragma once\nint f(int class);\n"}, "libingero/include/p.h"),
    ("kernel side uses the C library", {"bpf/kernel.h": "", "bpf/k.h": "#pragma once\n#include <no_such_header.h>\n"}, "bpf/k.h"),
    ("alone and well", {"base/a.h": "#pragma once\n#include <stddef.h>\nsize_t f(void);\n"}, None),
])
