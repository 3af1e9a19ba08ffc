#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Calls functions of a library with a page of zeros and then nothing but zeros, and says what each call returned:
real_calls.py LIBRARY TIMES NAME... One JSON object on standard output, {name: code}. Without a device CUDA's calls
refuse before they look at their arguments, but for those that a structure describes, which is the page. cuInit is called
first where it is among the names: without it the others refuse for want of it.
"""
import ctypes
import json
import sys


# Those that want something better; cuGetProcAddress_v2 writes where it is told to, whatever it finds.
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
        # a page for each: some answer without a device, and write what they answer
        nothing = [ctypes.create_string_buffer(4096)] + [ctypes.c_void_p(None)] * 11
        arguments = ARGUMENTS.get(name, nothing)
        codes = {function(*arguments) for _ in range(times)}
        if len(codes) != 1:
            sys.exit(f"{name} returned {sorted(codes)}")
        returned[name] = codes.pop()
    print(json.dumps(returned))


main()
