#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The workload programs do what their options say, and between them make every call that bpf/ops.def names.

    programs.py DIRECTORY-OF-WORKLOADS
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
PROGRAMS = ""
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
import ops_def  # noqa: E402


def run(name, *arguments, code=0, stdin=None):
    result = subprocess.run([os.path.join(PROGRAMS, name), *arguments], input=stdin, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=dict(os.environ, INGERO_STANDIN_QUIET="1"), check=False)
    if result.returncode != code:
        raise AssertionError(f"{name} {arguments} ended with {result.returncode}: {result.stderr.decode()}")
    return result.stdout.decode()


def counts(*arguments):
    return {op["op"]: op["count"] for op in json.loads(run("cudaload", *arguments, "--report", "-"))["ops"]}


class Programs(unittest.TestCase):
    def test_every_operation_has_a_caller(self):
        made = [json.loads(line) for line in run("cudaload", "--each").splitlines()]
        operations = ops_def.ops()
        self.assertTrue(operations)
        for op in operations:
            with self.subTest(op=op.name):
                family = re.compile(rf"^{op.name}(_v\d+)?(_ptsz|_ptds|_spt)?$")
                calls = [call for call in made if family.match(call["op"])]
                self.assertTrue(calls, "no row of calls.c makes it")
                for _, _, meaning in ops_def.arguments(op):
                    for call in calls:
                        self.assertIn(meaning.lower(), call)
        for call in made:
            self.assertEqual(call["ret_code"], 0, call["op"])

    def test_mix_is_exact(self):
        self.assertEqual(counts("--calls", "700", "--mix", "launch=4,sync=2,cuLaunchKernel=1"),
                         {"cudaLaunchKernel": 400, "cudaStreamSynchronize": 200, "cuLaunchKernel": 100})
        # the default, 71 + 13 + 6 + 5 + 5
        self.assertEqual(counts("--calls", "100"),
                         {"cudaLaunchKernel": 71, "cudaMemcpyAsync": 13, "cudaStreamSynchronize": 6, "cudaMalloc": 5,
                          "cudaFree": 5})

    def test_failures_are_exact(self):
        report = json.loads(run("cudaload", "--mix", "launch=4,sync=1", "--calls", "505", "--fail-every", "10",
                                "--fail-code", "719", "--report", "-"))
        self.assertEqual({op["op"]: (op["count"], op["errors"]) for op in report["ops"]},
                         {"cudaLaunchKernel": (404, 40), "cudaStreamSynchronize": (101, 10)})
        report = json.loads(run("cudaload", "--op", "malloc", "--calls", "31", "--threads", "3", "--fail-every", "1",
                                "--report", "-"))
        self.assertEqual([(op["count"], op["errors"]) for op in report["ops"]], [(93, 93)])

    def test_allocations_are_given_back(self):
        both = counts("--op", "malloc", "--calls", "10007")
        # 64 are kept, then each allocation is followed by a free
        self.assertEqual(both, {"cudaMalloc": 64 + (10007 - 64) // 2, "cudaFree": (10007 - 64 + 1) // 2})

    def test_report_times(self):
        """A call's times hold what was put inside it, and add up."""
        report = json.loads(run("cudaload", "--op", "sync", "--calls", "31", "--sync", "block", "--sync-us", "1000",
                                "--measure", "cpu", "--keep-over-us", "500", "--report", "-"))
        (sync,) = report["ops"]
        self.assertGreaterEqual(sync["p50_ns"], 1000000)
        self.assertLessEqual(sync["p50_ns"], sync["p95_ns"])
        self.assertLessEqual(sync["p99_ns"], sync["max_ns"])
        self.assertEqual(len(report["slow"]), 31)
        self.assertEqual(sum(call["wall_ns"] for call in report["slow"]), sync["wall_ns"])
        self.assertEqual(sum(call["cpu_ns"] for call in report["slow"]), sync["cpu_ns"])
        (thread,) = report["threads"]
        self.assertGreaterEqual(thread["end_ns"] - thread["start_ns"], sync["wall_ns"])
        self.assertGreater(thread["voluntary"], 0)
        self.assertLess(thread["cpu_ns"], sync["wall_ns"])  # it blocked

    def test_waits_before_its_first_call(self):
        text = run("cudaload", "--wait-for-stdin", "--wait-at-end", "--calls", "3", stdin=b"\n\n").splitlines()
        self.assertRegex(text[0], r"^ready \d+$")
        self.assertEqual(text[1:], ["done"])

    def test_stuck_says_when(self):
        for how in ("spin", "block", "poll", "sleep", "yield"):
            for function in ("cudaStreamSynchronize", "cuStreamSynchronize"):
                with self.subTest(how=how, function=function):
                    lines = run("stuck", "--duration", "3ms", "--how", how, "--in", function).splitlines()
                    self.assertEqual([line.split()[0] for line in lines], ["ready", "inside", "outside"])
                    start, end = (int(line.split()[2]) for line in lines[1:])
                    self.assertGreaterEqual(end - start, 3000000)

    def test_hog_uses_the_cpu(self):
        for more in ([], ["--bursts", "1ms,1ms"]):
            lines = run("hog", "--duration", "20ms", "--comm", "hog-of-test", *more).splitlines()
            report = json.loads(lines[1])
            self.assertGreaterEqual(report["wall_ns"], 20000000)
            self.assertGreater(report["cpu_ns"], 0)

    def test_quota_holds(self):
        with tempfile.NamedTemporaryFile() as report:
            command = [sys.executable, os.path.join(ROOT, "tests", "workloads", "quota.py"), "--percent", "2",
                       "--report", report.name, "--", os.path.join(PROGRAMS, "hog"),
                       "--duration", "300ms"]
            result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            if result.returncode == 77:
                self.skipTest(result.stderr.decode().strip())
            self.assertEqual(result.returncode, 0, result.stderr)
            hog = json.loads(result.stdout.decode().splitlines()[1])
            stat = json.load(report)
        self.assertGreater(stat["throttled_ns"], 0)
        self.assertLess(hog["cpu_ns"], hog["wall_ns"])

    def test_nonsense_is_refused(self):
        for name, *arguments in (("cudaload", "--op", "nosuch"), ("cudaload", "--threads", "0"),
                                 ("cudaload", "--rate", "fast"), ("cudaload", "--mix", "launch=0"),
                                 ("cudaload", "--size", "0"), ("cudaload", "extra"), ("cudaload", "--nosuch"),
                                 ("cudaload", "--runtime", "elsewhere"), ("cudaload-dlopen", "--driver", "nosuch.so"),
                                 ("hog", "--nice", "x"), ("hog", "--bursts", "1ms"), ("stuck", "--how", "hop"),
                                 ("stuck", "--in", "nosuch"), ("brood", "--at-once", "0"), ("harm", "nosuch"),
                                 ("brood", "extra"), ("hog", "extra"), ("stuck", "extra"), ("hog", "--duration"),
                                 ("harm-cxx", "nosuch")):
            with self.subTest(name=name, arguments=arguments):
                run(name, *arguments, code=2)


if __name__ == "__main__":
    PROGRAMS = sys.argv[1]
    unittest.main(argv=sys.argv[:1])
