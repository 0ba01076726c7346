"""The provider of studies: its replies, its faults, its bill, and its process."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.wire.study.bill import Bill
from tests.wire.study.faults import Faults
from tests.wire.study.running import ROOT, Running
from tests.wire.study.script import SUBMIT, TASKS, reply_to
from tests.wire.study.server import Settings, StudyServer

TOOLS = [{"type": "function", "function": {"name": "bash"}}]


def request(*texts: str, model: str = "gpt-4.1-mini", tools: bool = True) -> dict[str, Any]:
    messages = [{"role": "user", "content": text} for text in texts]
    return {"model": model, "messages": messages, **({"tools": TOOLS} if tools else {})}


def conversation(text: str, model: str = "gpt-4.1-mini", **marks: int) -> list[str]:
    """Return the commands of a whole conversation."""
    body, commands = request(text, model=model), []
    while not commands or commands[-1] != SUBMIT:
        reply = reply_to(body, **marks)
        (call,) = reply["tool_calls"]
        commands.append(call["function"]["arguments"].partition(": ")[2][1:-2])
        body["messages"] += [reply, {"role": "tool", "tool_call_id": call["id"], "content": "exit code: 0"}]
    return commands


@contextlib.contextmanager
def asking(server: StudyServer | Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.api_base, trust_env=False, timeout=20) as client:
        yield client


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_skill_of_a_model_and_what_it_is_told_change_its_program(task: Any) -> None:
    told = "\n".join((task.sign, *(fault.warning for fault in task.faults if fault.warning)))
    programs = [conversation(task.sign, "gpt-4.1"), conversation(task.sign), conversation(told)]
    assert len({tuple(commands) for commands in programs}) == (3 if task.name == "cronwhen" else 2)
    assert conversation(task.sign, "gpt-4.1-nano") == ["ls -R", SUBMIT]


def test_marks_set_the_number_of_steps() -> None:
    assert len(conversation("BUSY 20")) == 20
    assert len(conversation(f"STEPS 20 {TASKS[0].sign}")) == 20
    assert len(conversation(TASKS[0].sign, steps=12)) == 12
    assert len(conversation(TASKS[0].sign, busy=7)) == 7


def test_faults_depend_on_the_seed_and_the_number_alone() -> None:
    faults = Faults.parse("429=0.1,cut=0.05,500@7", seed=3)
    first = [faults.of(number) for number in range(1, 2001)]
    assert [Faults.parse("429=0.1,cut=0.05,500@7", seed=3).of(number) for number in range(1, 2001)] == first
    assert [Faults.parse("429=0.1,cut=0.05,500@7", seed=4).of(number) for number in range(1, 2001)] != first
    counts = Counter(first)
    assert 150 < counts["429"] < 250
    assert 60 < counts["cut"] < 140
    assert first[6] == "500"


@pytest.mark.parametrize("text", ["429", "teapot=0.1", "cut=x", "500@"])
def test_faults_that_nobody_knows_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write KIND=SHARE or KIND@NUMBER"):
        Faults.parse(text)


def test_requests_without_a_whole_reply_are_billed_and_refused_ones_are_not() -> None:
    settings = Settings(faults=Faults.parse("429@1,500@2,401@3,cut@4,hang_up@5", retry_after_s=7))
    with StudyServer(settings=settings) as server, asking(server) as client:
        refused = [client.post("/chat/completions", json=request("BUSY 3")) for _ in range(3)]
        for _ in range(2):
            with pytest.raises(httpx.RemoteProtocolError):
                client.post("/chat/completions", json=request("BUSY 3"))
        answered = client.post("/chat/completions", json=request("BUSY 3")).json()
    assert [answer.status_code for answer in refused] == [429, 500, 401]
    assert refused[0].headers["Retry-After"] == "7"
    assert [(line.outcome, line.billed) for line in server.bill.lines] == [
        ("429", False),
        ("500", False),
        ("401", False),
        ("cut", True),
        ("hang_up", True),
        ("answered", True),
    ]
    assert answered["usage"]["request"] == 6
    assert answered["usage"]["prompt_tokens"] == server.bill.lines[-1].input


def test_a_stalled_request_is_billed_and_never_answered() -> None:
    with StudyServer(settings=Settings(faults=Faults.parse("stall@1"))) as server, asking(server) as client:
        with pytest.raises(httpx.ReadTimeout):
            client.post("/chat/completions", json=request("BUSY 3"), timeout=0.2)
        assert client.post("/chat/completions", json=request("BUSY 3")).status_code == 200
    assert server.bill.lines[0].billed


def test_too_many_requests_at_once_and_a_wrong_key_are_refused() -> None:
    settings = Settings(latency_s=0.5, at_once=3)
    with StudyServer(settings=settings) as server, asking(server) as client, ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(client.post, "/chat/completions", json=request("BUSY 3")) for _ in range(8)]
        counts = Counter(answer.result().status_code for answer in sent)
    assert counts == {200: 3, 429: 5}
    assert server.peak == 3
    with StudyServer(settings=Settings(key="right")) as server, asking(server) as client:
        body = request("BUSY 3")
        assert client.post("/chat/completions", json=body).status_code == 401
        right = {"Authorization": "Bearer right"}
        assert client.post("/chat/completions", json=body, headers=right).status_code == 200


def test_a_request_that_a_provider_would_reject_is_rejected() -> None:
    body = request("BUSY 3")
    body["messages"].append({"role": "tool", "tool_call_id": "nobody's", "content": "x"})
    with StudyServer() as server, asking(server) as client:
        answer = client.post("/chat/completions", json=body)
    assert answer.status_code == 400
    assert "unknown call" in answer.text
    assert server.bill.usd == 0


def test_the_prompt_of_the_request_before_is_read_from_the_cache() -> None:
    body = request("BUSY 3", "x " * 8000)
    with StudyServer() as server, asking(server) as client:
        for number in range(2):
            message = client.post("/chat/completions", json=body).json()["choices"][0]["message"]
            result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": f"step {number}"}
            body["messages"] += [message, result]
    first, second = server.bill.lines
    assert first.cached == 0
    assert second.cached > 3500
    assert second.usd < first.usd


def test_the_bill_is_kept_in_its_file_and_continued(tmp_path: Path) -> None:
    path = tmp_path / "bill.jsonl"
    for _ in range(2):
        with StudyServer(path) as server, asking(server) as client:
            client.post("/chat/completions", json=request("BUSY 3"))
    assert [line.request for line in server.bill.lines] == [1, 2]
    assert Bill(path).lines == server.bill.lines


def test_a_provider_in_another_process_can_be_changed_and_read() -> None:
    with Running("--faults", "500@1") as provider, asking(provider) as client:
        client.post("/chat/completions", json=request("BUSY 3"))
        provider.change(faults="429@3", latency_s=0.01)
        statuses = [client.post("/chat/completions", json=request("BUSY 3")).status_code for _ in range(2)]
        assert statuses == [200, 429]
        assert [line.outcome for line in provider.bill()] == ["500", "answered", "429"]
        assert provider.state()["requests"] == 3


def test_the_process_ends_with_its_parent(tmp_path: Path) -> None:
    started = tmp_path / "pid"
    program = (
        "import subprocess, sys\n"
        "p = subprocess.Popen([sys.executable, '-m', 'tests.wire.study'], stdout=subprocess.PIPE, text=True)\n"
        "p.stdout.readline()\n"
        f"open({str(started)!r}, 'w').write(str(p.pid))\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
    pid = int(started.read_text())
    deadline = time.monotonic() + 60
    while _runs(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
