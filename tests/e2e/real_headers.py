# SPDX-License-Identifier: Apache-2.0
"""
What bpf/ops.def and base/call_errors.def say of CUDA and NCCL is what the vendor's headers say, CUDA's of three generations: every
kept argument lies where it is looked for and is what it is taken for, in every form of every operation, and codes
of errors have their numbers and names: real_headers.py.
"""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
import ops_def  # noqa: E402
import real_libraries  # noqa: E402

SUFFIX = re.compile(r"(_v[2-9])?(_ptsz|_ptds|_spt)?$")
DECLARED = re.compile(r"\b(?:cudaError_t|CUresult|ncclResult_t)\s+(_{0,2}cu\w+|nccl\w+)\s*\(([^()]*)\)\s*(?:__attribute__\(\(.*?\)\)\s*)?;")
ENUMERATOR = re.compile(r"\b(cudaError[A-Z]\w*|CUDA_ERROR_\w+)\s*=\s*(\d+)")
# of NCCL's enums one has the results, another one the types
RESULTS = re.compile(r"enum\s*{([^}]*)}\s*ncclResult_t;")
TYPES = re.compile(r"enum\s*{([^}]*)}\s*ncclDataType_t;")
VALUE = re.compile(r"\b(nccl\w+)\s*=\s*(\d+)")
SIZES = re.compile(r"OP_TYPE\((\d+), (\d)\)")
# What a package declares, and of which layers the codes are.
HEADERS = {"RUNTIME": (("cuda.h", "cuda_runtime_api.h"), ("RUNTIME", "DRIVER")), "NCCL": (("nccl.h",), ("NCCL",))}
# What the wheels leave to the compiler's package: none of it changes a declaration.
STUB = "".join(f"#define {name}\n" for name in ("CUDARTAPI", "__device_builtin__", "__cudart_builtin__", "__host__", "__device__",
                                                "CUDARTAPI_CDECL", "__dv(x)", "__location__(x)", "__align__(n) __attribute__((aligned(n)))",
                                                "__builtin_align__(n) __align__(n)"))
# Words that a structure passed by value takes of the registers and slots of integers; larger ones than two take none.
BY_VALUE = {"dim3": 2, "struct cudaExtent": 0, "struct cudaPitchedPtr": 0, "struct cudaPos": 0}
STREAMS = {"cudaStream_t", "CUstream"}
EVENTS = {"cudaEvent_t", "CUevent"}
HANDLES = {"CUdeviceptr", "CUarray", "CUmipmappedArray", "cudaArray_t", "cudaMipmappedArray_t", "CUmemGenericAllocationHandle", "cudaGraphExec_t", "CUgraphExec"}


def run(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True, encoding="utf-8", errors="replace").stdout


class Headers:
    """Declarations of one version; forms that a define hides are declared under their own names."""

    def __init__(self, directory, scratch, names):
        os.makedirs(os.path.join(scratch, "crt"), exist_ok=True)
        # what NCCL's header wants of another package
        for name, text in (("cuda_runtime.h", "typedef struct CUstream_st *cudaStream_t;\n"), ("cuda_fp16.h", "")):
            with open(os.path.join(scratch, name), "w", encoding="ascii") as file:
                file.write(text)
        with open(os.path.join(scratch, "crt/host_defines.h"), "w", encoding="ascii") as file:
            file.write(STUB)
        self.include = ["-I", directory, "-I", scratch]
        self.scratch = scratch
        self.known_offsets = {}
        text = "".join(run(["cc", "-E", "-P", "-w", "-D__CUDA_API_VERSION_INTERNAL", "-D__CUDA_BF16_TYPES_EXIST__", *self.include, os.path.join(directory, header)])
                       for header in names)
        self.functions = {name: [self._type(part) for part in parameters.split(",") if part.strip() not in ("", "void")]
                          for name, parameters in DECLARED.findall(text)}
        self.errors = {name: int(code) for name, code in ENUMERATOR.findall(text) + VALUE.findall("".join(RESULTS.findall(text)))
                       if name != "ncclNumResults"}
        self.types = {name: int(number) for name, number in VALUE.findall("".join(TYPES.findall(text)))}

    @staticmethod
    def _type(parameter):
        """(type, name) of a parameter, the type with one space between its words."""
        parameter = re.sub(r"=.*", "", parameter).strip()
        match = re.match(r"(.*?)(\w+)\s*(\[\])?$", parameter)
        words = re.sub(r"\s*\*\s*", " * ", match.group(1)).split()
        return " ".join(words), match.group(2)

    def words(self, name):
        """(type, name) of each word that an integer or a pointer travels in, in order."""
        return [found for found in self.functions[name] for _ in range(BY_VALUE.get(found[0], 1))]

    def offsets(self, structure, members):
        """Where these members lie; None for one that there is not."""
        header = "cuda.h" if structure.startswith("CU") else "driver_types.h"
        found = []
        for member in members:
            if (structure, member) in self.known_offsets:
                found.append(self.known_offsets[structure, member])
                continue
            source = os.path.join(self.scratch, "offset.c")
            with open(source, "w", encoding="ascii") as file:
                file.write(f"#include <stddef.h>\n#include <stdio.h>\n#include <{header}>\n"
                           f'int main(void) {{ printf("%zu", offsetof({structure}, {member})); }}\n')
            try:
                run(["cc", "-w", *self.include, source, "-o", source + ".out"])
                found.append(int(run([source + ".out"])))
            except subprocess.CalledProcessError:
                found.append(None)
            self.known_offsets[structure, member] = found[-1]
        return found


