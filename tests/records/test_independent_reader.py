"""A reader that was written from docs/reference/record.md alone agrees with Retrace on every record."""

from __future__ import annotations

import ast
import hashlib
import json
import math
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agent.loop.actions import SUBMIT
from tests.record.intervention_records import EXPERT, write_guided, write_trial
from tests.record.test_recorder import started
from tests.records import independent_reader
from tests.records.compared import copy_of, read_only, trials_of
from tests.records.test_compatibility import RECORDS, VERSIONS, WHOLE
from tests.solve.command import agent
from tests.wire.replies import Turn, rate_limited
from tests.wire.server import WireServer
from tests.wire.talk import PROTOCOLS
from trajectories.reading.reader import read_events
from trajectories.reading.summary import summarize
from trajectories.record.events import (
    ActionStarted,
    Asked,
    BaseEvent,
    CallFailed,
    CallFinished,
    CallStarted,
    Event,
    Exited,
    FailureClass,
    Imported,
    Purpose,
    Reply,
    RoleCallFinished,
    RoleCallStarted,
    TrialStarted,
)
from trajectories.record.exits import Exit
from trajectories.record.usage import Costs, Usage
from trajectories.writing.packing import pack
from trajectories.writing.recorder import Recorder

SOURCE = Path(independent_reader.__file__)
RECORDINGS = Path(__file__).parents[2] / "docs" / "recordings"
REAL = sorted((Path(__file__).parents[3] / "shared" / "data").glob("*/**/*.traj.json"))


def agrees(trial: Path) -> dict[str, Any]:
    """Compare both readers on a trial; return the figures."""
    figures = independent_reader.figures(trial)
    events = list(read_events(trial))
    summary = summarize(trial, events)
    for name in ("steps", "commands", "failed_calls", "unmetered_calls"):
        assert figures[name] == getattr(summary, name), name
    assert figures["usage"] == summary.usage.model_dump()
    for kind, cost in figures["cost_usd"].items():
        ours = getattr(summary.cost_usd, kind)
        assert (cost is None) == (ours is None), kind
        if cost is not None:
            assert math.isclose(cost, ours, rel_tol=1e-12, abs_tol=1e-15)
            assert cost == exact(events, kind)
    return figures


def guided(directory: Path, *results: RoleCallFinished | None) -> Path:
    """Write a guided trial with further calls of its expert, None for one without a result."""
    calls: list[BaseEvent] = [Asked(question=1, action="1.1", step=1, text="How?", left=2)]
    for number, result in enumerate(results, 1):
        assert EXPERT.model is not None
        assert EXPERT.prompt is not None
        purpose = Purpose(question=1)
        calls.append(
            RoleCallStarted(call=number, role="expert", purpose=purpose, model=EXPERT.model, prompt=EXPERT.prompt)
        )
        calls += [result.model_copy(update={"call": number})] if result else []
    return write_trial(directory, (), [*calls, Exited(exit=Exit.of("submitted"), steps=1)], guidance=EXPERT)


FAILURES: tuple[FailureClass, ...] = ("timeout", "rate_limit", "connection", "authentication", "interrupted")
RESULTS = st.one_of(
    st.none(),
    st.builds(
        RoleCallFinished,
        call=st.just(0),
        status=st.sampled_from(["answered", "malformed", "failed", "cut_off"]),
        error=st.sampled_from([None, *FAILURES]),
        usage=st.sampled_from([None, Usage(), Usage(input=3, output=2)]),
        costs=st.sampled_from([None, Costs(), Costs(billed=0.1, computed=0.2), Costs(computed=0.3, list=0.3)]),
    ),
)


