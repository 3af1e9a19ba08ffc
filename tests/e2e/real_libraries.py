# SPDX-License-Identifier: Apache-2.0
"""
The vendor's own libraries, four runtimes and three drivers: every export of every operation is attached, none of
it at a price that its head does not make necessary, and real calls, which refuse without a device, are counted
exactly, with the codes that the caller got, under the names that the libraries give them: real_libraries.py BUILD.
"""
import collections
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
sys.path[:0] = [os.path.join(HERE, "../support"), os.path.join(HERE, "../support/exports")]
import heads  # noqa: E402
import ingero  # noqa: E402
import make  # noqa: E402
import ops_def  # noqa: E402
import real_libraries  # noqa: E402

SUFFIX = re.compile(r"(_v[2-9])?(_ptsz|_ptds|_spt)?$")
ALIASES = {"__cudaLaunchKernel": "cudaLaunchKernel"}
TIMES = 7
CODES = range(1, 1100)
SOURCES = {layer.layer: layer.source for layer in ops_def.layers()}
# Of a real runtime beside a real driver, without a device: what its calls return, and what it is told by the driver inside them.
# The runtime of 13.5 finds even the newest driver too old, and asks it no more.
LOOKED_UP = {"cuGetProcAddress": {0}, "cuGetExportTable": {1}}  # by later runtimes, before they ask for a device
BESIDE = (("libcudart-12.9", "libcuda-550", 100, {"cuDriverGetVersion": {0}, **LOOKED_UP, "cuInit": {100}}),
          ("libcudart-13.5", "libcuda-550", 35, {"cuDriverGetVersion": {0}, **LOOKED_UP}))


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def operations(layer):
    return {op.name for op in ops_def.ops() if op.layer == layer}


def real_error_names(layer, path):
    """{code: name} of the library itself; NCCL's has sentences and no names, which are its header's."""
    if layer == "NCCL":
        return {}
    library = ctypes.CDLL(path)
    if layer == "RUNTIME":
        library.cudaGetErrorName.restype = ctypes.c_char_p
        names = {code: library.cudaGetErrorName(code).decode() for code in CODES}
        return {code: name for code, name in names.items() if not name.startswith("unrecognized")}
    names = {}
    for code in CODES:
        name = ctypes.c_char_p()
        if library.cuGetErrorName(code, ctypes.byref(name)) == 0:
            names[code] = name.value.decode()
    return names


def family_exports(library, path):
    """{operation: {export: address}}"""
    known, found = operations(library.layer), collections.defaultdict(dict)
    for name, address in make.Library(path).exports():
        base = SUFFIX.sub("", name)
        if base in known:
            found[base][name] = address
    return found


def other_exports(library, path):
    """The same of exports without a row, where these are counted by their names."""
    (layer,) = [layer for layer in ops_def.layers() if layer.layer == library.layer]
    known = operations(library.layer)
    return {name: {name: address} for name, address in make.Library(path).exports()
            if layer.others == "COUNTED" and name.startswith(layer.symbols) and SUFFIX.sub("", name) not in known}


def check_names(library, path):
    known = ops_def.error_names(library.layer)
    for code, name in real_error_names(library.layer, path).items():
        if known.get(code) != name:
            yield f"{library.name}: calls {code} {name}, base/call_errors.def {known.get(code)}"


def check_list(library, path):
    """The kept list of the same package is what the file exports."""
    for name in os.listdir(os.path.join(ROOT, "tests/support/exports")):
        text = text_of(f"tests/support/exports/{name}") if name.endswith(".txt") else ""
        if f"# package: {library.source.package} {library.source.version.split('-')[0]} " in text:
            kept = {line.split()[0] for line in text.splitlines() if line and not line.startswith("#")}
            real = {export for export, _ in make.Library(path).exports()}
            if kept != real:
                yield f"{library.name}: {name} differs in {sorted(kept ^ real)[:5]}"


def check_attached(library, path, families, trace):
    (line,) = [line for line in trace.libraries if os.path.samefile(line["path"], path)] or [None]
    if line is None:
        yield f"{library.name}: not found"
        return
    others = other_exports(library, path)
    if line["back_end"] == "perf":  # each of these would take two events, which are slow to close
        if line["left_out"] != len(others):
            yield f"{library.name}: {line['left_out']} of {len(others)} functions without a row are said to be left out"
        others = {}
    families = {**families, **others}
    places = {address for exports in families.values() for address in exports.values()}
    if line["reason"] or line["symbols"] != len(places):
        yield f"{library.name}: {line['symbols']} of {len(places)} functions attached {line['reason']}"
    if set(line["operations"]) != set(families) or set(line["missing"]) != operations(library.layer) - set(families):
        yield f"{library.name}: attached {line['operations']}, missing {line['missing']}"
    stepped = sum(heads.place(head).kind == "stepped" for head in heads.of(path, places).values())
    if line["stepped"] != stepped:
        yield f"{library.name}: {line['stepped']} single-stepped, {stepped} by its heads"


