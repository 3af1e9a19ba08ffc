#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
capture_users.py BUILD: a service told to record some users keeps every call of theirs, through whatever copy of the
libraries they make it and however that came to be mapped, now and later; and of others none.

Needs root (or it is skipped): has users and groups that only it sees.
"""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import discovery  # noqa: E402
import ingero  # noqa: E402
import kept  # noqa: E402
import service_users  # noqa: E402

CAPTURED, OTHER = ("first", "second"), "other"
OPS = ("cudaLaunchKernel", "cuLaunchKernel")


def opened(world, name, uid, path):
    """By the machine's own loader, a copy of runtime and driver that nobody else has."""
    path = world.copy(world.runtime, path, "libcudart.so.12")
    world.copy(world.driver, os.path.dirname(path), "libcuda.so.1")
    visitor = discovery.Visitor(world, uid=uid, directory=os.path.dirname(path))
    visitor.tell("open", path)
    visitor.what, visitor.files, visitor.ops = name, [path], OPS
    return visitor


def linked(world, name, uid, path):
    """Both inside the program, which has no loader."""
    program = world.copy(world.programs.path("foreign-alone"), path, "program")
    visitor = discovery.Visitor(world, uid=uid, command=[program])
    visitor.what, visitor.files, visitor.ops = name, [program], OPS
    return visitor


def rooted(world, name, uid, path):
    """In a root of its own, by the loader that is there."""
    root = world.root(path)
    visitor = discovery.Visitor(world, directory="/lib", command=["chroot", f"--userspec={uid}:{uid}", root, "/lib/visitor"])
    visitor.tell("open", "/lib/libcudart.so.12")
    visitor.what, visitor.files, visitor.ops = name, [os.path.join(root, "lib/libcudart.so.12")], OPS
    return visitor


def mapped(world, name, uid, path):
    """By the program itself, of which no loader tells."""
    symbols = subprocess.run(["nm", "-D", world.driver], capture_output=True, text=True, check=True).stdout
    at = next(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" cuMemFree_v2"))
    own = world.copy(world.driver, path, "engine.bin")
    visitor = discovery.Visitor(world, uid=uid)
    visitor.tell("map", own, at)
    visitor.what, visitor.files, visitor.ops = name, [own], ("cuMemFree",)
    return visitor


WAYS = {"opened": opened, "linked": linked, "in a root of his own": rooted, "mapped by the program": mapped}


def visit(world, users, when):
    """One visitor of each user by each way."""
    return [make(world, f"{name}, {way}, {when}", uid, f"{when}/{name}/{way.replace(' ', '-')}")
            for name, uid in users.items() for way, make in WAYS.items()]


def call(visitors):
    for number, visitor in enumerate(visitors):
        visitor.calls = 11 + number
        visitor.tell("enter" if "cuMemFree" in visitor.ops else "call", visitor.calls)


def wait_attached(home, visitors):
    wanted = {path for visitor in visitors for path in visitor.files}
    said = {}

    def are_attached():
        libraries = json.loads(home.answer("status", "--json"))["libraries"]
        said.update((one["path"], one["reason"] if one["reason"] or one["back_end"] else "none") for one in libraries)
        return all(said.get(path) == "" for path in wanted)

    try:
        ingero.wait_for(are_attached, "the attach of every copy", limit_s=20)
    except ingero.Failed as error:
        missing = "; ".join(f"{path}: {said.get(path, 'not found')}" for path in sorted(wanted) if said.get(path) != "")
        print(f"{error}: {missing}", file=sys.stderr, flush=True)
        return False
    return True


def test_capture(check, home, world):
    users = {name: service_users.USERS[name] for name in CAPTURED}
    before = visit(world, users, "before")
    uids = ",".join(str(uid) for uid in users.values())
    with service_users.service(home, uids) as service:
        if json.loads(home.answer("status", "--json"))["back_end"] == "none":
            kept.skip("nothing can be captured here")
        check("copies that were there before are attached", wait_attached(home, before), service.said())
        call(before)
        after = visit(world, users, "later")
        check("later copies are attached", wait_attached(home, after), service.said())
        call(after)
        others = visit(world, {OTHER: service_users.USERS[OTHER]}, "later")
        call(others)
        pids = {visitor: visitor.pid for visitor in [*before, *after, *others]}
        rows = json.loads(service_users.ask(home, "reader", "explain", "--json", "--per-process").stdout)["operations"]
        counted = {(row["pid"], row["op"]): row["count"] for row in rows}
        for visitor in [*before, *after]:
            got = {op: counted.get((pids[visitor], op), 0) for op in visitor.ops}
            check(f"{visitor.what}: every call", got == dict.fromkeys(visitor.ops, visitor.calls), got, visitor.calls)
        for visitor in others:
            check(f"{visitor.what}: none", not any(counted.get((pids[visitor], op)) for op in visitor.ops), counted)
        late = {name: json.loads(service_users.ask(home, name, "status", "--json").stdout)["lost"]["late_load"] for name in service_users.USERS}
        check("late libraries are told to whose processes loaded them", not late[OTHER] and all(late[name] for name in CAPTURED), late)
        check("and all to who may read all", late["reader"] >= sum(late[name] for name in CAPTURED), late)
        check("nothing to complain of", not service.said(), service.said())


def main(build):
    kept.in_own_mounts("users of a service need root")
    check = kept.Checks()
    with kept.Kept(build) as home, discovery.World(home.programs) as world:
        service_users.add_people(home)
        with kept.lists_given_back():
            test_capture(check, home, world)
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
