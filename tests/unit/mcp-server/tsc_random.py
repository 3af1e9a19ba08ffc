#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The short form of any answer says as much as the long one: values of many shapes are expanded again; tsc_random.py UNIT_TSC [SEED [COUNT]]."""
import json
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import mcp  # noqa: E402

SEED, COUNT = 1, 1500
DEPTH = 4
# Names with a short form, with defaults, with a meaning in rows of cells, and without any.
NAMES = ("a", "b", "count", "uid", "by", "resource", "blame_ns", "cost", "chain", "parts", "timestamp", "severity", "evidence")
SCALARS = (0, 0, 0, 1, 2, 10**12, -1, 0.5, "", "ok", "ok", "a text that comes again and again", True, False, "x.y,z", "2026-01-31T14:03:21.123456789Z")
CELLS = (None, None, 0, 1, "ok", "", True, "a text that comes again and again")
COLUMNS = ("a", "b", "c", "t", "cnt", "x.y", "op", "null", "0", "blame_ns", "count(*)", "e", "f")


class Values:
    """Random values, more like those of answers than chance would have them."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def scalar(self):
        return self.random.choice((*SCALARS, [], {}, None))

    def object(self, depth):
        return {name: self.value(depth - 1, name) for name in self.random.sample(NAMES, self.random.randint(0, 6))}

    def defaulted(self, name):
        whole = {member: self.random.choice((0, 0, 0, 5, 0.5, 123456)) for member in (*mcp.defaults()[name], "more")}
        for member in ("more", *mcp.defaults()[name]):
            if self.random.random() < (0.9 if member == "more" else 0.03):
                del whole[member]
        return whole if self.random.random() < 0.95 else {}

    def figures(self, _):
        return [{"name": self.random.choice(("a_ns", "b", "c_ratio")), "value": self.random.choice((0, 5)), "unit": self.random.choice(mcp.UNITS)}
                for _ in range(self.random.randint(1, 3))]

    def cells(self, _):
        width = self.random.randint(1, 5)
        return {"columns": self.random.choices(COLUMNS, k=width),
                "data": [[self.random.choice(CELLS) for _ in range(width)] for _ in range(self.random.randint(0, 8))]}

    def array(self, depth):
        return [self.value(depth - 1) for _ in range(self.random.randint(0, 4))]

    def table(self, depth):
        pools = {name: [self.value(depth - 2, name) for _ in range(self.random.choice((1, 1, 2, 3, 6)))]
                 for name in self.random.sample(NAMES, self.random.randint(1, 6))}
        kept = self.random.choice((1, 1, 0.9, 0.7))
        return [{name: self.random.choice(pool) for name, pool in pools.items() if self.random.random() < kept} for _ in range(self.random.randint(0, 12))]

    def value(self, depth, name=None):
        if name in mcp.defaults() and self.random.random() < 0.8:
            return self.defaulted(name)
        if depth <= 0 or self.random.random() < 0.4:
            return self.scalar()
        return self.random.choice((self.object, self.array, self.figures, self.cells, self.table, self.table, self.table))(depth)


def text_of(value):
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def main(program, seed=SEED, count=COUNT):
    values = Values(int(seed))
    texts = [text_of({"top": values.value(DEPTH), "more": values.value(DEPTH), "other": values.object(DEPTH)}) for _ in range(int(count))]
    shorts = subprocess.run([program, "-"], input="\n".join(texts) + "\n", check=True, capture_output=True, text=True).stdout.splitlines()
    wrong = [(text, short) for text, short in zip(texts, shorts, strict=True) if text_of(mcp.expand(json.loads(short))) != text]
    for text, short in sorted(wrong, key=lambda pair: len(pair[0]))[:3]:
        print(f"{text}\n  as {short}\n  is {text_of(mcp.expand(json.loads(short)))}", file=sys.stderr)
    print(f"{len(texts)} values, {len(wrong)} wrong; short {sum(map(len, shorts)) / sum(map(len, texts)):.2f} of their bytes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
