# SPDX-License-Identifier: Apache-2.0
"""What a step computes in Python beside its calls."""
import time

ROUND = 300  # about 5 us


def compute(seconds):
    """In Python for so long by the thread's own CPU clock. That clock is a system call, so it is asked seldom."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(ROUND):
            pass
