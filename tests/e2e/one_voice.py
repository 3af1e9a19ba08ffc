#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
A finding has the same words wherever it is asked for: while a demo plays, in explain, in its JSON, in SQL, and in a
client that knows libingero alone (one_voice.py BUILD SOURCE-OF-THAT-CLIENT).
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

LINES_MOST = 120  # of the client
LINKS = {"libingero.so.0", "libprotobuf-c.so.1", "libc.so.6", "libasan", "libubsan", "libm.so.6", "ld-linux-x86-64.so.2", "libgcc_s.so.1"}
problems = []


def check(name, is_ok, shown=""):
    if not is_ok:
        problems.append(name)
        print(f"{name}: {shown!r}", file=sys.stderr)


def needed(program):
    """Libraries that a program names itself, without a sanitizer's version."""
    lines = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout.splitlines()
    names = {line.split("[")[1].rstrip("]") for line in lines if "(NEEDED)" in line}
    return {name.split(".so")[0] if name.startswith(("libasan", "libubsan")) else name for name in names}


def main(build, source):
    build = os.path.abspath(build)
    ingero = os.path.join(build, "bin", "ingero")
    with tempfile.TemporaryDirectory(prefix="ingero-voice-") as home:
        db, client = os.path.join(home, "demo.db"), os.path.join(home, "bin", "list_findings")
        os.mkdir(os.path.dirname(client))  # where a client is, the daemon is
        shutil.copy(os.path.join(build, "tests", "list_findings"), client)
        os.symlink(os.path.join(build, "bin", "ingero-collectord"), os.path.join(home, "bin", "ingero-collectord"))
        os.symlink(os.path.join(build, "lib"), os.path.join(home, "lib"))
        environment = {**os.environ, "HOME": home, "INGERO_DB": db, "TZ": "UTC", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}

        def out(*command):
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            check(f"{command} ends with 0", done.returncode == 0, done.stderr)
            return done.stdout

        live = out(ingero, "demo", "cpu-contention", "--speed", "10", "--db", db, "--json")
        live = [line for line in map(json.loads, live.splitlines()) if line["type"] in ("finding", "summary")]
        stored = json.loads(out(ingero, "explain", "--chains", "--json"))["findings"]
        check("explain has a finding", stored)
        check("the client's JSON is explain's", [json.loads(line) for line in out(client, db, "--json").splitlines()] == stored)

        report, blocks = out(ingero, "explain"), out(client, db).split("\n\n")
        check("the client lists as many", len(blocks) == len(stored), blocks)
        for block in blocks:
            check("the client's text is explain's", block.strip() in report, (block, report))

        chains = out(ingero, "query", "--json", "SELECT id, summary, root_cause, recommendations FROM causal_chains")
        chains = {chain["id"]: chain for chain in map(json.loads, chains.splitlines())}
        columns = out(ingero, "query", "--json", "SELECT id, tid, tid_lost_ns, cause_same_name FROM findings")
        columns = {row["id"]: row for row in map(json.loads, columns.splitlines())}
        check("a finding says what its thread lost", any("tid_lost_ns" in finding for finding in stored), stored)
        for finding in stored:
            row, want = columns[finding["id"]], {**finding, "cause_same_name": finding["cause"].get("same_name")}
            for key in ("tid", "tid_lost_ns", "cause_same_name"):
                check(f"SQL: {key}", row.get(key) == want.get(key), (row, finding))
            cause, chain = finding["cause"], chains[finding["id"]]
            told = [line for line in live if line["type"] == "finding" and line["id"] == finding["id"]]
            check("it was told live", told, live)
            for line in told:
                for key in ("title", "kind", "advice"):
                    check(f"live: {key}", line[key] == finding[key], (line[key], finding[key]))
                check("live: words", (line["cause"]["words"], line["cause"]["takes"]) == (cause["words"], cause["takes"]), line["cause"])
            check("SQL: headline", chain["summary"] == finding["title"], chain)
            check("SQL: remedies", json.loads(chain["recommendations"]) == finding["advice"], chain)
            check("SQL: cause", chain["root_cause"] == f"{cause['kind']}: {cause['words']} {cause['comm']} (pid {cause['pid']})", chain)
            check("screen: cause", f"{cause['words']} {cause['comm']} (pid {cause['pid']}" in report, report)
            check("screen: remedy", finding["advice"][0] in report, report)
        delay = [line for line in live if line["type"] == "summary"][0].get("delay")
        check("what lost most has the finding's remedy", delay and delay["advice"] in [finding["advice"][0] for finding in stored], delay)

        done = subprocess.run([client, os.path.join(home, "none.db")], env=environment, capture_output=True, text=True, check=False)
        check("no such file is said", done.returncode == 1 and "cannot read" in done.stderr, done)

    links = needed(os.path.join(build, "tests", "list_findings"))
    check("the client links libingero alone", links <= LINKS, links)
    with open(source, encoding="utf-8") as file:
        check(f"the client has {LINES_MOST} lines at most", len(file.readlines()) <= LINES_MOST)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