def check_calls(library, families, trace, returned):
    wanted = collections.Counter()
    codes = collections.defaultdict(collections.Counter)
    for name, code in returned.items():
        op = SUFFIX.sub("", name)
        op = ALIASES.get(op, op)
        if op in families:
            wanted[op] += TIMES
            codes[op][code] += TIMES
    counts = trace.counts(source=SOURCES[library.layer])
    if counts != dict(wanted):
        differ = {op: (n, counts.get(op, 0)) for op, n in wanted.items() if n != counts.get(op, 0)}
        yield f"{library.name}: (made, counted) {differ}, more {counts.keys() - wanted.keys()}"
    got = collections.defaultdict(collections.Counter)
    for event in trace.events:
        if event["source"] == SOURCES[library.layer]:
            got[event["op"]][event["ret_code"]] += 1
    if got != codes:
        yield f"{library.name}: codes {({op: (dict(codes[op]), dict(got[op])) for op in codes if codes[op] != got[op]})}"
    known = ops_def.error_names(library.layer)
    if unnamed := {code for of in codes.values() for code in of} - {0} - known.keys():
        yield f"{library.name}: codes without a name: {sorted(unnamed)}"
    if trace.lost():
        yield f"{library.name}: lost {trace.lost()}"


def trace_calls(programs, path, names, directory, environment):
    said = os.path.join(directory, "said")
    caller = os.path.join(HERE, "../support/real_calls.py")
    command = ["sh", "-c", 'out=$1; shift; exec "$@" >"$out"', "sh", said, sys.executable, caller, path, str(TIMES), *names]
    trace = ingero.trace(programs, "--record", "all", command=command, environment=environment)
    if trace.status:
        raise ingero.Failed(f"{path}: exit status {trace.status}: {trace.stderr}")
    with open(said, encoding="utf-8") as file:
        return trace, json.load(file)


def check_library(programs, library, path, directory):
    families = family_exports(library, path)
    exported = {name for name, _ in make.Library(path).exports()}
    names = sorted({name for of in families.values() for name in of} | {name for name in exported if SUFFIX.sub("", name) in ALIASES})
    trace, returned = trace_calls(programs, path, names, directory, {"LD_LIBRARY_PATH": directory})
    wrong = [*check_names(library, path), *check_list(library, path), *check_attached(library, path, families, trace),
             *check_calls(library, families, trace, returned)]
    wanted = 100 if library.layer == "DRIVER" else 35
    if library.layer == "DRIVER" and returned["cuInit"] != wanted:
        wrong.append(f"{library.name}: cuInit says {returned['cuInit']}")
    if library.layer == "RUNTIME" and wanted not in returned.values():
        wrong.append(f"{library.name}: no call says that there is no driver: {sorted(set(returned.values()))}")
    (line,) = trace.libraries[:1] or [{"symbols": 0, "stepped": 0, "attach_ns": 0}]
    print(f"{library.name}: {line['symbols']} functions of {len(families)} operations, {line['stepped']} single-stepped, "
          f"attached in {line['attach_ns'] / 1e6:.1f} ms, {sum(trace.counts().values())} calls")
    return wrong


def check_beside(programs, runtime, driver, wanted, told, directory):
    """A runtime that finds a driver: what its calls return, and none is counted twice."""
    library, path = real_libraries.find(runtime), real_libraries.get(real_libraries.find(runtime))
    families = family_exports(library, path)
    place = os.path.join(directory, driver)
    os.makedirs(place, exist_ok=True)
    os.symlink(real_libraries.get(real_libraries.find(driver)), os.path.join(place, "libcuda.so.1"))
    trace, returned = trace_calls(programs, path, ["cudaMalloc", "cudaFree", "cudaDeviceSynchronize"], directory, {"LD_LIBRARY_PATH": place})
    os.unlink(os.path.join(place, "libcuda.so.1"))
    if set(returned.values()) != {wanted}:
        yield f"{runtime} beside {driver}: {returned}"
    yield from check_calls(library, families, trace, returned)
    codes = collections.defaultdict(set)
    for event in trace.events:
        if event["source"] == SOURCES["DRIVER"]:
            codes[event["op"]].add(event["ret_code"])
    if codes != told:
        yield f"{runtime} is told by {driver}: {dict(codes)}, and not {told}"


def check_heads():
    """Every function of every library: the decoder's answer against a disassembler's."""
    for library in real_libraries.LIBRARIES:
        path = real_libraries.get(library)
        exports = dict(make.Library(path).exports())
        yield from heads.check(library.name, heads.of(path, set(exports.values())))


def main():
    if os.geteuid() != 0:
        print("skipped: needs root to trace")
        return 77
    programs = ingero.Programs(sys.argv[1])
    try:
        files = [(library, real_libraries.get(library)) for library in real_libraries.LIBRARIES]
    except real_libraries.Unreachable as error:
        return real_libraries.skip(error)
    heads.use(programs)
    wrong = []
    with tempfile.TemporaryDirectory(prefix="ingero-real-") as directory:
        for library, path in files:
            wrong += check_library(programs, library, path, directory)
        for runtime, driver, code, told in BESIDE:
            wrong += check_beside(programs, runtime, driver, code, told, directory)
    exported = {name for library, path in files for name in family_exports(library, path)}
    wrong += [f"exported by none: {name}" for name in sorted((operations("RUNTIME") | operations("DRIVER")) - exported)]
    wrong += check_heads()
    for text in wrong:
        print(text)
    print(f"{len(files)} libraries, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ingero.Failed, subprocess.SubprocessError) as failure:
        print(failure)
        sys.exit(1)
