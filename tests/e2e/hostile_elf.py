# SPDX-License-Identifier: Apache-2.0
"""
A program maps files that are called like CUDA's driver and are made to break whoever reads them: each is refused
with its reason or attached rightly, the daemon itself reads none, and the calls of a good library beside them are
counted to the call: hostile_elf.py BUILD.
"""
import ctypes
import os
import struct
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../support"), os.path.join(HERE, "../support/exports")]
import file_use  # noqa: E402
import ingero  # noqa: E402
import make  # noqa: E402

CALLS = 101
PT_LOAD, PT_DYNAMIC, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_GNU_HASH = 1, 2, 5, 6, 10, 0x6ffffef5
DAMAGED = "is damaged: its tables point outside the file"
TOO_LARGE = "has more symbols than the limit"
NOT_ELF = "is no library of this machine"
FAN_ACCESS, FAN_MARK_ADD, AT_FDCWD, EVENT_BYTES = 0x1, 0x1, -100, 24


class Image:
    """A right library, to be spoiled."""

    def __init__(self, path):
        self.library = make.Library(path)
        self.data = bytearray(self.library.data)
        (self.phoff,) = struct.unpack_from("<Q", self.data, 32)
        (self.phnum,) = struct.unpack_from("<H", self.data, 56)

    def put(self, form, offset, *values):
        struct.pack_into("<" + form, self.data, offset, *values)
        return self

    def headers(self, kind):
        """Offsets of the program headers of that kind."""
        return [at for at in range(self.phoff, self.phoff + 56 * self.phnum, 56) if struct.unpack_from("<I", self.data, at)[0] == kind]

    def dynamic(self, tag):
        """Where the value of that entry of the dynamic segment is."""
        (at,) = struct.unpack_from("<Q", self.data, self.headers(PT_DYNAMIC)[0] + 8)
        while struct.unpack_from("<q", self.data, at)[0] != tag:
            at += 16
        return at + 8

    def table(self, tag):
        return self.library.offset_of(struct.unpack_from("<Q", self.data, self.dynamic(tag))[0])


