#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Calls from Python while memory of the interpreter is damaged: as callers.py, each case in a child that may crash afterwards; CPython 3.9 to 3.14.

    callers_damaged.py --libraries DIR --report FILE [--rounds N] [CASE...]     callers_damaged.py --list

The report is that of callers.py, with

    "damaged": N    index of the first frame whose texts or links are damaged: of that frame nothing, or the truth, may be told
"""
import ctypes
import gc
import mmap
import os
import signal
import struct
import sys

import callers

MINOR = sys.version_info[1]
NEW = MINOR >= 11
# places of fields in bytes, as each version has them
LINK = {9: 24, 10: 24, 11: 48}.get(MINOR, 8)  # frame: the one that called it
CODE = {9: 32, 10: 32, 11: 32}.get(MINOR, 0)  # frame: its code object
FRAME_OF = 24  # object of a frame: the interpreter's frame, from 3.11 on
FILE, NAME = (112, 120) if NEW else (104, 112)  # code object
QUALNAME = 128
LINES = 136 if NEW else 120
FIRST_LINE = {9: 40, 10: 40, 11: 72}.get(MINOR, 68)
LENGTH, STATE = 16, 32  # of a text
DATA = 40 if MINOR >= 12 else 48
SIZE = 16  # of bytes
PAGE = mmap.PAGESIZE
UNMAPPED, KERNEL = 0x10000, 0xffff888000001000

libc = ctypes.CDLL(None)


class Memory:
    """Changes of this process's own memory, which are undone."""

    def __init__(self):
        self.old = []
        self.kept = []

    def put(self, address, value, form="<Q"):
        n = struct.calcsize(form)
        self.old.append((address, ctypes.string_at(address, n)))
        ctypes.memmove(address, struct.pack(form, value), n)

    def undo(self):
        for address, value in reversed(self.old):
            ctypes.memmove(address, value, len(value))
        self.old.clear()

    def page(self, content=b""):
        """Address of memory with this content, whose end is the end of what is mapped."""
        memory = mmap.mmap(-1, 2 * PAGE)
        self.kept.append(memory)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        if libc.mprotect(ctypes.c_void_p(start + PAGE), ctypes.c_size_t(PAGE), 0):
            raise OSError("no guard page")
        ctypes.memmove(start + PAGE - len(content), content, len(content))
        return start + PAGE - len(content)

    def garbage(self, n=2048):
        return self.page(bytes((i * 151 + 13) % 256 for i in range(n)))

    def text(self, value, cut):
        """Copy of an object, of which all from `cut` on is not mapped."""
        return self.page(ctypes.string_at(id(value), cut))


def word(address):
    return struct.unpack("<Q", ctypes.string_at(address, 8))[0]


def address_of(frame):
    return word(id(frame) + FRAME_OF) if NEW else id(frame)


class Place:
    """The frames of one call: `frame` makes it, `caller` calls that, `outer` that."""

    def __init__(self, frame):
        self.frame, self.caller, self.outer = frame, frame.f_back, frame.f_back.f_back
        self.code = id(self.caller.f_code)
        code = self.caller.f_code
        found = [word(self.address("frame") + LINK), word(self.address("caller") + CODE), word(self.code + NAME), word(self.code + FILE)]
        if found != [self.address("caller"), self.code, id(code.co_name), id(code.co_filename)]:
            raise RuntimeError(f"the layout of this interpreter is another one: {found}")

    def address(self, name):
        return address_of(getattr(self, name))


def link(value, of="frame"):
    """The link of a frame leads there. value: an address, or a function of the place and the memory"""
    return lambda place, memory: memory.put(place.address(of) + LINK, value(place, memory) if callable(value) else value)


def code(value):
    """The caller has this for its code object."""
    return lambda place, memory: memory.put(place.address("caller") + CODE, value(place, memory) if callable(value) else value)


def field(offset, value, form="<Q"):
    """A field of the caller's code object."""
    return lambda place, memory: memory.put(place.code + offset, value(place, memory) if callable(value) else value, form)


def text(offset, attribute, change):
    """A text of the caller's code object, changed in a copy: change(address, memory)."""
    def damage(place, memory):
        value = getattr(place.caller.f_code, attribute)
        copy = memory.page(ctypes.string_at(id(value), sys.getsizeof(value)))
        change(copy, memory)
        memory.put(place.code + offset, copy)
    return damage


def lines(change):
    """The line table of the caller's code object, changed in a copy."""
    def damage(place, memory):
        found = word(place.code + LINES)
        n = word(found + SIZE)
        copy = memory.page(ctypes.string_at(found, 33 + n))
        change(copy, memory)
        memory.put(place.code + LINES, copy)
    return damage


def thread_state(value):
    """The thread's state, as the C library keeps it for the interpreter."""
    def damage(place, memory):
        libc.pthread_getspecific.restype = ctypes.c_void_p
        state = ctypes.pythonapi.PyGILState_GetThisThreadState
        state.restype = ctypes.c_void_p
        key = next(key for key in range(32) if libc.pthread_getspecific(key) == state())
        old = libc.pthread_getspecific(key)
        libc.pthread_setspecific(key, ctypes.c_void_p(value(place, memory) if callable(value) else value))
        memory.undo_more = lambda: libc.pthread_setspecific(key, ctypes.c_void_p(old))
    return damage


def garbage(place, memory):
    return memory.garbage()


