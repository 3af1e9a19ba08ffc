#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
What terminals of several sizes and kinds show of fixed figures and of the databases in tests/data/golden is as in
tests/data/screens: screens.py BUILD [--rewrite WHY].

Nothing is wider than its terminal; no control character is in what is plain; LANG=C has ASCII alone. --rewrite writes the
files of what differs, each with WHY as its first line.
"""
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import ingero  # noqa: E402
import kept  # noqa: E402
from cli_screen import Terminal, columns_of  # noqa: E402

DATA = HERE.parent / "data"
SIZES = ((24, 80), (30, 100), (50, 200))
FIGURES = ("live", "crowd", "over", "total", "help", "findings", "summary", "account", "account-summary")
# Of a screenful; each asks the database golden.db of its directory.
QUESTIONS = {
    "explain": ("incident", ("explain",)), "explain-service": ("service", ("explain", "--all")), "explain-call": ("trace", ("explain", "CALL")),
    "explain-finding": ("incident", ("explain", "FINDING")), "query": ("trace", ("query", "--limit", "12")),
    "query-sql": ("trace", ("query", "SELECT op_name, count, p50, p99 FROM operations ORDER BY p99 DESC")),
    "query-host": ("trace", ("query", "SELECT op_name, count, p99 FROM host_operations ORDER BY op_name")),
    "query-behind": ("trace", ("query", "SELECT pid, behind_comm, behind_pid, behind_uid, ns FROM behind ORDER BY ns DESC LIMIT 5")),
    "query-tables": ("incident", ("query", ".tables")),
}
TONE = re.compile(r"\x1b\[[0-9;]*m")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # rows for programs have tabs between columns


class Asked:
    """A directory with one of the databases."""

    def __init__(self, build, directory, database):
        self.program = ingero.Programs(build).path("ingero-cli")
        self.directory = os.path.join(directory, database)
        os.makedirs(self.directory, exist_ok=True)
        with gzip.open(DATA / "golden" / f"{database}.db.gz") as packed:
            pathlib.Path(self.directory, "golden.db").write_bytes(packed.read())

    def environment(self, **changes):
        own = {"HOME": self.directory, "TZ": "UTC", "TERM": "xterm", "LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]}
        own.update({name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")})
        return {name: value for name, value in {**own, **changes}.items() if value is not None}

    def command(self, arguments):
        found = [self.id_of(word) if word in ("FINDING", "CALL") else word for word in arguments]
        return ["env", "-C", self.directory, self.program, found[0], "--db", "golden.db", *found[1:]]

    def id_of(self, word):
        finding = json.loads(self.plain(("explain", "--json")))["findings"][0]
        return finding["id"] if word == "FINDING" else finding["examples"][0]["id"]

    def plain(self, arguments, **changes):
        return subprocess.run(self.command(arguments), env=self.environment(**changes), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True).stdout.decode()

    def on_terminal(self, arguments, rows, columns, **changes):
        """The text, and the tones in it."""
        with Terminal(self.command(arguments), self.environment(**changes), rows, columns) as terminal:
            if terminal.wait():
                raise ingero.Failed(f"{arguments}: exit status {terminal.status}: {terminal.screen.normal}")
            return terminal.screen.normal.replace("\r\n", "\n"), terminal.screen.tones


def check_text(check, name, text, columns=None, is_ascii=False):
    for line in text.splitlines():
        check(f"{name}: no wider than its terminal", columns is None or columns_of(line) <= columns, line)
        check(f"{name}: no tab on a terminal", columns is None or "\t" not in line, repr(line))
        check(f"{name}: no control character", not CONTROL.search(line), repr(line))
        check(f"{name}: ASCII", not is_ascii or line.isascii(), repr(line))


def sections(parts):
    return "".join(f"==== {name}\n{text}" for name, text in parts)


def of_figures(check, build, what):
    program = ingero.Programs(build).path("show_screens")

    def shown(rows, columns, charset, color):
        command = [program, what, str(rows), str(columns), charset, color]
        return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()

    parts = []
    for rows, columns in SIZES:
        text = shown(rows, columns, "utf8", "plain")
        check_text(check, f"{what} {columns}x{rows}", text, columns)
        check(f"{what} {columns}x{rows}: no higher than its terminal", what.endswith("summary") or text.count("\n") <= rows, text)
        check(f"{what} {columns}x{rows}: colour changes nothing else", TONE.sub("", shown(rows, columns, "utf8", "color")) == text)
        parts.append((f"{columns}x{rows}", text))
    text = shown(*SIZES[0], "ascii", "plain")
    check_text(check, f"{what} LANG=C", text, SIZES[0][1], is_ascii=True)
    return sections([*parts, ("80x24 LANG=C", text)])


def of_question(check, build, directory, database, arguments):
    asked, name, parts = Asked(build, directory, database), " ".join(arguments), []
    for rows, columns in SIZES:
        text, tones = asked.on_terminal(arguments, rows, columns)
        plain, no_tones = asked.on_terminal(arguments, rows, columns, NO_COLOR="1")
        check(f"{name}: NO_COLOR has none", not no_tones, no_tones)
        check(f"{name}: and the same text", plain == text, text, plain)
        check_text(check, f"{name} {columns}x{rows}", plain, columns)
        parts.append((f"{columns}x{rows}", plain))
    text, _ = asked.on_terminal(arguments, *SIZES[0], LC_ALL=None, LANG="C", NO_COLOR="1")
    check_text(check, f"{name} LANG=C", text, SIZES[0][1], is_ascii=True)
    parts.append(("80x24 LANG=C", text))
    text = asked.plain(arguments)
    check_text(check, f"{name} in a pipe", text)
    return sections([*parts, ("in a pipe", text)])


def test_check(check, build, directory):
    """What this machine has is not the next one's: no text is kept."""
    asked = Asked(build, directory, "incident")
    asked.command = lambda arguments: [asked.program, *arguments]
    for rows, columns in SIZES:
        with Terminal(asked.command(["check"]), asked.environment(NO_COLOR="1"), rows, columns) as terminal:
            terminal.wait()
            check_text(check, f"check {columns}x{rows}", terminal.screen.normal.replace("\r\n", "\n"), columns)
    with Terminal(asked.command(["check"]), asked.environment(LC_ALL=None, LANG="C", NO_COLOR="1"), *SIZES[0]) as terminal:
        terminal.wait()
        check_text(check, "check LANG=C", terminal.screen.normal.replace("\r\n", "\n"), SIZES[0][1], is_ascii=True)


def compare(check, name, text, why):
    path = DATA / "screens" / f"{name}.txt"
    known = path.read_text(encoding="utf-8").split("\n", 1)[1] if path.exists() else ""
    if why and known != text:
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"why: {why}\n{text}", encoding="utf-8")
        print(f"{path.name} is written")
    elif not why:
        check(f"{name}: as tests/data/screens has it", known == text, text)


def main(build):
    why = " ".join(sys.argv[3:]) if sys.argv[2:3] == ["--rewrite"] else ""
    check = kept.Checks()
    with tempfile.TemporaryDirectory(prefix="ingero-screens-") as directory:
        for what in FIGURES:
            compare(check, f"figures-{what}", of_figures(check, build, what), why)
        for name, (database, arguments) in QUESTIONS.items():
            compare(check, name, of_question(check, build, directory, database, arguments), why)
        test_check(check, build, directory)
    print(f"{len(FIGURES) + len(QUESTIONS)} screens, {len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
