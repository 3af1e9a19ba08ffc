# SPDX-License-Identifier: Apache-2.0
"""
Stacks that a trace tells, against what the program itself noted (tests/workloads/callers.h, callers.py): every frame, in order, with its
name and line; what is missing must be said to be missing, and nothing else may be there.
"""
import collections
import json
import os
import re

import symbols_of

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# The memory itself says that there is nothing more: not damage that can be seen.
ENDS = {"link_none", "state_none"}
# Problems of a native frame that is there.
NAMES = ("name", "line", "a name that is not this address's", "a name of code that has none", "name of code made at run time",
         "the first frame is not the traced function")
LATE = " in time"  # the end of why: the rules or the names came too late, and a place in a file stands for a name
EVAL = "_PyEval_EvalFrameDefault"
# Frames of C from a function with a probe to the interpreter's loop, at most, and from the program's start to its loop, at least.
PROBED, OUTERMOST = 6, 8


def read(path):
    """The lines of a report."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def by_call(events, bytes_least=65536):
    """{(pid, bytes): events with that argument}, in the order of the trace."""
    found = collections.defaultdict(list)
    for event in events:
        for argument in event["args"]:
            if bytes_least <= argument < 1 << 32:
                found[event["pid"], argument].append(event)
    return found


def is_python(frame):
    return "ip" not in frame


def native_of(event):
    """Frames of C without the traced function itself."""
    return [frame for frame in event.get("stack", []) if not is_python(frame)][1:]


def python_of(event):
    return [frame for frame in event.get("stack", []) if is_python(frame)]


def is_prefix(one, other):
    return one == other[:len(one)]


def is_subsequence(some, everything):
    left = iter(everything)
    return all(one in left for one in some)


def learn_lines(calls):
    """Asks for the lines of all frames at once: one by one it takes minutes."""
    places = collections.defaultdict(set)
    for call in calls:
        for frame in call["frames"]:
            if frame.get("module"):
                at = int(frame["at"], 16)
                places[frame["module"]] |= {at - 1, at} if "signal" in call["shape"] else {at - 1}
    for module, addresses in places.items():
        symbols_of.learn_lines(module, addresses)


class Judge:
    """
    Compares calls with what was told of them. `problems`: (call, what is wrong); `incomplete`: calls that should be complete, and why not.
    n_lost: calls of which the trace itself says that their stacks are lost.
    """

    def __init__(self, has_names=True, n_lost=0):
        self.has_names = has_names
        self.n_lost = n_lost
        self.problems = []
        self.incomplete = []
        self.whys = collections.Counter()
        self.n = collections.Counter()  # calls by shape
        self.n_complete = collections.Counter()
        self.n_frames = 0

    def wrong(self, call, what, *shown):
        self.problems.append((f"{call['shape']} {call['bytes']}", what, *shown))

    def compare(self, calls, events):
        """Every call has its event, whose stack is right."""
        of = by_call(events)
        if self.has_names:
            learn_lines(calls)
        for call in calls:
            told = of.get((call["pid"], call["bytes"]), [])
            if not told:
                self.wrong(call, "no event")
            for event in told:
                self.call(call, event)

    def call(self, call, event):
        # what the runtime calls of the driver inside of this call
        is_inner = event["op"] != call["op"]
        self.n[call["shape"]] += 1
        if not event.get("stack"):
            self.n_lost -= 1
            if self.n_lost < 0 or event.get("stack_why"):
                return self.wrong(call, "no stack", event.get("stack_why"))
            self.incomplete.append((call["shape"], call["bytes"], "lost"))
            return None
        is_complete, why = event.get("stack_complete"), event.get("stack_why")
        if is_complete not in (True, False) or bool(why) == is_complete:
            self.wrong(call, "complete, or why not", is_complete, why)
        first = next((frame for frame in event["stack"] if not is_python(frame)), {})
        if self.has_names and not self.is_late(event, first) and \
                not re.match(rf"_*{event['op']}\w*(\+0x|$)", first.get("symbol", "" if is_complete else event["op"])):
            self.wrong(call, "the first frame is not the traced function", first, event["op"])
        self.native(call, event, is_inner, is_complete)
        self.python(call, event, is_complete)
        self.whys[why or ""] += 1
        self.n_complete[call["shape"]] += bool(is_complete)
        if not is_complete and call["rule"] in ("complete", "lines"):
            self.incomplete.append((call["shape"], call["bytes"], why))
        return None

    def native(self, call, event, is_inner, is_complete):
        frames, told = call["frames"], native_of(event)
        if is_inner:
            told = self.behind_standins(told, frames)
        ips = [int(frame.get("ip", "0"), 16) for frame in told]
        truth = [int(frame["ip"], 16) for frame in frames]
        if "before" in call:
            ips = self.before_probe(call, ips, truth)
        ips = self.same_eval(call, ips, truth, told)
        self.n_frames += len(ips)
        rule, least = call["rule"], 0 if is_inner else call["least"]
        if is_complete:
            if ips != truth or rule == "prefix":
                self.wrong(call, "native frames, complete", *self.both(told, ips, truth))
        elif rule == "some":
            if not is_subsequence(ips, truth) or len(ips) < least:
                self.wrong(call, "native frames, some", *self.both(told, ips, truth))
        else:
            if call["shape"] == "lie_cycle":  # the frame says that it was called by itself
                while len(ips) > 1 and ips[-1] == ips[0]:
                    ips.pop()
            if not is_prefix(ips, truth) or ("python" not in call and len(ips) < least):
                self.wrong(call, "native frames, the beginning", *self.both(told, ips, truth))
        if self.has_names:
            for frame in told:
                if not is_complete and "symbol" not in frame and "file" not in frame:
                    continue  # where the mappings are not known
                if self.is_late(event, frame):
                    continue
                self.name(call, frame, next((one for one in frames if int(one["ip"], 16) == int(frame.get("ip", "0"), 16)), None))

    @staticmethod
    def is_late(event, frame):
        return (event.get("stack_why") or "").endswith(LATE) and re.match(re.escape(os.path.basename(frame.get("module", "?"))) + r"\+0x", frame.get("symbol", ""))

    @staticmethod
    def both(told, ips, truth):
        return ([f"{ip:#x} {frame.get('symbol')}" for ip, frame in zip(ips, told)], [hex(ip) for ip in truth])

    @staticmethod
    def behind_standins(told, frames):
        """Without the frames of the stand-in runtime itself, which called the driver."""
        first = int(frames[0]["ip"], 16) if frames else 0
        place = next((i for i, frame in enumerate(told) if int(frame.get("ip", "0"), 16) == first), len(told))
        return told[place:]

    @staticmethod
    def before_probe(call, ips, truth):
        """Frames that the program could see, if those outside of them are of the function that is probed, and end as the call before did."""
        before, outer = [int(frame["ip"], 16) for frame in call["before"]], ips[len(truth):]
        same = next((k for k, (one, other) in enumerate(zip(reversed(outer), reversed(before))) if one != other), min(len(outer), len(before)))
        return ips[:len(truth)] if len(outer) - same <= PROBED and same >= OUTERMOST else ips

    @staticmethod
    def same_eval(call, ips, truth, told):
        """
        The interpreter chooses another way to call when it has learned more: another address in its loop, at the same place of the stack. Where
        symbols are stripped, parts of the loop have no name: those that the compiler moved away, and functions that end in a call of the next one.
        """
        if not call.get("eval"):
            return ips
        ranges = symbols_of.ranges_of(call["eval"][0], EVAL, int(call["eval"][1], 16))

        file, address = call["eval"][0], int(call["eval"][1], 16)
        nameless = re.compile(re.escape(os.path.basename(file)) + r"\+0x")

        def is_eval(ip, frame):
            is_in_file = abs(ip - address) < os.path.getsize(file)
            return any(start < ip <= end for start, end in ranges) or (is_in_file and bool(nameless.match(frame.get("symbol", ""))))

        return [right if ip != right and is_eval(ip, frame) and is_eval(right, frame) else ip for ip, right, frame in zip(ips, truth, told)] + ips[len(truth):]

    def name(self, call, frame, known):
        """Symbol and line of a native frame, where the program said what file it is of."""
        if not known or "module" not in known:
            return
        symbol = frame.get("symbol", "")
        if "symbol" in known:
            if symbol != known["symbol"]:
                self.wrong(call, "name of code made at run time", symbol, known["symbol"])
            return
        if not known["module"]:
            if symbol and not symbol.startswith("["):
                self.wrong(call, "a name of code that has none", symbol)
            return
        at = int(known["at"], 16)
        # where a signal came it is the instruction itself
        names = symbols_of.names_of(known["module"], at) | (symbols_of.names_of(known["module"], at, False) if "signal" in call["shape"] else set())
        if names and symbol not in names and not self.is_cut(symbol, names):
            self.wrong(call, "name", symbol, sorted(names)[:4])
        if not names and symbol and not symbol.startswith(os.path.basename(known["module"])):
            self.wrong(call, "a name that is not this address's", symbol, known)
        lines = symbols_of.lines_of(known["module"], at - 1) | (symbols_of.lines_of(known["module"], at) if "signal" in call["shape"] else set())
        told = (os.path.basename(frame["file"]), frame.get("line")) if frame.get("file") else None
        if told not in lines:
            self.wrong(call, "line", frame, lines)

    @staticmethod
    def is_cut(symbol, names):
        """A name that there is no room for ends in dots."""
        begin, dots, offset = symbol.partition("...+")
        return len(begin) > 100 and dots and any(name.startswith(begin) and name.endswith("+" + offset) for name in names)

    def python(self, call, event, is_complete):
        told = [[frame.get("py_file"), frame.get("py_func"), frame.get("py_qualname"), frame.get("py_line")] for frame in python_of(event)]
        truth = call.get("python", [])
        if "damaged" in call:
            return self.damaged(call, told, truth, is_complete)
        if (event.get("stack_why") or "").endswith(LATE):  # the frame is there, and its names came too late
            told = [right if one == [None] * 4 else one for one, right in zip(told, truth)] + told[len(truth):]
        if call["rule"] == "lines":  # some of its lines need not be known
            told = [one[:3] + [one[3] if one[3] else right[3]] for one, right in zip(told, truth)] + told[len(truth):]
        if told != truth if is_complete else not is_prefix(told, truth):
            where = next((i for i, (one, right) in enumerate(zip(told, truth)) if one != right), min(len(told), len(truth)))
            self.wrong(call, "Python frames" + (", complete" if is_complete else ", the beginning"), where, told[where:where + 2],
                       truth[where:where + 2], event.get("stack_why"))
        if not is_complete and call["rule"] in ("complete", "prefix", "lines") and truth and len(told) < min(call["least"], len(truth)):
            self.wrong(call, "too few Python frames", len(told), call["least"], event.get("stack_why"))
        return None

    def damaged(self, call, told, truth, is_complete):
        """Up to the damage all is right; the damaged frame has no text but right ones; behind it all is right, or nothing is told."""
        k = call["damaged"]
        if not is_prefix(told[:k], truth):
            self.wrong(call, "Python frames before the damage", told[:k], truth[:k])
        for i, one in enumerate(told[k:], k):
            right = truth[i] if i < len(truth) else [None] * 4
            for text, true_text in zip(one[:3], right[:3]):
                if not self.may_be(call["shape"], text, true_text):
                    self.wrong(call, f"damaged frame {i}", one, right)
            if one[3] is not None and not 0 < one[3] < 1 << 31:
                self.wrong(call, f"line of a damaged frame, {i}", one, right)
        if is_complete and call["shape"] not in ENDS and len(told) != len(truth):
            self.wrong(call, "damaged, and said to be complete", len(told), len(truth))

    @staticmethod
    def may_be(shape, text, truth):
        if text in (None, "", truth):
            return True
        if CONTROL.search(text) or truth is None:
            return False
        if shape == "name_control":  # its first six bytes
            return text.endswith(truth[6:])
        return truth.startswith(text.rstrip("…."))  # cut

    def report(self, check, name, least=0.99):
        """Every problem, and the share of complete stacks."""
        n = sum(count for shape, count in self.n.items())
        check(f"{name}: there are calls", n > 0)
        for kind, is_of_names in (("frame", False), ("name and line", True)):
            problems = [problem for problem in self.problems if (problem[1] in NAMES) == is_of_names]
            kinds = collections.Counter((call.split()[0], what) for call, what, *_ in problems)
            different = {str(shown): (call, what, *shown) for call, what, *shown in reversed(problems)}
            check(f"{name}: every {kind} is right: {len(problems)} problems of {n} calls, {dict(kinds.most_common(12))}", not problems,
                  *reversed(list(different.values())[-8:]))
        of = collections.Counter((shape, why) for shape, _, why in self.incomplete)
        check(f"{name}: complete", len(self.incomplete) <= (1 - least) * n, f"{len(self.incomplete)} of {n} are not", dict(of.most_common(20)), self.whys)


def read_boundary(path, names):
    """{(tid, function): [frames of each call, in order]} of what tests/workloads/boundary_stacks.c noted. names: of cells, by number"""
    with open(path, "rb") as file:
        n = int.from_bytes(file.read(8), "little")
        words = memoryview(b"\0" * 8 + file.read(8 * (n - 1))).cast("Q")
    stacks, calls, at = {}, [], 1
    while at < n:
        head, number = words[at], words[at + 1]
        if head >> 63:
            stacks[number] = list(words[at + 2:at + 2 + (head & 0xffffffff)])
            at += 2 + (head & 0xffffffff)
        else:
            calls.append((head & 0xffffffff, names[head >> 32], number))
            at += 2
    found = collections.defaultdict(list)
    for tid, name, number in calls:
        found[tid, name].append(stacks[number])
    return found
