# SPDX-License-Identifier: Apache-2.0
"""The MCP server: from its start to the first answers, beside `ingero explain --json` in turns; a warm call of each tool on one and on ten
million kept calls; memory of the server; and the size of telegraphic answers against verbose ones."""
import contextlib
import importlib
import os
import subprocess
import tempfile
import time

import ingero
import mcp

MEASURES = ("base", "collectord/archive", "collectord/detect", "libingero", "mcp-server", "proto")
SIZES = (1_000_000, 10_000_000)
COLD_MS = 60
COLD_MORE_MS = 60  # beyond the command line's
WARM_MS = 20
MEMORY_MIB = 16
WARM_CALLS = 21
# Every tool but run_demo and watch, which take the time that they are asked for; SQL over all rows has no limit.
CALLS = {
    "explain": {},
    "explain, all of it": {"since": "365d"},
    "get_trace_stats": {},
    "get_causal_chains": {},
    "run_sql of one row": {"query": "SELECT * FROM events ORDER BY timestamp DESC LIMIT 1"},
    "run_sql over all rows": {"query": "SELECT count(*) FROM events"},
    "query_fleet": {"action": "ops"},
    "query_fleet of an hour": {"action": "ops", "since": "1h"},
    "explain_call": None,
    "get_stacks": {},
    "graph_lifecycle": {"pid": 1001},
    "graph_frequency": {},
    "get_test_report": {},
}
# Of a user: as root it loads the kernel half, to see whether that works, which takes half a second.
OF_A_USER = {"get_check": {}}
USER = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
# Of a recording that has the accounts of 500 threads, too, 100 of which drive the device; without any, blame has no answer.
WITH_ACCOUNTS = {"blame": {}, "blame of 5 min": {"since": "5m"}, "explain beside accounts": {}}
SHORT_RATIO = 0.6
ENCODINGS = ("o200k_base", "cl100k_base")
LONGEST = "SELECT id FROM events ORDER BY duration DESC LIMIT 1"
SLOWEST = ("SELECT timestamp, comm, pid, tid, op_name, duration, on_cpu, runnable, device, lock, block_io FROM events "
           "ORDER BY duration DESC LIMIT 20")
# One question for each tool that answers from what was recorded.
QUESTIONS = {
    "explain": ("explain", {}),
    "explain, details": ("explain", {"details": True}),
    "explain_call": ("explain_call", None),
    "blame": ("blame", {}),
    "get_trace_stats": ("get_trace_stats", {}),
    "get_causal_chains": ("get_causal_chains", {}),
    "run_sql, the twenty slowest calls": ("run_sql", {"query": SLOWEST}),
    "graph_frequency": ("graph_frequency", {}),
    "query_fleet ops": ("query_fleet", {"action": "ops", "since": "1h"}),
    "get_check": ("get_check", {}),
}


def server(bench, path, prefix=()):
    return mcp.Client([*prefix, bench.programs.path("ingero-mcp"), "--db", path], mcp.LEGACY[0])


def cold(bench, path):
    """Milliseconds from the start to `initialize` answered, and to the first answer of a tool."""
    began = time.monotonic()
    with server(bench, path) as client:
        client.greet()
        greeted = time.monotonic()
        client.call("explain")
        answered = time.monotonic()
    return (greeted - began) * 1000, (answered - began) * 1000


def command(bench, path):
    began = time.monotonic()
    done = subprocess.run([bench.programs.path("ingero-cli"), "explain", "--db", path, "--json"], capture_output=True, check=True)
    if not done.stdout:
        raise ingero.Failed("explain printed nothing")
    return (time.monotonic() - began) * 1000


def peak_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024


# It says what it needs: there is no report.
DECLINING = ("get_test_report",)


def call_named(client):
    """Arguments of explain_call: for the call that the answer of explain names, else for the longest."""
    named = [row["arguments"] for row in client.call("explain").next if row["tool"] == "explain_call"]
    return named[0] if named else {"id": client.call("run_sql", query=LONGEST).json["data"][0][0]}


