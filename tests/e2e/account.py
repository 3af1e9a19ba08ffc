# SPDX-License-Identifier: Apache-2.0
"""
Where the wall clock of a thread went: account.py BUILD.

A loop that loses its time between its calls, one cause a run, knows by its own clocks how long it waited. Its account sums to its
wall clock, has the wait under what was waited for, as blame and explain tell it, too; and it has it while the wait goes on.
"""
import json
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "workloads")]
import between  # noqa: E402
import ingero  # noqa: E402
import kept  # noqa: E402

S = 1_000_000_000
SUM_RATIO = 0.005
# Between the program's clocks and the scheduler's lie interrupts, a hypervisor's pauses and what Python does around the wait.
LEAST_RATIO = 0.85
LATE_NS = 2 * S
# What the loop loses its time to: the class of the wait, and what the part with most of it says.
CASES = {
    "sleep": ("sleep", lambda part, said: "resource" not in part),
    "loader": ("other", lambda part, said: kind(part) == "pipe" and part["by"]["pid"] in said["helpers"]),
    "socket": ("network", lambda part, said: kind(part) == "peer" and part["by"]["pid"] in said["helpers"]),
    "tcp": ("network", lambda part, said: kind(part) == "peer" and part["resource"]["name"].startswith("127.0.0.1:") and part["by"]["pid"] in said["helpers"]),
    "lock": ("lock", lambda part, said: kind(part) == "futex" and part["by"]["tid"] not in (0, said["tid"])),
    "file": ("lock", lambda part, said: kind(part) == "file_lock" and part["resource"]["name"] == said["path"] and part["by"]["pid"] in said["helpers"]),
    "reader": ("other", lambda part, said: kind(part) == "full_pipe" and part["by"]["pid"] in said["helpers"]),
    "stop": ("other", lambda part, said: is_stop(part, "signal", said)),
    "frozen": ("other", lambda part, said: is_stop(part, "freezer", said)),
    "frozen_1": ("other", lambda part, said: is_stop(part, "freezer", said)),
    "child": ("other", lambda part, said: kind(part) == "child"),
    "relay": ("other", lambda part, said: part["by"]["pid"] == said["helpers"][1] and steps(part["chain"]) == [
        (said["helpers"][1], "other", "pipe"), (said["helpers"][0], "sleep", None)]),
    "writer": ("other", lambda part, said: steps(part["chain"])[0][2] == "written" and part["chain"][0]["resource"]["name"] == said["path"]),
}
# What who ended the wait mostly did, of all that it was waited for: the rest is between its clocks and the other's.
CHAIN_RATIO = 0.8


def kind(part):
    return part.get("resource", {}).get("kind")


def is_stop(part, name, said):
    return part["resource"] == {"kind": "stopped", "name": name} and part["by"]["pid"] in said["helpers"] and not part.get("chain")


def can_freeze(version):
    try:
        return bool(between.frozen_place(version))
    except OSError:
        return False


def steps(chain):
    return [(step["by"]["pid"], step["class"], kind(step)) for step in chain]


