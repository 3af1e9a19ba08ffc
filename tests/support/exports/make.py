#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the export list of a real library: every function it exports, with its first bytes.

    make.py --package 'libcuda1 550.163.01 (Debian trixie, non-free)' libcuda.so.550.163.01 > libcuda-550.txt

The lists are data for three readers: the stand-in libraries take their names from them, the check
of bpf/ops.def looks every operation up in them, and tests of probe placement take real function
heads from them. The libraries themselves are the vendor's and are never kept here.
"""

import argparse
import struct
import sys

HEAD_BYTES = 16
SHT_DYNSYM = 11
STT_FUNC = 2
SHN_UNDEF = 0
PT_LOAD = 1
DT_SONAME = 14
PT_DYNAMIC = 2
MACHINES = {62: "x86_64", 183: "aarch64"}


class Library:
    """The few parts of a 64-bit little-endian ELF file that an export list needs."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise SystemExit(f"'{path}' is not a 64-bit little-endian ELF file")
        (self.machine,) = struct.unpack_from("<H", self.data, 18)
        phoff, shoff = struct.unpack_from("<QQ", self.data, 32)
        phentsize, phnum, shentsize, shnum = struct.unpack_from("<HHHH", self.data, 54)
        # type, flags, offset, vaddr, paddr, filesz, memsz, align
        self.segments = [struct.unpack_from("<IIQQQQQQ", self.data, phoff + i * phentsize) for i in range(phnum)]
        # name, type, flags, addr, offset, size, link, info, addralign, entsize
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, shoff + i * shentsize) for i in range(shnum)]

    def text_at(self, offset):
        return self.data[offset : self.data.index(b"\0", offset)].decode()

    def offset_of(self, address):
        for kind, _, offset, vaddr, _, filesz, _, _ in self.segments:
            if kind == PT_LOAD and vaddr <= address < vaddr + filesz:
                return offset + address - vaddr
        raise SystemExit(f"address {address:#x} is in no loaded part of the file")

    def dynsym(self):
        for section in self.sections:
            if section[1] == SHT_DYNSYM:
                return section, self.sections[section[6]][4]
        raise SystemExit("no dynamic symbols")

    def exports(self):
        """(name, address) of every function, by name."""
        section, strings = self.dynsym()
        found = {}
        for at in range(section[4], section[4] + section[5], 24):
            name, info, _, shndx, value, _ = struct.unpack_from("<IBBHQQ", self.data, at)
            if shndx != SHN_UNDEF and info & 0xF == STT_FUNC and info >> 4 in (1, 2):
                found[self.text_at(strings + name)] = value
        return sorted(found.items())

    def soname(self):
        _, strings = self.dynsym()
        for kind, _, offset, _, _, filesz, _, _ in self.segments:
            if kind != PT_DYNAMIC:
                continue
            for at in range(offset, offset + filesz, 16):
                tag, value = struct.unpack_from("<qQ", self.data, at)
                if tag == DT_SONAME:
                    return self.text_at(strings + value)
        return "none"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", required=True, help="where the file comes from: package, version, distribution")
    parser.add_argument("library")
    args = parser.parse_args()
    library = Library(args.library)
    exports = library.exports()
    if library.machine not in MACHINES:
        raise SystemExit(f"'{args.library}' is for processor {library.machine}, known: {MACHINES}")

    print(f"# package: {args.package}")
    print(f"# soname: {library.soname()}")
    print(f"# machine: {MACHINES[library.machine]}")
    print(f"# {len(exports)} functions: name, first {HEAD_BYTES} bytes of its code; made by make.py")
    for name, address in exports:
        offset = library.offset_of(address)
        print(name, library.data[offset : offset + HEAD_BYTES].hex())
    return 0


if __name__ == "__main__":
    sys.exit(main())
