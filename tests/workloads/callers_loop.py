#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
callers_loop.py LIBRARY FRAMES PATHS CALLS CHUNKS PYTHON: as callers-loop, from below so many functions of Python. The native frames of
these are among FRAMES, which are more if the interpreter needs more.
"""
import ctypes
import json
import sys


def descend(depth, function):
    if depth > 1:
        value = descend(depth - 1, function)
        return value
    value = function()
    return value


def main():
    library = ctypes.CDLL(sys.argv[1])
    frames, paths, calls, chunks, python = map(int, sys.argv[2:])
    library.callers_loop.restype = ctypes.c_double
    # main() and the module are two of them, and the lambda is one
    own = descend(python - 3, lambda: library.callers_loop_frames())
    depth = max(frames - own - 1, 1)
    ns = descend(python - 3, lambda: library.callers_loop(depth, paths, calls, chunks))
    print(json.dumps({"ns": ns, "native": own + depth + 1, "python": python}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
