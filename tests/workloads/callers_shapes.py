# SPDX-License-Identifier: Apache-2.0
"""The places that callers.py calls from: a row each. What Python 3.9 does not know is compiled from text."""
import asyncio
import atexit
import collections
import concurrent.futures
import contextlib
import ctypes
import functools
import gc
import importlib
import itertools
import json
import os
import re
import signal
import sys
import tempfile
import threading
import weakref

import callers_processes
from callers import here, shape, turns

DEEP, TOO_DEEP = 100, 200
THREADS = 20
LONG_LINES, VERY_LONG_LINES = 2000, 30000
REUSES = 150


def call():
    for function in turns():
        function(here.pointer, here.bytes)


# ---- functions ----


def recurse(depth):
    if depth:
        return recurse(depth - 1) + 1
    call()
    return 0


def closure():
    number = 3

    def inner():
        def innermost():
            call()
            return number
        return innermost() + 1
    inner()
    (lambda: [call() for _ in range(1)])()
    lines = (lambda a: (
        call(),
        a))
    lines(1)


def multi_line():
    for function in turns():
        function(
            here.pointer,

            here.bytes,
        )
    for function in turns():
        [0,
         function(here.pointer,
                  here.bytes),
         1]
    for function in turns():
        value = max(
            1,
            function(
                here.pointer, here.bytes) or 2,
            key=lambda a: a)
    for function in turns():
        f"""a text of
        several lines {function(here.pointer, here.bytes)} and
        more"""
    for function in turns():
        value = 1 if not \
            function(here.pointer, here.bytes) else \
            2
    return value


def statements():
    with contextlib.ExitStack() as stack:
        stack.callback(call)
        call()
        with contextlib.suppress(ZeroDivisionError), \
                contextlib.closing(Closes()):
            call()
            1 / 0
    try:
        call()
        raise ValueError
    except ValueError:
        call()
    else:
        pass
    finally:
        call()
    while True:
        call()
        break
    assert call() is None, call()
    if (a := call()) is None:
        del a

    class Body:
        call()
        inner = [call() for _ in range(2)]

        @decorated
        def method(self, more=call()):
            call()
            return more
    Body().method()


class Closes:
    def close(self):
        call()


def decorated(function):
    @functools.wraps(function)
    def wrapper(*arguments, **named):
        call()
        return function(*arguments, **named)
    call()
    return wrapper


def decorators():
    @decorated
    @decorated
    def twice():
        call()
    twice()


@contextlib.contextmanager
def managed():
    call()
    try:
        yield
    finally:
        call()


def managers():
    with managed():
        call()
    with managed(), managed():
        pass


# ---- classes ----


class Meta(type):
    def __call__(cls, *arguments):
        call()
        return super().__call__(*arguments)

    def __new__(mcs, name, bases, names):
        call()
        return super().__new__(mcs, name, bases, names)

    def __getattr__(cls, name):
        call()
        return name


class Named:
    def __set_name__(self, owner, name):
        call()

    def __get__(self, instance, owner):
        call()
        return 1


def classes():
    class Made(metaclass=Meta):
        named = Named()

        def __init__(self):
            call()

        def __init_subclass__(cls):
            call()

        @property
        def size(self):
            call()
            return 1

        @size.setter
        def size(self, value):
            call()

        @classmethod
        def of_class(cls):
            call()

        @staticmethod
        def of_none():
            call()

        def __getattr__(self, name):
            call()
            return name

        def __len__(self):
            call()
            return 0

        def __lt__(self, other):
            call()
            return True

        def __format__(self, how):
            call()
            return how

        def __enter__(self):
            call()

        def __exit__(self, *_):
            call()

        def __call__(self):
            call()

    class Below(Made):
        pass

    made = Below()
    made.size = made.size + made.named
    made.of_class()
    made.of_none()
    _ = made.missing, Made.missing, len(made), min(made, made), f"{made:x}"
    with made:
        pass
    made()


class Dies:
    def __del__(self):
        call()


def destructors():
    one = Dies()
    del one
    Dies()
    cycle = Dies()
    cycle.itself = cycle
    del cycle
    gc.collect()
    referred = Closes()
    _ = weakref.ref(referred, lambda _: call())
    del referred


