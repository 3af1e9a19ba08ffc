# SPDX-License-Identifier: Apache-2.0
"""
A process in a container maps libraries, and then their names there lead out of it, to files of the host that it may not
read: what it maps is traced to the call, and the daemon opens nothing that a link leads to: hostile_links.py BUILD.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../support"), HERE]
import discovery  # noqa: E402
import file_use  # noqa: E402
import hostile_elf  # noqa: E402
import ingero  # noqa: E402

CALLS = 37
UID = 61000 + os.getpid() % 1000  # nobody else's: a daemon that is stopped at each call could not follow what a busy machine starts
NAMES = ("libcudart.so.12", "libcuda.so.1")


def absolute(outside, _):
    return outside


def climbing(outside, _):
    return "../" * 16 + outside.lstrip("/")


def magic(outside, visitor):
    """By way of a process's root: the one of the watchman over the namespace, who is outside."""
    return f"/proc/{visitor.process.pid}/root{outside}"


WAYS = (absolute, climbing, magic)


def contain(world, way, when):
    """A visitor in a root, a pid and a mount namespace of its own, whose libraries are links out as soon as it has them open."""
    root = world.root(f"{when}/{way.__name__}")
    visitor = discovery.Visitor(world, directory="/lib", command=[
        "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--root", root, "--setgid", str(UID), "--setuid", str(UID), "/lib/visitor"])
    visitor.tell("open", "/lib/libcudart.so.12")
    visitor.what = f"{way.__name__} link, {when}"
    visitor.files = [os.path.join(root, "lib", name) for name in NAMES]
    for path in visitor.files:
        os.unlink(path)
        os.symlink(way(os.path.join(world.outside, os.path.basename(path)), visitor), path)
    return visitor


def check_use(use, secrets, runtime):
    if not use.is_there:
        print(f"what the daemon opens: left out, it cannot be traced: {use.reason}")
        return
    said = use.said()
    discovery.expect(said["opened"][runtime], "a plain library was seen to be opened", said)
    for path in secrets:
        discovery.expect(not said["opened"][path], "no link out was followed", path, said["opened"][path])
    discovery.expect(not said["used"], "the daemon read none of them", said["used"])


def check(world):
    secrets = [os.path.join(world.outside, name) for name in NAMES]
    visitors = [contain(world, way, "there before") for way in WAYS]
    with discovery.Traced(world, "--user", str(UID), "--record", "none") as traced:
        use = file_use.FileUse(hostile_elf.daemon_of(traced.tracing), [*secrets, world.runtime])
        visitors += [contain(world, way, "later") for way in WAYS]
        plain = discovery.Visitor(world, uid=UID)
        plain.tell("open", world.runtime)
        traced.wait_attached(world.runtime, *(path for visitor in visitors for path in visitor.files))
        for number, visitor in enumerate([*visitors, plain]):
            visitor.call(CALLS + number)
        pids = {visitor: visitor.pid for visitor in visitors}
    for visitor in visitors:
        traced.expect_exact(visitor.what, visitor, pids[visitor])
    attached = {library["path"] for library in traced.attached()}
    discovery.expect(not attached & set(secrets), "nothing outside is attached", attached)
    check_use(use, secrets, world.runtime)


def main():
    if os.geteuid() != 0:
        print("skipped: needs root to trace")
        return 77
    file_use.prepare()
    with discovery.World(ingero.Programs(sys.argv[1])) as world:
        world.outside = os.path.join(world.directory, "outside")
        for path in (world.runtime, world.driver):
            os.chmod(world.copy(path, "outside", os.path.basename(path)), 0o600)
        check(world)
    print(f"{len(discovery.failures)} failures")
    return 1 if discovery.failures else 0


if __name__ == "__main__":
    sys.exit(main())
