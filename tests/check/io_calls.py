#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
bpf/io_calls.def has the system calls of `ingero io` as the kernel's formats describe them: io_calls.py ROOT [--rewrite | --collect].

tests/data/syscalls.txt keeps the formats: a line has name, number on x86-64, number on arm64 and arguments. --collect adds the calls of the
running kernel (tracefs, numbers of the installed headers); --rewrite makes the table from them. Where tracefs is readable, the check
compares both kernels.
"""
import os
import re
import sys

import tree

DATA, TABLE = "tests/data/syscalls.txt", "bpf/io_calls.def"
FORMATS = "/sys/kernel/tracing/events/syscalls"
HEADERS = ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm-generic/unistd.h")

OPENS = "open openat openat2 open_tree open_tree_attr creat open_by_handle_at memfd_create"
READS = "read readv pread64 preadv preadv2 getdents getdents64 readlink readlinkat"
WRITES = "write writev pwrite64 pwritev pwritev2"
MOVES = "copy_file_range sendfile64 splice tee vmsplice"
ON_FILE = """cachestat close dup dup2 dup3 fadvise64 fallocate fchdir fchmod fchown fcntl fdatasync fgetxattr flistxattr flock
fremovexattr fsconfig fsetxattr fstatfs fsync ftruncate ioctl lseek mmap newfstat quotactl_fd readahead
sync_file_range syncfs io_uring_enter io_uring_register finit_module"""
ON_PATH = """access chdir chmod chown chroot faccessat faccessat2 fanotify_mark fchmodat fchmodat2 fchownat fspick futimesat getxattr
getxattrat lchown lgetxattr link linkat listxattr listxattrat llistxattr lremovexattr lsetxattr mkdir mkdirat mknod mknodat mount_setattr
name_to_handle_at newfstatat newlstat newstat removexattr removexattrat rename renameat renameat2 rmdir setxattr setxattrat statfs statx
symlink symlinkat truncate unlink unlinkat utime utimensat utimes"""
WITHOUT_FILE = """close_range getcwd io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit io_uring_setup msync munmap
pipe pipe2 sync syslog"""

# names of the argument that is the descriptor; of calls with two files, the one that is read from
DESCRIPTORS = ("fd", "fildes", "oldfd", "in_fd", "fd_in", "fdin")
DIRECTORIES = ("dfd", "olddfd")
PATHS = ("filename", "pathname", "path", "oldname")
# calls whose arguments have names of their own
PATH_ARGUMENTS = {"name_to_handle_at": "name"}
# the first path of these is text that is put into a link
SECOND_PATHS = {"symlink": ("", "newname"), "symlinkat": ("newdfd", "newname")}
# calls whose headers have another name
HEADER_NAMES = {"newstat": "stat", "newfstat": "fstat", "newlstat": "lstat", "newfstatat": "fstatat", "sendfile64": "sendfile"}
# newer than some installed headers: include/uapi/asm-generic/unistd.h, the same number on both processors
NEW_NUMBERS = {"cachestat": 451, "fchmodat2": 452, "setxattrat": 463, "getxattrat": 464, "listxattrat": 465, "removexattrat": 466,
               "open_tree_attr": 467}

HEAD = """// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * System calls of `ingero io`, one row each. Made by tests/check/io_calls.py from the kernel's formats; do not edit.
 *
 *   IO_CALL(name, x86, arm64, object, fd, path, bytes)
 *   IO_CALL_X86(name, x86, object, fd, path, bytes): arm64 has no such call
 *
 * name        as in the kernel's tracepoint sys_enter_NAME
 * x86, arm64  its number
 * object      IO_FILE: the file of descriptor argument @fd; IO_OPENED: the file of the returned descriptor, of a failed call as
 *             IO_PATH; IO_PATH: the path in argument @path, the first if there are two; IO_NOTHING
 * fd          index of the argument; of IO_PATH and IO_OPENED the directory that a relative path begins at, IO_NO_ARGUMENT: the
 *             working directory
 * path        index of the argument; IO_NO_ARGUMENT: none
 * bytes       what its return value is: IO_READ, IO_WRITTEN, IO_MOVED bytes; IO_NO_BYTES
 */