# name: (what is damaged, index of the first frame that is)
CASES = {
    "link_cycle_1": (link(lambda place, memory: place.address("frame")), 1),
    "link_cycle_2": (link(lambda place, memory: place.address("frame"), "caller"), 2),
    "link_cycle_3": (link(lambda place, memory: place.address("caller"), "outer"), 3),
    "link_none": (link(0), 1),
    "link_odd": (link(lambda place, memory: place.address("caller") + 1), 1),
    "link_unmapped": (link(UNMAPPED), 1),
    "link_kernel": (link(KERNEL), 1),
    "link_garbage": (link(garbage), 1),
    "link_end": (link(lambda place, memory: memory.page(bytes(16))), 1),
    "link_no_frame": (link(lambda place, memory: id(sys)), 1),
    "code_none": (code(0), 1),
    "code_odd": (code(lambda place, memory: place.code + 1), 1),
    "code_unmapped": (code(UNMAPPED), 1),
    "code_garbage": (code(garbage), 1),
    "code_text": (code(lambda place, memory: id("a text")), 1),
    "code_end": (code(lambda place, memory: memory.page(ctypes.string_at(place.code, 64))), 1),
    "name_none": (field(NAME, 0), 1),
    "name_unmapped": (field(NAME, UNMAPPED), 1),
    "name_kernel": (field(NAME, KERNEL), 1),
    "name_garbage": (field(NAME, garbage), 1),
    "name_no_text": (field(NAME, lambda place, memory: id(sys)), 1),
    "name_long": (text(NAME, "co_name", lambda copy, memory: memory.put(copy + LENGTH, 1 << 62)), 1),
    "name_negative": (text(NAME, "co_name", lambda copy, memory: memory.put(copy + LENGTH, -5, "<q")), 1),
    "name_state": (text(NAME, "co_name", lambda copy, memory: memory.put(copy + STATE, 0xffffffff, "<I")), 1),
    "name_wide": (text(NAME, "co_name", lambda copy, memory: memory.put(copy + STATE, 4 << 2 | 1 << 5, "<I")), 1),
    "name_cut": (field(NAME, lambda place, memory: memory.text(place.caller.f_code.co_name, DATA + 3)), 1),
    "name_control": (text(NAME, "co_name", lambda copy, memory: ctypes.memmove(copy + DATA, b"\x1b[2J\n\x00", 6)), 1),
    "file_unmapped": (field(FILE, UNMAPPED), 1),
    "file_garbage": (field(FILE, garbage), 1),
    "file_long": (text(FILE, "co_filename", lambda copy, memory: memory.put(copy + LENGTH, (1 << 63) - 1)), 1),
    "lines_none": (field(LINES, 0), 1),
    "lines_unmapped": (field(LINES, UNMAPPED), 1),
    "lines_garbage": (field(LINES, garbage), 1),
    "lines_huge": (lines(lambda copy, memory: memory.put(copy + SIZE, 1 << 60)), 1),
    "lines_negative": (lines(lambda copy, memory: memory.put(copy + SIZE, -1, "<q")), 1),
    "lines_unterminated": (lines(lambda copy, memory: ctypes.memset(copy + 32, 0xff, 4)), 1),
    "first_line_huge": (field(FIRST_LINE, 0x7fffffff, "<i"), 1),
    "first_line_negative": (field(FIRST_LINE, -0x80000000, "<i"), 1),
    "state_none": (thread_state(0), 0),
    "state_unmapped": (thread_state(UNMAPPED), 0),
    "state_kernel": (thread_state(KERNEL), 0),
    "state_garbage": (thread_state(garbage), 0),
}
if NEW:
    CASES["qualname_garbage"] = (field(QUALNAME, garbage), 1)
    CASES["qualname_no_text"] = (field(QUALNAME, lambda place, memory: id(sys)), 1)
# A long name is no damage, but there is not room for all of it.
LONG_NAME = "a_long_name_" * 200

# Compiled anew for each call, so that nobody has seen its code objects before. The names are long enough to be cut.
SOURCE = """
def {outer}(make, damage):
    return [{caller}(make, damage)]
def {caller}(make, damage):
    value = make(damage)
    return value
{outer}(make, damage)
"""


def make(damage):
    """The damage is done between backtrace(3) and the CUDA function, which a place calls by one instruction."""
    memory = Memory()
    memory.undo_more = lambda: None
    place = Place(sys._getframe())

    def turns():
        for function in callers.turns():
            if function is callers.report.malloc:
                damage(place, memory)
            yield function
        memory.undo()
        memory.undo_more()
    for function in turns():
        function(callers.here.pointer, callers.here.bytes)


def run(name, number):
    damage, first = CASES[name]
    callers.shape(name, "damaged", 0)
    callers.here.more = {"damaged": first}
    caller = LONG_NAME if name == "name_is_long" else f"damaged_{name}_{number}_caller"
    exec(compile(SOURCE.format(outer=f"damaged_{name}_{number}_outer", caller=caller), f"/made/damaged_{name}_{number}.py", "exec"),
         {"make": make, "damage": damage})


CASES["name_is_long"] = (lambda place, memory: None, 1)


def main():
    asked = callers.options_of(sorted(CASES))
    if not isinstance(asked, tuple):
        return asked
    options, names = asked
    gc.disable()
    for number in range(options.rounds):
        for name in names:
            pid = os.fork()
            if pid == 0:
                run(name, number)
                os._exit(0)
            status = os.waitpid(pid, 0)[1]
            if status and os.WIFSIGNALED(status):
                print(f"callers_damaged.py: {name}: ended by {signal.Signals(os.WTERMSIG(status)).name}", file=sys.stderr)
            elif status:
                return 1
    # undamaged again
    callers.shape("whole")
    callers.here.more = {}
    for function in callers.turns():
        function(callers.here.pointer, callers.here.bytes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
