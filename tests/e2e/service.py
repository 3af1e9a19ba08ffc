#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
service.py BUILD: the daemon behind a socket that is passed to it: no request is lost while it leaves and comes back, nor before
its probes are there; it says how it is, takes a new configuration, and serves what is wrong instead of dying of it.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import activate  # noqa: E402
import books_of  # noqa: E402
import ingero  # noqa: E402
import kept  # noqa: E402

CLIENTS = 60
WATCHDOG_US = 200000
FAMILIES = (HERE.parent.parent / "collectord/probes/hooks.def").read_text(encoding="utf-8").count("\nFAMILY(")
# StatusRequest.look
LOOK = b"\x08\x01"
# Fields of StatusReply and of CudaProcess, by their names.
BACK_END, LEASES, CUDA_PROCESSES, RECORDED, RECORD_WHOM = 5, 9, 14, 16, 18
PID, COVERAGE, REASON, IS_TRACED = 1, 4, 5, 7
# Of StatusReply, and of its libraries.
LIBRARIES = 7
LIBRARY_PATH, LIBRARY_BACK_END, LIBRARY_PROCESSES, LIBRARY_LATE = 1, 5, 12, 14
# The command finds the directory's socket where the machine's is.
AS_THE_MACHINES = ["unshare", "--mount", "--propagation", "private", "sh", "-c", 'mount --bind "$0" /run && exec "$@"']


def answered(service, client):
    service.supervise(lambda: client.status() is not None or client.is_lost, "an answer")
    return client.status() is not None


