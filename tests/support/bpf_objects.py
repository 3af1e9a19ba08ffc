# SPDX-License-Identifier: Apache-2.0
"""BPF programs and maps that a process holds, as the kernel and bpftool tell of them."""
import collections
import contextlib
import glob
import json
import pathlib
import subprocess

STATISTICS = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")


def fields_of(pid):
    """Yields the fields of each descriptor of a process."""
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(path, encoding="ascii") as file:
            yield {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in file)}


def tool(*arguments):
    done = subprocess.run(["bpftool", "-j", *arguments], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 and done.stdout.strip() else {}


def program_times(pid):
    """{name: (nanoseconds, number of runs)} so far of the programs that a process holds; only while they are counted."""
    ids = {int(fields["prog_id"]) for fields in fields_of(pid) if "prog_id" in fields}
    times = collections.defaultdict(lambda: (0, 0))
    for one in ids:
        told = tool("prog", "show", "id", str(one))
        ns, n = times[told.get("name", "?")]
        times[told.get("name", "?")] = (ns + told.get("run_time_ns", 0), n + told.get("run_cnt", 0))
    return dict(times)


def map_bytes(pid):
    """{name: bytes} of kernel memory of the maps that a process holds."""
    sizes = {}
    for fields in fields_of(pid):
        if "map_id" in fields and int(fields["map_id"]) not in sizes:
            sizes[int(fields["map_id"])] = int(fields.get("memlock", 0))
    names = collections.Counter()
    for one, size in sizes.items():
        names[tool("map", "show", "id", str(one)).get("name", "?")] += size
    return names


def values_of(number):
    """{key: [value on each CPU]} of an array of whole numbers."""
    found = {}
    for row in tool("map", "dump", "id", str(number)):
        told = row.get("formatted", {})
        values = told["values"] if "values" in told else [{"value": told.get("value", 0)}]
        found[told.get("key", len(found))] = [one["value"] for one in values]
    return found


@contextlib.contextmanager
def run_time_counted():
    """The kernel counts the time of BPF programs meanwhile."""
    before = STATISTICS.read_text(encoding="ascii")
    STATISTICS.write_text("1", encoding="ascii")
    try:
        yield
    finally:
        STATISTICS.write_text(before, encoding="ascii")
