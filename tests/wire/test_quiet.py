"""A call reaches its endpoint and nothing else: no telemetry, no price download, no .env, no output."""

from __future__ import annotations

import subprocess
import sys

from tests.wire.replies import Turn, rate_limited
from tests.wire.server import WireServer

SESSION = """\
import os, sys
seen = set()
def watch(event, arguments):
    if event == "socket.connect":
        seen.add(arguments[1])
    if event == "socket.getaddrinfo":
        seen.add(arguments[:2])
sys.addaudithook(watch)
from agent.models import CallFailure, Request, make_model
from trajectories.record.events import Message
base, port = sys.argv[1], int(sys.argv[1].rpartition(":")[2])
task = [Message(id="m1", role="user", content="Do it.", why="task")]
for name, settings, path in (("anthropic/claude-opus-4-7", {}, ""), ("openai/x", {}, "/v1"),
                             ("openai/x", {"api": "responses"}, "/v1")):
    model = make_model(name, settings=settings, api_base=base + path)
    model.check()
    model.warm_up()
    try:
        model.ask(Request(1, 1, task, 20.0))
    except CallFailure as failure:
        assert failure.error == "rate_limit", failure
    model.close()
import time; time.sleep(0.3)
assert {address[-1] for address in seen} == {port}, seen
assert {address[0] for address in seen} == {"127.0.0.1"}, seen
assert "FROM_DOTENV" not in os.environ
print("quiet")
"""


def test_only_the_endpoint_is_contacted_and_nothing_is_printed(tmp_path):
    (tmp_path / ".env").write_text("FROM_DOTENV=1\n")
    with WireServer([Turn(text="x"), rate_limited(), Turn(text="y")]) as server:
        result = subprocess.run(
            [sys.executable, "-c", SESSION, server.root], capture_output=True, text=True, cwd=tmp_path, timeout=120
        )
    assert (result.stdout, result.stderr, result.returncode) == ("quiet\n", "", 0)
    assert len(server.requests) == 3