def is_meant(meaning, form, found):
    kind, name = found
    plain = kind.replace("const ", "").strip()
    if form == "OUT":
        return plain in ("void * *", "cudaPitchedPtr *", "struct cudaPitchedPtr *") or plain in {handle + " *" for handle in HANDLES}
    return {
        "BYTES": plain == "size_t",
        "POINTER": plain in HANDLES or plain == "void *" and name not in ("func", "stream"),
        "FUNCTION": plain == "CUfunction" or plain in ("void *", "char *") and name == "func",
        "STREAM": plain in STREAMS,
        "COMMUNICATOR": plain == "ncclComm_t",
        "RANK": plain == "int" and name in ("root", "peer"),
        "EVENT": plain in EVENTS,
        "COPY_KIND": plain in ("enum cudaMemcpyKind", "cudaMemcpyKind"),
    }[meaning]


def check_box(headers, export, structure, numbers, meaning):
    _, offset, n_words = numbers
    structure = structure.replace("const ", "").replace("*", "").strip()
    members = ("kind",) if meaning == "COPY_KIND" else ("WidthInBytes", "Height", "Depth")[:n_words]
    found = headers.offsets(structure, members)
    if found != [offset + 8 * number for number in range(n_words)]:
        yield f"{export}: {', '.join(members)} of {structure} lie at {found}, not from {offset} on"
    if meaning == "BYTES" and n_words == 2 and headers.offsets(structure, ("Depth",)) != [None]:
        yield f"{export}: {structure} has a depth"


def check_argument(headers, export, form, numbers, meaning):
    words = headers.words(export)
    looked_at = numbers[:2] if form in ("AREA", "SUM", "TYPED") else numbers[:1]
    for index in looked_at:
        if index >= len(words):
            yield f"{export}: has no argument {index}"
        elif form == "BOX":
            if "*" not in words[index][0]:
                yield f"{export}: argument {index}, {words[index]}, is no pointer"
            else:
                yield from check_box(headers, export, words[index][0], numbers, meaning)
        elif form == "SUM" and index == numbers[0]:
            if words[index][0].replace("const ", "").strip() != "size_t *":
                yield f"{export}: argument {index}, {words[index]}, is no array of sizes"
        elif form == "TYPED" and index == numbers[1]:
            if words[index][0] != "ncclDataType_t":
                yield f"{export}: argument {index}, {words[index]}, is no type"
        elif not is_meant(meaning, form, words[index]):
            yield f"{export}: argument {index}, {words[index]}, is no {meaning} ({form})"


def check_operation(headers, op):
    exports = [export for export in headers.functions if SUFFIX.sub("", export) == op.name]
    for export in exports:
        arguments = ops_def.arguments(op)
        if "OP_V2" in op.traits and export == op.name:
            if not any("_v1" in kind or kind == "unsigned int" for kind, _ in headers.functions[export]):
                yield f"{export}: is no form with 32-bit sizes"
            continue
        most = max([numbers[0] for _, numbers, _ in arguments] +
                   [numbers[1] for form, numbers, _ in arguments if form in ("AREA", "SUM", "TYPED")] + [0])
        if (most >= 6) != ("OP_STACK" in op.traits):
            yield f"{export}: keeps argument {most}, and {'has' if most < 6 else 'lacks'} OP_STACK"
        for form, numbers, meaning in arguments:
            yield from check_argument(headers, export, form, numbers, meaning)


def check_types(headers):
    sizes = {int(number): 1 << int(log2) for number, log2 in SIZES.findall(ops_def.text_of("ops.h"))}
    for name, number in headers.types.items():
        bits = re.search(r"nccl\w*?(\d+)(e\dm\d)?$", name)
        if bits and sizes.get(number, 1) != int(bits.group(1)) // 8:
            yield f"{name}, {number}, has {sizes.get(number, 1)} bytes in bpf/ops.h"


def check_errors(headers, layers, is_newest):
    known = {name: code for layer in layers for code, name in ops_def.error_names(layer).items()}
    for name, code in headers.errors.items():
        if code and code < 1000 and known.get(name) != code and code not in known.values():
            yield f"the header has {name} = {code}, base/call_errors.def has not"
        elif name in known and known[name] != code:
            yield f"{name} is {code}, base/call_errors.def says {known[name]}"
    if is_newest:
        for name in sorted(known.keys() - headers.errors.keys()):
            yield f"base/call_errors.def names {name}, which no header does"


def main():
    wrong, declared = [], set()
    operations = ops_def.ops()
    try:
        versions = [(library, real_libraries.headers(library)) for library in real_libraries.LIBRARIES if library.headers]
    except real_libraries.Unreachable as error:
        return real_libraries.skip(error)
    for number, (library, directory) in enumerate(versions):
        with tempfile.TemporaryDirectory(prefix="ingero-headers-") as scratch:
            names, layers = HEADERS[library.layer]
            headers = Headers(directory, scratch, names)
            found = {SUFFIX.sub("", export) for export in headers.functions} & {op.name for op in operations}
            declared |= found
            problems = [line for op in operations for line in check_operation(headers, op)]
            is_newest = all(other.layer != library.layer for other, _ in versions[number + 1:])
            problems += [*check_types(headers), *check_errors(headers, layers, is_newest)]
        print(f"headers of {library.name}: {len(headers.functions)} functions, {len(found)} operations, {len(headers.errors)} errors")
        wrong += [f"{library.name}: {line}" for line in problems]
    wrong += [f"declared nowhere: {op.name}" for op in operations if op.name not in declared]
    for line in wrong:
        print(line)
    print(f"{len(operations)} operations, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
