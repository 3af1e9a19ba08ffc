# SPDX-License-Identifier: Apache-2.0
"""Cost of a probe in the kernel alone: empty programs at the places where the tracer attaches."""
import contextlib
import os
import subprocess

import books_of
import heads
import ingero


def places(programs, path):
    """Offsets of the tracer's probes: one for each function of the traced operations."""
    heads.use(programs)
    known = books_of.known_operations(programs.source("bpf/ops.def"))
    library = heads.make.Library(path)
    addresses = {address for name, address in library.exports() if books_of.SUFFIX.sub("", name, count=1) in known}
    return sorted(library.offset_of(address) + heads.place(head).delta for address, head in heads.of(path, addresses).items())


def standins(programs):
    """The libraries that cudaload maps."""
    return [os.path.join(programs.build, "standins", name) for name in ("libcudart.so.12", "libcuda.so.1")]


@contextlib.contextmanager
def empty_probes(programs, libraries):
    """Attaches empty programs where the tracer attaches, with the back end session. Gives the process that holds them."""
    words = [word for path in libraries for word in (path, *map(str, places(programs, path)))]
    with subprocess.Popen([programs.path("empty_probes"), "session", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        if process.stdout.readline() != "ready\n":
            raise ingero.Failed("empty probes could not be attached: they need Linux 6.13")
        yield process
        process.stdin.close()
