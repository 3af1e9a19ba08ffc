# SPDX-License-Identifier: Apache-2.0
"""Whether a layout fits this interpreter, which looks at its own memory: for python_file.c.

Without arguments: writes the file that holds the interpreter. With NAME=NUMBER...: writes what does not fit, a line each.
"""
import ctypes
import sys
import threading
import types

api = ctypes.pythonapi
wrong = []


def word(at, size=8, signed=False):
    return int.from_bytes(ctypes.string_at(at, size), "little", signed=signed)


def mappings():
    with open("/proc/self/maps") as maps:
        for line in maps:
            parts = line.split()
            start, end = (int(x, 16) for x in parts[0].split("-"))
            yield start, end, parts[1], int(parts[2], 16), parts[5] if len(parts) > 5 else ""


def interpreter_file():
    address = ctypes.cast(api.PyGILState_GetThisThreadState, ctypes.c_void_p).value
    return next(path for start, end, _, _, path in mappings() if start <= address < end)


def check(name, got, want):
    if got != want:
        wrong.append("%s: %#x, not %#x" % (name, got & (1 << 64) - 1, want & (1 << 64) - 1))


def check_addresses(layout):
    path = interpreter_file()
    code = [one for one in mappings() if one[4] == path and "x" in one[2]]
    base = code[0][0]
    for name in ("key", "main", "code_type", "text_type", "bytes_type"):
        layout[name] += base
    check("code type", layout["code_type"], id(types.CodeType))
    check("text type", layout["text_type"], id(str))
    check("bytes type", layout["bytes_type"], id(bytes))
    freed = [start + layout["freed"] - offset for start, end, _, offset, _ in code
             if offset <= layout["freed"] < offset + end - start]
    check("freed", freed[0] if freed else 0, word(id(types.CodeType) + 48))


def check_thread(layout):
    api.PyGILState_GetThisThreadState.restype = ctypes.c_void_p
    state = api.PyGILState_GetThisThreadState()
    check("self", word(state + layout["thread_self"]), threading.get_ident())
    check("interpreter", word(state + layout["thread_interpreter"]), word(layout["main"]))
    if layout["thread"] in (1, 2):  # a key
        check("key", word(layout["key"], 4), 1)
        get = ctypes.CDLL(None).pthread_getspecific
        get.restype = ctypes.c_void_p
        check("value", get(word(layout["key"] + 4, 4)), state)
    return state


def frames_of(layout, state):
    """(address of the code object, instruction) of each frame, innermost first, as the kernel half finds them."""
    frame = word(state + layout["thread_start"])
    if layout["start"] == 1:
        frame = word(frame + layout["run_frame"])
    while frame:
        code = word(frame + layout["frame_code"]) & ~layout["tag_mask"]
        if layout["instruction"] == 2:
            at = word(frame + layout["frame_instruction"]) - code - layout["code_bytecode"]
        else:
            at = word(frame + layout["frame_instruction"], 4, True) * (2 if layout["instruction"] == 1 else 1)
        if not layout["shim"] or word(frame + layout["frame_owner"], 1) < layout["shim"]:
            yield code, at, frame
        frame = word(frame + layout["frame_link"])


def check_frames(layout, state):
    found = list(frames_of(layout, state))
    frame = sys._getframe().f_back
    # the generator and the list that runs it are frames, too, which come and go
    found = found[[code for code, _, _ in found].index(id(frame.f_code)):]
    expected = []
    while frame:
        expected.append((id(frame.f_code), frame.f_lasti))
        frame = frame.f_back
    check("number of frames", len(found), len(expected))
    for (code, at, _), (expected_code, expected_at) in zip(found, expected):
        check("code", code, expected_code)
        check("instruction", at, expected_at)
    return found


def check_code(layout, code):
    address = id(code)
    check("type", word(address + 8), layout["code_type"])
    check("first line", word(address + layout["code_first_line"], 4), code.co_firstlineno)
    check("name", word(address + layout["code_name"]), id(code.co_name))
    check("file", word(address + layout["code_file"]), id(code.co_filename))
    if layout["code_qualname"]:
        check("qualified name", word(address + layout["code_qualname"]), id(code.co_qualname))
    table = code.co_lnotab if sys.version_info < (3, 10) else code.co_linetable
    lines = word(address + layout["code_lines"])
    check("lines", word(lines + 8), layout["bytes_type"])
    check("length of the lines", word(lines + 16), len(table))
    if ctypes.string_at(lines + 32, len(table)) != table:
        wrong.append("lines differ")


def deeper(layout, depth):
    if depth:
        return next(deeper(layout, depth - 1) for _ in (1,))
    state = check_thread(layout)
    check_frames(layout, state)


def main():
    if len(sys.argv) == 1:
        print(interpreter_file())
        return
    layout = {name: int(value) for name, value in (one.split("=") for one in sys.argv[1:])}
    check_addresses(layout)
    for code in (main.__code__, check_code.__code__):
        check_code(layout, code)
    deeper(layout, 5)
    other = threading.Thread(target=deeper, args=(layout, 20))
    other.start()
    other.join()
    for one in wrong:
        print(one)


main()
