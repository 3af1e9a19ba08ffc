# SPDX-License-Identifier: Apache-2.0
"""The rows of bpf/ops.def, bpf/layers.def and base/call_errors.def, as checks and tests read them."""
import collections
import os
import re

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
Op = collections.namedtuple("Op", "id layer name short_name arguments traits tier")
Event = collections.namedtuple("Event", "id layer name arguments traits result")
Layer = collections.namedtuple("Layer", "layer source library symbols calls title others")
OP = re.compile(r'^OP\((\d+), (\w+), (\w+), "(\w+)", ARGS\((.*)\), ([\w |]+), (\w+)\)$', re.M)
EVENT = re.compile(r'^EVENT\((\d+), (\w+), (\w+), ARGS\(([\w, ()]*)\), (\w+), "(.*)"\)$', re.M)
LAYER = re.compile(r'^LAYER\((\w+), "(\w+)", "(\w*)", "(\w*)", "([\w ]*)", "(.+)", (COUNTED|LEFT)\)$', re.M)
ERROR = re.compile(r"^CALL_ERROR\((\w+), (\d+), (\w+)\)|^CUDA_ERROR\((\d+), (\w+), (\w+)\)", re.M)
ARGUMENT = re.compile(r"(ARG|OUT|ELEMENTS|AREA|BOX|SUM|TYPED)\(([\d, ]+), (\w+)\)")


def text_of(name):
    with open(os.path.join(ROOT, name if "/" in name else f"bpf/{name}"), encoding="utf-8") as file:
        return file.read()


def ops(text=None):
    return [Op(int(row[0]), *row[1:]) for row in OP.findall(text_of("ops.def") if text is None else text)]


def events(text=None):
    return [Event(int(row[0]), *row[1:]) for row in EVENT.findall(text_of("ops.def") if text is None else text)]


def layers(text=None):
    return [Layer(*row) for row in LAYER.findall(text_of("layers.def") if text is None else text)]


def error_names(layer):
    """{code: name} of the return codes of a layer."""
    names = {}
    for of, code, name, cuda, runtime, driver in ERROR.findall(text_of("base/call_errors.def")):
        if of == layer:
            names[int(code)] = name
        elif cuda and layer in ("RUNTIME", "DRIVER"):
            names[int(cuda)] = f"cudaError{runtime}" if layer == "RUNTIME" else f"CUDA_ERROR_{driver}"
    return names


def arguments(op):
    """[(form, [number], meaning)] of the arguments that records of an operation hold."""
    return [(form, [int(number) for number in numbers.split(", ")], meaning)
            for form, numbers, meaning in ARGUMENT.findall(op.arguments)]


def words(event):
    """Meanings of the arguments of an event."""
    return re.findall(r"WORD\((\w+)\)", event.arguments)


def misshapen(text, word):
    """Number of rows of a kind that these expressions cannot read."""
    shape = {"OP": OP, "EVENT": EVENT, "LAYER": LAYER}[word]
    return len(re.findall(rf"^{word}\(", text, re.M)) - len(shape.findall(text))
