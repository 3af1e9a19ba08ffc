# SPDX-License-Identifier: Apache-2.0
"""A client of the Model Context Protocol over standard input and output, written from the specification, in each of its eras."""
import copy
import functools
import json
import pathlib
import re
import subprocess

import ingero
from kept import time_text, unix_ns

ROOT = pathlib.Path(__file__).resolve().parents[2]

MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18")
REVISIONS = (MODERN, *LEGACY)
META = "io.modelcontextprotocol/"
BEGIN, END = "[traced-data]", "[/traced-data]"
TOKEN_BYTES = 2.5  # of the server's estimate (mcp-server/answer.c)


UNITS = ("ns", "bytes", "ratio")
COMMON = {"0": 0, "''": "", "[]": [], "{}": {}, "null": None, "false": False}


@functools.lru_cache(maxsize=None)
def long_names():
    """{short: name} of mcp-server/tsc.def"""
    text = (ROOT / "mcp-server/tsc.def").read_text(encoding="utf-8")
    return {short: name for name, short in re.findall(r"^SHORT\((\w+), (\w+)\)", text, re.M)}


@functools.lru_cache(maxsize=None)
def defaults():
    """{name of objects: members that are 0 where they are not written}, by the rule of mcp-server/tsc.def"""
    definitions = json.loads((ROOT / "docs/schema/common.schema.json").read_text(encoding="utf-8"))["$defs"]
    found = {}
    for name, definition in re.findall(r"^DEFAULTS\((\w+), (\w+)\)", (ROOT / "mcp-server/tsc.def").read_text(encoding="utf-8"), re.M):
        properties = definitions[definition]["properties"]
        required = definitions[definition].get("required") or properties
        found[name] = [member for member in required if properties[member].get("type") in ("integer", "number")]
    return found


def path_of(text):
    """Names of members, from a path of short ones."""
    return [long_names().get(step, step) for step in text.split(".")]


def member_set(whole, path, value):
    """Sets a member by its path. Objects on its way get their defaults."""
    *steps, last = path
    for step in steps:
        whole = whole.setdefault(step, {})
        for name in defaults().get(step, ()):
            whole.setdefault(name, 0)
    whole[last] = value


def expand(value):
    """The answer behind its telegraphic form, by the rules of mcp-server/tsc.h alone."""
    if isinstance(value, dict) and "t0" in value:
        return timed(expand_names({key: member for key, member in value.items() if key != "t0"}), value["t0"])
    return expand_names(value)


def timed(value, t0):
    """Times for seconds behind the first."""
    if isinstance(value, dict):
        return {key: timed(member, t0) for key, member in value.items()}
    if isinstance(value, list):
        return [timed(one, t0) for one in value]
    match = re.fullmatch(r"([+-])(\d+)(?:\.(\d{1,9}))?", value) if isinstance(value, str) else None
    if not match:
        return value
    ns = int(match[2]) * 10**9 + int((match[3] or "").ljust(9, "0"))
    return time_text(unix_ns(t0) + (ns if match[1] == "+" else -ns))


def members(value):
    """(path, value) of each member of an object; those that share a value are named together."""
    for text, member in value.items():
        if text in COMMON:
            for name in member.split(","):
                yield name, COMMON[text]
        else:
            yield text, member


def expand_table(table):
    """An object for each row."""
    constants, lists = dict(members(table.get("c", {}))), {text: expand_names(values) for text, values in table.get("d", {}).items()}
    columns = table["k"].split(",") if table["k"] else []
    rows = []
    for cells in table["r"]:
        told = {**constants, **dict(zip(columns, cells))}
        row = {}
        for text, cell in told.items():
            if cell is not None:
                path = path_of(text)
                member_set(row, path, copy.deepcopy(lists[text][cell]) if text in lists else expand_names(cell, path[-1]))
        rows.append(row)
    return rows


def expand_names(value, name=None):
    """All but times, of a value that is a member of this name."""
    if isinstance(value, list):
        return [expand_names(one) for one in value]
    if not isinstance(value, dict):
        return value
    if {"k", "r"} <= value.keys() <= {"c", "d", "k", "r"}:
        return expand_table(value)
    if value.keys() == {"="}:
        return [{"name": name, "value": figure, "unit": next((unit for unit in UNITS if name.endswith("_" + unit)), "count")}
                for name, figure in value["="].items()]
    lacking = value.get("-", "").split(",")
    whole = {member: 0 for member in defaults().get(name, ()) if member not in lacking}
    for text, member in members({text: member for text, member in value.items() if text != "-"}):
        (last,) = path = path_of(text)
        member_set(whole, path, expand_names(copy.deepcopy(member), last))
    if "columns" in value and isinstance(value.get("data"), dict):
        whole["data"] = [[row.get(column) for column in whole["columns"]] for row in whole["data"]]
    return whole


class Refused(Exception):
    """The server answered with an error of the protocol."""

    def __init__(self, error):
        super().__init__(json.dumps(error))
        self.code = error["code"]
        self.data = error.get("data")


class Answer:
    """Result of a tool: its text, the JSON in its frame, what was left out, and what comes next."""

    def __init__(self, result):
        self.result = result
        self.is_error = result.get("isError", False)
        self.text = result["content"][0]["text"]
        self.structured = result.get("structuredContent")
        self.framed = self.text.partition(BEGIN + "\n")[2].rpartition("\n" + END)[0]
        self.json = None if self.is_error else self.structured["answer"]
        self.told = None if self.is_error else json.loads(self.framed)
        self.left_out = {row["what"]: row for row in (self.structured or {}).get("left_out", [])}
        self.next = (self.structured or {}).get("next", [])

    @property
    def tokens(self):
        return len(self.text.encode()) / TOKEN_BYTES

    @property
    def framed_tokens(self):
        return len(self.framed.encode()) / TOKEN_BYTES


class Client:
    """A server that was spawned, and the conversation with it. Leaving the context ends its input, and checks how it ends."""

    def __init__(self, command, revision, **options):
        self.revision = revision
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self._last_id = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.status = self.end()

    def end(self):
        """Ends the input. Returns the exit status."""
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        status = self.process.wait(timeout=60)
        self.rest = self.process.stdout.read()
        self.said = self.process.stderr.read().decode()
        self.process.stdout.close()
        self.process.stderr.close()
        return status

    def send(self, message):
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise ingero.Failed(f"the server ended: {self.process.stderr.read().decode()[-9000:]}")
        return json.loads(line)

    def request(self, method, params=None):
        """Sends a request. Returns its id."""
        self._last_id += 1
        params = dict(params or {})
        if self.revision == MODERN:
            params["_meta"] = {**params.get("_meta", {}), META + "protocolVersion": MODERN, META + "clientCapabilities": {}}
        self.send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        return self._last_id

    def ask(self, method, params=None):
        """Sends a request and waits for its result."""
        number = self.request(method, params)
        answer = self.read()
        if answer.get("id") != number:
            raise ingero.Failed(f"{method}: answer to {answer.get('id')} instead of {number}")
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def greet(self):
        """The handshake of a legacy revision, or the question of the modern one."""
        if self.revision == MODERN:
            return self.ask("server/discover")
        told = self.ask("initialize", {"protocolVersion": self.revision, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
        self.notify("notifications/initialized")
        return told

    def tools(self):
        return {tool["name"]: tool for tool in self.ask("tools/list")["tools"]}

    def call(self, name, **arguments):
        return Answer(self.ask("tools/call", {"name": name, "arguments": arguments}))
