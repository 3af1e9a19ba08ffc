# SPDX-License-Identifier: Apache-2.0
"""
Calls that are captured, and those beside them: counted as the stand-ins' own books have them, once each: graphs.py BUILD.

The program is the stand-ins' own test of graphs: captures that end well and badly, on two runtimes.
"""
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "workloads")]
import books  # noqa: E402
import books_of  # noqa: E402
import ingero  # noqa: E402
import kept  # noqa: E402
import mcp  # noqa: E402


def tools(check, programs, db, pid, counted):
    """The two tools about graphs: exact counts of each operation, and the calls one by one."""
    graphs = {op: n for op, n in counted.items() if "Graph" in op and n}
    with mcp.Client([programs.path("ingero-mcp"), "--db", db], mcp.LEGACY[0]) as client:
        client.greet()
        frequency, lifecycle = client.call("graph_frequency", max_tokens=50000).json, client.call("graph_lifecycle", pid=pid, max_tokens=50000).json
    rows = [dict(zip(frequency["columns"], row)) for row in frequency["data"]]
    check("graph_frequency has each operation, counted exactly", {row["op_name"]: row["calls"] for row in rows} == graphs, rows, graphs)
    check("and its rate", all(row["pid"] == pid and abs(row["per_s"] * row["seconds"] - row["calls"]) < 0.01 for row in rows), rows)
    names = {row[lifecycle["columns"].index("op_name")] for row in lifecycle["data"]}
    check("graph_lifecycle has calls of these alone", names and names <= set(graphs), names, graphs)


def main(build):
    if os.geteuid() != 0:
        kept.skip("capture needs root")
    check = kept.Checks()
    programs = ingero.Programs(build)
    known = books_of.known_operations(HERE.parents[1] / "bpf" / "ops.def")
    with tempfile.TemporaryDirectory(prefix="ingero-") as directory:
        prefix = os.path.join(directory, "books")
        db = os.path.join(directory, "graphs.db")
        trace = ingero.trace(programs, "--record", "all", "--db", db, environment={"INGERO_STANDIN_BOOKS": prefix},
                             command=[programs.path("unit_workloads_graphs"), os.path.dirname(programs.library("libcuda.so.1"))])
        tools(check, programs, db, trace.events[0]["pid"], trace.counts())
        called = {name: entries for name, (entries, _) in books.total(books.read(prefix)).items()}
    made = {op: n for op, n in books_of.operations([{"function": name, "entries": n} for name, n in called.items()], known).items() if n}
    check("the program is content", trace.status == 0, trace.status, trace.stderr[-500:])
    check("it captured, and launched what it had captured", called.get("cudaGraphLaunch", 0) > 0 and called.get("cuStreamBeginCapture_v2", 0) > 0, called)
    wrong = books_of.differences(made, trace.counts())
    check("each call once, captured or not", made and not wrong, wrong)
    counted = trace.counts()
    check("making a graph ready and launching it are calls of either layer", all(
        any(op.startswith(layer + what) for op in counted) for layer in ("cuda", "cu") for what in ("GraphInstantiate", "GraphLaunch")), counted)
    failed = [event for event in trace.events if event["op"] == "cuGraphLaunch" and event["ret_code"]]
    check("one that is refused has its error", failed and not any(event["ret_code"] not in (1, 400) for event in failed), failed)
    refused = [event for event in trace.events if event["op"] == "cudaStreamSynchronize" and event["ret_code"]]
    check("one that a capture refuses has its error", refused and all(event["ret_code"] == 900 for event in refused), refused)
    check("nothing lost", not trace.lost(), trace.lost())
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
