#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
operations.py BUILD: the figures of many processes are more than one message may hold: they come in pieces, each row once,
as fast as their reader takes them, also while more is called.
"""
import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import activate  # noqa: E402
import ingero  # noqa: E402
import kept  # noqa: E402

PROGRAMS = 160  # each calls some 100 operations: together more than 2 MiB
# Fields of Summary and of Operation, by their names.
OPERATIONS, LOST, COST, MORE = 3, 6, 7, 9
PID, SOURCE, OP, COUNT = 1, 5, 6, 7
# Lost.forgotten
FORGOTTEN = 14
# OperationsRequest.in_pieces
IN_PIECES = b"\x10\x01"
INVALID, CANCELLED = 6, 9  # codes of docs/protocol.md
# TraceReply.summary
SUMMARY = 5
# TraceRequest.hold, and the tag of .guardian
HOLD = b"\x20\x01\x58"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
# Calls one operation when it is told to, and others the next time.
FIRST = """
import ctypes, sys
sys.stdin.readline()
runtime = ctypes.CDLL(sys.argv[1])
runtime.cudaFree(None)
print("ready", flush=True)
sys.stdin.readline()
memory = ctypes.c_void_p()
runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(64))
runtime.cudaMemset(memory, 0, ctypes.c_size_t(64))
runtime.cudaDeviceSynchronize()
print("done", flush=True)
sys.stdin.readline()
"""


def guard():
    """From here on: a process is held only below a guardian whose parent is one, too."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGCONT)


class Program:
    """One that is told to go on, line by line, and answers each with one."""

    def __init__(self, *command, environment):
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self._process.pid

    def tell(self, line=""):
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def end(self):
        self._process.kill()
        self._process.communicate()


class World:
    """A daemon, and programs that it traces: one that is told when to call what, and a shell that starts others."""

    def __init__(self, programs, service):
        environment = {**os.environ, "LD_LIBRARY_PATH": os.path.join(programs.build, "standins"), "INGERO_STANDIN_QUIET": "1"}
        self.service = service
        self.first = Program(sys.executable, "-S", "-c", FIRST, programs.library("libcudart.so.12"), environment=environment)
        self._shell = Program("sh", environment=environment)
        self._each = f"'{programs.path('cudaload')}' --each >/dev/null 2>&1 & wait; echo $!"
        self.client = activate.Client(service.path)  # itself it is never traced, nor what it starts
        self.n_asked = 3
        self.pids = [self.first.pid]
        pids = activate.varint(self.first.pid) + activate.varint(self._shell.pid)
        self.client.ask(3, "Trace.Trace", b"\x0a" + activate.message(pids) + HOLD + activate.varint(os.getpid()), credit=0, deadline_ms=0)
        service.supervise(lambda: self.client.answer(3), "the start of the trace")
        self.can_capture = self.client.reply(3) is not None

    def close(self):
        self.client.close()
        self.first.end()
        self._shell.end()

    def run_each(self):
        """A program that makes every known call and ends. Its pid."""
        pid = int(self._shell.tell(self._each))
        self.pids.append(pid)
        self.end(self.ask([pid]))  # it is read, and makes room in the kernel half for the next
        return pid

    def ask(self, pids, more=IN_PIECES, **options):
        self.n_asked += 1
        self.client.ask(self.n_asked, "Query.Operations", b"\x0a" + activate.message(b"".join(map(activate.varint, pids))) + more, **options)
        return self.n_asked

    def end(self, stream):
        return self.service.supervise(lambda: self.client.end(stream), "the end of an answer")

    def summary(self):
        """Pieces of the one at the end of the trace."""
        return [activate.fields(body) for reply in map(activate.fields, self.client.replies(3)) for body in reply.get(SUMMARY, [])]

    def pieces(self, stream):
        return [activate.fields(body) for body in self.client.replies(stream)]


def rows(pieces):
    return [(row[PID][0], row[OP][0]) for piece in pieces for row in map(activate.fields, piece.get(OPERATIONS, []))]


def calls(pieces):
    """How many they tell of; the host's events are none."""
    return sum(row[COUNT][0] for piece in pieces for row in map(activate.fields, piece.get(OPERATIONS, [])) if row[SOURCE][0] != b"host" and COUNT in row)


def code(end):
    return int.from_bytes(end[:4], "little")


def is_well(end):
    return code(end) == 0


def test_pieces(check, world):
    stream = world.ask(world.pids)
    end = world.end(stream)
    pieces = world.pieces(stream)
    check("all of it: answered", is_well(end), end)
    check("in more than one piece", len(pieces) > 1, len(pieces))
    check("which the last alone does not say", [piece.get(MORE) for piece in pieces] == [[1]] * (len(pieces) - 1) + [None], len(pieces))
    check("what it cost is in the last alone", [COST in piece and LOST in piece for piece in pieces] == [False] * (len(pieces) - 1) + [True], len(pieces))
    one_by_one = []
    for pid in world.pids:
        stream = world.ask([pid])
        end = world.end(stream)
        check("one of them: a single piece", is_well(end) and len(world.pieces(stream)) == 1, end)
        one_by_one += rows(world.pieces(stream))
    check("the rows of each", sorted(rows(pieces)) == sorted(one_by_one) and len(one_by_one) > 1000, len(rows(pieces)), len(one_by_one))


