#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mcp_editors.py BUILD: the snippet for each editor is what that editor reads, and starts a server that answers."""
import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kept  # noqa: E402
import mcp  # noqa: E402
import schemas  # noqa: E402

# Where each form has the server.
FORMS = {"vscode": ("servers", {"type": "stdio"}), "zed": ("context_servers", {"source": "custom"}), "codex": ("mcp_servers", {})}


def editors():
    text = (schemas.ROOT / "mcp-server/editors.def").read_text(encoding="utf-8")
    return re.findall(r'^EDITOR\("([\w-]+)"', text, re.M)


def hidden_check(check, home, names):
    """A path with what a terminal hides or turns around is told, and names the same file; one that is not UTF-8 is not."""
    strange = "a\u202eb\u200b\U000e0041\x01.db"
    for name in names:
        command = [home.programs.path("ingero"), "mcp", "--print-config", name, "--db"]
        os.rename(home.path("a b.db"), home.path(strange))
        done = subprocess.run([*command, strange], env=home.environment, cwd=home.directory, capture_output=True, check=False)
        text = done.stdout.decode()
        key, _ = FORMS.get(name, ("mcpServers", {}))
        server = (tomllib.loads if name == "codex" else json.loads)(text)[key]["ingero"]
        check(f"{name}: nothing hidden is printed", all(c.isprintable() or c == "\n" for c in text), text)
        check(f"{name}: the same file", server["args"][1] == os.path.realpath(home.path(strange)), server)
        os.rename(home.path(strange), os.fsencode(home.path("c")) + b"\xff.db")
        done = subprocess.run([*command, b"c\xff.db"], env=home.environment, cwd=home.directory, capture_output=True, check=False)
        check(f"{name}: a path that is not UTF-8", done.returncode == 1 and not done.stdout and b"is not UTF-8" in done.stderr, done)
        os.rename(os.fsencode(home.path("c")) + b"\xff.db", home.path("a b.db"))


def main(build):
    check = kept.Checks()
    names = editors()
    page = (schemas.ROOT / "docs/editors.md").read_text(encoding="utf-8")
    with kept.Kept(build) as home:
        home.answer("demo", "incident", "--speed", "100", "--db", home.path("a b.db"))
        for name in names:
            done = subprocess.run([home.programs.path("ingero"), "mcp", "--print-config", name, "--db", "a b.db"], env=home.environment, cwd=home.directory,
                                  capture_output=True, text=True, check=False)
            if not check(f"{name}: printed", done.returncode == 0 and done.stderr.startswith("put it into "), done.stderr):
                continue
            key, more = FORMS.get(name, ("mcpServers", {}))
            server = (tomllib.loads if name == "codex" else json.loads)(done.stdout)[key]["ingero"]
            check(f"{name}: its form", {member: server.get(member) for member in more} == more, server)
            check(f"{name}: paths hold everywhere", os.path.isabs(server["command"]) and os.path.isabs(server["args"][1]), server)
            check(f"{name}: is on the page", f"--print-config {name}" in page)
            with mcp.Client([server["command"], *server["args"]], mcp.LEGACY[0], env=home.environment, cwd="/") as client:
                client.greet()
                check(f"{name}: answers", client.call("explain").json["findings"])
        hidden_check(check, home, names)
        unknown = subprocess.run([home.programs.path("ingero-mcp"), "--print-config", "ed"], capture_output=True, text=True, check=False)
        check("another: the way out", unknown.returncode == 2 and "cursor" in unknown.stderr and not unknown.stdout, unknown.stderr)
        for typed, meant in (("Claude", "claude"), ("vs-code", "vscode"), ("clade", "claude")):
            near = subprocess.run([home.programs.path("ingero-mcp"), "--print-config", typed], capture_output=True, text=True, check=False)
            check(f"{typed}: what was meant", near.returncode == 2 and f"did you mean '{meant}'?" in near.stderr, near.stderr)
        pathlib.Path(home.path("zero.db")).touch()
        os.symlink("/none", home.path("gone.db"))
        printed = subprocess.run([home.programs.path("ingero-mcp"), "--print-config", "claude", "--db", home.path("zero.db")], capture_output=True,
                                 text=True, check=False)
        check("an empty file: printed, with a warning", printed.returncode == 0 and "zero.db' cannot be read: it is empty" in printed.stderr, printed.stderr)
        printed = subprocess.run([home.programs.path("ingero-mcp"), "--print-config", "claude"], env={**home.environment, "INGERO_DB": "/x/y.db"},
                                 capture_output=True, text=True, check=False)
        check("INGERO_DB: told that the editor may lack it", "add --db '/x/y.db'" in printed.stderr, printed.stderr)
        master, terminal = pty.openpty()
        with subprocess.Popen([home.programs.path("ingero-mcp"), "--db", home.path("gone.db")], env=home.environment, stdin=terminal,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as waiting:
            os.write(master, b"\x04")
            out, said = waiting.communicate(timeout=60)
        os.close(master)
        os.close(terminal)
        check("at a terminal: who starts it", waiting.returncode == 0 and "an editor starts it" in said and not out, waiting.returncode, said)
        check("a file that is missing: told at the start", "gone.db' cannot be read: No such file" in said, said)
    check("editors", len(names) > 5, names)
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
