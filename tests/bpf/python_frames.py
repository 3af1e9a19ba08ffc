# SPDX-License-Identifier: Apache-2.0
"""Stacks of many shapes, each walked by the kernel half and noted here as this interpreter itself sees it, for python.c.

python_frames.py LIBRARY FD_TAKE FD_FREED OUT: writes the file of the interpreter, waits for a line, and notes in OUT:
number of a stack, of its frames, whether they are a sub-interpreter's, and for each frame name, qualified name, file and line.
"""
import asyncio
import contextlib
import ctypes
import functools
import gc
import sys
import threading

sys.setrecursionlimit(3000)
library_path, fd_take, fd_freed, out_path = sys.argv[1:5]
FD_TAKE, FD_FREED = int(fd_take), int(fd_freed)
with_gil = ctypes.PyDLL(library_path).python_probe
without_gil = ctypes.CDLL(library_path).python_probe
for function in (with_gil, without_gil):
    function.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_uint]
through = ctypes.CDLL(library_path).python_probe_through
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
notes = []
subs = set()
kept = []  # code objects: the kernel half is told of those alone that reuse() frees
note_lock = threading.Lock()


def interpreter_file():
    address = ctypes.cast(ctypes.pythonapi.PyGILState_GetThisThreadState, ctypes.c_void_p).value
    with open("/proc/self/maps") as maps:
        for line in maps:
            parts = line.split()
            start, end = (int(x, 16) for x in parts[0].split("-"))
            if start <= address < end:
                return parts[5]


def note(frame):
    """Number of a new stack, which begins at this frame."""
    frames = []
    while frame:
        code = frame.f_code
        frames.append((code.co_name, getattr(code, "co_qualname", ""), code.co_filename, frame.f_lineno or 0))
        frame = frame.f_back
    with note_lock:
        notes.append(frames)
        return len(notes) - 1


# The walk happens in the line that notes the frames: so both see the same line.
def here():
    with_gil(FD_TAKE, note(sys._getframe()), 0, 0)


def here_released():
    without_gil(FD_TAKE, note(sys._getframe()), 0, 0)


def plain():
    here()
    here_released()
    for _ in range(3):
        here()


def recursion(depth):
    if depth == 0:
        here()
        return 0
    return recursion(depth - 1) + 1


def numbers(n):
    here()
    if n:
        yield from numbers(n - 1)
    yield n
    here()


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        here()
        return function(*args, **kwargs)
    return wrapper


@decorated
@decorated
def decorated_one(x, *, y=1):
    here()
    return x + y


class Meta(type):
    def __new__(mcs, name, bases, space):
        here()
        return super().__new__(mcs, name, bases, space)

    def __call__(cls, *args):
        here()
        return super().__call__(*args)


def thing_class():
    class Thing(metaclass=Meta):
        here()

        def __init__(self):
            here()

        @property
        def value(self):
            here()
            return 1

        def __getattr__(self, name):
            here()
            return name

        def __lt__(self, other):
            here()
            return False

        def __del__(self):
            here()

        @staticmethod
        def static():
            here()

        @classmethod
        def of_class(cls):
            here()
    return Thing


@contextlib.contextmanager
def managed():
    here()
    try:
        yield
    finally:
        here()


async def task(depth):
    here()
    if depth:
        await task(depth - 1)
    await asyncio.sleep(0)
    here()


async def ticks(n):
    for i in range(n):
        here()
        yield i


async def tasks():
    await asyncio.gather(task(3), task(5))
    async for _ in ticks(2):
        here()


def called_back(x):
    here()
    return x + 1 if x > 2 else through(CALLBACK(called_back), x + 1)


def several_lines():
    return [
        here(),
        (lambda: (
            here()
        ))(),
        *[here() for _ in range(2)],
        *(here() for _ in range(2)),
    ]


def raising():
    try:
        raise ValueError
    except ValueError:
        here()
    finally:
        here()


def execute(source, name, how="exec"):
    kept.append(compile(source, name, how))
    space = {"here": here}
    kept.append(space)
    eval(kept[-2], space)


def made():
    source = """
def f\u00fcr(x):

    here()
class \u041a\u043b\u0430\u0441\u0441:
    def \u6f22\u5b57(self):
        here(); here()
    def \U00020000(self): return here()
f\u00fcr(1)
\u041a\u043b\u0430\u0441\u0441().\u6f22\u5b57()
\u041a\u043b\u0430\u0441\u0441().\U00020000()
"""
    execute(source, "<\u00e9crit \U0001f40d>")
    execute("here()", "<string>")
    execute("here()", "<string>", "eval")


