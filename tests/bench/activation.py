# SPDX-License-Identifier: Apache-2.0
"""Time of the first answer through a socket that starts the daemon, compared with a service that only answers."""
import os
import select
import subprocess
import sys
import tempfile
import time

import activate

LIMIT_FIRST_MS = 150
LIMIT_LOADED_MS = 300
PATIENCE_S = 60
# Python without site packages starts about as fast as a program with a few libraries.
TRIVIAL = "import socket, sys; socket.socket(fileno=int(sys.argv[1])).accept()[0].sendall(b'hello')"


def until(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"no answer within {PATIENCE_S} s")
        time.sleep(0.0003)
    return time.monotonic()


def ask(programs, *options):
    """Milliseconds from the start to the first answer, and to the first answer that needs the probes."""
    with tempfile.TemporaryDirectory(prefix="ingero-activation-") as directory:
        with activate.Activated(programs, directory, "--config", "none", *options, "--db", os.path.join(directory, "ingero.db")) as service:
            client = activate.Client(service.path)
            began = time.monotonic()
            service.start()
            first = until(lambda: client.status() is not None)
            client.ask(3, "Query.Operations")
            loaded = until(lambda: client.reply(3) is not None or client.end(3) is not None)
            client.close()
    return (first - began) * 1000, (loaded - began) * 1000


def ask_trivial():
    with tempfile.TemporaryDirectory(prefix="ingero-activation-") as directory, activate.listening(os.path.join(directory, "socket")) as listening:
        with activate.connected(os.path.join(directory, "socket")) as client:
            began = time.monotonic()
            process = subprocess.Popen([sys.executable, "-S", "-c", TRIVIAL, str(listening.fileno())], pass_fds=[listening.fileno()])
            if not select.select([client], [], [], PATIENCE_S)[0]:
                raise TimeoutError(f"no answer within {PATIENCE_S} s")
            took = time.monotonic() - began
            process.wait()
    return took * 1000


def measure(bench):
    results = bench.in_turns(woken=lambda: ask(bench.programs), everyone=lambda: ask(bench.programs, "--capture", "everyone"), trivial=ask_trivial)
    bench.row("woken: first answer", [first for first, _ in results["woken"]], "ms", limit=LIMIT_FIRST_MS)
    bench.row("woken: answer that needs the probes", [loaded for _, loaded in results["woken"]], "ms", limit=LIMIT_LOADED_MS)
    bench.row("records everyone: first answer", [first for first, _ in results["everyone"]], "ms", limit=LIMIT_FIRST_MS)
    bench.row("records everyone: answer that needs the probes", [loaded for _, loaded in results["everyone"]], "ms", limit=LIMIT_LOADED_MS)
    bench.row("trivial service: first answer", results["trivial"], "ms")