# ---- generators, tasks ----


def generators():
    def counts(n):
        for i in range(n):
            call()
            yield i

    def delegates():
        yield from counts(2)
        call()

    def cleans():
        try:
            yield
        finally:
            call()
    sum(delegates())
    list(a for a in delegates() if call() is None)
    gone = cleans()
    next(gone)
    gone.close()
    thrown = cleans()
    next(thrown)
    with contextlib.suppress(KeyError):
        thrown.throw(KeyError())


async def waits(depth):
    if depth:
        await waits(depth - 1)
        return
    await asyncio.sleep(0)
    call()


class Around:
    async def __aenter__(self):
        call()
        await asyncio.sleep(0)

    async def __aexit__(self, *_):
        call()

    async def __aiter__(self):
        for i in range(2):
            call()
            yield i
            await asyncio.sleep(0)


def tasks():
    async def all_of_it():
        await waits(5)
        await asyncio.gather(waits(1), waits(2), waits(3))
        async with Around():
            async for _ in Around():
                call()
        asyncio.get_running_loop().call_soon(call)
        await asyncio.get_running_loop().run_in_executor(None, in_thread, here.shape)
        await asyncio.create_task(waits(0))
    asyncio.run(all_of_it())
    coroutine = waits(2)
    with contextlib.suppress(StopIteration, RuntimeError):
        coroutine.send(None)
        coroutine.send(None)


# ---- back from C ----


def add(a, b):
    call()
    return a + b


def from_c():
    functools.reduce(add, [1, 2, 3])
    sorted([3, 1], key=lambda a: add(a, 1))
    sorted([3, 1], key=functools.cmp_to_key(lambda a, b: add(a, -b)))
    list(map(add, [1], [2]))
    list(filter(lambda _: call() or True, [1]))
    list(itertools.starmap(functools.partial(add, 1), [(2,)]))
    re.sub("a", lambda match: str(add(1, 1)), "bab")
    json.loads('{"a": 1}', object_hook=lambda value: call() or value)
    collections.defaultdict(call)["missing"]
    functools.lru_cache(maxsize=None)(add)(1, 2)
    functools.singledispatch(lambda a: call())(1)
    next(iter(lambda: add(1, 1), 3))
    "{:>{}}".format(1, add(1, 1))
    eval("add(1, 2)", {"add": add})


COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


def callbacks():
    @COMPARE
    def compare(a, b):
        call()
        return a[0] - b[0]
    numbers = (ctypes.c_int * 3)(3, 1, 2)
    ctypes.CDLL(None).qsort(numbers, 3, ctypes.sizeof(ctypes.c_int), compare)
    # the same while this thread keeps the GIL
    ctypes.PyDLL(None).qsort(numbers, 3, ctypes.sizeof(ctypes.c_int), compare)
    run = ctypes.pythonapi.PyObject_CallNoArgs if hasattr(ctypes.pythonapi, "PyObject_CallNoArgs") else ctypes.pythonapi.PyObject_CallObject
    run.restype = ctypes.py_object
    run.argtypes = [ctypes.py_object] if run.__name__ == "PyObject_CallNoArgs" else [ctypes.py_object, ctypes.c_void_p]
    run(*([call] if len(run.argtypes) == 1 else [call, None]))


def hooks():
    def profile(frame, event, argument):
        if event == "call" and frame.f_code.co_name == "quiet":
            call()
    sys.setprofile(profile)
    quiet()
    sys.setprofile(None)
    sys.settrace(profile)
    quiet()
    sys.settrace(None)
    before = signal.signal(signal.SIGUSR1, lambda number, frame: call())
    os.kill(os.getpid(), signal.SIGUSR1)
    quiet()
    signal.signal(signal.SIGUSR1, before)


def quiet():
    return 1


# ---- compiled while it runs ----

MATCHES = """
def matches(value):
    match value:
        case {"a": [1, *more]} if not call():
            call()
        case _:
            pass
matches({"a": [1, 2]})
"""