class Place:
    def __init__(self, check, place):
        self.check, self.place = check, place

    def trace(self, loses, *options):
        report = self.place.path(loses + ".json")
        trace = ingero.trace(self.place.programs, "--db", self.place.path(loses + ".db"), environment={"INGERO_STANDIN_QUIET": "1"}, command=[
            sys.executable, "-S", str(HERE.parent / "workloads" / "between.py"), "--libraries",
            os.path.dirname(self.place.programs.library("libcudart.so.12")), "--loses", loses, "--report", report, *options])
        if any(family["name"] == "sched" and family["state"] == "absent" for family in trace.start["families"]):
            kept.skip("this kernel does not tell of task switches")
        with open(report, encoding="utf-8") as file:
            return trace, json.load(file)

    def sums(self, name, account, said):
        parts_ns = sum(part["ns"] for part in account["parts"])
        self.check(f"{name}: the parts are the whole", parts_ns == account["wall_ns"], parts_ns, account)
        self.check(f"{name}: it is the thread's wall clock", abs(account["wall_ns"] - said["wall_ns"]) <= SUM_RATIO * said["wall_ns"] + S / 100,
                   account["wall_ns"], said)

    def loses(self, name):
        klass, is_right = CASES[name]
        trace, said = self.trace(name, "--seconds", "4", "--wait-ms", "20")
        accounts = {account["tid"]: account for account in trace.summary["accounts"]}
        if not self.check(f"{name}: the thread has an account", said["tid"] in accounts, accounts.keys()):
            return
        account = accounts[said["tid"]]
        self.sums(name, account, said)
        waits = [part for part in account["parts"] if part["where"] == "between" and part["class"] == klass]
        waited_ns = sum(part["ns"] for part in waits)
        self.check(f"{name}: as much as its own clocks say", LEAST_RATIO * said["waited_ns"] <= waited_ns <= said["waited_ns"] + 0.02 * said["wall_ns"],
                   waited_ns, said)
        most = max(waits, key=lambda part: part["ns"])
        self.check(f"{name}: what was waited for, and who ended it", is_right(most, said), most, said)
        database = ("--db", self.place.path(name + ".db"))
        kept_parts = json.loads(self.place.answer("blame", "--json", *database))["accounts"][0]
        self.check(f"{name}: blame says the same", abs(kept_parts["wall_ns"] - account["wall_ns"]) <= SUM_RATIO * account["wall_ns"], kept_parts, account)
        if name == "relay":
            self.check("relay: each waits for nearly all of it", all(step["ns"] >= CHAIN_RATIO * most["ns"] for step in most["chain"]), most)
            kept_most = max((part for part in kept_parts["parts"] if part["where"] == "between" and part["class"] == klass), key=lambda part: part["ns"])
            self.check("relay: the file has the chain", is_right(kept_most, said), kept_most, said)
            text = self.place.answer("blame", *database)
            self.check("relay: and says it", f"({said['helpers'][1]}) ←" in text, text)
        self.check(f"{name}: explain has it", any(one["tid"] == said["tid"] for one in self.place.explain(*database)["accounts"]))

    def is_found(self, name, cause, words, remedy):
        """The finding has the cause, who ended the waits, and a remedy that helps."""
        _, said = self.trace(name, "--seconds", "11", "--wait-ms", "20")
        explained = self.place.explain("--db", self.place.path(name + ".db"))
        found = [one for one in explained["findings"] if one["kind"] == "starved"]
        if self.check(f"{name}: found", len(found) == 1 and found[0]["cause"]["kind"] == cause, explained["findings"]):
            self.check(f"{name}: by whom", found[0]["cause"]["pid"] in said["helpers"], found, said)
            self.check(f"{name}: it is no trifle", found[0]["severity"] in ("HIGH", "CRITICAL"), found)
            self.check(f"{name}: its remedy", remedy in " ".join(found[0]["advice"]), found)
        text = " ".join(self.place.answer("explain", "--db", self.place.path(name + ".db")).split())
        self.check(f"{name}: in words", f"{words} python3" in text.replace(os.path.basename(sys.executable), "python3"), text)

    def is_nothing(self, name):
        """A thread of the process keeps it waiting on purpose."""
        self.trace(name, "--seconds", "11", "--wait-ms", "20")
        found = self.place.explain("--db", self.place.path(name + ".db"))["findings"]
        self.check(f"{name}: nothing is lost", not any(one["kind"] == "starved" for one in found), found)

    def goes_on(self):
        """A wait of 20 s that has not ended, and what it is for."""
        trace, said = self.trace("loader", "--seconds", "1", "--wait-ms", "20000")
        told_ns, lived_ns, worst_ns = 0, 0, 0
        names, waiting_ns = set(), []
        for figures in trace.figures:
            accounts = [account for account in figures["accounts"] if account["tid"] == said["tid"]]
            parts = [part for account in accounts for part in account["parts"] if kind(part) == "pipe"]
            told_ns += sum(part["ns"] for part in parts)
            names.update(part["resource"]["name"] for part in parts)
            waiting_ns += [account["waiting"]["ns"] for account in accounts if kind(account.get("waiting", {})) == "pipe"]
            lived_ns += figures["window_ns"] if lived_ns else sum(account["wall_ns"] for account in accounts)
            worst_ns = max(worst_ns, lived_ns - told_ns)
        self.check("an open wait is in each second's account", worst_ns <= LATE_NS and told_ns >= LEAST_RATIO * said["waited_ns"], worst_ns, told_ns, said)
        self.check("it is told as the wait that the thread is in, from its second second on", waiting_ns and waiting_ns[0] <= LATE_NS and
                   waiting_ns == sorted(set(waiting_ns)) and waiting_ns[-1] >= said["waited_ns"] - LATE_NS, waiting_ns, said)
        self.check("the pipe has its name", len(names) == 1 and re.fullmatch(r"pipe:\[\d+\]", names.pop()), names)


def main(build):
    if os.geteuid() != 0:
        kept.skip("capture needs root")
    check = kept.Checks()
    with kept.Kept(build) as place:
        here = Place(check, place)
        for name in CASES:
            if can_freeze({"frozen": 2, "frozen_1": 1}[name]) if name.startswith("frozen") else True:
                here.loses(name)
        here.is_found("reader", "reader", "waits for room in a pipe or socket, too slowly read by", "see why ")
        here.is_found("stop", "stopped", "stopped (by a signal, a debugger or the freezer), continued by", "kill -CONT ")
        here.is_nothing("condition")
        here.goes_on()
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
