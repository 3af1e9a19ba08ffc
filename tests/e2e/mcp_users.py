#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
mcp_users.py BUILD: one user's MCP server beside another user's recording: every tool, prompt, resource, completion and refusal that the
server lists, asked in every way, has nothing of the other's, and an id of the other's is one that does not exist.

Needs root (or it is skipped): has users and a group that only it sees.
"""
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import kept  # noqa: E402
import kept_scope  # noqa: E402
import mcp  # noqa: E402

WAYS = ({}, {"details": True, "max_tokens": 50000}, {"tsc": False})


def client_of(home, service, name, revision):
    """The server of a user, who asks the service."""
    asked = kept_scope.way(home, service, "plain", name)
    environment = {**home.environment, **asked["environment"]}
    return mcp.Client([*asked["prefix"], home.programs.path("ingero-mcp")], revision, env=environment, cwd="/")


def recording(home):
    """A recording of the first user's, and what in it is nobody else's."""
    db, uid = home.path("first/demo.db"), str(kept_scope.USERS["first"])
    home.answer("demo", "incident", "--speed", "100", "--db", db, prefix=["setpriv", "--reuid", uid, "--regid", uid, "--clear-groups"])
    told = home.explain("--db", db)
    secrets = {str(one["pid"]) for one in told["operations"]} | {one["id"] for one in told["findings"]}
    secrets |= {call["id"] for one in told["findings"] for call in one["examples"]} | {"logrotate", "systemd-journal"}
    for name in os.listdir(home.path("first")):  # from now on the service's, which may write root's alone
        os.chown(home.path(os.path.join("first", name)), 0, 0)
    os.chown(home.path("first"), 0, 0)
    return db, told, secrets


def arguments_of(tool, told):
    """Arguments that a tool needs, and those that name the other's: what the schema says of them decides."""
    finding = told["findings"][0]
    values = {"id": finding["examples"][0]["id"] if "call" in tool["name"] else finding["id"], "pid": finding["pid"], "pids": [finding["pid"]],
              "op": finding["op"], "query": "SELECT * FROM processes", "since": "365d", "action": "chains", "seconds": 1}
    properties = tool["inputSchema"]["properties"]
    needed = {name: values[name] for name in tool["inputSchema"].get("required", ())}
    yield needed
    for name in ("id", "pid", "pids", "op", "since"):
        if name in properties and name not in needed:
            yield {**needed, name: values[name]}
    if tool["name"] == "run_sql":
        for table in ("events", "operations", "findings", "accounts", "waits", "behind", "process_names", "causal_chains"):
            yield {"query": f"SELECT * FROM {table}"}
    if tool["name"] == "query_fleet":
        for action in ("ops", "overview"):
            yield {"action": action, "since": "365d"}


def everything(client, told):
    """(what was asked, what came), of all that the server lists."""
    for name, tool in client.tools().items():
        if tool["annotations"]["readOnlyHint"]:  # a demo is of whoever plays it
            for arguments in arguments_of(tool, told):
                for way in WAYS:
                    allowed = {key: value for key, value in way.items() if key in tool["inputSchema"]["properties"]}
                    yield f"{name} {arguments} {allowed}", client.call(name, **arguments, **allowed).text
    for prompt in client.ask("prompts/list")["prompts"]:
        arguments = {argument["name"]: {"since": "1h"}.get(argument["name"], "1") for argument in prompt["arguments"]}
        yield f"prompt {prompt['name']}", str(client.ask("prompts/get", {"name": prompt["name"], "arguments": arguments}))
    finding = told["findings"][0]
    uris = [resource["uri"] for resource in client.ask("resources/list")["resources"] if "/docs/" not in resource["uri"]]
    for template in client.ask("resources/templates/list")["resourceTemplates"]:
        of_call = "call" in template["uriTemplate"]
        uris.append(template["uriTemplate"].replace("{id}", finding["examples"][0]["id"] if of_call else finding["id"]))
        for value in ("", finding["id"][:2], "1."):
            asked = {"ref": {"type": "ref/resource", "uri": template["uriTemplate"]}, "argument": {"name": "id", "value": value}}
            yield f"completion {asked}", str(client.ask("completion/complete", asked))
    for uri in uris:
        try:
            yield uri, str(client.ask("resources/read", {"uri": uri}))
        except mcp.Refused as refusal:
            yield uri, str(refusal)
    for argument in ("pid", "op", "id"):
        asked = {"ref": {"type": "ref/prompt", "name": "slow_step"}, "argument": {"name": argument, "value": ""}}
        yield f"completion {asked}", str(client.ask("completion/complete", asked))


def main(build):
    kept.in_own_mounts("a service for several users needs root")
    check = kept.Checks()
    with kept.Kept(build) as home:
        kept_scope.add_people(home)
        with kept.lists_given_back():
            db, told, secrets = recording(home)
            with kept.Service(home, "--db", db) as service:
                for revision in (mcp.MODERN, mcp.LEGACY[0]):
                    with client_of(home, service, "reader", revision) as client:
                        check("who may see all sees it", client.call("explain", since="365d").json["findings"])
                    asked = 0
                    with client_of(home, service, "second", revision) as client:
                        for what, came in everything(client, told):
                            asked += 1
                            # what the caller typed may be quoted
                            found = [secret for secret in secrets if secret in came and secret not in what]
                            check(f"{revision}, {what}: nothing of another's", not found, found, came[:500])
                        known, unknown = (client.call("explain", id=one).text.replace(one, "ID") for one in (told["findings"][0]["id"], kept_scope.NOBODYS))
                        check("another's finding is one that does not exist", known == unknown, known, unknown)
                    check("all was asked", asked > 60, asked)
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
