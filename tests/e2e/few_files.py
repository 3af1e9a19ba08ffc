# SPDX-License-Identifier: Apache-2.0
"""A service that may open so many files that its probes load, and too few for what is behind them, says so and ends: few_files.py BUILD."""
import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../support"), os.path.join(HERE, "../workloads")]

import ingero  # noqa: E402 (needs the path above)
import kept  # noqa: E402
import service_users  # noqa: E402

LIMITS = range(50, 400, 2)  # with fewer the probes do not load anywhere; each CPU needs some


def serve(home, ready, limit):
    """Starts it and ends it, or waits for its end: (status, what it said)."""
    with open(home.path("log"), "w+", encoding="utf-8") as error:
        daemon = subprocess.Popen(
            [home.programs.path("ingero-collectord"), "--foreground", "--config", "none", "--capture", "everyone", "--socket", home.path("socket"),
             "--db", home.path("state/ingero.db")], env={**home.environment, "NOTIFY_SOCKET": home.path("notify")}, stdin=subprocess.DEVNULL,
            stdout=error, stderr=error, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))

        def is_settled():
            with contextlib.suppress(BlockingIOError):
                return b"READY=1" in ready.recv(4096) or daemon.poll() is not None
            return daemon.poll() is not None

        ingero.wait_for(is_settled, "the daemon")
        daemon.send_signal(signal.SIGTERM)
        status = daemon.wait()
        error.seek(0)
        return status, error.read()


def main(build):
    kept.in_own_mounts("a service needs root")
    check = kept.Checks()
    with kept.Kept(build) as home, kept.lists_given_back(), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as ready:
        service_users.add_people(home)
        ready.bind(home.path("notify"))
        os.chmod(home.path("notify"), 0o666)
        for limit in LIMITS:
            status, said = serve(home, ready, limit)
            if "serving without capture" not in said:
                break
            with contextlib.suppress(BlockingIOError):
                while True:  # what this one still said
                    ready.recv(4096)
        check(f"with {limit} open files it ends by itself", status == 1, status, said)
        check("and says why at last", said.splitlines()[-1:] == ["ingero-collectord: cannot start to capture: Too many open files"], said)
        print(f"{limit} open files were too few")
    return 1 if check.failed else 0


if __name__ == "__main__":
    kept.run(main)
