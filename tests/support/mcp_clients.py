#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
mcp_clients.py BUILD [CLIENT...]: clients of the Model Context Protocol that others wrote, in each era and over each carrier. Each lists and asks
for all that the server has; every structured content is compared with its schema. Prints a row for each connection.

The packages are fetched once, into the user's cache. A client is driven by a program in its own language (tests/support/mcp_clients/), which takes
a line of JSON for each request, so that what is asked stands here alone.
"""
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import ingero  # noqa: E402
import kept  # noqa: E402
import mcp  # noqa: E402
import mcp_http  # noqa: E402
import mcp_stdio  # noqa: E402
import npx  # noqa: E402
import pypi  # noqa: E402
import schemas  # noqa: E402

DRIVERS = HERE / "mcp_clients"
REVISION = {"legacy": mcp.LEGACY[0], "modern": mcp.MODERN, "auto": mcp.MODERN}
GIVEN = {"since": "5m"}  # of a prompt; the others are numbers


@dataclasses.dataclass(frozen=True)
class Client:
    """eras: that the client can be made to speak; lacks: what it has no way to ask for."""

    package: str
    eras: tuple
    lacks: tuple = ()

    def command(self, job):
        """Command line of its driver."""
        if "@" in self.package:
            modules = npx.installed(self.package)
            return [modules / ".bin/node", DRIVERS / "node.mjs", json.dumps({**job, "modules": str(modules)})]
        return [pypi.installed(self.package) / "python", DRIVERS / "official.py", json.dumps(job)]


CLIENTS = {
    "typescript-1": Client("@modelcontextprotocol/sdk@1.32.2", ("legacy",)),
    "typescript-2": Client("@modelcontextprotocol/client@2.4.0", ("legacy", "modern", "auto")),
    "python-1": Client("mcp==1.30.0", ("legacy",)),
    "python-2": Client("mcp==2.3.0", ("legacy", "modern", "auto")),
    "vercel": Client("@ai-sdk/mcp@2.0.99", ("legacy", "modern"), ("ping", "progress")),  # an implementation of its own
}


class Refused(Exception):
    """The client threw: an error of the protocol, or an answer that it does not take."""


class Driver:
    """A client with its connection. environment: what it is started with, beside the test's."""

    def __init__(self, home, name, job, environment=None):
        command = CLIENTS[name].command({**job, "client": name})
        self.process = subprocess.Popen([str(word) for word in command], env={**home.environment, **(environment or {})}, cwd=home.directory,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.told = self._read()["result"]

    def _read(self):
        line = self.process.stdout.readline()
        if not line:
            raise ingero.Failed(f"the driver ended with {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer

    def answer(self, method, params=None, progress=False):
        """Result and progress."""
        self.process.stdin.write(json.dumps({"method": method, "params": params or {}, "progress": progress}) + "\n")
        self.process.stdin.flush()
        return self._read()

    def ask(self, method, params=None):
        return self.answer(method, params)["result"]

    def call(self, name, **arguments):
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def listed(self, kind, method=None):
        """All pages of a list."""
        rows, cursor = [], None
        while True:
            page = self.ask(method or f"{kind}/list", {"cursor": cursor} if cursor else {})
            rows += page[kind]
            cursor = page.get("nextCursor")
            if not cursor:
                return rows

    def end(self):
        """Returns the exit status."""
        self.process.stdin.close()
        status = self.process.wait(timeout=60)
        self.process.stdout.close()
        return status


class Asked:
    """Checks of one connection. What a client throws fails the check that asked, and not the next one."""

    def __init__(self, check, driver, label, client, era):
        self.check, self.driver, self.label, self.client, self.era = check, driver, label, client, era
        self.counts = {}

    @contextlib.contextmanager
    def of(self, kind, name):
        """One question of a kind; what it checks has the name."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        try:
            yield lambda what, is_true, *shown: self.check(f"{self.label}, {name}: {what}", is_true, *shown)
        except Refused as problem:
            self.check(f"{self.label}, {name}: answered", False, problem)

    def tools(self, call_id):
        for tool in self.driver.listed("tools"):
            name = tool["name"]
            arguments = {"id": call_id} if name == "explain_call" else mcp_stdio.TOOLS[name]
            with self.of("tools", name) as check:
                result = self.driver.call(name, **(arguments or {}))
                if arguments is None:
                    check("says why not", result["isError"] and result["content"][0]["text"], result)
                else:
                    self.valid(check, tool, result)

    @staticmethod
    def valid(check, tool, result):
        if not check("no error", result["isError"] is False, result):
            return
        problem = mcp_stdio.schema_problem(tool["outputSchema"], result["structuredContent"])
        check("as its schema says", problem is None, problem)
        check("text", mcp.BEGIN in result["content"][0]["text"], result)

    def prompts(self):
        for prompt in self.driver.listed("prompts"):
            arguments = {one["name"]: GIVEN.get(one["name"], "4711") for one in prompt["arguments"]}
            with self.of("prompts", prompt["name"]) as check:
                text = self.driver.ask("prompts/get", {"name": prompt["name"], "arguments": arguments})["messages"][0]["content"]["text"]
                check("has its arguments", all(value in text for value in arguments.values()), text)
                for name in arguments:
                    self.completed(check, {"type": "ref/prompt", "name": prompt["name"]}, name)

    def resources(self, ids):
        """ids: of a finding and of a call, by the name in the template."""
        uris = [resource["uri"] for resource in self.driver.listed("resources")]
        with self.of("templates", "templates") as check:
            templates = [one["uriTemplate"] for one in self.driver.listed("resourceTemplates", "resources/templates/list")]
            check("two", sorted(templates) == [f"ingero://{name}/{{id}}" for name in sorted(ids)], templates)
            for name in ids:
                self.completed(check, {"type": "ref/resource", "uri": f"ingero://{name}/{{id}}"}, "id", wanted=ids[name])
        for uri in uris + [f"ingero://{name}/{one}" for name, one in ids.items()]:
            with self.of("resources", uri) as check:
                contents = self.driver.ask("resources/read", {"uri": uri})["contents"]
                check("is read", len(contents) == 1 and contents[0]["uri"] == uri and len(contents[0]["text"]) > 100, contents)

    def completed(self, check, ref, name, wanted=None):
        values = self.driver.ask("completion/complete", {"ref": ref, "argument": {"name": name, "value": ""}})["completion"]["values"]
        check(f"completion of {name}", wanted is None or wanted in values, values)

    def others(self):
        with self.of("others", "connection") as check:
            told = self.driver.told
            check("its revision", told["revision"] == REVISION[self.era], told)
            # a client that is told the revision beforehand need not ask who answers
            unasked = self.era == "modern" and told["server"] is None
            check("who answers, and how it is used", unasked or told["server"]["name"] == "ingero" and told["instructions"], told)
        if self.era == "legacy" and "ping" not in self.client.lacks:
            with self.of("others", "ping"):
                self.driver.ask("ping")
        with self.of("others", "explain with progress") as check:
            tool = next(tool for tool in self.driver.listed("tools") if tool["name"] == "explain")
            self.valid(check, tool, self.driver.answer("tools/call", {"name": "explain", "arguments": {}}, progress=True)["result"])
        with self.of("others", "a wrong argument") as check:
            result = self.driver.call("explain_call", id="no id")
            check("an answer that says it", result["isError"] and "id" in result["content"][0]["text"], result)
        for what, said, method, params in (("no such tool", "none", "tools/call", {"name": "none", "arguments": {}}),
                                           ("no such prompt", "none", "prompts/get", {"name": "none", "arguments": {}}),
                                           ("no such resource", "ingero://none", "resources/read", {"uri": "ingero://none"})):
            self.refused(what, said, method, params)

    def refused(self, what, said, method, params):
        """The client says what the server says."""
        self.counts["others"] += 1
        try:
            told = self.driver.ask(method, params)
        except Refused as problem:
            told = None
            self.check(f"{self.label}, {what}: in the server's words", re.search(said, str(problem)), problem)
        self.check(f"{self.label}, {what}: refused", told is None, told)

    def watch(self):
        """With the right to trace, on a server without a file."""
        with self.of("watch", "watch") as check:
            tool = next(tool for tool in self.driver.listed("tools") if tool["name"] == "watch")
            answer = self.driver.answer("tools/call", {"name": "watch", "arguments": {"seconds": 2}}, progress=True)
            self.valid(check, tool, answer["result"])
            self.counts["progress"] = len(answer["progress"])
            check("progress", "progress" in self.client.lacks or answer["progress"], answer["progress"])

    def everything(self):
        found = self.driver.call("explain", details=True)["structuredContent"]["answer"]["findings"][0]
        call_id = found["examples"][0]["id"]
        self.tools(call_id)
        self.prompts()
        self.resources({"call": call_id, "finding": found["id"]})
        self.others()


@contextlib.contextmanager
def over_stdio(home, is_recorded):
    """Part of the job, and environment of the client."""
    yield {"command": [home.programs.path("ingero"), "mcp", *(("--db", home.db) if is_recorded else ())]}, {}


@contextlib.contextmanager
def over_https(home, is_recorded):
    """The certificate is trusted as its file says, by the variable of Node and of OpenSSL."""
    server = mcp_http.Server(home, is_recorded=is_recorded, cwd=home.directory)
    try:
        yield ({"url": f"https://localhost:{server.port}/mcp", "token": server.token},
               {"NODE_EXTRA_CA_CERTS": server.cert, "SSL_CERT_FILE": server.cert})
    finally:
        server.end()


def connection(check, home, name, era, carrier, is_recorded):
    """One client in one era over one carrier: asks for all, of a recording; else watches."""
    label = f"{name}, {era}, {carrier.__name__.removeprefix('over_')}"
    before = len(check.failed)
    counts = {}
    with carrier(home, is_recorded) as (job, environment):
        try:
            driver = Driver(home, name, {**job, "era": era}, environment)
        except Refused as problem:
            check(f"{label}: connects", False, problem)
        else:
            asked = Asked(check, driver, label, CLIENTS[name], era)
            try:
                (asked.everything if is_recorded else asked.watch)()
            except Refused as problem:
                check(f"{label}: goes on", False, problem)
            check(f"{label}: ends", driver.end() == 0)
            counts = asked.counts
    print(f"{label}: {', '.join(f'{kind} {n}' for kind, n in counts.items())}, failed {len(check.failed) - before}", flush=True)


def main(build):
    if schemas.jsonschema is None:
        kept.skip("no python3-jsonschema")
    check = kept.Checks()
    names = sys.argv[2:] or CLIENTS
    with kept.Kept(build) as home:
        home.answer("demo", "cpu-contention", "--speed", "100", "--db", home.db)
        os.mkdir(home.path("logs"))
        pathlib.Path(home.path("logs"), "test-report.json").write_text('{"passed": 1, "failed": 0, "tests": []}\n', encoding="ascii")
        rows = [(name, era, carrier) for name in names for era in CLIENTS[name].eras for carrier in (over_stdio, over_https)]
        for row in rows:
            connection(check, home, *row, is_recorded=True)
        if os.geteuid() == 0:
            del home.environment["INGERO_DB"]  # without a file, the server traces
            for row in rows:
                connection(check, home, *row, is_recorded=False)
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