def cut(image):
    del image.data[len(image.data) // 3:]


def no_end(image):
    """The chains of the hash table lead on, into the symbols: there are more then, and those that there were."""
    at = image.table(DT_GNU_HASH)
    n_buckets, _, n_bloom, _ = struct.unpack_from("<IIII", image.data, at)
    at += 16 + 8 * n_bloom + 4 * n_buckets
    for chain in range(at, image.library.offset_of(struct.unpack_from("<Q", image.data, image.dynamic(DT_SYMTAB))[0] - 1) - 3, 4):
        image.data[chain] &= 0xfe


def bomb(image):
    """One name, of an operation, for each of 150 000 symbols at places of their own."""
    strings, symbols = image.table(DT_STRTAB), image.table(DT_SYMTAB)
    name = image.data.index(b"\0cuMemAlloc_v2\0", strings) + 1 - strings
    (load,) = [at for at in image.headers(PT_LOAD) if struct.unpack_from("<I", image.data, at + 4)[0] & 1]
    (start,) = struct.unpack_from("<Q", image.data, load + 16)
    n = (strings - symbols) // 24 if strings > symbols else 600
    for number in range(1, n):
        image.put("IBBHQQ", symbols + 24 * number, name, 0x12, 0, 7, start + number, 0)


def million_sections(image):
    """By the extended count, in the first section header; the table covers the whole file again and again."""
    image.put("Q", 40, 64).put("HH", 58, 64, 0)
    image.put("Q", 64 + 32, 1000000)


def overlapping(image):
    for at in image.headers(PT_LOAD):
        image.put("QQQ", at + 8, 0, 0, 0).put("QQ", at + 32, 1 << 62, 1 << 62)


def dynamic_cycle(image):
    """The dynamic segment begins where the program headers do, and is as long as can be said."""
    image.put("Q", image.headers(PT_DYNAMIC)[0] + 8, image.phoff).put("Q", image.headers(PT_DYNAMIC)[0] + 32, (1 << 63) - 8)


# what is said of each: one of these
HOSTILE = {
    "cut": (cut, {DAMAGED}),
    "empty": (lambda image: image.data.__delitem__(slice(64, None)), {DAMAGED}),
    "text": (lambda image: image.put("8s", 0, b"#!/bin/s"), {NOT_ELF}),
    "chain-without-end": (no_end, {"", DAMAGED, TOO_LARGE}),
    "4-billion-buckets": (lambda image: image.put("I", image.table(DT_GNU_HASH), 0xffffffff), {TOO_LARGE}),
    "4-billion-blooms": (lambda image: image.put("I", image.table(DT_GNU_HASH) + 8, 0xffffffff), {TOO_LARGE}),
    "names-without-end": (lambda image: image.put("Q", image.dynamic(DT_STRSZ), 1 << 63), {DAMAGED}),
    "names-elsewhere": (lambda image: image.put("Q", image.dynamic(DT_STRTAB), 1 << 62), {DAMAGED}),
    "symbols-everywhere": (bomb, {TOO_LARGE}),
    "65535-segments": (lambda image: image.put("H", 56, 65535), {TOO_LARGE}),
    # what nobody looks at does no harm: the functions are where they were
    "million-sections": (million_sections, {"", TOO_LARGE, DAMAGED}),
    "overlapping": (overlapping, {"", DAMAGED, "exports none of the traced operations"}),
    "dynamic-cycle": (dynamic_cycle, {TOO_LARGE, DAMAGED}),
}
# Mapped, then something else is where the file was; what is mapped is what is attached.
REPLACED = ("became-fifo", "became-link", "became-other")

TARGET = """
import ctypes, mmap, os, sys
directory, good, calls = sys.argv[1], sys.argv[2], int(sys.argv[3])
maps = []
for name in sorted(os.listdir(directory)):
    with open(os.path.join(directory, name), "rb") as file:
        maps.append(mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC))
    path = os.path.join(directory, name)
    if name.endswith("became-fifo"):
        os.unlink(path), os.mkfifo(path)
    if name.endswith("became-link"):
        os.unlink(path), os.symlink("../../../../../../../../etc/shadow", path)
    if name.endswith("became-other"):
        with open(path + ".new", "wb") as file:
            file.write(b"other" * 1000)
        os.rename(path + ".new", path)
library = ctypes.CDLL(good)
for _ in range(calls):
    library.cuMemFree_v2(None)
"""


class Watch:
    """Who reads files of a directory's, as the kernel tells it."""

    def __init__(self, paths):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.fanotify_init(0x3, os.O_RDONLY | os.O_CLOEXEC)  # FAN_CLOEXEC | FAN_NONBLOCK
        self.is_there = self.fd >= 0 and all(
            libc.fanotify_mark(self.fd, FAN_MARK_ADD, ctypes.c_uint64(FAN_ACCESS), AT_FDCWD, path.encode()) == 0 for path in paths)

    def readers(self):
        """Process ids; those that are gone are kept, too."""
        found = set()
        while True:
            try:
                events = os.read(self.fd, EVENT_BYTES * 256)
            except BlockingIOError:
                return found
            for at in range(0, len(events), EVENT_BYTES):
                fd, pid = struct.unpack_from("<ii", events, at + 16)
                os.close(fd)
                found.add(pid)


def daemon_of(tracing):
    """The process that `ingero trace` started besides its command, before the watch ends."""
    return ingero.child_named(tracing.process.pid, "ingero-collecto")


def make_files(directory, good):
    for name, (spoil, _) in HOSTILE.items():
        image = Image(good)
        spoil(image)
        with open(os.path.join(directory, f"libcuda.so.{name}"), "wb") as file:
            file.write(image.data)
    for name in REPLACED:
        with open(os.path.join(directory, f"libcuda.so.{name}"), "wb") as file:
            file.write(Image(good).data)


def check(trace, good):
    said = {os.path.basename(line["path"].replace(" (deleted)", "")): line for line in trace.libraries}
    whole = said.get(os.path.basename(good), {"symbols": 0})
    if not whole["symbols"] or trace.counts() != {"cuMemFree": CALLS}:
        yield f"the good library: {whole}, calls {trace.counts()}"
    for name, (_, reasons) in HOSTILE.items():
        line = said.get(f"libcuda.so.{name}")
        if line is None:
            yield f"{name}: nothing is said of it"
        elif line["reason"] not in reasons or bool(line["symbols"]) != (line["reason"] == ""):
            yield f"{name}: {line['symbols']} functions, '{line['reason']}'"
    for name in REPLACED:
        line = said.get(f"libcuda.so.{name}")
        if line is None or line["symbols"] != whole["symbols"]:
            yield f"{name}: {line}"
    # no loader tells of what the program maps by itself: those that can be attached may be so too late
    if trace.status or trace.lost().keys() - {"late_load"}:
        yield f"exit status {trace.status}, lost {trace.lost()}: {trace.stderr}"


def check_use(use, n_files):
    """The daemon opened each file, and none to read it itself."""
    said = use.said()
    unseen = [os.path.basename(path) for path, ways in said["opened"].items() if not ways]
    if len(said["opened"]) != n_files or unseen:
        yield f"not seen to be opened by the daemon: {unseen}"
    for call, path in said["used"]:
        yield f"the daemon itself calls {call} on {os.path.basename(path)}"


def main():
    if os.geteuid() != 0:
        print("skipped: needs root to trace")
        return 77
    file_use.prepare()
    programs = ingero.Programs(sys.argv[1])
    good = programs.library("libcuda.so.1")
    with tempfile.TemporaryDirectory(prefix="ingero-hostile-") as directory:
        make_files(directory, good)
        watched = [os.path.join(directory, name) for name in os.listdir(directory)]
        watch = Watch(watched)
        # reads of the program itself come before: it is started when the daemon is known
        command = [sys.executable, "-c", TARGET, directory, good, str(CALLS)]
        os.mkfifo(directory + ".go")
        tracing = ingero.Tracing(programs, command=["sh", "-c", 'read -r _ <"$0"; exec "$@"', directory + ".go", *command],
                                 environment={"INGERO_STANDIN_QUIET": "1"})
        daemon = use = None
        try:
            while daemon is None and tracing.process.poll() is None:
                daemon = daemon_of(tracing)
            use = file_use.FileUse(daemon, watched)
            with open(directory + ".go", "w", encoding="ascii") as go:
                go.write("\n")
            trace = tracing.wait(300)
        finally:
            os.unlink(directory + ".go")
            if sys.exc_info()[0] and use:
                use.end()
        wrong = list(check(trace, good))
        if not watch.is_there:
            print("who reads: left out, no fanotify")
        elif daemon in (readers := watch.readers()) or not readers:
            wrong.append(f"read by {readers}, the daemon is {daemon}")
        if use.is_there:
            wrong.extend(check_use(use, len(watched)))
        else:
            print(f"what the daemon does with them: left out, it cannot be traced: {use.reason}")
    for text in wrong:
        print(text)
    print(f"{len(HOSTILE) + len(REPLACED)} files, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ingero.Failed as failure:
        print(failure)
        sys.exit(1)