#ifndef IO_CALL_X86
#define IO_CALL_X86(name, x86, ...) IO_CALL(name, x86, -1, __VA_ARGS__)
#endif
"""
TAIL = "#undef IO_CALL\n#undef IO_CALL_X86\n"


def calls():
    return {name: (kind, size)
            for kind, size, names in (("IO_OPENED", "IO_NO_BYTES", OPENS), ("IO_FILE", "IO_READ", READS), ("IO_FILE", "IO_WRITTEN", WRITES),
                                      ("IO_FILE", "IO_MOVED", MOVES), ("IO_FILE", "IO_NO_BYTES", ON_FILE), ("IO_PATH", "IO_NO_BYTES", ON_PATH),
                                      ("IO_NOTHING", "IO_NO_BYTES", WITHOUT_FILE))
            for name in names.split()}


def argument_name(argument):
    return re.split(r"[\s*]+", argument)[-1]


def index_of(arguments, wanted):
    """The index of the first argument with one of these names, or -1."""
    names = [argument_name(argument) for argument in arguments]
    return next((names.index(name) for name in wanted if name in names), -1)


def descriptor_of(arguments):
    """The index of the argument that is the descriptor, or -1."""
    return index_of(arguments, DESCRIPTORS)


def path_of(name, arguments):
    """Indices of the directory and of the path of a call, each -1 if it has none."""
    directory, path = SECOND_PATHS.get(name, (None, PATH_ARGUMENTS.get(name)))
    return index_of(arguments, DIRECTORIES if directory is None else (directory,)), index_of(arguments, (path,) if path else PATHS)


def formats(text):
    """{name: (x86, arm64, arguments)}"""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, x86, arm64, *rest = line.split(None, 3)
        found[name] = (int(x86), int(arm64), rest[0].split(", ") if rest else [])
    return found


def table(text):
    """The text of the table. text: of the formats"""
    have, rows = formats(text), []
    for name, (kind, size) in calls().items():
        x86, arm64, arguments = have[name]
        fd, path = descriptor_of(arguments), -1
        if kind == "IO_FILE" and fd < 0:
            kind = "IO_PATH"  # readlink
        if kind in ("IO_PATH", "IO_OPENED"):
            fd, path = path_of(name, arguments)
        fd, path = ("IO_NO_ARGUMENT" if at < 0 or kind == "IO_NOTHING" else at for at in (fd, path))
        of, numbers = ("IO_CALL", f"{x86}, {arm64}") if arm64 >= 0 else ("IO_CALL_X86", x86)
        rows.append((x86, f"{of}({name}, {numbers}, {kind}, {fd}, {path}, {size})\n"))
    return HEAD + "".join(row for _, row in sorted(rows)) + TAIL


def kernel_arguments(name):
    """Arguments of a call in the running kernel; None: it has no such call."""
    try:
        with open(f"{FORMATS}/sys_enter_{name}/format", encoding="utf-8") as file:
            fields = re.findall(r"field:(.*?)\s*;\s*offset:(\d+)", file.read())
    except OSError:
        return None
    return [field for field, offset in fields if int(offset) >= 16]


def header_numbers(path):
    with open(path, encoding="utf-8") as file:
        return {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)$", file.read(), re.M)}


def number(name, numbers):
    return next((numbers[n] for n in (name, HEADER_NAMES.get(name)) if n in numbers), NEW_NUMBERS.get(name, -1))


def collected(text):
    """The formats with those of the running kernel."""
    have = formats(text)
    x86, arm64 = (header_numbers(path) for path in HEADERS)
    for name in calls():
        arguments = kernel_arguments(name)
        if arguments is not None:
            have[name] = (number(name, x86), number(name, arm64), arguments)
    lines = [f"{name} {row[0]} {row[1]} {', '.join(row[2])}".rstrip() for name, row in sorted(have.items())]
    return "# SPDX-License-Identifier: Apache-2.0\n# System calls: name, number on x86-64, number on arm64, arguments. tests/check/io_calls.py --collect\n" + "\n".join(lines) + "\n"


def check(files_tree):
    text = files_tree.text(DATA)
    missing = [f"{DATA}: no line for {name}" for name in calls() if name not in formats(text)]
    if missing:
        return missing
    problems = []
    if files_tree.text(TABLE) != table(text):
        problems.append(f"{TABLE} is not up to date: run tests/check/io_calls.py . --rewrite")
    for name in calls():
        here, kept = kernel_arguments(name), formats(text)[name][2]
        if here is not None and (descriptor_of(here), path_of(name, here)) != (descriptor_of(kept), path_of(name, kept)):
            problems.append(f"{DATA}: {name} has other arguments in this kernel: {', '.join(here)}")
    return problems


ROOT = tree.Tree(sys.argv[1]) if len(sys.argv) > 1 else None
if sys.argv[-1] == "--collect":
    OLD = ROOT.text(DATA) if os.path.exists(ROOT.path(DATA)) else ""
    NEW = collected(OLD)
    with open(ROOT.path(DATA), "w", encoding="utf-8") as data_file:
        data_file.write(NEW)
    sys.exit(0)
if sys.argv[-1] == "--rewrite":
    with open(ROOT.path(TABLE), "w", encoding="utf-8") as table_file:
        table_file.write(table(ROOT.text(DATA)))
    sys.argv.pop()

SAMPLE = "".join(f"{name} 1 1 unsigned int fd\n" for name in calls())
tree.run(check, [
    ("a call without a format", {DATA: "read 0 63 unsigned int fd\n", TABLE: ""}, f"{DATA}: no line for open"),
    ("a row that was edited", {DATA: SAMPLE, TABLE: HEAD}, f"{TABLE} is not up to date"),
])