def warm(bench, path, calls, questions, prefix=()):
    with server(bench, path, prefix) as client:
        client.greet()
        for name, arguments in questions.items():
            tool, times = name.split(",")[0].split(" ")[0], []
            if arguments is None:
                arguments = call_named(client)
            client.call(tool, **arguments)
            for _ in range(WARM_CALLS if "all rows" not in name else 3):
                began = time.monotonic()
                answer = client.call(tool, **arguments)
                times.append((time.monotonic() - began) * 1000)
                if answer.is_error and tool not in DECLINING:
                    raise ingero.Failed(f"{name}: {answer.text}")
            bench.row(f"{calls // 1_000_000} million calls, warm: {name}", times, "ms", limit=None if "all rows" in name else WARM_MS)
        beside = ", with accounts" if questions is WITH_ACCOUNTS else ""
        if questions is OF_A_USER:
            return
        bench.row(f"{calls // 1_000_000} million calls{beside}: memory of the server", peak_mib(client.process.pid), "MiB", limit=MEMORY_MIB)


def counters():
    """{unit: function that counts it in a text}; tokens where the public tokenizer bpe-openai (PyPI) is installed."""
    found = {"bytes": lambda text: len(text.encode())}
    with contextlib.suppress(ImportError):
        tokenizers = importlib.import_module("bpe_openai")
        for name in ENCODINGS:
            found[f"tokens by {name}"] = lambda text, encoding=tokenizers.get_encoding(name): len(encoding.encode(text))
    return found


def sizes(bench, path):
    """Of the framed texts: telegraphic against verbose, which is minified JSON, for each question and for all."""
    with server(bench, path) as client:
        client.greet()
        texts = {}
        for name, (tool, arguments) in QUESTIONS.items():
            if arguments is None:
                arguments = call_named(client)
            texts[name] = []
            for tsc in (True, False):
                answer = client.call(tool, max_tokens=50000, tsc=tsc, **arguments)
                if answer.is_error or (mcp.expand(answer.told) if tsc else answer.told) != answer.json:
                    raise ingero.Failed(f"{name}: {answer.text}")
                texts[name].append(answer.framed)
    for unit, count in counters().items():
        counts = {name: [count(text) for text in both] for name, both in texts.items()}
        for name, (short, verbose) in counts.items():
            bench.row(f"telegraphic / verbose, {unit}: {name}", short / verbose, "ratio", note=f"{short} of {verbose}")
        short, verbose = (sum(both[i] for both in counts.values()) for i in range(2))
        bench.row(f"telegraphic / verbose, {unit}: all", short / verbose, "ratio", limit=SHORT_RATIO if "tokens" in unit else None)


def measure(bench):
    with tempfile.TemporaryDirectory(prefix="ingero-bench-") as directory:
        os.chmod(directory, 0o755)  # a user's server reads in it, too
        demo = os.path.join(directory, "demo.db")
        subprocess.run([bench.programs.path("ingero-cli"), "demo", "incident", "--speed", "100", "--db", demo], check=True, capture_output=True)
        rounds = bench.in_turns(server=lambda: cold(bench, demo), command=lambda: command(bench, demo))
        bench.row("cold: initialize", [greeted for greeted, _ in rounds["server"]], "ms", limit=COLD_MS)
        bench.row("cold: first answer of a tool", [answered for _, answered in rounds["server"]], "ms")
        bench.row("cold: `ingero explain --json`", rounds["command"], "ms")
        bench.row("cold: first answer, beyond the command's", [server_ms[1] - command_ms for server_ms, command_ms in zip(rounds["server"], rounds["command"])],
                  "ms", limit=COLD_MORE_MS)
        sizes(bench, demo)
        for calls in SIZES:
            for questions, more in ((CALLS, ()), (WITH_ACCOUNTS, (str(os.getuid()), "accounts"))):
                path = os.path.join(directory, f"{calls}.db")
                subprocess.run([bench.programs.path("make_db"), path, str(calls), *more], check=True)
                os.chmod(path, 0o644)
                os.sync()  # what was just written goes to the disk now, not while answers are timed
                warm(bench, path, calls, questions)
                if questions is CALLS and os.geteuid() == 0:
                    warm(bench, path, calls, OF_A_USER, USER)
                os.unlink(path)
