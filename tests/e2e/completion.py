#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
completion.py INGERO SHELL: what a shell offers behind the beginning of a command line, asked of the real shell.

Exit status 77 (skipped) where the shell is not installed.
"""
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

LIMIT_S = 120
# line, what is offered, what is not
CASES = [
    ("ingero tr", {"trace"}, {"status"}),
    ("ingero trace --rec", {"--record", "--record-all"}, {"--json"}),
    ("ingero trace --record ", {"slow", "all", "none"}, {"--json"}),
    ("ingero trace --stack ", {"all", "auto", "none"}, {"--json"}),
    ("ingero stacks --format ", {"folded", "svg", "speedscope", "pprof"}, {"--json"}),
    ("ingero explain --per-", {"--per-process"}, {"--pid"}),
    ("ingero help ex", {"explain", "export"}, {"trace"}),
    ("ingero config ", {"check", "show"}, {"--help"}),
    ("ingero config check /etc/host", {"/etc/hostname", "/etc/hosts"}, {"show"}),
    ("ingero compare /etc/host", {"/etc/hostname", "/etc/hosts"}, {"--json"}),
    ("ingero compare --p", {"--per"}, {"--json"}),
    ("ingero demo co", {"cold-start"}, {"--speed"}),
    ("ingero completion ", {"bash", "fish", "zsh"}, {"--help"}),
    ("ingero trace --user roo", {"root"}, {"slow"}),
    ("ingero query --db /etc/host", {"/etc/hostname", "/etc/hosts"}, {"--db"}),
    ("ingero query --op cudaStreamS", {"cudaStreamSync", "cudaStreamSynchronize"}, {"cudaMalloc"}),
    ("ingero trace --pid ", {"{cuda}"}, {"{other}"}),
    ("ingero explain -p ", {"{cuda}"}, {"{other}"}),
]
# Maps a file with the name of a CUDA library, and waits to be read to the end.
CUDA = """
import mmap, sys
with open(sys.argv[1], "r+b") as file:
    mapped = mmap.mmap(file.fileno(), 4096)
print("mapped", flush=True)
sys.stdin.read()
"""

BASH = r"""
source "$1"
COMP_LINE=$2 COMP_WORDS=($2) COMP_TYPE=9
[ "${2% }" = "$2" ] || COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; }
_ingero
printf '%s\n' "${COMPREPLY[@]}"
"""


def bash_offers(script, line):
    done = subprocess.run(["bash", "--norc", "-c", BASH, "bash", script, line], capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n"))


def fish_offers(script, line):
    done = subprocess.run(["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", script, line],
                          capture_output=True, text=True, check=True)
    return {row.split("\t")[0] for row in done.stdout.split("\n")}


class Zsh:
    """An interactive zsh: completion needs its line editor."""

    def __init__(self, script):
        self.process, self.fd = pty.fork()
        if self.process == 0:
            os.environ["TERM"] = "dumb"
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.text = ""
        self.send("PROMPT='as''k>' RPROMPT= ; autoload -Uz compinit && compinit -u -D && source %s && "
                  "unsetopt auto_menu && LISTMAX=1000 && print REA''DY\n" % script)
        # what is typed before the prompt is there is not its line editor's to read
        self.wait(lambda: "ask>" in self.text.partition("READY")[2])

    def send(self, text):
        os.write(self.fd, text.encode())

    def wait(self, is_there):
        until = time.monotonic() + LIMIT_S
        while not is_there():
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise TimeoutError(self.text)
            self.text += os.read(self.fd, 65536).decode(errors="replace")

    def offers(self, line, wanted):
        """Lists (^D) without completing; ends when what is wanted was shown. What was typed is echoed among it."""
        self.text = ""
        self.send("\x15" + line + "\x04")
        self.wait(lambda: wanted <= self.words())
        self.send("\x15")
        return self.words()

    def words(self):
        return set(re.findall(r"[\w./-]+", self.text))


def main(ingero, shell):
    if not shutil.which(shell):
        print(f"skipped: {shell} is not installed", file=sys.stderr)
        return 77
    problems = 0
    with tempfile.TemporaryDirectory() as directory:
        script = os.path.join(directory, "script")
        with open(script, "wb") as file:
            file.write(subprocess.run([ingero, "completion", shell], capture_output=True, check=True).stdout)
        os.symlink(ingero, os.path.join(directory, "ingero"))
        os.environ["PATH"] = directory + ":" + os.environ["PATH"]
        os.environ["HOME"] = directory
        library = os.path.join(directory, "libcudart.so.12")
        with open(library, "wb") as file:
            file.write(bytes(4096))
        cuda = subprocess.Popen([sys.executable, "-c", CUDA, library], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        cuda.stdout.readline()
        pids = {"cuda": cuda.pid, "other": os.getpid()}
        zsh = Zsh(script) if shell == "zsh" else None
        for line, *words in CASES:
            wanted, unwanted = ({word.format(**pids) for word in some} for some in words)
            try:
                if zsh:
                    # zsh lists files by their last part
                    offered = zsh.offers(line, {os.path.basename(word) for word in wanted})
                    offered |= {word for word in wanted if os.path.basename(word) in offered}
                else:
                    offered = (bash_offers if shell == "bash" else fish_offers)(script, line)
            except TimeoutError as error:
                offered = set()
                print(f"{shell}: '{line}': {error}", file=sys.stderr)
            if not wanted <= offered or (unwanted & offered) - set(line.split()):
                problems += 1
                print(f"{shell}: '{line}' offers {sorted(offered)}, not {sorted(wanted)}", file=sys.stderr)
        # every option of every command, by the tables
        tables = json.loads(subprocess.run([ingero, "help", "--json"], capture_output=True, check=True).stdout)
        for command in tables["commands"] if not zsh else []:
            line = f"ingero {command['name']} --"
            offered = (bash_offers if shell == "bash" else fish_offers)(script, line)
            missing = {"--" + option["name"] for option in command["options"]} - offered
            if missing:
                problems += 1
                print(f"{shell}: '{line}' lacks {sorted(missing)}", file=sys.stderr)
        cuda.communicate()
    print(f"{shell}: {len(CASES)} lines, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2]))