def compiled():
    names = {"call": call}
    exec("\n\ncall()", names)
    exec(compile("def made():\n\n  call()\nmade()", "<made>", "exec"), names)
    eval(compile("[call()\n for _ in (1,)]", "a name with spaces", "eval"), names)
    if sys.version_info >= (3, 10):
        exec(compile(MATCHES, "<matches>", "exec"), names)


# names of one, two and four bytes for each character
NOT_ASCII = ("grüße", "ключ", "函数", "𐎠𐎡")


def not_ascii():
    for name in NOT_ASCII:
        source = f"class K{name}:\n  def {name}(self):\n    call()\nK{name}().{name}()"
        exec(compile(source, f"/made/{name} 😀/{name}.py" if name == "函数" else f"/made/{name}/{name}.py", "exec"), {"call": call})


def long_source(n):
    """A function of that many lines, which makes a call in its first, its middle and its last ones."""
    yield "def long(call, a):"
    for i in range(n):
        yield " call()" if i in (0, n // 2, n - 1) else f" a = a + {i % 7} if a else (a, {i % 300})[0]"


def long():
    exec(compile("\n".join(long_source(LONG_LINES)), "<long>", "exec"), names := {})
    names["long"](call, 1)
    # far from each other
    exec("\ncall(); [\n" + "\n" * 70000 + "call()]\n" + "\n" * 300 + "call()", {"call": call})


def very_long():
    exec(compile("\n".join(long_source(VERY_LONG_LINES)), "<very long>", "exec"), names := {})
    names["long"](call, 1)


def reuse():
    """Functions that live as long as one call: the next one is likely to be where this one was."""
    places = set()
    for i in range(REUSES):
        names = {"call": call}
        exec(compile("\n" * (i % 50) + f"def reused_{i}(a=0):\n a = {i}\n" + " a += 1\n" * (i % 3) + " call()", f"/made/reused_{i % 11}.py", "exec"), names)
        places.add(id(names[f"reused_{i}"].__code__))
        names[f"reused_{i}"]()
        del names
        gc.collect(0)
    if len(places) > REUSES // 2:
        print(f"callers.py: {len(places)} places of {REUSES} code objects: not reused", file=sys.stderr)


MODULE = """
import callers_shapes
callers_shapes.call()
class Imported:
    callers_shapes.call()
"""


def imported():
    with tempfile.TemporaryDirectory(prefix="ingero-") as directory:
        with open(os.path.join(directory, "callers_imported.py"), "w", encoding="utf-8") as file:
            file.write(MODULE)
        sys.path.insert(0, directory)
        importlib.import_module("callers_imported")
        del sys.path[0], sys.modules["callers_imported"]


# ---- threads ----


def in_thread(told):
    shape(*told)
    call()
    recurse(3)
    from_c()


def threads():
    told = here.shape
    all_of_them = [threading.Thread(target=in_thread, args=(told,)) for _ in range(THREADS)]
    for thread in all_of_them:
        thread.start()
    for thread in all_of_them:
        thread.join()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for _ in pool.map(in_thread, [told] * 2):
            pass
    timer = threading.Timer(0, in_thread, args=(told,))
    timer.start()
    timer.join()


@atexit.register
def at_exit():
    if here.row:
        shape("atexit")
        call()


# name, function, rule, least number of Python frames
LEAST = 128 if sys.version_info >= (3, 11) else 30
ROWS = [
    ("plain", call),
    ("recursion", lambda: recurse(DEEP), *(() if sys.version_info >= (3, 11) else ("prefix", LEAST))),
    ("recursion_too_deep", lambda: recurse(TOO_DEEP), "prefix", LEAST),
    ("closure", closure),
    ("multi_line", multi_line),
    ("statements", statements),
    ("decorators", decorators),
    ("managers", managers),
    ("classes", classes),
    ("destructors", destructors),
    ("generators", generators),
    ("tasks", tasks),
    ("from_c", from_c),
    ("callbacks", callbacks),
    ("hooks", hooks),
    ("compiled", compiled),
    ("not_ascii", not_ascii),
    ("long", long),
    ("very_long", very_long, "lines"),
    ("reuse", reuse),
    ("imported", imported),
    ("threads", threads),
    *callers_processes.ROWS,
]
