# SPDX-License-Identifier: Apache-2.0
"""Code objects of this interpreter for python_code.c: their parts as they are in memory, and what the interpreter itself says of them.

Of each: a head of ten numbers of 32 bits (minor, first line, bytes of name, qualified name, file name and line table, bytes of the three
texts as expected, number of ranges), the parts, the texts, the ranges (from, to, line; line 0: none).
"""
import ctypes
import dis
import glob
import os
import struct
import sys
import sysconfig

MODULES = 60
MINOR = sys.version_info[1]
HEAD_WIDE = 72 if MINOR < 12 else 56
HEAD_ASCII = 48 if MINOR < 12 else 40
MADE = """
def \u00e9t\u00e9():
    def d\u00e9jeuner(): return 1
    return d\u00e9jeuner
def \u03bb\u03cc\u03b3\u03bf\u03c2(): return (
    1 +

    2)
def \U00020000\u6f22(): return [x for x in (1,
    2)]
class \u041a\u043b\u0430\u0441\u0441:
    async def m(self):
        try:
            await self.m()
        except ValueError as e:
            raise
        finally:
            with open('x') as f:
                yield f
""" + "def far():\n" + "\n" * 300 + "    x = 1\n" + "\n" * 40000 + "    y = (2,\n" + "\n" * 200 + "    x)\n    return x\n" + \
    "def long():\n" + "".join("    a = a + %d\n" % i for i in range(600))


def text_bytes(text):
    if text is None:
        return b""
    if text.isascii():
        n = HEAD_ASCII + len(text)
    else:
        widest = max(map(ord, text))
        n = HEAD_WIDE + len(text) * (1 if widest < 256 else 2 if widest < 65536 else 4)
    return ctypes.string_at(id(text), n)[:1024]


def ranges_of(code):
    """Ranges of the bytecode with one line each, as the interpreter itself finds it."""
    if MINOR >= 10:
        return [(start, end, line or 0) for start, end, line in code.co_lines()]
    find = ctypes.pythonapi.PyCode_Addr2Line
    find.argtypes = [ctypes.py_object, ctypes.c_int]
    return [(at, at + 2, find(code, at)) for at in range(0, len(code.co_code), 2)]


def dump(code, out):
    qualname = getattr(code, "co_qualname", None)
    table = code.co_lnotab if MINOR < 10 else code.co_linetable
    parts = [text_bytes(code.co_name), text_bytes(qualname), text_bytes(code.co_filename), table]
    texts = [(text or "").encode("utf-8") for text in (code.co_name, qualname, code.co_filename)]
    ranges = ranges_of(code)
    out.write(struct.pack("<10I", MINOR, code.co_firstlineno, *map(len, parts), *map(len, texts), len(ranges)))
    out.write(b"".join(parts + texts))
    out.write(b"".join(struct.pack("<3I", *one) for one in ranges))
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            dump(constant, out)


def main():
    out = sys.stdout.buffer
    dump(compile(MADE, "<m\u00e9moire \U0001f40d>", "exec"), out)
    files = sorted(glob.glob(os.path.join(sysconfig.get_paths()["stdlib"], "*.py")))
    for path in files[:MODULES]:
        with open(path, "rb") as file:
            dump(compile(file.read(), path, "exec"), out)


main()
