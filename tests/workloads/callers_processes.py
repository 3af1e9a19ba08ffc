# SPDX-License-Identifier: Apache-2.0
"""Places of callers.py in other processes and interpreters."""
import multiprocessing
import os
import sys

import callers

HERE = os.path.dirname(os.path.abspath(__file__))


def call():
    for function in callers.turns():
        function(callers.here.pointer, callers.here.bytes)


def in_process(path, libraries, told):
    """In a process that has not the report of its parent."""
    if callers.report.fd is None:
        callers.report.open(path, libraries)
    callers.shape(*told)
    call()
    [call() for _ in range(2)]


def forked():
    pid = os.fork()
    if pid == 0:
        call()
        os._exit(0)
    call()
    if os.waitpid(pid, 0)[1]:
        raise RuntimeError("a child failed")


def by_multiprocessing(method):
    context = multiprocessing.get_context(method)
    process = context.Process(target=in_process, args=(callers.report.path, callers.report.libraries, callers.here.shape))
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"a process of {method} ended with {process.exitcode}")


NUMBERS = 1 << 24  # of calls of one interpreter; the first one has the first ones

SUBINTERPRETER = """
import itertools, sys
sys.path[:] = {path}
import callers, callers_processes
callers.report.numbers = itertools.count({first})
callers_processes.in_process({report}, {libraries}, {told})
"""


def new_interpreter():
    """(module, number) of another interpreter of this process; None: it has none that can load ctypes."""
    try:
        import _interpreters as interpreters
        return interpreters, interpreters.create("legacy")
    except ImportError:
        pass
    try:
        import _xxsubinterpreters as interpreters
        return interpreters, interpreters.create(isolated=False)
    except ImportError:
        return None


def subinterpreter():
    made = new_interpreter()
    if not made:
        return
    interpreters, number = made
    interpreters.run_string(number, SUBINTERPRETER.format(
        path=[HERE, *sys.path], first=next(callers.report.numbers) + NUMBERS, report=repr(callers.report.path), libraries=repr(callers.report.libraries), told=repr(callers.here.shape)))
    interpreters.destroy(number)


ROWS = [
    ("fork", forked),
    ("fork_server", lambda: by_multiprocessing("forkserver")),
    ("spawn", lambda: by_multiprocessing("spawn")),
    ("subinterpreter", subinterpreter, "said"),
]
