#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The books of the stand-ins agree to the call with what programs know they called, however these end.

    books.py DIRECTORY-OF-WORKLOADS DIRECTORY-OF-STANDINS
"""

import json
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
WORKLOADS_SOURCE = os.path.join(HERE, "..", "..", "workloads")
sys.path.insert(0, WORKLOADS_SOURCE)
import books  # noqa: E402

PROGRAMS = STANDINS = ""


def is_probed_by_others():
    """Whether somebody traces every user of the stand-ins: then their code is not in memory what it is in the file."""
    for name in ("libcudart.so.12", "libcuda.so.1"):
        with open(os.path.join(STANDINS, name), "rb") as f:
            size = os.fstat(f.fileno()).st_size
            with mmap.mmap(f.fileno(), size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC) as mapped:
                if mapped[:] != f.read():
                    return True
    return False


def run(prefix, *command, code=0, **more):
    """Standard output of a program that keeps its books under a prefix."""
    environment = dict(os.environ, INGERO_STANDIN_BOOKS=prefix, INGERO_STANDIN_QUIET="1", **more)
    result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    # what leaves a call by exception or on another stack does not survive a return probe; that is the tracer's test
    if result.returncode in (-signal.SIGABRT, -signal.SIGILL) and result.returncode != code and is_probed_by_others():
        raise unittest.SkipTest(f"{command} is being traced by somebody else on this machine, who has ended it")
    if result.returncode != code:
        raise AssertionError(f"{command} ended with {result.returncode}, not {code}: {result.stderr.decode()}")
    return result.stdout.decode()


def program(name):
    return os.path.join(PROGRAMS, name)


class Books(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.prefix = os.path.join(directory.name, "books")

    def compare_ops(self, report, sums):
        """A cudaload report's own counts, where nothing but its loop calls the operation."""
        for op in report["ops"]:
            name = "cudaLaunchKernel" if op["op"] == "__cudaLaunchKernel" else op["op"]
            extra = 2 * len(report["threads"]) if name == "cudaMalloc" else 0  # the threads' own buffers
            self.assertEqual(sums[name], [op["count"] + extra] * 2, name)

    def test_threads(self):
        for n_threads in (1, 2, 8):
            with self.subTest(threads=n_threads):
                prefix = f"{self.prefix}{n_threads}"
                text = run(prefix, program("cudaload"), "--threads", str(n_threads), "--calls", "10007",
                           "--kernel-us", "0", "--report", "-")
                report, kept = json.loads(text), books.read(prefix)
                self.assertEqual(len(kept), 1)
                self.assertEqual({t["tid"] for t in kept[0]["threads"]}, {t["tid"] for t in report["threads"]})
                self.compare_ops(report, books.total(kept))
                launches = sum(op["count"] for op in report["ops"] if op["op"] == "cudaLaunchKernel")
                self.assertEqual(books.total(kept)["cuLaunchKernel"], [launches, launches])
                for thread in kept[0]["threads"]:
                    per_thread = thread["calls"]["cudaLaunchKernel", "libcudart.so.12"]
                    self.assertEqual(per_thread, (launches // n_threads, launches // n_threads))
                # what the program itself reads of its books is what the file holds
                self.assertEqual({b["function"]: [b["entries"], b["returns"]] for b in report["books"]},
                                 books.total(kept))

    def test_opened_by_name(self):
        for runtime in ("libcudart.so.12", "libcudart.so.13"):
            with self.subTest(runtime=runtime):
                prefix = f"{self.prefix}.{runtime}"
                text = run(prefix, program("cudaload-dlopen"), "--runtime", f"{STANDINS}/{runtime}", "--driver",
                           f"{STANDINS}/libcuda.so.1", "--calls", "1009", "--report", "-")
                kept = books.read(prefix)
                self.compare_ops(json.loads(text), books.total(kept))
                self.assertIn(("cudaLaunchKernel", runtime), kept[0]["threads"][0]["calls"])

    def test_python_loop(self):
        text = run(self.prefix, sys.executable, os.path.join(WORKLOADS_SOURCE, "cudaload.py"), "--libraries", STANDINS,
                   "--steps", "101", "--threads", "2", "--report", "-")
        sums = books.total(books.read(self.prefix))
        counts = {}
        for thread in json.loads(text)["threads"]:
            for name, n in thread["counts"].items():
                counts[name] = counts.get(name, 0) + n
        self.assertEqual(counts["cudaLaunchKernel"], 2 * 101 * 20)
        self.assertEqual({name: sums[name] for name in counts}, {name: [n, n] for name, n in counts.items()})

    def harmed(self, name, case):
        """One case: its truth, by process, against the books, by process."""
        prefix = f"{self.prefix}.{case}"
        lines = [json.loads(line) for line in run(prefix, program(name), case).splitlines()]
        self.assertTrue(lines)
        want = {}
        for line in lines:
            self.assertIs(line["unharmed"], True)
            for f in line["functions"]:
                sums = want.setdefault((line["pid"], f["function"]), [0, 0])
                sums[0] += f["entered"]
                sums[1] += f["returned"] + f["inherited"]
        kept = books.read(prefix)
        known = {function for _, function in want}
        got = {}
        for pid in {b["pid"] for b in kept}:
            for function, sums in books.total(kept, pid).items():
                if function in known:
                    got[pid, function] = sums
        self.assertEqual(got, want)
        return lines, kept

    def test_harm(self):
        for name in ("harm", "harm-cxx"):
            cases = subprocess.run([program(name), "--list"], stdout=subprocess.PIPE, check=True).stdout.decode().split()
            self.assertTrue(cases)
            for case in cases:
                with self.subTest(case=case):
                    self.harmed(name, case)

    def test_exec_is_another_generation(self):
        for case in ("exec", "exec-thread"):
            with self.subTest(case=case):
                lines, kept = self.harmed("harm", case)
                self.assertEqual([(l["pid"], l["generation"]) for l in lines],
                                 [(b["pid"], b["generation"]) for b in kept])
                self.assertEqual([b["generation"] for b in kept], [0, 1])

    def test_children_have_books_of_their_own(self):
        for more in ([], ["--no-exec"]):
            with self.subTest(more=more):
                prefix = self.prefix + "".join(more)
                text = run(prefix, program("brood"), "--processes", "13", "--calls", "11", *more)
                children = [json.loads(line) for line in text.splitlines()]
                self.assertEqual(len(children), 13)
                sums = {b["pid"]: books.total([b])["cudaLaunchKernel"] for b in books.read(prefix)}
                self.assertEqual(sums, {c["pid"]: [11, 11] for c in children})

    def test_killed_in_the_middle(self):
        """What was counted before a SIGKILL is there after it, and every open call is one entry more."""
        with subprocess.Popen([program("cudaload"), "--threads", "3", "--duration", "1h"], stderr=subprocess.DEVNULL,
                              env=dict(os.environ, INGERO_STANDIN_BOOKS=self.prefix, INGERO_STANDIN_QUIET="1")) as child:
            before = {}
            while before.get("cudaStreamSynchronize", [0, 0])[1] < 1009:
                before = books.total(books.read(self.prefix))
            child.send_signal(signal.SIGKILL)
        after = books.total(books.read(self.prefix))
        for function, (entries, returns) in after.items():
            self.assertGreaterEqual(entries, before.get(function, [0, 0])[0], function)
            self.assertLessEqual(0, entries - returns, function)
            self.assertLessEqual(entries - returns, 3, function)

    def test_errors_by_environment(self):
        text = run(self.prefix, program("cudaload"), "--op", "launch", "--calls", "101", "--report", "-",
                   INGERO_STANDIN_FAIL="cuLaunchKernel=719:every:10,cudaLaunchKernel=2:nth:1")
        (launch,) = json.loads(text)["ops"]
        self.assertEqual((launch["count"], launch["errors"]), (101, 11))  # 10 of the driver's 100, and the first
        self.assertEqual(books.total(books.read(self.prefix))["cuLaunchKernel"], [100, 100])

    def test_log(self):
        """A line for each call, in the order in which a thread made them."""
        log = self.prefix + ".log"
        run(self.prefix, program("cudaload"), "--op", "launch", "--threads", "2", "--calls", "101", INGERO_STANDIN_LOG=log)
        threads, functions = {}, {}
        with open(log, encoding="ascii") as f:
            for line in f:
                at_ns, _pid, tid, function = line.split()
                self.assertLessEqual(threads.get(tid, 0), int(at_ns))
                threads[tid] = int(at_ns)
                functions[function] = functions.get(function, 0) + 1
        self.assertEqual(functions, {f: entries for f, (entries, _) in books.total(books.read(self.prefix)).items()})

    def test_boundary(self):
        """The linker's auditor counts what crosses into a library, as that library's own books do."""
        auditor = os.path.join(STANDINS, "libingero-boundary.so")
        if not os.path.exists(auditor):
            self.skipTest("the auditor is for x86-64")
        for command in ((program("cudaload-dlopen"), "--threads", "2", "--calls", "1009"), (program("brood"), "--no-exec", "--processes", "5", "--calls", "11")):
            with self.subTest(command=command), tempfile.TemporaryDirectory() as directory:
                prefix, counts = os.path.join(directory, "books"), os.path.join(directory, "boundary")
                run(prefix, *command, LD_AUDIT=auditor, LD_BIND_NOW="1", INGERO_BOUNDARY=counts, INGERO_BOUNDARY_LIBRARIES="libcudart")
                made = {}
                for book in books.read(prefix):
                    for thread in book["threads"]:
                        for (name, library), (entries, _) in thread["calls"].items():
                            if library.startswith("libcudart"):
                                made[name] = made.get(name, 0) + entries
                self.assertTrue(made)
                self.assertEqual({name: n for name, n in books.read_boundary(counts).items() if n}, made)

    def test_environment_is_read_strictly(self):
        for variable, value in (("INGERO_STANDIN_FAIL", "cuLaunchKernel"), ("INGERO_STANDIN_FAIL", "nosuch=1:nth:1"),
                                ("INGERO_STANDIN_INSIDE", "cuInit=5"), ("INGERO_STANDIN_INSIDE", "cuInit=5us:hop"),
                                ("INGERO_STANDIN_WAIT", "hop"), ("INGERO_STANDIN_KERNEL", "5"),
                                ("INGERO_STANDIN_BANDWIDTH", "0"), ("INGERO_STANDIN_MEMORY", "much"),
                                ("INGERO_STANDIN_UNLISTED", "x"), ("INGERO_STANDIN_CAPABILITY", "7"),
                                ("INGERO_STANDIN_LOG", "/no/such")):
            with self.subTest(variable=variable, value=value):
                run(self.prefix, program("cudaload"), code=2, **{variable: value})

    def test_books_that_cannot_be_kept_end_the_program(self):
        run(os.path.join(self.prefix, "no", "such"), program("cudaload"), code=-signal.SIGABRT)


if __name__ == "__main__":
    PROGRAMS, STANDINS = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
