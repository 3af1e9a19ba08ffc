#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
flame_readers.py BUILD READER: what `ingero stacks` writes is read by the programs that it is written for, which find in it what the trace has.

READER: pprof, speedscope, inferno, folded, svg. A reader that is not to be had here is skipped. Needs root (or it is skipped).
INGERO_TEST_PICTURES: directory in which the pictures are kept, to be looked at.
"""
import base64
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import crates  # noqa: E402
import ingero  # noqa: E402
import kept  # noqa: E402
import npx  # noqa: E402
import stacks_of  # noqa: E402

WORKLOADS = HERE.parent / "workloads"
SHAPES = ("from_c", "classes", "tasks", "not_ascii", "compiled")
FUNCTIONS = ("add", "from_c", "compare_nothing", "waits", "all_of_it", "grüße", "函数")  # one of them is in no stack
SPEEDSCOPE, INFERNO = "speedscope@1.25.0", ("inferno", "0.12.4", "--no-default-features", "--features", "cli")
SVG = "{http://www.w3.org/2000/svg}"
PATIENCE_MS = 15000
WINDOW = "1400,900"
HEX = re.compile(r"0x[0-9a-f]+")


class Recording:
    """A database with stacks, and what the trace itself said of them."""

    def __init__(self, check, home):
        self.check, self.home = check, home
        command = ["/usr/bin/python3", "-B", str(WORKLOADS / "callers.py"), "--libraries", os.path.dirname(home.programs.library("libcuda.so.1")),
                   "--report", home.path("calls"), *SHAPES]
        trace = ingero.trace(home.programs, "--db", home.db, "--record", "all", "--stack", "all", command=command, environment={"INGERO_STANDIN_QUIET": "1"})
        check("the trace ended well", trace.status == 0 and not trace.lost(), trace.status, trace.stderr[-500:], trace.lost())
        # what a call within another traced call takes is in that one
        self.calls = [event for event in trace.events if event["source"] in ("cuda", "driver") and not event["depth"]]
        self.counts, self.ns = collections.Counter(), collections.Counter()
        for call in self.calls:
            for function in {frame["py_func"] for frame in call.get("stack", []) if "py_func" in frame}:
                self.counts[function] += 1
                self.ns[function] += call["duration_ns"]

    def file(self, form, measure="count", name=None):
        path = self.home.path(name or f"{measure}.{form}")
        done = self.home.run("stacks", "--db", self.home.db, "--format", form, "--measure", measure, text=False)
        self.check(f"stacks --format {form}", done.returncode == 0 and not done.stderr, done.returncode, done.stderr)
        pathlib.Path(path).write_bytes(done.stdout)
        return path

    def compare(self, what, rows, truth=None):
        """rows: (name, weight with all that it calls), where frames of one name may be several rows"""
        truth = self.counts if truth is None else truth
        for function in FUNCTIONS:
            found = sum(weight for name, weight in rows if re.search(rf"(^|[.> ]){re.escape(function)}( |\(|$)", name))
            self.check(f"{what}: {function}", abs(found - truth[function]) <= 0.002 * truth[function], found, truth[function], rows[:20])
        self.check(f"{what}: there is something", truth["add"] > 10, truth)


def read_folded(path):
    """(frames, weight) of each line of the format of FlameGraph."""
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        frames, weight = line.rsplit(" ", 1)
        yield frames.split(";"), int(weight)


def totals(stacks):
    """Weight of each function with all that it calls, once for each stack, whatever lines of it are there."""
    sums = collections.Counter()
    for frames, weight in stacks:
        for name in {re.sub(r" \([^()]*:\d+\)$", "", frame) for frame in frames}:
            sums[name] += weight
    return list(sums.items())


def lines_of(stacks):
    """(function, weight with all that it calls) of each line of a function."""
    sums = collections.Counter()
    for frames, weight in stacks:
        for frame in set(frames):
            sums[frame] += weight
    for frame, weight in sums.items():
        yield re.sub(r" \([^()]*:\d+\)$", "", frame), weight


def case_folded(check, recording):
    """The grammar of FlameGraph: frames without ';', a space, a whole number; equal stacks once."""
    path = recording.file("folded")
    text = pathlib.Path(path).read_text(encoding="utf-8")
    check("each line is frames and a number", all(re.fullmatch(r"[^;]+(;[^;]+)* \d+", line) for line in text.splitlines()), text[:500])
    check("no control characters", not stacks_of.CONTROL.search(text.replace("\n", "")))
    stacks = list(read_folded(path))
    check("each stack once", len({tuple(frames) for frames, _ in stacks}) == len(stacks))
    check("the sum is that of the calls", sum(weight for _, weight in stacks) == len(recording.calls), len(recording.calls))
    recording.compare("folded", totals(stacks))
    recording.compare("folded, time", totals(read_folded(recording.file("folded", "time"))), recording.ns)


def case_inferno(check, recording):
    folder = crates.installed(*INFERNO)
    path = recording.file("folded")
    done = subprocess.run([folder / "inferno-flamegraph", path], capture_output=True, text=True, check=False)
    if not check("Inferno reads it", done.returncode == 0 and not re.search("warn|skip|bad|ignor", done.stderr, re.I), done.returncode, done.stderr[-1000:]):
        return
    titles = [one.text for one in xml.etree.ElementTree.fromstring(done.stdout).iter(SVG + "title") if one.text]
    boxes = [match.groups() for match in (re.fullmatch(r"(.*) \(([\d,]+) samples, .*\)", title) for title in titles) if match]
    wanted = collections.Counter()
    for frames, weight in read_folded(path):
        for i in range(len(frames)):
            wanted[tuple(frames[:i + 1])] += weight
    told = collections.Counter((name, int(weight.replace(",", ""))) for name, weight in boxes)
    least = 0.001 * len(recording.calls)  # narrower boxes are left out of a picture
    lost = [(frames[-1], weight) for frames, weight in wanted.items() if weight > least and not told[frames[-1], weight]]
    check("Inferno has every box", not lost and len(boxes) > 50, lost[:5], len(boxes))
    before, after = (pathlib.Path(recording.home.path(name)) for name in ("before", "after"))
    shutil.copyfile(path, before)
    shutil.copyfile(path, after)
    done = subprocess.run([folder / "inferno-diff-folded", before, after], capture_output=True, text=True, check=False)
    check("Inferno compares two", done.returncode == 0 and len(done.stdout.splitlines()) == len(list(read_folded(path))), done.stderr[-500:])


def case_pprof(check, recording):
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if not go:
        kept.skip("no go")
    environment = {**os.environ, "PPROF_BINARY_PATH": "/nonexistent", "HOME": recording.home.directory}
    path = recording.file("pprof", name="profile.pb.gz")
    for measure, truth, unit in (("count", recording.counts, "count"), ("time", recording.ns, "ns")):
        done = subprocess.run([go, "tool", "pprof", "-symbolize=none", "-top", "-cum", "-nodecount=100000", "-nodefraction=0", f"-sample_index={measure}",
                               f"-unit={unit}", path], capture_output=True, text=True, check=False, env=environment)
        if not check(f"go tool pprof reads it, {measure}", done.returncode == 0, done.stderr[-1000:]):
            continue
        # flat flat% sum% cum cum% name
        rows = [line.split(None, 5) for line in done.stdout.splitlines()]
        rows = [(row[5].replace("(inline)", "").strip(), float(re.sub(r"[a-z]+$", "", row[3]))) for row in rows if len(row) == 6 and row[1].endswith("%")]
        recording.compare(f"pprof, {measure}", rows, truth)
    done = subprocess.run([go, "tool", "pprof", "-symbolize=none", "-raw", path], capture_output=True, text=True, check=False, env=environment)
    check("pprof: files and lines", "callers_shapes.py" in done.stdout and re.search(r"callers_shapes\.py:\d+", done.stdout), done.stdout[-2000:])
    done = subprocess.run([go, "tool", "pprof", "-symbolize=none", "-list", "from_c", path], capture_output=True, text=True, check=False, env=environment)
    check("pprof: the source's lines", "functools.reduce(add" in done.stdout, done.stdout[:1000], done.stderr[-500:])


def chromium(*arguments):
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        kept.skip("no Chromium")
    done = subprocess.run([program, "--headless", "--no-sandbox", "--disable-gpu", "--use-gl=swiftshader", "--enable-unsafe-swiftshader",
                           "--allow-file-access-from-files", f"--virtual-time-budget={PATIENCE_MS}", f"--window-size={WINDOW}",
                           "--host-resolver-rules=MAP * ~NOTFOUND", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ingero.Failed(f"chromium ended with {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


def picture(recording, name):
    """Where a picture goes; kept, if the caller says where."""
    place = os.environ.get("INGERO_TEST_PICTURES")
    return os.path.join(place, name) if place else recording.home.path(name)


def case_speedscope(check, recording):
    """Its own page, in a browser without a window: the table of functions has the sums."""
    modules = npx.installed(SPEEDSCOPE)
    page = modules / "speedscope" / "dist" / "release"
    path = recording.file("speedscope", name="profile.speedscope.json")
    profile = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    schemas_problem = against_schema(profile, page / "file-format-schema.json")
    check("speedscope's schema", not schemas_problem, schemas_problem)
    names = [one["name"] for one in profile["profiles"]]
    check("a profile for each measure", {"time", "count"} <= set(names), names)
    profile["activeProfileIndex"] = names.index("count")
    load = recording.home.path("load.js")
    pathlib.Path(load).write_text(f'speedscope.loadFileFromBase64("a", "{base64.b64encode(json.dumps(profile).encode()).decode()}")', encoding="ascii")
    lines = collections.defaultdict(set)
    for name, weight in lines_of(read_folded(recording.file("folded"))):
        lines[name].add(weight)
    for view in ("sandwich", "left-heavy"):
        shot = picture(recording, f"speedscope-{view}.png")
        text = chromium(f"--screenshot={shot}", "--dump-dom", f"file://{page}/index.html#view={view}&localProfilePath={load}")
        check(f"speedscope shows it, {view}", "Something went wrong" not in text and os.path.getsize(shot) > 10000, text[-500:])
        if view == "sandwich":
            rows = re.findall(r"<tr.*?</tr>", text, re.S)
            cells = [[re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<td.*?</td>", row, re.S)] for row in rows]
            # total, self, name; the table shows a part of itself, and a function once for each of its lines
            rows = [(row[2], float(re.match(r"[\d.,]+", row[0])[0].replace(",", ""))) for row in cells if len(row) == 3 and re.match(r"\d+ \(", row[0])]
            some = [(name, weight) for name, weight in rows if name in ("add", "from_c")]
            check("speedscope: sums of lines of functions", some and all(weight in lines[name] for name, weight in some), some, lines)


def against_schema(value, path):
    try:
        import jsonschema
    except ImportError:
        return None
    schema = json.loads(path.read_text(encoding="utf-8"))
    return [error.message[:300] for error in jsonschema.Draft7Validator(schema).iter_errors(value)][:3]


# Does what a person does, and says what came of it: finds a name, opens a box, and closes it.
PERSON = """
var boxes = Array.from(document.querySelectorAll("g.box")), field = document.querySelector("input"), told = {};
told.boxes = boxes.length;
field.value = "NAME";
field.dispatchEvent(new Event("input"));
told.marked = document.querySelectorAll("g.marked").length;
told.found = document.querySelector("#found").textContent;
var one = document.querySelector("g.marked");
var width = Number(one.querySelector("rect").getAttribute("width"));
one.dispatchEvent(new Event("click"));
told.wider = Number(one.querySelector("rect").getAttribute("width")) > width;
told.hidden = boxes.filter(function (box) { return box.style.display === "none"; }).length;
document.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"}));
told.again = Number(one.querySelector("rect").getAttribute("width")) === width;
told.unmarked = document.querySelectorAll("g.marked").length === 0;
document.documentElement.setAttribute("data-told", JSON.stringify(told));
"""


def case_svg(check, recording):
    """One file that fetches nothing, in a browser: searched, opened, closed."""
    path = recording.file("svg", "time", "flame.svg")
    text = pathlib.Path(path).read_text(encoding="utf-8")
    root = xml.etree.ElementTree.fromstring(text)
    titles = [one.text.split("\n") for one in root.iter(SVG + "title") if one.text]
    check("every function is there", all(any(function in title[0] for title in titles) for function in ("add", "from_c", "函数")), titles[:20])
    outside = re.findall(r"(?:href|src|url|@import|fetch|XMLHttpRequest|WebSocket|import\()[^\n]{0,60}", re.sub(r'xmlns(:\w+)?="[^"]*"', "", text))
    check("it fetches nothing", not outside, outside[:5])
    check("no addresses", not HEX.search(" ".join(title[0] for title in titles)), titles[:5])
    person = recording.home.path("person.svg")
    script = "<script><![CDATA[" + PERSON.replace("NAME", "from_c") + "]]></script></svg>"
    pathlib.Path(person).write_text(re.sub(r"</svg>\s*$", lambda _: script, text), encoding="utf-8")
    shot = picture(recording, "flame.png")
    chromium(f"--screenshot={shot}", f"file://{path}")
    check("a picture of it", os.path.getsize(shot) > 20000, os.path.getsize(shot))
    match = re.search(r'data-told="([^"]*)"', chromium("--dump-dom", f"file://{person}"))
    told = json.loads(match[1].replace("&quot;", '"')) if check("its script runs", match) else {}
    share = 100 * recording.ns["from_c"] / sum(call["duration_ns"] for call in recording.calls)
    check("search marks a name", told.get("marked", 0) >= 1 and abs(float(told.get("found", "0").split()[0]) - share) < 0.6, told, share)
    check("a click opens a box, Escape closes it", told.get("wider") and told.get("hidden") and told.get("again") and told.get("unmarked"), told)


CASES = {name[5:]: function for name, function in list(globals().items()) if name.startswith("case_")}


def main(build, case):
    with kept.Kept(build) as home:
        return kept.run_case(case, lambda check: CASES[case](check, Recording(check, home)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