def far():
    source = "def far():\n" + "\n" * 70000 + "    x = 1\n" * 300 + "    here()\n" + "    x = 2\n" * 1500 + "    here()\nfar()\n"
    execute(source, "<far>")


def shapes():
    plain()
    for depth in (1, 50, 100, 120):
        recursion(depth)
    recursion(200)
    list(numbers(3))
    list(map(lambda x: here(), range(2)))
    decorated_one(1, y=2)
    Thing = thing_class()
    thing = Thing()
    thing.value, thing.missing
    sorted([thing, Thing()])
    thing.static()
    thing.of_class()
    del thing
    functools.reduce(lambda x, y: here(), range(3))
    with managed():
        here()
    asyncio.run(tasks())
    called_back(0)
    several_lines()
    raising()
    made()
    far()


def reuse():
    """Functions that are made and freed: others are where they were."""
    for i in range(400):
        space = {"here": here, "through": through, "CALLBACK": CALLBACK}
        exec(compile("def f%d():\n%s    here()\n" % (i, "\n" * (i % 5)), "<made %d>" % (i % 7), "exec"), space)
        function = space.pop("f%d" % i)
        function()
        address = id(function.__code__)
        del function
        with_gil(FD_FREED, address, 0, 0)


def finalized():
    """Finalizers that run wherever memory is taken: also before a frame has begun, where the interpreter hides it."""
    class Circle:
        def __init__(self):
            self.self = self

        def __del__(self):
            here()

    def with_cells(a, b):
        Circle()
        return lambda: (a, b)

    gc.collect()
    gc.set_threshold(1, 1, 1)
    for i in range(100):
        with_cells(i, i)
    gc.set_threshold(700, 10, 10)
    gc.collect()


def quiet():
    return 1


def hooked(frame, event, argument):
    if event == "call" and frame.f_code is quiet.__code__:
        here()


def hooks():
    """Hooks of a call run before its first instruction up to 3.10, where the interpreter shows its frame."""
    for hook in (sys.setprofile, sys.settrace):
        hook(hooked)
        quiet()
        hook(None)


def same():
    """Equal stacks, which have one id."""
    for _ in range(50):
        here()


def threads():
    all_of_them = [threading.Thread(target=one) for one in (plain, same, made) * 4]
    for one in all_of_them:
        one.start()
    for one in all_of_them:
        one.join()


def from_c():
    """A thread that Python did not make."""
    create = ctypes.CDLL(None).pthread_create
    join = ctypes.CDLL(None).pthread_join
    start = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda _: plain())
    thread = ctypes.c_ulong()
    create(ctypes.byref(thread), None, start, None)
    join(thread, None)


def interpreter_new():
    """Modules of sub-interpreters, and a new one, whose modules may be those of any interpreter."""
    if sys.version_info >= (3, 13):
        import _interpreters as interpreters
        return interpreters, interpreters.create("legacy")
    import _xxsubinterpreters as interpreters
    return interpreters, interpreters.create(isolated=False) if sys.version_info >= (3, 10) else interpreters.create()


def sub_interpreter():
    """Frames of the sub-interpreter alone, which is said; up to 3.11 nothing tells where it is without the GIL."""
    interpreters, one = interpreter_new()
    name = "<script>" if sys.version_info >= (3, 14) else "<string>"
    qualified = ("f", "<module>") if sys.version_info >= (3, 11) else ("", "")
    number = len(notes)
    for line in (4, 5):
        notes.append([("f", qualified[0], name, line), ("<module>", qualified[1], name, 6)])
        subs.add(number + line - 4)
    if sys.version_info < (3, 12):
        notes[number + 1] = []
    interpreters.run_string(one, """
import ctypes
def f():
    ctypes.PyDLL(%r).python_probe(%d, %d, 0, 0)
    ctypes.CDLL(%r).python_probe(%d, %d, 0, 0)
f()
""" % (library_path, FD_TAKE, number, library_path, FD_TAKE, number + 1))
    here()
    interpreters.destroy(one)


def main():
    print(interpreter_file(), flush=True)
    sys.stdin.readline()
    shapes()
    same()
    reuse()
    finalized()
    hooks()
    threads()
    from_c()
    sub_interpreter()
    with open(out_path, "w", encoding="utf-8") as out:
        for number, frames in enumerate(notes):
            out.write("%d %d %d\n" % (number, len(frames), number in subs))
            for frame in frames:
                out.write("%s\t%s\t%s\t%d\n" % frame)


main()
