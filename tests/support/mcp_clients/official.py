# SPDX-License-Identifier: Apache-2.0
"""
official.py JOB: the official client of the Model Context Protocol for Python, of either generation, asked by lines of JSON
(tests/support/mcp_clients.py).

JOB: client: a row of CLIENTS; era; command: of a server to spawn, or url and token of one. Each line is a request, method and params, and
gets a line: result, or error. The first line says what the connection is. Imports packages that are in its own virtual environment alone.
"""
import contextlib
import json
import sys
import traceback
import warnings

import anyio
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

warnings.filterwarnings("ignore", message="ping is removed")  # where there is none, it is not asked for
MODES = {"legacy": "legacy", "auto": "auto", "modern": "2026-07-28"}


def carrier(job):
    if "command" in job:
        command, *arguments = job["command"]
        return stdio_client(StdioServerParameters(command=command, args=arguments))
    return streamable_http_client(job["url"], http_client=create_mcp_http_client(headers={"Authorization": f"Bearer {job['token']}"}))


@contextlib.asynccontextmanager
async def generation1(job):
    async with carrier(job) as (reads, writes, *_), ClientSession(reads, writes) as session:
        told = await session.initialize()
        yield session, {"revision": told.protocolVersion, "server": plain(told.serverInfo), "instructions": told.instructions}


@contextlib.asynccontextmanager
async def generation2(job):
    from mcp import Client  # noqa: PLC0415 (the first generation has none)

    async with Client(carrier(job), mode=MODES[job["era"]]) as client:
        yield client, {"revision": client.protocol_version, "server": plain(client.server_info), "instructions": client.instructions}


CLIENTS = {"python-1": generation1, "python-2": generation2}


def plain(model):
    """The JSON that came."""
    return model and model.model_dump(mode="json", by_alias=True, exclude_unset=True)


def reference(ref):
    if ref["type"] == "ref/prompt":
        return types.PromptReference(**ref)
    return types.ResourceTemplateReference(**ref)


ASK = {
    "ping": lambda client, params, told: client.send_ping(),
    "tools/list": lambda client, params, told: client.list_tools(**params),
    "tools/call": lambda client, params, told: client.call_tool(params["name"], params["arguments"], progress_callback=told),
    "prompts/list": lambda client, params, told: client.list_prompts(**params),
    "prompts/get": lambda client, params, told: client.get_prompt(params["name"], params["arguments"]),
    "resources/list": lambda client, params, told: client.list_resources(**params),
    "resources/templates/list": lambda client, params, told: client.list_resource_templates(**params),
    "resources/read": lambda client, params, told: client.read_resource(params["uri"]),
    "completion/complete": lambda client, params, told: client.complete(reference(params["ref"]), params["argument"]),
}


def say(**line):
    print(json.dumps(line), flush=True)


async def answer(client, request):
    told = []

    async def progress(steps, total, message):
        told.append({"progress": steps, "total": total, "message": message})

    try:
        result = await ASK[request["method"]](client, request["params"], progress if request.get("progress") else None)
        say(result=plain(result), progress=told)
    except Exception:  # noqa: BLE001 (whatever it is, the next question follows)
        say(error=traceback.format_exc())


async def main(job):
    async with CLIENTS[job["client"]](job) as (client, told):
        say(result={**told, "methods": list(ASK)})
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            await answer(client, json.loads(line))


if __name__ == "__main__":
    try:
        anyio.run(main, json.loads(sys.argv[1]))
    except Exception:  # noqa: BLE001 (is the answer)
        say(error=traceback.format_exc())
        sys.exit(1)
