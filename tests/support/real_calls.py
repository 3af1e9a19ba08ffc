#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Calls functions of a library with a page of zeros as first argument and zeros as others, and prints the return codes:
real_calls.py LIBRARY TIMES NAME... One JSON object on standard output, {name: code}. Without a device CUDA's calls
fail before they use their arguments, except calls that take a structure, which is the page. If cuInit is among the names,
it is called first: without it the others fail as not initialised.
"""
import ctypes
import json
import sys


# Functions that need other arguments; cuGetProcAddress_v2 writes to its pointer in any case.
ARGUMENTS = {
    "cuInit": [ctypes.c_uint(0)],
    "cuGetProcAddress_v2": [b"cuMemFree", ctypes.create_string_buffer(8), ctypes.c_int(12000), ctypes.c_uint64(0), None],
}


def main():
    path, times, names = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    library = ctypes.CDLL(path)
    returned = {}
    for name in sorted(names, key=lambda name: name != "cuInit"):
        function = getattr(library, name)
        # a page for each function: some succeed without a device, and write their result
        nothing = [ctypes.create_string_buffer(4096)] + [ctypes.c_void_p(None)] * 11
        arguments = ARGUMENTS.get(name, nothing)
        codes = {function(*arguments) for _ in range(times)}
        if len(codes) != 1:
            sys.exit(f"{name} returned {sorted(codes)}")
        returned[name] = codes.pop()
    print(json.dumps(returned))


main()
