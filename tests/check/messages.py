#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/messages.md explains every error, warning and notice that the daemon logs, and none that it does not say."""
import re

import tree

PAGE = "docs/messages.md"
# Where the format is among the arguments, and the priority.
CALLS = {"log_err": (1, "error"), "log_warning": (1, "warning"), "log_notice": (0, "notice"), "start_failed": (2, "error")}
CALL = re.compile(rf"\b({'|'.join(CALLS)})\(")
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|/\*.*?\*/|//[^\n]*|[\s\S]', re.S)
PIECE = r'(?:"(?:[^"\\]|\\.)*"|\bPRI[a-z]\w*\b)'
LITERAL = re.compile(rf"{PIECE}(?:\s*{PIECE})*")
# What a conversion is in the source is a word in capitals, or three dots, on the page.
VARIABLE = re.compile(r"%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*))?[hlzjt]*[a-zA-Z]|\b[A-Z]{2,}\b|\.\.\.")
ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \| ([^|]*) \| ([^|]*) \|$")


def common(message):
    return VARIABLE.sub("*", message)


def joined(literal):
    """The text of literals side by side, among them conversions of inttypes.h."""
    return "".join(piece[1:-1] if piece.startswith('"') else "u" for piece in re.findall(PIECE, literal))


def arguments(code, at):
    """Those of the call whose parenthesis was opened before that place."""
    found, depth = [""], 0
    for match in TOKEN.finditer(code, at):
        token = match[0]
        if token == ")" and depth == 0:
            break
        depth += {"(": 1, ")": -1}.get(token, 0)
        if token == "," and depth == 0:
            found.append("")
        elif not token.startswith(("/*", "//")):
            found[-1] += token
    return [one.strip() for one in found]


def read(files_tree):
    """Returns what is logged, as {(priority, message): where}; every literal; and what is wrong."""
    logged, literals, problems = {}, set(), []
    for name in files_tree.files("collectord/*.c", "collectord/*.h"):
        code = files_tree.text(name)
        literals |= {common(joined(match[0])) for match in LITERAL.finditer(code)}
        for match in CALL.finditer(code):
            of_format, priority = CALLS[match[1]]
            given = arguments(code, match.end())
            if not given[0] or given[0].startswith(("struct ", "const struct ")):
                continue  # a declaration, or a comment
            where = f"{name}:{code.count(chr(10), 0, match.start()) + 1}"
            if len(given) <= of_format or not LITERAL.fullmatch(given[of_format]):
                problems.append(f"{where}: the format is no literal, so {PAGE} cannot have it")
                continue
            message = common(joined(given[of_format]))
            if re.search("[a-z]", message):  # else it is another's sentence
                logged.setdefault((priority, message), where)
    return logged, literals, problems


def check(files_tree):
    logged, literals, problems = read(files_tree)
    explained = set()
    for number, line in enumerate(files_tree.lines(PAGE), 1):
        if not line.startswith("| `"):
            continue
        row = ROW.match(line)
        if not row or not row[3].strip() or not row[4].strip():
            problems.append(f"{PAGE}:{number}: a row has a message, its priority, what it means and what to do")
            continue
        message, priority = common(row[1]), row[2].strip()
        if (priority, message) in explained:
            problems.append(f"{PAGE}:{number}: '{row[1]}' has two rows")
        explained.add((priority, message))
        is_sentence = priority == "-" and message in literals and not any(message == one for _, one in logged)
        if (priority, message) not in logged and not is_sentence:
            problems.append(f"{PAGE}:{number}: nothing below collectord/ says '{row[1]}' with the priority '{priority}'")
    for (priority, message), where in sorted(logged.items(), key=lambda one: one[1]):
        if (priority, message) not in explained:
            problems.append(f"{where}: {PAGE} has no row for the {priority} '{message}'")
    return problems


CODE = {"collectord/a.c": '(void)log_warning(r, "cannot write \'%.120s\': %" PRIu64\n\t" calls wait", path(s, 1), n);\n'}
HEAD = "| message | priority | means | do |\n| --- | --- | --- | --- |\n"
GOOD = "| `cannot write 'FILE': NUMBER calls wait` | warning | it is full | make room |\n"
tree.run(check, [
    ("a warning without a row", {**CODE, PAGE: HEAD}, "collectord/a.c:1: docs/messages.md has no row for the warning"),
    ("a row that nothing says", {**CODE, PAGE: HEAD + GOOD + GOOD.replace("write", "read")}, "docs/messages.md:4: nothing below collectord/ says"),
    ("another priority", {**CODE, PAGE: HEAD + GOOD.replace("warning", "error")}, "with the priority 'error'"),
    ("nothing to do", {**CODE, PAGE: HEAD + GOOD.replace("make room", "")}, "docs/messages.md:3: a row has"),
    ("twice", {**CODE, PAGE: HEAD + GOOD + GOOD}, "docs/messages.md:4: "),
    ("a format from elsewhere", {"collectord/a.c": "log_err(r, text);\n", PAGE: HEAD}, "the format is no literal"),
    ("what could not be started", {"collectord/a.c": 'return start_failed(&report, r, "cannot serve");\n', PAGE: HEAD}, "has no row for the error 'cannot serve'"),
    ("a notice behind a comment", {"collectord/a.c": 'log_notice(/* not "x" */ "left, (%s)", a);\n', PAGE: HEAD}, "'left, (*)'"),
    ("a sentence that is logged as it is", {"collectord/a.c": 'snprintf(why, n, "no %s, not", a);\nlog_err(0, "%s", why);\n',
                                            PAGE: HEAD + "| `no ..., not` | - | it is not | get one |\n"}, None),
    ("a sentence that nobody says", {**CODE, PAGE: HEAD + GOOD + "| `no ..., not` | - | it is not | get one |\n"}, "says 'no ..., not'"),
    ("good", {**CODE, PAGE: HEAD + GOOD}, None),
    ("others' code", {**CODE, "cli/b.c": 'log_err(0, "x");\n', PAGE: HEAD + GOOD}, None),
    ("a declaration", {**CODE, "collectord/a.h": 'int start_failed(const struct start_report *report, int r, const char *fmt, ...);\n', PAGE: HEAD + GOOD}, None),
])
