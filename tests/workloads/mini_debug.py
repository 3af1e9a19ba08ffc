#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Moves the symbols of a library into its section .gnu_debugdata, packed with xz: mini_debug.py LIBRARY OBJCOPY STRIP."""
import lzma
import subprocess
import sys


def main():
    library, objcopy, strip = sys.argv[1:]
    symbols, packed = library + ".mini", library + ".mini.xz"
    subprocess.run([objcopy, "--only-keep-debug", library, symbols], check=True)
    subprocess.run([strip, "--strip-debug", "--remove-section=.comment", symbols], check=True)
    with open(symbols, "rb") as file, open(packed, "wb") as out:
        out.write(lzma.compress(file.read(), format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC32))
    subprocess.run([strip, library], check=True)
    subprocess.run([objcopy, f"--add-section=.gnu_debugdata={packed}", library], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