def test_one_message(check, world):
    """Who does not know of pieces would take the last for the whole: he is told, and has not got it in part."""
    stream = world.ask(world.pids, more=b"")
    end = world.end(stream)
    check("one message: refused", code(end) == INVALID, end)
    check("one message: and what to do", b"'pids'" in end and b"'in_pieces'" in end, end)
    check("one message: no part of it", not world.pieces(stream), len(world.pieces(stream)))
    for pid in world.pids[:3]:
        stream, other = world.ask([pid], more=b""), world.ask([pid])
        check("one message: what fits", is_well(world.end(stream)) and is_well(world.end(other)), world.end(stream))
        check("one message: is the same", rows(world.pieces(stream)) == rows(world.pieces(other)) != [], rows(world.pieces(stream)))


def test_slow_reader(check, world):
    """Between two pieces the first process calls what it did not call before, and another one begins."""
    pids = list(world.pids)
    stream = world.ask(pids, credit=0)
    world.service.supervise(lambda: len(world.client.replies(stream)) > 1, "what there is credit for")
    check("the rest waits", world.client.end(stream) is None, world.client.end(stream))
    before = rows(world.pieces(stream))
    world.first.tell()
    late = world.run_each()
    # an answer to another question is behind what the daemon has heard of
    new = world.ask([world.first.pid, late])
    world.end(new)
    n_new = len(rows(world.pieces(new)))
    world.client.credit(stream, 4 << 20)
    end = world.end(stream)
    told = rows(world.pieces(stream))
    check("slow: all of it is answered", is_well(end), end)
    check("slow: and each row once", len(told) == len(set(told)), len(told), len(set(told)))
    check("slow: what was told stays told", told[:len(before)] == before, len(before))
    check("slow: none of the others is missing", {pid for pid, _ in told} == set(pids), len({pid for pid, _ in told}))
    check("slow: more was called meanwhile", n_new > 50, n_new)


def test_summary(check, world):
    """The summary at the end of the trace has the same rows, in pieces as well, and waits for its reader as well."""
    stream = world.ask(world.pids)
    world.end(stream)
    check("summary: the trace still runs", world.client.end(3) is None, world.client.end(3))
    world.client.cancel(3)
    world.service.supervise(lambda: len(world.summary()) > 1, "what there is credit for")
    check("summary: the rest waits", world.client.end(3) is None, world.client.end(3))
    world.client.credit(3, 4 << 20)
    end = world.end(3)
    check("summary: all of it is told", is_well(end), end)
    check("summary: the same rows", sorted(rows(world.summary())) == sorted(rows(world.pieces(stream))), len(rows(world.summary())), len(rows(world.pieces(stream))))


def answered_after(world, stream):
    """Whether an answer is complete though the daemon was given time for it: another that was asked for later is."""
    world.end(world.ask([world.first.pid]))
    return world.client.end(stream)


def test_gone(check, world):
    """Who does not wait for the rest leaves nothing behind: the daemon's end would tell."""
    stream = world.ask(world.pids, credit=0)
    world.service.supervise(lambda: world.client.replies(stream), "a piece")
    end = answered_after(world, stream)
    check("gone: the rest waits", end is None, end)
    world.client.cancel(stream)
    end = world.end(stream)
    check("gone: it is cancelled", code(end) == CANCELLED, end)
    other = activate.Client(world.service.path)
    other.ask(3, "Query.Operations", IN_PIECES, credit=0)
    world.service.supervise(lambda: other.reply(3), "a piece")
    other.ask(4, "Query.Status")
    world.service.supervise(lambda: other.end(4), "the end of another answer")
    check("gone: the rest waits for the other as well", other.end(3) is None, other.end(3))
    other.close()


def test_forgotten(check, world, whole, stream):
    """
    The trace is over, and programs that have ended are forgotten: calls that a waiting answer had not come to are
    counted, and no others.
    """
    end = world.client.end(stream)
    check("forgotten: the rest waits", end is None, end)

    def is_forgotten():
        one = world.ask(world.pids[-1:])
        world.end(one)
        return not rows(world.pieces(one))

    world.service.supervise(is_forgotten, "forgetting")
    world.client.credit(stream, 4 << 20)
    end = world.end(stream)
    n_calls, told, pieces = calls(world.pieces(whole)), calls(world.pieces(stream)), world.pieces(stream)
    forgotten = activate.fields(pieces[-1][LOST][0]).get(FORGOTTEN, [0])[0]
    check("forgotten: it is answered", is_well(end), end)
    check("forgotten: some of it", 0 < told < n_calls, told, n_calls)
    check("forgotten: and the rest is counted", told + forgotten == n_calls, told, forgotten, n_calls)


def main(build):
    if os.geteuid() != 0:
        print("needs root, to trace")
        return 77
    guard()
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    guard()
    return as_guardian(build)


def as_guardian(build):
    check = kept.Checks()
    programs = ingero.Programs(build)
    with tempfile.TemporaryDirectory(prefix="ingero-operations-") as directory, \
            activate.Activated(programs, directory, "--config", "none", "--db", "none") as service:
        world = World(programs, service)
        if not world.can_capture:
            print("this machine cannot capture")
            return 77
        world.first.tell()
        for _ in range(PROGRAMS):
            world.run_each()
        test_pieces(check, world)
        test_one_message(check, world)
        test_slow_reader(check, world)
        test_gone(check, world)
        whole, waiting = world.ask(world.pids), world.ask(world.pids, credit=0)
        world.end(whole)
        test_summary(check, world)
        test_forgotten(check, world, whole, waiting)
        world.close()
        service.end()
        check("it ends in peace", service.process.returncode == 0, service.log())
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
