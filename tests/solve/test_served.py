"""What a model is really sent over the wire in a whole trial, and in a fork of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from agent.loop.actions import SUBMIT
from tests.solve.command import agent
from tests.wire.replies import Turn
from tests.wire.server import WireServer
from trajectories.record.events import Message

LONG = "for i in $(seq 1000); do printf 'line %06d......\\n' $i; done"


def solve(work: Path, server: WireServer, *options: str) -> Any:
    (work / "start").mkdir(exist_ok=True)
    place = ("--instruction", "Work.", "--workspace", "start", "--env", "local", "--json")
    model = ("--model", "openai/gpt-wire", "--api-base", server.base("chat"))
    return agent(work, "solve", *place, *model, *options)


def test_the_texts_of_version_2_reach_the_model_as_they_are_recorded(tmp_path: Path) -> None:
    turns = [
        Turn(commands=(LONG, "sleep 30 >/dev/null 2>&1 & echo $! | tee pid; echo $PAGER $TQDM_DISABLE")),
        Turn(commands=(f"cd . && {SUBMIT}", "printf 'a\\0b'")),
        Turn(text=f"I am done: {SUBMIT}"),
        Turn(commands=("kill $(cat pid); sleep 5",)),
        Turn(commands=(SUBMIT,)),
    ]
    limits = ("--step-limit", "8", "--token-limit", "900k", "--command-timeout", "1s")
    with WireServer(turns) as server:
        result = solve(tmp_path, server, *limits)
    assert result.json["exit"]["cause"] == "submitted", result.err
    sent = server.requests[-1].body["messages"]
    recorded = [event.content for event in result.events if isinstance(event, Message)][:-1]
    assert [message["content"] for message in sent if message["role"] != "assistant"] == recorded
    _, task, long, background, near, nul, format_error, deadline = recorded
    assert "You have 8 replies," in task
    assert "900,000 tokens in all calls together, prompts included.\n" in task
    assert "\n[... lines 334-667 of 1000 left out here: 6000 characters ...]\n" in long
    (pid,) = re.findall(r"^still running in the background: 1 process \(PID (\d+)\)$", background, re.M)
    assert background.endswith(f"output:\n{pid}\ncat 1\n\nLeft: 7 replies.")
    assert f"This did not submit your work. To submit, run exactly `{SUBMIT}`, alone" in near
    assert "output:\na\ufffdb" in nul
    assert f"Nothing was submitted. To submit, run exactly `{SUBMIT}`, alone" in format_error
    assert format_error.endswith("\nLeft: 5 replies. Finish and submit.")
    assert deadline.startswith("stopped after 1.")
    assert "`timeout SECONDS COMMAND`" in deadline
    lines = (result.trial / "events.jsonl").read_text().splitlines()
    spec = json.loads(lines[0])["environment_spec"]
    assert spec["env_defaults"]["PAGER"] == "cat"
    finished = [json.loads(line) for line in lines if '"action_finished"' in line]
    assert finished[1]["left_pids"] == [int(pid)]

    with WireServer([Turn(commands=(SUBMIT,))]) as server:
        base = ("--api-base", server.base("chat"))
        child = agent(tmp_path, "fork", str(result.trial), "--at", "3", *base, "--step-limit", "4", "--json")
    assert child.json["exit"]["cause"] == "submitted", child.err
    notice = server.requests[0].body["messages"][-1]["content"]
    assert "gone are: background processes of 1.2: 1." in notice
    assert "From here on you have 4 replies," in notice


def test_version_1_is_sent_as_before(tmp_path: Path) -> None:
    turns = [Turn(commands=(LONG, f"cd . && {SUBMIT}; echo ${{TQDM_DISABLE-none}}")), Turn(commands=(SUBMIT,))]
    with WireServer(turns) as server:
        result = solve(tmp_path, server, "--prompt", "default-1", "--token-limit", "900k")
    assert result.json["exit"]["cause"] == "submitted", result.err
    sent = server.requests[-1].body["messages"]
    _, task, long, near = (message["content"] for message in sent if message["role"] != "assistant")
    assert "tokens" not in task
    assert "\n[... 8000 characters left out here ...]\n" in long
    assert near == f"exit code: 0\noutput:\n{SUBMIT.removeprefix('echo ')}\nnone\n"
    with WireServer([Turn(commands=(SUBMIT,))]) as server:
        child = agent(tmp_path, "fork", str(result.trial), "--at", "1", "--api-base", server.base("chat"), "--json")
    assert child.status == 0, child.err
    assert child.events[0].prompt.name == "default-1"
    own = [event.content for event in child.events if isinstance(event, Message) and not event.inherited]
    assert [re.sub(r" \S*/workspace ", " W ", content) for content in own[:-1]] == ["The workspace is W now."]
