#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
mcp_inspector.py BUILD: the protocol's Inspector as a command-line client, with --strict: it lists and calls every tool, prompt and resource of
the server, in each era.
"""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import ingero  # noqa: E402
import kept  # noqa: E402
import mcp_stdio  # noqa: E402
import npx  # noqa: E402

INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
ERAS = ("legacy", "modern", "auto")


class Inspector:
    """server: path of a program that is started without arguments."""

    def __init__(self, server, era, place):
        self.server, self.era, self.place = server, era, place

    def ask(self, method, *options):
        """Returns the result; Failed with what the Inspector said."""
        command = npx.command(INSPECTOR, "mcp-inspector", "--cli", self.server, "--protocol-era", self.era, "--format", "json", "--quiet", "--method", method,
                              *(["--strict"] if method == "tools/list" else []), *options)
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.place)
        if done.returncode:
            raise ingero.Failed(f"{method} {' '.join(options)}: exit status {done.returncode}: {(done.stderr or done.stdout)[-500:]}")
        return json.loads(done.stdout)["result"]

    def call(self, name, arguments):
        return self.ask("tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments))


def everything(inspector):
    """(what to ask, the method, its options), of all that the server lists."""
    examples = inspector.call("explain", {"details": True})["structuredContent"]["answer"]["findings"][0]["examples"]
    for tool in inspector.ask("tools/list")["tools"]:
        arguments = {"id": examples[0]["id"]} if tool["name"] == "explain_call" else mcp_stdio.TOOLS[tool["name"]]
        if arguments is not None:  # the others have no answer from a file
            yield tool["name"], "tools/call", ("--tool-name", tool["name"], "--tool-args-json", json.dumps(arguments))
    for prompt in inspector.ask("prompts/list")["prompts"]:
        given = [f"{one['name']}={'5m' if one['name'] == 'since' else 4711}" for one in prompt["arguments"]]
        yield prompt["name"], "prompts/get", ("--prompt-name", prompt["name"], *(["--prompt-args", *given] if given else []))
    for resource in inspector.ask("resources/list")["resources"]:
        yield resource["uri"], "resources/read", ("--uri", resource["uri"])
    inspector.ask("resources/templates/list")
    yield "a call", "resources/read", ("--uri", f"ingero://call/{examples[0]['id']}")


def main(build):
    check = kept.Checks()
    with kept.Kept(build) as home:
        home.answer("demo", "cpu-contention", "--speed", "100", "--db", home.db)
        os.mkdir(home.path("logs"))
        pathlib.Path(home.path("logs"), "test-report.json").write_text('{"passed": 1, "failed": 0, "tests": []}\n', encoding="ascii")
        server = home.path("server")
        pathlib.Path(server).write_text(f"#!/bin/sh\nexec '{home.programs.path('ingero-mcp')}' --db '{home.db}'\n", encoding="ascii")
        os.chmod(server, 0o755)
        for era in ERAS:
            inspector = Inspector(server, era, home.directory)
            asked = 0
            for what, method, options in everything(inspector):
                asked += 1
                try:
                    inspector.ask(method, *options)
                    check(f"{era}: {what}", True)
                except ingero.Failed as problem:
                    check(f"{era}: {what}", False, problem)
            check(f"{era}: all was asked", asked > 25, asked)
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