def test_comes_and_goes(check, programs, directory):
    """60 clients in a row, each at another moment of leaving: at once, when it says that it leaves, when it has left."""
    with activate.Activated(programs, directory, "--config", "none", "--idle-exit", "50ms") as service:
        lost = []
        for i in range(CLIENTS):
            if i % 3 == 1:
                said = len(service.said)
                service.wait_for_line("STOPPING=1", said)
            if i % 3 == 2:
                service.wait_for_exit()
            client = activate.Client(service.path)
            if not answered(service, client):
                lost.append(i)
            client.close()
        check("no request is lost", not lost, lost, service.log())
        check("it left and came back", service.n_started > CLIENTS // 3, service.n_started)
        check("it leaves in peace", service.wait_for_exit() == 0, service.process.returncode, service.log())


def test_slow_start(check, programs, directory):
    """Five that came before the daemon did."""
    with activate.Activated(programs, directory, "--config", "none") as service:
        clients = [activate.Client(service.path) for _ in range(5)]
        check("all five are answered", all(answered(service, client) for client in clients), service.log())
        check("by one daemon", service.n_started == 1, service.n_started)
        for client in clients:
            client.close()


def test_before_probes(check, programs, directory):
    """What needs no probes is answered before they are there; what needs them waits, and loses nothing."""
    database = os.path.join(directory, "ingero.db")
    with activate.Activated(programs, directory, "--config", "none", "--db", database) as service:
        early = activate.Client(service.path)
        check("answered", answered(service, early), service.log())
        # field 5, with the length behind it; and field 2 of each family
        check("which says that they come", b"\x2a\x07loading" in early.status() and early.status().count(b"\x12\x07loading") == FAMILIES, early.status())
        early.ask(3, "Query.Status", LOOK)
        look = service.supervise(lambda: early.answer(3), "an answer that had to wait")
        check("who looks waits for them", b"loading" not in look, look)
        early.close()


def test_waiting_for_probes(check, programs, directory):
    """Asked before they are there: answered once by the same daemon, or not at all where nobody waits any more."""
    database = os.path.join(directory, "ingero.db")
    with activate.Activated(programs, directory, "--config", "none", "--db", database) as service:
        client = activate.Client(service.path)
        for stream, method in ((3, "Query.Operations"), (4, "Query.Explain"), (5, "Trace.Trace")):
            client.ask(stream, method)
        gone = activate.Client(service.path)
        gone.ask(3, "Trace.Trace")
        gone.close()  # while its request waits
        cancelled = activate.Client(service.path)
        cancelled.ask(3, "Trace.Trace")
        cancelled.cancel(3)
        service.supervise(lambda: cancelled.end(3) is not None, "the end of what was cancelled")
        check("all three at once: answered", service.supervise(lambda: all(client.reply(i) is not None or client.end(i) is not None for i in (3, 4, 5)),
                                                               "three answers"), service.log())
        check("by one daemon", service.n_started == 1 and service.process.poll() is None, service.n_started, service.log())
        cancelled.close()
        client.close()


# Becomes another program, and keeps its connection to the daemon as long as that runs.
CONNECTED = ("import os, socket, sys\n"
             "connection = socket.socket(socket.AF_UNIX)\n"
             "connection.connect(sys.argv[1])\n"
             "connection.set_inheritable(True)\n"
             "os.execv(sys.argv[2], sys.argv[2:])\n")


def trace_whole(check, programs, directory, *before):
    """Of a program that `before` starts, not one call is missing."""
    if os.geteuid() != 0:
        return  # may neither mount nor, most likely, trace
    report = os.path.join(directory, "report")
    with activate.Activated(programs, directory, "--config", "none", "--db", "none") as service:
        environment = {**{name: value for name, value in programs.environment(directory).items() if name != "INGERO_DB"}, "LD_LIBRARY_PATH": os.path.join(programs.build, "standins"), "INGERO_STANDIN_QUIET": "1"}
        with open(os.path.join(directory, "out"), "w+", encoding="utf-8") as out, open(os.path.join(directory, "err"), "w+", encoding="utf-8") as error:
            process = subprocess.Popen([*AS_THE_MACHINES, directory, programs.path("ingero-cli"), "trace", "--json", "--", *before, programs.path("cudaload"),
                                        "--calls", "503", "--report", report], env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=error)
            service.supervise(lambda: process.poll() is not None, "the end of the trace")
            out.seek(0)
            error.seek(0)
            said, why = out.read(), error.read()
        if "cannot capture" in why:
            check("says why not", process.returncode == 2, why)
            return
        trace = ingero.Trace(said, process.returncode, why)
        with open(report, encoding="utf-8") as file:
            books = json.load(file)["books"]
        made = books_of.operations(books, books_of.known_operations(HERE.parent.parent / "bpf" / "ops.def"))
        check("to the call", trace.counts() == made and not trace.lost(), trace.counts(), made, trace.lost(), why)
        check("by one daemon", service.n_started == 1, service.n_started)


def test_trace_at_once(check, programs, directory):
    """The first that a daemon hears of is a trace: not one call of the program is missing."""
    trace_whole(check, programs, directory)


def test_trace_connected(check, programs, directory):
    """A program that holds a connection to the daemon is traced like any other: only our own client is none of those."""
    trace_whole(check, programs, directory, sys.executable, "-c", CONNECTED, "/run/ingero.sock")


@contextlib.contextmanager
def waiting_program(programs, directory):
    """A CUDA program that has loaded its libraries and makes no call."""
    environment = {**programs.environment(directory), "LD_LIBRARY_PATH": os.path.join(programs.build, "standins"), "INGERO_STANDIN_QUIET": "1"}
    with subprocess.Popen([programs.path("cudaload"), "--wait-for-stdin"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield process.pid
        process.kill()


def trace_beside_status(check, service, pid, is_last):
    """Return: whether the question came while the trace began; where it never does that fails the check."""
    tracer, asker = activate.Client(service.path), activate.Client(service.path)
    # TraceRequest.pids
    tracer.ask(3, "Trace.Trace", b"\x0a" + activate.message(activate.varint(pid)))
    asker.ask(3, "Query.Status", LOOK)
    look = activate.fields(service.supervise(lambda: asker.answer(3), "an answer that had to wait"))
    if look[BACK_END] == [b"none"]:
        return True  # this machine cannot do it
    if look.get(LEASES) != [1] and not is_last:
        return False
    check("the trace is there", look.get(LEASES) == [1], look.get(LEASES))
    process = next((one for one in map(activate.fields, look.get(CUDA_PROCESSES, [])) if one[PID] == [pid]), {})
    check("its process is traced", process.get(IS_TRACED) == [1], process)
    check("nobody says otherwise", b"nobody" not in process.get(REASON, [b""])[0], process)

    covered, stream, end = [], 4, time.monotonic() + 60
    while covered != [[b"full"]] and time.monotonic() < end:
        asker.ask(stream, "Query.Status", LOOK)
        reply = activate.fields(service.supervise(lambda: asker.answer(stream), "another answer"))
        covered = [one.get(COVERAGE) for one in map(activate.fields, reply.get(CUDA_PROCESSES, [])) if one[PID] == [pid]]
        stream += 1
    check("and then covered", covered == [[b"full"]], covered)
    asker.close()
    tracer.close()
    return True


def test_trace_beside_status(check, programs, directory):
    """Who asks for the status while a trace begins hears of that trace, and of no process of it that nobody traces it."""
    if os.geteuid() != 0:
        return
    with waiting_program(programs, directory) as pid:
        # on a slow machine the daemon may load its probes before it has read the tracer's request
        for tries_left in range(4, -1, -1):
            with activate.Activated(programs, directory, "--config", "none", "--db", "none") as service:
                if trace_beside_status(check, service, pid, is_last=not tries_left):
                    break


def configuration(directory, text):
    """A file that the daemon trusts. Returns its path."""
    path = os.path.join(directory, "ingero.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o644)
    return path


def test_whom(check, programs, directory):
    """Whom the configuration names is told apart from whose calls are recorded, until both are the same."""
    config = configuration(directory, "record:\n  whom: everyone\n")
    with activate.Activated(programs, directory, "--config", config, "--db", "none") as service:
        client = activate.Client(service.path)
        client.ask(3, "Query.Status", LOOK)
        early = activate.fields(service.supervise(client.status, "an answer"))
        look = activate.fields(service.supervise(lambda: client.reply(3), "an answer that had to wait"))
        service.wait_for_line("READY=1")
        client.ask(4, "Query.Status", LOOK)
        ready = activate.fields(service.supervise(lambda: client.reply(4), "an answer when it is ready"))
        can_record = ready[BACK_END] != [b"none"]
        for name, reply, whom in (("before the probes", early, b"nobody"), ("with the probes", look, None), ("ready", ready, b"everyone" if can_record else b"nobody")):
            check(f"{name}: the configuration names everyone", reply.get(RECORD_WHOM) == [b"everyone"], reply.get(RECORD_WHOM))
            check(f"{name}: recorded", whom is None or reply.get(RECORDED) == [whom], reply.get(RECORDED), whom)
        check("the supervisor hears of no other configuration", not any("nobody unasked" in line for line in service.said), service.said)
        client.close()


@contextlib.contextmanager
def system_library(programs):
    """A copy of runtime and driver that is root's, where only root can write."""
    base = tempfile.mkdtemp(prefix="ingero-test-", dir="/var/lib")
    try:
        os.chmod(base, 0o755)
        shutil.copytree(os.path.join(programs.build, "standins"), os.path.join(base, "lib"), symlinks=True)
        yield os.path.join(base, "lib")
    finally:
        shutil.rmtree(base)


def libraries_of(service, directory, stream, client):
    client.ask(stream, "Query.Status")
    reply = activate.fields(service.supervise(lambda: client.answer(stream), "an answer"))
    return [one for one in map(activate.fields, reply.get(LIBRARIES, [])) if directory.encode() in one[LIBRARY_PATH][0] and one.get(LIBRARY_BACK_END)]


def test_late_once(check, programs, directory):
    """A library that was in use before a restart is attached before anybody maps it again; one that was changed since is not."""
    if os.geteuid() != 0:
        return
    config = configuration(directory, "record:\n  whom: everyone\nservice:\n  idle-exit: 0\n")
    with system_library(programs) as library:
        database = os.path.join(directory, "ingero.db")
        for turn, name in enumerate(("the first time", "after a restart", "changed since")):
            if turn == 2:
                os.utime(os.path.join(library, os.path.realpath(os.path.join(library, "libcudart.so.12"))))
            own = os.path.join(directory, str(turn))
            os.mkdir(own)
            with activate.Activated(programs, own, "--config", config, "--db", database) as service:
                service.start()
                client = activate.Client(service.path)
                client.ask(3, "Query.Status", LOOK)
                look = activate.fields(service.supervise(lambda client=client: client.answer(3), "an answer that had to wait"))
                if look[BACK_END] not in ([b"session"], [b"multi"]):
                    return  # what is not in use is not attached with perf events
                service.wait_for_line("READY=1")
                want, stream, found, end = (0, 2, 1)[turn], 4, [], time.monotonic() + 60
                while len(found) < want and time.monotonic() < end:  # the parser answers when it can
                    found = libraries_of(service, library, stream, client)
                    stream += 1
                found = libraries_of(service, library, stream, client)
                check(f"{name}: attached before anybody maps them", len(found) == want and not any(one.get(LIBRARY_PROCESSES) for one in found), found, service.log())
                load = subprocess.Popen([programs.path("cudaload"), "--wait-for-stdin"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**programs.environment(directory), "LD_LIBRARY_PATH": library, "INGERO_STANDIN_QUIET": "1"})
                load.stdout.readline()
                while len(found) < 2 and time.monotonic() < end:
                    stream += 1
                    found = libraries_of(service, library, stream, client)
                check(f"{name}: attached with whoever maps them", len(found) == 2, found, service.log())
                check(f"{name}: late", turn != 1 or not any(one.get(LIBRARY_LATE) for one in found), found)
                load.communicate(b"\n")
                client.close()
                service.process.send_signal(signal.SIGTERM)
                check(f"{name}: ends in peace", service.wait_for_exit() == 0, service.log())


def test_stays(check, programs, directory):
    """As long as one is connected it does not leave, whatever the limit."""
    with activate.Activated(programs, directory, "--config", "none", "--idle-exit", "1ms") as service:
        client = activate.Client(service.path)
        check("answered", answered(service, client), service.log())
        for _ in range(20):
            other = activate.Client(service.path)
            check("another, too", answered(service, other), service.log())
            other.close()
        check("by the same daemon", service.n_started == 1 and service.process.poll() is None, service.n_started)
        client.close()
        check("then it leaves", service.wait_for_exit() == 0, service.log())


def test_supervised(check, programs, directory):
    """Ready, alive, told to read its file again, told to stop."""
    config = configuration(directory, "record:\n  whom: nobody\nservice:\n  idle-exit: 0\n")
    with activate.Activated(programs, directory, "--config", config, watchdog_us=WATCHDOG_US) as service:
        service.start()
        service.wait_for_line("READY=1")
        status = service.wait_for_line("STATUS=")
        check("a status line", "Recording nobody unasked" in status or "Nothing is captured" in status, status)
        for _ in range(3):
            said = len(service.said)
            service.wait_for_line("WATCHDOG=1", said)

        configuration(directory, "record:\n  whom: everyone\nprobes:\n  ring-size: 2m\n")
        said = len(service.said)
        service.process.send_signal(signal.SIGHUP)
        service.wait_for_line("READY=1", said)
        behind = service.said[said:]
        check("says that it reloads", behind.index("RELOADING=1") < behind.index("READY=1") and
              any(line.startswith("MONOTONIC_USEC=") for line in behind), behind)
        service.wait_for_line(f"WATCHDOG_USEC={WATCHDOG_US}")
        loading = [line for line in service.said if line.startswith("WATCHDOG_USEC=")]
        check("the watchdog gives the load of the probes more time, once", len(loading) == 2 and int(loading[0].partition("=")[2]) > 10 * WATCHDOG_US, loading)
        check("records as it says now", any("Recording everyone" in line or "Nothing is captured" in line for line in behind), behind)
        check("what waits for the next start is named", "'probes.ring-size' becomes '2m' at the next start" in service.log(), service.log())

        configuration(directory, "record:\n  whoom: nobody\n")
        said = len(service.said)
        service.process.send_signal(signal.SIGHUP)
        service.wait_for_line("READY=1", said)
        check("a wrong file changes nothing", f"{config}:2:3: unknown key 'whoom' in 'record'; did you mean 'whom'?" in service.log() and
              not any("nobody" in line for line in service.said[said:]), service.log(), service.said[said:])

        service.process.send_signal(signal.SIGTERM)
        service.wait_for_line("STOPPING=1")
        check("stops in peace", service.wait_for_exit() == 0, service.log())


def test_log_level(check, programs, directory):
    """A reload takes the level of a right file, and nothing of a wrong one: neither what it says before its mistake nor what it leaves out."""
    config = configuration(directory, "service:\n  idle-exit: 0\n")
    steps = (
        ("wrong behind its level", "service:\n  log-level: debug\nrecord:\n  whoom: nobody\n", False),
        ("a user who does not exist", "service:\n  log-level: debug\nrecord:\n  whom: nobody-of-that-name\n", False),
        ("right", "service:\n  log-level: debug\n", True),
        ("wrong, and no level", "record:\n  whoom: nobody\n", True),
    )
    with activate.Activated(programs, directory, "--config", config) as service:
        service.start()
        service.wait_for_line("READY=1")
        for name, text, is_debug in steps:
            configuration(directory, text)
            said, logged = len(service.said), len(service.log())
            service.process.send_signal(signal.SIGHUP)
            service.wait_for_line("READY=1", said)
            client = activate.Client(service.path)
            client.ask(1, "Query.Status")  # the stream of its Hello: a message for debugging says so
            service.supervise(lambda: client.end(0), "the end of the connection")
            check(f"{name}: messages for debugging", ("was used before" in service.log()[logged:]) == is_debug, is_debug, service.log()[logged:])
            client.close()


def test_fault(check, programs, directory):
    """What is wrong for good is the answer, not a reason to die and be started again."""
    config = configuration(directory, "database:\n  max-size: plenty\n")
    with activate.Activated(programs, directory, "--config", config, "--idle-exit", "50ms") as service:
        client = activate.Client(service.path)
        check("answered", answered(service, client), service.log())
        sentence = f"{config}:2:13: 'database.max-size' takes a size such as 10g, 4m or more, or 0, not 'plenty'"
        check("with what is wrong", sentence.encode() in (client.status() or b""), client.status(), service.log())
        service.wait_for_line("READY=1")
        check("which the status line says, too", sentence in service.wait_for_line("STATUS="), service.said)
        client.close()
        check("then it leaves in peace", service.wait_for_exit() == 0 and service.n_started == 1, service.n_started, service.log())


def test_crash(check, programs, directory):
    """Killed under a client: he sees the end, the next one is served."""
    with activate.Activated(programs, directory, "--config", "none") as service:
        first = activate.Client(service.path)
        check("answered", answered(service, first), service.log())
        service.process.kill()
        service.process.wait()
        service.supervise(lambda: (first.status(), first.is_lost)[1], "the end of the connection")
        second = activate.Client(service.path)
        check("the next is served", answered(service, second) and service.n_started == 2, service.n_started, service.log())
        second.close()


def main(build):
    check = kept.Checks()
    programs = ingero.Programs(build)
    for test in (test_comes_and_goes, test_slow_start, test_before_probes, test_waiting_for_probes, test_trace_at_once, test_trace_connected, test_trace_beside_status, test_whom, test_late_once, test_stays, test_supervised, test_log_level, test_fault, test_crash):
        with tempfile.TemporaryDirectory(prefix="ingero-service-") as directory:
            test(check, programs, directory)
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