@settings(max_examples=20, deadline=None)
@given(results=st.lists(RESULTS, max_size=4))
def test_the_costs_of_an_expert_are_the_same_and_never_the_agents(results: list[RoleCallFinished | None]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trial = guided(Path(folder, "b", "t"), *results)
        agrees(trial)
        expert_agrees(trial)
        alone = write_trial(Path(folder, "b", "u"), (), [Exited(exit=Exit.of("submitted"), steps=1)])
        assert independent_reader.figures(trial) == independent_reader.figures(alone)
        assert independent_reader.interventions(alone) is None


def test_questions_answers_and_refusals_are_counted_alike(tmp_path: Path) -> None:
    figures = expert_agrees(write_guided(tmp_path / "b" / "guided"))
    assert (figures["questions"], figures["given"], figures["refused"]) == (3, 1, 1)


def expert_agrees(trial: Path) -> dict[str, Any]:
    """Compare both readers on the expert of a trial; return the figures."""
    figures: dict[str, Any] = independent_reader.interventions(trial)
    ours = summarize(trial, read_events(trial)).interventions
    assert ours is not None
    assert (figures["questions"], figures["given"], figures["refused"]) == (ours.questions, ours.given, ours.refused)
    assert figures["usage"] == ours.usage.model_dump()
    for kind, cost in figures["cost_usd"].items():
        own = getattr(ours.cost_usd, kind)
        assert (cost is None) == (own is None), kind
        assert cost is None or math.isclose(cost, own, rel_tol=1e-12, abs_tol=1e-15)
    return figures


def exact(events: list[Event], kind: str) -> Decimal:
    """Return the sum of the recorded costs of a kind, in decimal."""
    calls = [event for event in events if isinstance(event, CallFinished | CallFailed) and event.costs is not None]
    costs = [getattr(call.costs, kind) for call in calls]
    if None in costs:
        start = events[0]
        assert isinstance(start, TrialStarted)
        assert start.imported is not None
        return Decimal(repr(start.imported.billed_usd))
    return sum((Decimal(repr(cost)) for cost in costs), Decimal(0))


def whole_message(reply: dict[str, Any]) -> Any:
    """Return a provider's message with the texts that its line left out, as the page describes them."""
    message = reply["message"]
    if not reply.get("without_copies"):
        return message
    output = message.get("output")
    content = message.get("content")
    if reply["text"] and not output and "content" in message and content is None:
        message["content"] = reply["text"]
    parts = [*(content or []), *(part for item in output or [] for part in item.get("content") or [])]
    texts = [part for part in parts if isinstance(part, dict) and part.get("type") in ("text", "output_text")]
    if len(texts) == 1 and texts[0]["text"] is None:
        texts[0]["text"] = reply["text"]
    places = [call["function"] for call in message.get("tool_calls") or []]
    places += [item for item in output or [] if item["type"] == "function_call"]
    for place, call in zip(places, reply["tool_calls"], strict=True):
        place["arguments"] = call["arguments"] if place["arguments"] is None else place["arguments"]
    return message


def requests_agree(trial: Path) -> int:
    """Compare the hash of each request with its messages, as the page describes both; return the requests."""
    total, requests = hashlib.sha256(), 0
    for event in independent_reader.events(trial):
        entry: list[Any] = []
        if event["type"] == "message":
            entry = [event["role"], event["content"], event["tool_call_id"]]
        elif event["type"] in ("call_finished", "inherited_reply"):
            reply = event["reply"]
            whole = {name: reply[name] for name in ("text", "tool_calls", "refusal")}
            entry = ["assistant", {**whole, "message": whole_message(reply)}]
        elif event["type"] == "call_started":
            requests += 1
            assert event["messages_sha256"] == total.hexdigest()
        if entry:
            line = json.dumps(entry, sort_keys=True, separators=(",", ":"), default=float)
            total.update(hashlib.sha256(line.encode()).digest())
    return requests


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
@pytest.mark.parametrize("version", VERSIONS)
def test_it_agrees_on_every_record_of_earlier_releases(tmp_path: Path, version: str, packed: bool) -> None:
    runs = copy_of(version, tmp_path)
    trials = {name: runs / trial for name, trial in trials_of(version).items()}
    assert {name for each, name in RECORDS if each == version} == trials.keys()
    for trial in trials.values():
        before = agrees(trial)
        if packed:
            pack(trial)
            assert not (trial / "events.jsonl").exists()
            assert agrees(trial) == before


@pytest.mark.parametrize("version", WHOLE)
def test_the_requests_of_a_record_are_those_of_the_page(tmp_path: Path, version: str) -> None:
    """An import makes a record of this version."""
    runs = copy_of(version, tmp_path)
    result = read_only("import", str(runs.parent / "imported.traj.json"), "--runs", str(tmp_path / "new"), "--json")
    assert result.status == 0, result.err
    (trial,) = [Path(each["trial"]) for each in result.json["trials"]]
    assert b'"without_copies":true' in (trial / "events.jsonl").read_bytes()
    assert requests_agree(trial) > 1
    trials = trials_of(version)
    assert {"wire-responses", "forked"} <= trials.keys()
    for name in trials.keys() & {"wire-cost-limit", "wire-responses", "wire-fenced-killed", "forked"}:
        assert requests_agree(runs / trials[name]) > 0


def test_it_agrees_on_the_recordings_of_the_docs() -> None:
    trials = [path.parent for path in RECORDINGS.glob("*/events.jsonl")]
    assert sum(agrees(trial)["steps"] for trial in trials) > 20


@pytest.mark.skipif(not REAL, reason="no real trajectories in ../shared/data")
def test_it_agrees_on_imported_real_runs(tmp_path: Path) -> None:
    files = sorted(REAL, key=lambda path: path.stat().st_size)[:: max(1, len(REAL) // 8)]
    read_only("import", *map(str, files), "--runs", str(tmp_path / "runs"))
    trials = [path.parent for path in tmp_path.glob("runs/*/*/events.jsonl")]
    assert len(trials) >= 3
    for trial in trials:
        before = agrees(trial)
        requests_agree(trial)
        pack(trial)
        assert agrees(trial) == before


@pytest.mark.parametrize(
    "protocol", ["anthropic", *(pytest.param(name, marks=pytest.mark.slow) for name in ("chat", "responses"))]
)
def test_it_agrees_on_a_new_record_over_the_wire(tmp_path: Path, protocol: str) -> None:
    """Calls fail, tokens are cached, and costs are known for one of the models."""
    (tmp_path / "start").mkdir()
    answers = [
        *(rate_limited("0"), Turn(text="I look.", thinking="Hm.", commands=("echo 1", "echo 2"))),
        *(Turn(commands=("seq 3000",)), Turn(commands=(SUBMIT,))),
    ]
    _, model, settings_of_model = PROTOCOLS[protocol]
    flags = [flag for key, value in settings_of_model.items() for flag in ("--model-setting", f"{key}={value}")]
    with WireServer(answers) as server:
        argv = ("--instruction", "Work.", "--workspace", "start", "--env", "local", "--json", "--model", model)
        result = agent(tmp_path, "solve", *argv, "--api-base", server.base(protocol), *flags)
    assert result.status == 0, result.err
    trial = result.trial
    figures = agrees(trial)
    assert (figures["steps"], figures["commands"], figures["failed_calls"]) == (3, 3, 1)
    assert figures["usage"]["cache_read"] > 0
    assert (figures["cost_usd"]["computed"] is not None) is (protocol != "chat")
    assert requests_agree(trial) == 4
    assert b'"without_copies":true' in (trial / "events.jsonl").read_bytes()
    program = subprocess.run(
        [sys.executable, "-I", str(SOURCE), str(trial)], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    (printed,) = json.loads(program.stdout)
    assert printed["usage"] == figures["usage"]
    pack(trial)
    assert agrees(trial) == figures


COUNTS = st.none() | st.integers(0, 10**6)
USAGES = st.none() | st.builds(Usage, **dict.fromkeys(Usage.model_fields, COUNTS))
AMOUNTS = st.none() | st.floats(0, 5) | st.decimals(0, 5, places=6).map(float)
COSTS = st.builds(Costs, **dict.fromkeys(Costs.model_fields, AMOUNTS))
THREADS = st.sampled_from([None, None, "helper"])
CALLS = st.one_of(
    st.builds(
        lambda usage, costs, thread: CallFinished(
            step=1, id="m", reply=Reply(), usage=usage, costs=costs, model_requested="m", latency_s=1, thread=thread
        ),
        USAGES,
        COSTS,
        THREADS,
    ),
    st.builds(
        lambda error, usage, costs, thread: CallFailed(
            step=1, error=error, detail="", retry=True, usage=usage, costs=costs, latency_s=None, thread=thread
        ),
        st.sampled_from(["timeout", "rate_limit", "interrupted", "connection", "malformed", "other"]),
        USAGES,
        st.none() | COSTS,
        THREADS,
    ),
    st.builds(
        lambda thread: CallStarted(step=1, message_ids=None, messages=None, messages_sha256=None, thread=thread),
        THREADS,
    ),
    st.just(ActionStarted(action="1.1", step=1, script="true", deadline_s=1)),
    st.just(Exited(exit=Exit.of("submitted"), steps=1)),
)
IMPORTED = st.none() | st.builds(
    lambda billed: Imported(format="mini", layout="chat", file="f", sha256="0", bytes=1, billed_usd=billed), AMOUNTS
)


@settings(max_examples=60)
@given(st.lists(CALLS, max_size=12), IMPORTED)
def test_it_agrees_on_any_sequence_of_calls(calls: list[Any], imported: Imported | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder))
        recorder.append(started().model_copy(update={"imported": imported}))
        for call in calls:
            recorder.append(call)
        recorder.close()
        figures = independent_reader.figures(folder)
        summary = summarize(Path(folder), read_events(Path(folder)))
    assert figures["usage"] == summary.usage.model_dump()
    for name in ("steps", "commands", "failed_calls", "unmetered_calls"):
        assert figures[name] == getattr(summary, name)
    for kind, cost in figures["cost_usd"].items():
        ours = getattr(summary.cost_usd, kind)
        assert (cost is None) == (ours is None), kind
        assert cost is None or math.isclose(cost, ours, rel_tol=1e-9, abs_tol=1e-12)


def test_it_is_short_and_imports_nothing_of_retrace() -> None:
    text = SOURCE.read_text()
    assert len(text.splitlines()) <= 100
    imports = {
        (node.module or "").partition(".")[0] if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert imports == {"json", "sys", "decimal", "pathlib", "zstandard"}
