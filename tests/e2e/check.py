#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
check.py BUILD: `ingero check` on this machine as a user, as root, under sudo, with a service and in a container of sorts:
what it says agrees with what trace does, fits 80 columns, is valid JSON, and the exit status tells.
"""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import ingero  # noqa: E402
import kept  # noqa: E402

VALIDATE = [sys.executable, str(HERE / "validate_json.py"), "--"]
USER = ["setpriv", "--reuid", "54341", "--regid", "54341", "--clear-groups", "--no-new-privs"]
CUDA = "foreign-program"


def look(check, home, name, *options, prefix=None, environment=None):
    """Both outputs, which have to agree; answers with the checks by name."""
    how = {"prefix": prefix, "environment": {"HOME": home.directory, "INGERO_DB": "", **(environment or {})}}
    text = home.run("check", *options, **how)
    said = home.run("check", "--json", *options, **how)
    told = json.loads(said.stdout)
    levels = {one["name"]: one["level"] for one in told["checks"]}
    failed = "fail" in levels.values()
    check(f"{name}: exit status", text.returncode == said.returncode == (1 if failed else 0), text.returncode, said.returncode, levels)
    check(f"{name}: all_passed", told["all_passed"] == (not failed), told)
    check(f"{name}: all_passed is that of the checks that are not optional", told["all_passed"] == all(one["pass"] or one["optional"] for one in told["checks"]), told)
    check(f"{name}: pass", all(one["pass"] == (one["level"] == "ok" if one["optional"] else one["level"] != "fail") for one in told["checks"]), told)
    check(f"{name}: a way out", all((one["level"] == "ok") == (not one["recommendation"]) for one in told["checks"]), told)
    check(f"{name}: 80 columns", all(len(line) <= 80 for line in text.stdout.splitlines()), text.stdout)
    lines = [line.split()[:2] for line in text.stdout.splitlines() if not line.startswith(" ")][:-1]
    check(f"{name}: a line each", lines == [[level, one] for one, level in levels.items()], text.stdout, levels)
    valid = subprocess.run([*VALIDATE, "cat"], input=said.stdout, capture_output=True, text=True, check=False)
    check(f"{name}: schema", valid.returncode in (0, 77), valid.stderr)
    return {one["name"]: one for one in told["checks"]}


def test_user(check, home, prefix):
    user = look(check, home, "user", prefix=prefix)
    check("user: nothing fails without privilege", all(one["level"] != "fail" for one in user.values()), user)
    check("user: is told how to trace", "sudo ingero trace" in user["capabilities"]["recommendation"], user["capabilities"])
    check("user: the back end is not known", user["back_end"]["value"] == "not tried", user["back_end"])
    check("the kernel", user["kernel"]["value"] == os.uname().release, user["kernel"])


def test_own_processes(check, home, prefix):
    """Without privilege one's own are found, and only they."""
    environment = {**home.environment, "LD_LIBRARY_PATH": os.path.join(home.programs.build, "tests", "foreign"), "FOREIGN_WAIT": "1"}
    with subprocess.Popen([*prefix, home.programs.path(CUDA)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        program.stdout.readline()
        seen = look(check, home, "beside a program", prefix=prefix)["cuda_processes"]
        check("its process and libraries", f"{CUDA[:15]} {program.pid}: " in seen["detail"] and "libcudart.so" in seen["detail"] and
              "libcuda.so" in seen["detail"], seen)
        if os.geteuid() == 0:
            root = look(check, home, "root beside a program")["cuda_processes"]
            check("the daemon tells, too", f"{CUDA[:15]} {program.pid} of " in root["detail"], root)
        program.communicate("\n")


def test_root(check, home):
    root = look(check, home, "root")
    traced = json.loads(home.answer("trace", "--json", "--duration", "10ms").splitlines()[0])
    check("root: the back end of trace", root["back_end"]["value"].startswith(traced["back_end"]), root["back_end"], traced["back_end"])
    check("root: nothing fails where trace works", all(one["level"] != "fail" for one in root.values()), root)
    tracing = ingero.Tracing(home.programs, "--pid", str(os.getpid()))
    ingero.wait_for(tracing.lines, "the start of a private trace")
    status = json.loads(home.answer("status", "--json"))
    tracing.stop()
    check("status beside a private trace: counts its daemon", status["other_daemons"] >= 1 and status["leases"] == 0, status)
    poor = look(check, home, "root without capabilities", prefix=["setpriv", "--bounding-set=-all,+chown", "--inh-caps=-all"])
    check("poor root: says what is missing", poor["capabilities"]["level"] == "fail" and "CAP_BPF" in poor["capabilities"]["value"], poor["capabilities"])
    check("poor root: cannot capture", poor["back_end"]["level"] == "fail" and poor["back_end"]["value"].startswith("none"), poor["back_end"])
    with kept.Service(home, "--db", home.db) as service:
        for name, prefix in (("root with a service", None), ("user with a service", [*home.prefix, *USER])):
            seen = look(check, home, name, prefix=prefix)
            check(f"{name}: answers", f"pid {service.process.pid}" in seen["service"]["value"], seen["service"])
            check(f"{name}: its database", home.db in seen["database"]["value"], seen["database"])
            check(f"{name}: needs nothing", seen["capabilities"]["level"] == "ok" and seen["back_end"]["value"].startswith(traced["back_end"]), seen)
        refused = home.run("check", "--all", prefix=[*home.prefix, *USER])
        check("--all is refused to a user", refused.returncode == 1 and not refused.stdout and refused.stderr.count("\n") == 1 and
              "sudo ingero check --all" in refused.stderr, refused.returncode, refused.stdout, refused.stderr)


def main(build):
    is_root = os.geteuid() == 0
    if is_root:
        kept.in_own_mounts("")
    check = kept.Checks()
    with kept.Kept(build) as home:
        prefix = USER if is_root else []
        if home.run("version", prefix=prefix).returncode:
            kept.skip(f"{build} cannot be run by other users")
        os.chmod(home.directory, 0o777)
        test_user(check, home, prefix)
        test_own_processes(check, home, prefix)
        if is_root:
            test_root(check, home)
    print(f"{len(check.failed)} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
