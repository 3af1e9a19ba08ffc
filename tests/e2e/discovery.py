# SPDX-License-Identifier: Apache-2.0
"""Every process and every copy of a CUDA library is found, now and later, by whatever way it came: discovery.py BUILD [CASE]..."""
import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
import ingero  # noqa: E402
import kept  # noqa: E402

NOBODY = 65534
SECOND = 10 ** 9
PATIENCE_S = 240  # opening a perf event takes 30 ms beside a program that never leaves its CPU, and a library has hundreds
failures = []


def expect(ok, what, *more):
    if not ok:
        failures.append(what)
        print("failed:", what, *more, flush=True)
    return ok


def shared_by(program):
    """Files that a dynamic program needs to run anywhere: its libraries and its loader."""
    for line in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines():
        for word in line.split():
            if word.startswith("/"):
                yield word


class Visitor:
    """A program that does with CUDA libraries what it is told."""

    def __init__(self, world, command=None, uid=None, directory=None):
        environment = {**os.environ, "LD_LIBRARY_PATH": directory or world.directory, "ASAN_OPTIONS": ""}
        who = {"user": uid, "group": uid, "extra_groups": []} if uid else {}
        self.process = subprocess.Popen(command or [world.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment, **who)
        self.calls = self.first_ns = 0
        world.visitors.append(self)
        self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise ingero.Failed(f"a visitor ended with {self.process.wait()}")
        return line.strip()

    def tell(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        answer = self.answer()
        if answer == "wrong":
            raise ingero.Failed(f"a visitor cannot {words}")
        return answer

    def call(self, n):
        at_ns = int(self.tell("call", n))
        self.first_ns = self.first_ns or at_ns
        self.calls += n
        return self

    @property
    def pid(self):
        """As the machine knows it: `unshare --fork` waits for the one that counts."""
        pid = self.process.pid
        while True:
            with open(f"/proc/{pid}/comm", encoding="ascii") as comm:
                if comm.read().strip() not in ("unshare", "setsid", "sh", "setpriv"):
                    return pid
            pid = ingero.children(pid)[0]

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class World:
    """A directory with copies of the libraries, open to everybody, and the programs that visit them."""

    def __init__(self, programs):
        self.programs = programs
        self.visitors = []
        self.temporary = tempfile.TemporaryDirectory(prefix="ingero-discovery-")
        self.directory = self.base = self.temporary.name
        os.chmod(self.directory, 0o755)
        self.program = self.copy(programs.path("foreign-visitor"), "visitor")
        self.runtime = self.copy(os.path.join(programs.build, "tests/foreign/libcudart.so.12"), "libcudart.so.12")
        self.driver = self.copy(os.path.join(programs.build, "tests/foreign/libcuda.so.1"), "libcuda.so.1")

    def copy(self, path, *names):
        to = os.path.join(self.directory, *names)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy(path, to)
        os.chmod(to, 0o755)
        return to

    def root(self, name):
        """A directory to be somebody's root: program, libraries and all they need."""
        for path in (self.program, self.runtime, self.driver):
            self.copy(path, name, "lib", os.path.basename(path))
        for path in shared_by(self.program):
            self.copy(path, name, path.lstrip("/"))
        os.makedirs(os.path.join(self.directory, name, "proc"), exist_ok=True)
        return os.path.join(self.directory, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for visitor in self.visitors:
            visitor.process.kill()
            visitor.process.wait()
        self.temporary.cleanup()


def perf_events_of(client):
    """How many the daemon of a client holds."""
    links = []
    for daemon in ingero.children(client):
        for entry in os.scandir(f"/proc/{daemon}/fd"):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                links.append(os.readlink(entry.path))
    return links.count("anon_inode:[perf_event]")


class Traced:
    """Everybody is traced while the context lasts; what was said is there afterwards."""

    def __init__(self, world, *options, **how):
        self.world = world
        self.tracing = ingero.Tracing(world.programs, *(() if "--user" in options else ("--all",)), *(options or ["--record", "all"]), **how)

    def __enter__(self):
        try:
            self.wait(lambda lines: any(line["type"] == "start" for line in lines), "the start")
        except ingero.Failed:
            self.__exit__(ingero.Failed)
            raise
        return self

    def wait(self, is_there, what):
        end = time.monotonic() + PATIENCE_S
        while not is_there(self.tracing.lines()):
            if time.monotonic() > end:
                raise ingero.Failed(f"waited in vain for {what}")
            time.sleep(0.05)

    def wait_attached(self, *paths):
        """Until these files are told of as attached, by the paths that processes call them."""
        told = {}

        def attached(lines):
            for line in lines:
                for library in line["libraries"] if line["type"] == "start" else [line] if line["type"] == "library" else []:
                    told[library["path"]] = library["reason"]
            return all(told.get(path) == "" for path in paths)
        try:
            self.wait(attached, "libraries")
        except ingero.Failed:
            raise ingero.Failed(f"not attached: {[(path, told.get(path)) for path in paths if told.get(path) != '']}") from None

    def __exit__(self, kind, *_):
        if kind:
            self.tracing.process.kill()
            self.tracing.process.wait()
            return
        self.trace = self.tracing.stop()
        self.calls = {}
        for row in self.trace.summary["operations"]:
            key = (row["pid"], row["op"])
            self.calls[key] = self.calls.get(key, 0) + row["count"]

    def attached(self):
        """Of this world alone: others may use the machine, too."""
        return [library for library in self.trace.summary["libraries"] if library["symbols"] and self.world.base in library["path"]]

    def expect_exact(self, what, visitor, pid, runtime="cudaLaunchKernel"):
        for op in filter(None, (runtime, "cuLaunchKernel")):
            got = self.calls.get((pid, op), 0)
            expect(got == visitor.calls, f"{what}: {got} calls of {op}, made were {visitor.calls}")


def variants(world):
    """Each way to have one's own copy: name, and a function that makes a visitor with it open, and says what the file is called."""
    def opened(path, told=None, **options):
        visitor = Visitor(world, **options)
        visitor.tell("open", path)
        visitor.file = told or path
        return visitor

    def deleted():
        path = world.copy(world.runtime, "deleted", "libcudart.so.12")
        visitor = opened(path)
        os.unlink(path)
        return visitor

    def replaced():
        path = world.copy(world.runtime, "replaced", "libcudart.so.12")
        visitor = opened(path)
        os.rename(world.copy(world.runtime, "replaced", "new"), path)
        return visitor

    def contained():
        root = world.root("container")
        return opened("/lib/libcudart.so.12", told=os.path.join(root, "lib/libcudart.so.12"), directory="/lib", command=[
            "unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--root", root, "/lib/visitor"])

    return {
        "the system's copy": lambda: opened(world.runtime),
        "one in a virtual environment": lambda: opened(world.copy(world.runtime, "venv/lib/python3/site-packages/nvidia/cuda_runtime/lib", "libcudart.so.12")),
        "one renamed as wheels do": lambda: opened(world.copy(world.runtime, "wheel.libs", "libcudart-80664282.so.10.2")),
        "one under another name altogether": lambda: opened(world.copy(world.runtime, "wheel.libs", "object-17")),
        "one in a container": contained,
        "one that is deleted": deleted,
        "one that is replaced": replaced,
        "another user's": lambda: opened(world.copy(world.runtime, "other", "libcudart.so.12"), uid=NOBODY),
    }


def case_copies(world):
    """Copies of every kind, open before the tracer starts and after: no call is missed, mixed up or counted twice, and each file is attached once."""
    before = {name: make() for name, make in variants(world).items()}
    with Traced(world) as traced:
        traced.wait_attached(*(visitor.file for visitor in before.values()))
        for number, visitor in enumerate(before.values()):
            visitor.call(11 + number)
        start = traced.tracing.lines()[0]
        world.directory = os.path.join(world.directory, "later")
        after = {name: make() for name, make in variants(world).items()}
        traced.wait_attached(*(visitor.file for visitor in after.values()))
        for number, visitor in enumerate(after.values()):
            visitor.call(31 + number)
        pids = {visitor: visitor.pid for visitor in [*before.values(), *after.values()]}
    for when, visitors in (("before", before), ("after", after)):
        for name, visitor in visitors.items():
            what = f"{name}, {when} the tracer started"
            traced.expect_exact(what, visitor, pids[visitor])
            for op in ("cudaLaunchKernel", "cuLaunchKernel"):
                n = sum(event["pid"] == pids[visitor] and event["op"] == op for event in traced.trace.events)
                expect(n == visitor.calls, f"{what}: {n} of {visitor.calls} calls of {op} were told one by one")
    covered = {process["pid"]: process for process in start["cuda_processes"]}
    del before["one under another name altogether"]  # on a machine that is too busy to read it in time, the start does not wait for it
    for name, visitor in before.items():
        process = covered.get(pids[visitor], {})
        expect(process.get("coverage") == "full" and len(process["libraries"]) == 2, f"{name}: covered", process)
        mapped = [library["is_deleted"] for library in process.get("libraries", []) if library["layer"] == "cuda"]
        expect(mapped == [name in ("one that is deleted", "one that is replaced")], f"{name}: is_deleted {mapped}")
    # eight runtimes twice, but the system's copy is one; the driver, and one in each container
    attached = sorted(library["path"] for library in traced.attached())
    expect(len(attached) == 2 * 8 - 1 + 1 + 2, f"{len(attached)} files are attached", attached)


def case_loads(world):
    """Libraries that come late, go and come again, new ones and the same."""
    with Traced(world) as traced:
        visitor = Visitor(world)
        for turn in range(3):
            path = world.copy(world.runtime, f"turn{turn}", "libcudart.so.12")
            visitor.tell("open", path)
            traced.wait_attached(path)
            visitor.call(7)
            visitor.tell("close")
            visitor.tell("open", path)
            visitor.call(5)
        pid = visitor.pid
    traced.expect_exact("three copies, each opened twice", visitor, pid)
    expect(traced.trace.summary["lost"]["late_load"] >= 3, "libraries that ran before they were attached are counted", traced.trace.lost())


def case_children(world):
    """Children of every kind, and another program under the same pid."""
    with Traced(world) as traced:
        first = Visitor(world)
        first.tell("open", world.runtime)
        traced.wait_attached(world.runtime, world.driver)
        first.call(3)
        first.tell("fork", 13)
        commands = {
            "a child of a shell": ["/bin/sh", "-c", f"{world.program}; true"],
            "a session of its own": ["setsid", "--fork", "--wait", world.program],
            "with fewer rights": ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", world.program],
            "forked twice": ["/bin/sh", "-c", f"(exec 3<&0; {world.program} <&3 & wait)"],
        }
        others = {}
        for name, command in commands.items():
            others[name] = Visitor(world, command=command)
            others[name].tell("open", world.runtime)
            others[name].call(17)
        pids = {name: visitor.pid for name, visitor in others.items()}
        pid = first.pid
        first.tell("exec", world.program)
        first.tell("open", world.runtime)
        first.call(19)
    traced.expect_exact("another program under the same pid", first, pid)
    for name, visitor in others.items():
        traced.expect_exact(name, visitor, pids[name])
    forked = [row["count"] for row in traced.trace.operations(op="cudaLaunchKernel", process_name="visitor")
              if row["pid"] not in [pid, *pids.values()]]
    expect(forked == [13], "a forked child", forked)
    expect(not traced.trace.lost() or set(traced.trace.lost()) == {"late_load"}, "nothing else is lost", traced.trace.lost())


def case_static(world):
    """Runtimes inside the program, under local symbols: with a shared driver, and with nothing shared and no loader at all."""
    linked = world.copy(world.programs.path("foreign-static"), "linked")
    alone = world.copy(world.programs.path("foreign-alone"), "alone")
    before = Visitor(world, command=[linked])
    with Traced(world) as traced:
        traced.wait_attached(linked)
        before.call(3)
        later, lonely = Visitor(world, command=[linked]), Visitor(world, command=[alone])
        traced.wait_attached(linked, alone, world.driver)
        later.call(5)
        lonely.call(7)
        pids = [visitor.pid for visitor in (before, later, lonely)]
    for what, visitor, pid in zip(("there before", "started later", "without a loader"), (before, later, lonely), pids):
        traced.expect_exact(what, visitor, pid)


def case_mapped(world, **how):
    """A program that maps the library by itself, of which no loader tells."""
    symbols = subprocess.run(["nm", "-D", world.driver], capture_output=True, text=True, check=True).stdout
    at = next(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" cuMemFree_v2"))
    own = world.copy(world.driver, "own", "engine.bin")
    with Traced(world, **how) as traced:
        rings = perf_events_of(traced.tracing.process.pid)
        visitor = Visitor(world)
        visitor.tell("map", own, at)
        traced.wait_attached(own)
        visitor.tell("enter", 23)
        pid = visitor.pid
        traced.wait(lambda lines: any(line["type"] == "library" and line["path"] == own for line in lines), "word of it")
    got = traced.calls.get((pid, "cuMemFree"), 0)
    expect(got == 23, f"mapped by itself: {got} calls, made were 23")
    expect(bool(rings) == ("refused" not in how), f"told by {rings} rings of perf events")


def case_looked_for(world):
    """The same where nobody tells of mappings: perf events are refused, as by the service's unit."""
    with open("/sys/kernel/btf/vmlinux", "rb") as file:
        if b"bpf_uprobe_multi_link" not in file.read():
            kept.skip("without uprobe_multi every probe is a perf event")
    if world.programs.setting("INGERO_BACK_END") == "perf":
        kept.skip("every probe is a perf event")
    case_mapped(world, refused="perf_event_open")


def case_namespaces(world):
    """The same file in two containers and outside of any: attached once, each call counted once."""
    root = world.root("shared")
    inside = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--root", root, "/lib/visitor"]
    visitors = [Visitor(world, command=inside, directory="/lib") for _ in range(2)]
    visitors.append(Visitor(world, directory=os.path.join(root, "lib")))
    for visitor in visitors[:2]:
        visitor.tell("open", "/lib/libcudart.so.12")
    visitors[2].tell("open", os.path.join(root, "lib/libcudart.so.12"))
    with Traced(world) as traced:
        traced.wait_attached(os.path.join(root, "lib/libcudart.so.12"), os.path.join(root, "lib/libcuda.so.1"))
        for number, visitor in enumerate(visitors):
            visitor.call(11 + number)
        pids = [visitor.pid for visitor in visitors]
    for visitor, pid in zip(visitors, pids):
        traced.expect_exact("one file, three views", visitor, pid)
    attached = traced.attached()
    expect(len(attached) == 2, "one runtime and one driver are attached", [library["path"] for library in attached])
    expect(all(library["processes"] == 3 for library in attached), "each is mapped by three", attached)


def brood(world, n, linger):
    """Runs so many processes, 200 a second. Returns the launches that each made."""
    done = subprocess.run([world.programs.path("brood"), "--processes", str(n), "--calls", "10", "--rate", "200", "--at-once", "100", "--linger", linger],
                          capture_output=True, text=True, check=True,
                          env={**os.environ, "INGERO_STANDIN_QUIET": "1", "LD_LIBRARY_PATH": world.standins})
    return {line["pid"]: line["launches"] for line in map(json.loads, done.stdout.splitlines())}


def case_short(world):
    """Short-lived processes: of those that start once the library is attached every call is counted, others are counted as missed."""
    world.standins = os.path.join(world.base, "standins")
    shutil.copytree(os.path.join(world.programs.build, "standins"), world.standins, symlinks=True)
    with Traced(world, "--record", "none") as traced:
        cold = brood(world, 101, linger="400ms")
        traced.wait_attached(*(os.path.join(world.standins, name) for name in ("libcudart.so.12", "libcuda.so.1")))
        warm = brood(world, 401, linger="0ns")
    late = traced.trace.summary["lost"]["late_load"]
    wrong = {pid: traced.calls.get((pid, "cudaLaunchKernel"), 0) for pid in cold if traced.calls.get((pid, "cudaLaunchKernel"), 0) != 10}
    expect(len(cold) == 101 and len(wrong) <= late, f"{len(wrong)} of the first {len(cold)} processes are not exact, {late} loads were late", wrong)
    wrong = {pid: traced.calls.get((pid, "cudaLaunchKernel"), 0) for pid in warm if traced.calls.get((pid, "cudaLaunchKernel"), 0) != 10}
    expect(len(warm) == 401 and not wrong, f"{len(wrong)} of {len(warm)} later processes are not exact", wrong)
    # calls of the first are under way while their library is attached: of some the return alone is seen
    expect(set(traced.trace.lost()) <= {"late_load", "return_unpaired"}, "nothing else is lost", traced.trace.lost())


def case_descriptors(world):
    """With as many open files as a login is given every library is attached, also with perf events, which take four for each function."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if 0 <= hard < 4096:
        print(f"of {hard} open files at most two libraries cannot be had")
        return
    world.standins = os.path.join(world.base, "standins")
    shutil.copytree(os.path.join(world.programs.build, "standins"), world.standins, symlinks=True)
    there = subprocess.Popen([world.programs.path("brood"), "--one", "10", "1h"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             env={**os.environ, "INGERO_STANDIN_QUIET": "1", "LD_LIBRARY_PATH": world.standins})
    try:
        with Traced(world, "--back-end", "perf", "--pid", str(there.pid), "--record", "none", open_files=(1024, hard)) as traced:
            traced.wait_attached(*(os.path.join(world.standins, name) for name in ("libcudart.so.12", "libcuda.so.1")))
    finally:
        there.kill()
        there.wait()


def case_strangers(world):
    """Short-lived processes that each bring a copy of their own, as a recorded user's may: whatever is missed of them is counted, also of those that end before anybody looks."""
    uid = 61000 + os.getpid() % 1000  # used by no other test: losses of other users are in the same count
    brood = world.copy(world.programs.path("brood"), "brood")
    copies = [os.path.join(world.base, f"copy{number}") for number in range(41)]
    for copy in copies:
        for name in ("libcudart.so.12", "libcuda.so.1", "libingero-standin.so"):
            world.copy(os.path.join(world.programs.build, "standins", name), copy, name)
    with Traced(world, "--user", str(uid), "--record", "none") as traced:
        made = [subprocess.Popen([brood, "--one", "10", "0ns"], user=uid, group=uid, extra_groups=[],
                                 env={"LD_LIBRARY_PATH": copy, "INGERO_STANDIN_QUIET": "1"}) for copy in copies]
        expect(not any([process.wait() for process in made]), "they did what they were told")
    calls = [traced.calls.get((process.pid, op), 0) for process in made for op in ("cudaLaunchKernel", "cuLaunchKernel")]
    missed, late = sum(n != 10 for n in calls), traced.trace.summary["lost"]["late_load"]
    expect(max(calls) <= 10 and missed <= late <= len(calls), f"of {len(calls)} loads {missed} lost calls, {late} were counted as late",
           [library["reason"] for library in traced.trace.libraries if library["reason"]])
    # calls are under way while their library is attached: of some the return alone is seen
    expect(set(traced.trace.lost()) <= {"late_load", "return_unpaired"}, "nothing else is lost", traced.trace.lost())


MAPS = """
import mmap, os, sys
maps = []
for name in sorted(os.listdir(sys.argv[1])):
    with open(os.path.join(sys.argv[1], name), "rb") as file:
        maps.append(mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC))
print("ready", flush=True)
sys.stdin.read()
"""


def case_long(world):
    """As many copies as a user may have, with names as long as can be: more to say than one message holds."""
    directory = os.path.join(world.base, *["d" * 250] * 15)
    paths = [world.copy(world.driver, directory, f"libcuda.so.{number}") for number in range(240)]
    with Traced(world, "--record", "none") as traced:
        Visitor(world, command=[sys.executable, "-c", MAPS, directory])
        traced.wait_attached(*paths)
    attached = {library["path"] for library in traced.attached()}
    expect(attached == set(paths), f"{len(attached)} of {len(paths)} copies are in the summary")
    with Traced(world, "--record", "none") as traced:  # of what is there already there is as much to say
        pass
    start = traced.trace.start
    told = len(start["libraries"]) + start["more_libraries"]
    expect(start["more_libraries"] and told >= len(paths), f"the start tells of {told} copies, {start['more_libraries']} of them by number alone")
    attached = {library["path"] for library in traced.attached()}
    expect(attached == set(paths), f"{len(attached)} of {len(paths)} copies are in the second summary")


CASES = {name[5:]: value for name, value in globals().items() if name.startswith("case_")}


def main():
    build, *chosen = sys.argv[1:]
    if os.geteuid() != 0:
        print("skipped: needs root to trace")
        return 77
    programs = ingero.Programs(build)
    for name in chosen or CASES:
        with World(programs) as world:
            CASES[name](world)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
