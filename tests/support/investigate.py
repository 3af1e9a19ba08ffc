# SPDX-License-Identifier: Apache-2.0
"""
An investigation as a model makes it, without a model: from "why is it slow" to the cause's name, by what tools answer alone. One script for
all faults: it branches on ids and on what an answer names as next, never on the fault.
"""
CALLS_MOST = 4
TOKENS_MOST = 4000


class Investigation:
    """client: of tests/support/mcp.py, connected. after: what the script found, and what it cost."""

    def __init__(self, client):
        self.client = client
        self.calls = 0
        self.tokens = 0
        self.cause = None
        self.advice = []
        self.path = []

    def _ask(self, tool, arguments):
        answer = self.client.call(tool, **arguments)
        self.calls += 1
        self.tokens += answer.tokens
        self.path.append(f"{tool} {arguments}")
        return answer

    def run(self, **arguments):
        """Follows what is named as next until a finding has a cause. Returns its cause; None where no answer has one."""
        steps = [("explain", arguments)]
        while steps and self.calls < CALLS_MOST and not self._named():
            answer = self._ask(*steps.pop(0))
            if answer.is_error:
                continue
            for finding in answer.json.get("findings", ()):
                if not self.cause and finding.get("cause"):
                    self.cause, self.advice = finding["cause"], finding["advice"]
            steps += [(step["tool"], step["arguments"]) for step in answer.next]
        return self.cause

    def _named(self):
        """Whether the cause is known by its name: a process, or a kind that has none."""
        return self.cause and (self.cause.get("comm") or self.cause.get("kind") not in (None, "cpu_contention"))

    @property
    def is_within(self):
        return self.calls <= CALLS_MOST and self.tokens <= TOKENS_MOST
