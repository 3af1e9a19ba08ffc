#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cli_json.py BUILD: what version, help and status say as JSON, with and without a daemon that serves, is as docs/schema says."""
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kept  # noqa: E402
import schemas  # noqa: E402

COMMANDS = ("version", "help", "status")


def main(build):
    if schemas.jsonschema is None:
        kept.skip("no python3-jsonschema")
    check = kept.Checks()

    def ask(where):
        for command in COMMANDS:
            lines = home.answer(command, "--json").splitlines()  # fails when it is not as its schema says
            check(f"{command}, {where}: one line of its type", [json.loads(line)["type"] for line in lines] == [command], lines)

    with kept.Kept(build) as home:
        ask("alone")
        if os.geteuid() == 0:
            with kept.Service(home):
                ask("beside a daemon")
    # what is wrong is seen
    wrong = ({"type": "version"}, {"type": "unheard"}, {})
    check("lines that are wrong", all(schemas.problems([line]) for line in wrong), wrong)
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
