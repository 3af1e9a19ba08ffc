# SPDX-License-Identifier: Apache-2.0
"""
What all checks of the tree share: which files it consists of, and how a check runs.

Every check brings samples: small trees that it must refuse, or accept. They run first
each time, so a check that has stopped seeing anything fails instead of passing.
"""
import fnmatch
import os
import sys
import tempfile

NOT_OURS = (".git", "__pycache__", ".cache")


class Tree:
    def __init__(self, root):
        self.root = os.path.abspath(root)

    def path(self, name):
        return os.path.join(self.root, name)

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def lines(self, name):
        return self.text(name).splitlines()

    def files(self, *patterns):
        """Names relative to the root, sorted; build directories are not part of the tree."""
        found = []
        for directory, subdirectories, names in os.walk(self.root):
            below = os.path.relpath(directory, self.root)
            if below == ".":
                subdirectories[:] = [d for d in subdirectories if d != "build" and not d.startswith("build-")]
                below = ""
            subdirectories[:] = sorted(d for d in subdirectories if d not in NOT_OURS)
            for name in names:
                name = os.path.join(below, name)
                if any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
                    found.append(name)
        return sorted(found)


def table(text):
    """Rows of a text table: words of each line, without comments and empty lines."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if words:
            rows.append((number, words))
    return rows


def _wrong_samples(check, samples, arguments):
    wrong = []
    for name, files, expected in samples:
        with tempfile.TemporaryDirectory() as directory:
            for path, text in files.items():
                path = os.path.join(directory, path)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as file:
                    file.write(text if isinstance(text, bytes) else text.encode())
            problems = check(Tree(directory), *arguments)
        if expected is None and problems:
            wrong.append(f"sample '{name}' should pass: {problems}")
        if expected is not None and not any(expected in problem for problem in problems):
            wrong.append(f"sample '{name}' should be refused with '{expected}', got {problems}")
    return wrong


def run(check, samples):
    """
    check:   function (Tree, further arguments...) that returns sentences, one for each problem
    samples: (name, {path: text or bytes}, part of the sentence that must come, or None for a good tree)

    Arguments of the program: root of the tree, further arguments for the check.
    """
    if not samples or all(expected is None for _, _, expected in samples):
        sys.exit("a check without a sample that it refuses is no check")
    root, *arguments = sys.argv[1:]
    problems = _wrong_samples(check, samples, arguments) or check(Tree(root), *arguments)
    for problem in problems:
        print(problem)
    if not problems:
        print(f"{len(samples)} samples and the tree are as they should be")
    sys.exit(1 if problems else 0)
