"""ATIF is read as it is written: real files, our own exports, and hostile ones."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from agent.loop.actions import SUBMIT
from tests.formats.mutation import mutated
from tests.formats.test_bad_files import rejection
from tests.formats.test_export_native import write_trial
from tests.record.cpu_time import check_linear
from tests.solve.command import agent, script
from trajectories.checks.check import check
from trajectories.formats.atif.tools import calls_of, results_of
from trajectories.formats.errors import BadDocument
from trajectories.formats.export import export
from trajectories.formats.fields import Oddities
from trajectories.formats.source import Source
from trajectories.formats.trial import import_file
from trajectories.reading.reader import read_events
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    CallFailed,
    CallFinished,
    Event,
    InheritedReply,
    Message,
    Parent,
    TrialStarted,
    Warned,
)
from trajectories.record.exits import Exit

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "atif"
FILES = sorted(path for path in DATA.rglob("trajectory*.json"))
real_files = pytest.mark.skipif(not FILES, reason=f"the real files are not beside this checkout ({DATA})")


def small(**changes: Any) -> dict[str, Any]:
    """Return a small document of another agent, as ATIF's example has it."""
    call = {"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls"}}
    answer = {"source_call_id": "c1", "content": "spec.md\n", "extra": {"returncode": 0, "duration_s": 0.02}}
    return {
        "schema_version": "ATIF-v1.8",
        "agent": {"name": "demo-agent", "version": "0.3.0", "model_name": "vendor/model-x"},
        "steps": [
            {"step_id": 1, "source": "system", "message": "You work in a shell."},
            {"step_id": 2, "source": "user", "message": [{"type": "text", "text": "Rebuild it."}]},
            {
                "step_id": 3, "source": "agent", "timestamp": "2026-01-05T10:00:04Z", "llm_call_count": 1,
                "message": "Look around.", "reasoning_content": "I need the list.", "tool_calls": [call],
                "observation": {"results": [answer]},
                "metrics": {"prompt_tokens": 500, "completion_tokens": 40, "cached_tokens": 100, "cost_usd": 0.0021},
            },
            {"step_id": 4, "source": "agent", "message": "Done.", "metrics": {"prompt_tokens": 9}},
        ],
        **changes,
    }  # fmt: skip


def events_of(tmp_path: Path, value: Any) -> list[Event]:
    file = tmp_path / "odd.json"
    file.write_text(json.dumps(value))
    made = import_file(file, tmp_path / "runs" / "batch")
    assert export(made.directory, "atif") == file.read_bytes()
    return list(read_events(made.directory))


def of(events: list[Event], kind: type[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def changed(path: str, new: Any) -> dict[str, Any]:
    """Return the small document with another value at `path`, for instance `steps.2.metrics.cost_usd`."""
    value = copy.deepcopy(small())
    *above, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    target: Any = value
    for key in above:
        target = target[key]
    target[last] = new
    return value


@real_files
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(DATA)))
def test_a_real_file_is_imported_with_the_sums_of_its_steps(tmp_path: Path, path: Path) -> None:
    expected = json.loads((DATA / "expected.json").read_text())[str(path.relative_to(DATA))]
    made = import_file(path, tmp_path / "runs" / "batch")
    events, summary = list(read_events(made.directory)), made.summary
    assert check(made.directory).first is None
    assert export(made.directory, "atif") == path.read_bytes()
    sums = expected["sum_of_step_metrics"]
    assert (summary.usage.prompt, summary.usage.output) == (sums["prompt_tokens"], sums["completion_tokens"])
    assert summary.cost_usd.billed == pytest.approx(sums["cost_usd"])
    agents = expected["steps_by_source"]["agent"]
    assert len(of(events, CallFinished)) + len(of(events, InheritedReply)) == agents
    assert summary.exit is None
    start = events[0]
    assert isinstance(start, TrialStarted)
    assert start.imported is not None
    assert (start.imported.format, start.imported.agent) == ("ATIF", expected["agent"])
    assert {event.t for event in events} == {""}
    assert all(event.ended == "unknown" for event in of(events, ActionFinished))
    calls = [call for event in of(events, CallFinished) for call in event.reply.tool_calls]
    copied = [call for event in of(events, InheritedReply) for call in event.reply.tool_calls]
    assert len(calls) + len(copied) == sum(expected["tool_calls"].values())


@real_files
def test_every_command_takes_an_imported_file(tmp_path: Path) -> None:
    run = agent(tmp_path, "import", str(DATA / "terminus-2-timeout" / "trajectory.json"), "--json")
    assert run.status == 0, run.err
    trial = run.json["trials"][0]["trial"]
    (tmp_path / "begin").mkdir()
    for argv in (
        ("show", trial), ("show", trial, "--step", "1"), ("show", trial, "--check"), ("analyze", trial),
        ("analyze", trial, "--integrity"), ("trials",), ("doctor", trial), ("export", trial, "--format", "openai"),
        ("export", trial, "--format", "mini"), ("replay", trial, "--to", "1", "--workspace", "begin", "--env", "local"),
    ):  # fmt: skip
        result = agent(tmp_path, *argv)
        assert "Traceback" not in result.err
        assert result.status == 0, (argv, result.err)
    scored = agent(tmp_path, "score", trial)
    assert len(scored.err.strip().splitlines()) <= 1  # it has no end, so nothing can be scored
    model = script(tmp_path, "-", "ls", SUBMIT)
    place = ("--workspace", "begin", "--env", "local", "--model", model)
    fork = agent(tmp_path, "fork", trial, "--at", "1", *place, "--json")
    assert (fork.status, fork.json["exit"]["cause"]) == (0, "submitted"), fork.err


def test_a_small_document(tmp_path: Path) -> None:
    events = events_of(tmp_path, small())
    start = events[0]
    assert isinstance(start, TrialStarted)
    assert (start.model.name, start.environment, start.limits.steps) == ("vendor/model-x", "unknown", None)
    assert [(message.role, message.why) for message in of(events, Message)] == [
        ("system", "system"), ("user", "task"), ("tool", "observation"),
    ]  # fmt: skip
    (started,), (ended,) = of(events, ActionStarted), of(events, ActionFinished)
    assert (started.script, started.deadline_s) == ("ls", None)
    assert (ended.ended, ended.exit_code, ended.duration_s) == ("exited", 0, 0.02)
    assert (ended.output.text, ended.output.complete) == ("spec.md\n", True)
    first, second = of(events, CallFinished)
    assert (first.usage.input, first.usage.cache_read, first.usage.output) == (400, 100, 40)
    assert (first.costs.billed, first.t) == (0.0021, "2026-01-05T10:00:04.000000Z")
    assert first.reply.message == {"reasoning_content": "I need the list."}
    assert (second.usage.input, second.usage.output, second.costs.billed) == (9, None, None)


def test_keystrokes_are_commands_only_as_whole_lines_and_a_screen_is_no_output(tmp_path: Path) -> None:
    value = small()
    step = value["steps"][2]
    typed = ("make\n", "C-c", "y")
    step["tool_calls"] = [
        {"tool_call_id": f"k{n}", "function_name": "bash_command", "arguments": {"keystrokes": keys, "duration": 1.0}}
        for n, keys in enumerate(typed)
    ]
    step["observation"] = {"results": [{"content": "New Terminal Output:\n$ make\n"}]}
    events = events_of(tmp_path, value)
    assert [event.script for event in of(events, ActionStarted)] == ["make"]
    (ended,) = of(events, ActionFinished)
    assert (ended.ended, ended.exit_code, ended.output.complete) == ("unknown", None, False)
    (answer,) = (message for message in of(events, Message) if message.role == "tool")
    assert answer.tool_call_id == "k2"
    assert any("keys that are not a whole command" in event.text for event in of(events, Warned))


def test_steps_without_a_model_and_tools_that_are_no_shell(tmp_path: Path) -> None:
    value = small()
    edit = {"tool_call_id": "e", "function_name": "str_replace_editor", "arguments": {"command": "create"}}
    value["steps"][2]["tool_calls"].append(edit)
    value["steps"][2]["observation"]["results"].append({"source_call_id": "e", "content": "created"})
    value["steps"][3] |= {"llm_call_count": 0, "tool_calls": [
        {"tool_call_id": "c2", "function_name": "bash", "arguments": {"command": "make test"}},
    ]}  # fmt: skip
    del value["steps"][3]["metrics"]
    events = events_of(tmp_path, value)
    assert len(of(events, CallFinished)) == 1
    assert [(event.action, event.script) for event in of(events, ActionStarted)] == [
        ("1.1", "ls"),
        ("1.2", "make test"),
    ]
    assert [event.content for event in of(events, Message) if event.tool_call_id == "e"] == ["created"]


@pytest.mark.parametrize("exit", [Exit.of("submitted", "done"), None], ids=["closed", "open"])
@pytest.mark.parametrize("parent", [None, Parent(trial="p", step=1)], ids=["trial", "fork"])
def test_our_own_export_is_imported_again(tmp_path: Path, exit: Exit | None, parent: Parent | None) -> None:
    """`docs/reference/formats.md` lists what survives."""
    trial = write_trial(tmp_path / "trial", exit, parent=parent)
    file = tmp_path / "trial.json"
    file.write_bytes(export(trial, "atif"))
    made = import_file(file, tmp_path / "runs" / "batch")
    before, after = Source.of(trial), Source.of(made.directory)

    def essence(source: Source) -> dict[str, Any]:
        calls = [event for event in source.events if isinstance(event, CallFinished)]
        return {
            "calls": [(c.step, c.usage, c.costs, c.finish_reason, c.latency_s, c.reply.refusal) for c in calls],
            "replies": [(c.reply.text, [(t.id, t.name, t.arguments) for t in c.reply.tool_calls]) for c in calls],
            "scripts": [(s.action, s.script, s.tool_call_id) for s in source.started.values()],
            "ends": [(r.action, r.ended, r.exit_code, r.signal, r.duration_s) for r in source.finished.values()],
            "sizes": [r.output.bytes for r in source.finished.values()],
            "failed": [(e.step, e.error, e.retry) for e in source.events if isinstance(e, CallFailed)],
            "copied": [(e.step, e.reply.text) for e in source.events if isinstance(e, InheritedReply)],
            "exit": source.exit,
            "task": source.start.task.id,
            "model": (source.start.model.name, source.start.model.settings),
            "conditions": (source.start.environment, source.start.environment_spec, source.start.limits),
            "totals": (source.summary.steps, source.summary.commands, source.summary.usage, source.summary.cost_usd),
        }

    assert essence(after) == essence(before)
    said = [(m.content, m.why, m.inherited) for m in before.conversation if isinstance(m, Message)]
    assert [(m.content, m.why, m.inherited) for m in after.conversation if isinstance(m, Message)] == said
    assert not any(result.output.complete for result in after.finished.values())


@pytest.mark.parametrize(
    ("path", "new", "words"),
    [
        (
            "schema_version",
            "ATIF-v1.9",
            "schema_version: unknown version 'ATIF-v1.9'; known are ATIF-v1.0 to ATIF-v1.8",
        ),
        ("schema_version", "ATIF-v1.x", "schema_version: unknown version"),
        ("agent", "x", "agent: a text instead of an object"),
        ("agent.name", "", "agent.name: an agent without a name"),
        ("steps", {}, "steps: not a list of objects"),
        ("steps", [], "steps: the trajectory has no steps"),
        ("steps.1", 7, "steps: not a list of objects"),
        ("steps.1.step_id", None, "steps[1].step_id: None instead of 2"),
        ("steps.1.step_id", "2", "steps[1].step_id: 2 instead of 2: steps are numbered from 1"),
        ("steps.2.step_id", 2, "steps[2].step_id: 2 instead of 3"),
        ("steps.3.step_id", 10**900, "steps[3].step_id: "),
        ("steps.1.source", "robot", "steps[1].source: unknown source 'robot'"),
        ("steps.1.message", 5, "steps[1].message: a number instead of a text"),
        ("steps.2.tool_calls", {"a": 1}, "steps[2].tool_calls: not a list of objects"),
        ("steps.2.tool_calls.0.tool_call_id", None, "steps[2].tool_calls[0].tool_call_id: a tool call without an id"),
        ("steps.2.tool_calls.0.function_name", 1, "steps[2].tool_calls[0].function_name: a tool call without a name"),
        ("steps.2.tool_calls.0.arguments", "ls", "steps[2].tool_calls[0].arguments: a text instead of an object"),
        ("steps.2.observation", [], "steps[2].observation: a list instead of an object"),
        ("steps.2.observation.results.0.source_call_id", "zz", "results[0].source_call_id: 'zz' is not a call of this"),
        ("steps.2.observation.results.0.extra.returncode", "0", "results[0].extra: '0' is not a return code"),
        ("steps.2.observation.results.0.content", 4, "results[0].content: a number instead of a text"),
        ("steps.2.metrics", 4, "steps[2].metrics: a number instead of an object"),
        ("final_metrics", "x", "final_metrics: a text instead of an object"),
    ],
)
def test_a_hostile_document_gives_one_line(tmp_path: Path, path: str, new: Any, words: str) -> None:
    message = rejection(tmp_path, json.dumps(changed(path, new)).encode())
    assert words in message
    assert "\n" not in message


def test_a_tool_call_id_that_is_used_twice_is_rejected(tmp_path: Path) -> None:
    value = small()
    value["steps"][2]["tool_calls"] *= 2
    assert "'c1' is the id of two calls" in rejection(tmp_path, json.dumps(value).encode())


def test_a_step_with_many_tool_calls_is_read_in_linear_time() -> None:
    def read(times: int) -> None:
        calls = [
            {"tool_call_id": str(n), "function_name": "bash", "arguments": {"command": "ls"}} for n in range(times)
        ]
        step = {"tool_calls": calls, "observation": {"results": [{"content": "x"} for _ in calls]}}
        called = calls_of(step, "steps[0]", Oddities(), ours=False)
        assert len(list(results_of(step, called, "steps[0]", Oddities(), ours=False))) == times

    check_linear(read, 2_000)


def test_numbers_that_are_no_json_and_deep_nesting_are_rejected(tmp_path: Path) -> None:
    text = json.dumps(changed("steps.2.metrics.cost_usd", float("nan")))
    assert "NaN is not a number in JSON" in rejection(tmp_path, text.encode())
    deep: Any = 1
    for _ in range(120):
        deep = {"a": deep}
    assert "nested deeper" in rejection(tmp_path, json.dumps(small(extra=deep)).encode())


@pytest.mark.parametrize("figure", [-1, "5", True, [], 1e300])
def test_impossible_figures_count_as_unknown_with_a_note(tmp_path: Path, figure: Any) -> None:
    for name, field in (("cost_usd", "costs"), ("prompt_tokens", "usage"), ("cached_tokens", "usage")):
        events = events_of(tmp_path, changed(f"steps.2.metrics.{name}", figure))
        call = of(events, CallFinished)[0]
        assert (call.costs.billed if field == "costs" else call.usage.cache_read) in (None, 100)
        assert any(f"steps[2].metrics.{name}" in event.text for event in of(events, Warned))
    events = events_of(tmp_path, changed("steps.2.timestamp", figure))
    assert of(events, CallFinished)[0].t == ""


@cache
def _bases() -> tuple[str, ...]:
    """Return documents to change: the small one, one of ours, and a real one."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        trial = write_trial(Path(folder) / "t", Exit.of("submitted"), parent=Parent(trial="p", step=1))
        ours = export(trial, "atif").decode()
    real = [path.read_text() for path in FILES if path.stat().st_size < 15_000]
    return (json.dumps(small()), ours, *real)


@st.composite
def mutations(draw: st.DrawFn) -> Any:
    """Draw a document in which one value is replaced."""
    return mutated(draw, json.loads(draw(st.sampled_from(_bases()))))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=mutations())
def test_any_change_is_imported_or_rejected_in_one_line(tmp_path: Path, value: Any) -> None:
    file = tmp_path / "any.json"
    file.write_text(json.dumps(value))
    try:
        made = import_file(file, tmp_path / "runs" / "batch")
    except BadDocument as error:
        assert str(error).startswith(f"{file}: ")  # noqa: PT017
        assert "\n" not in str(error)  # noqa: PT017
        return
    assert check(made.directory).first is None
    if made.summary.entry.harness != "mini-swe-agent":
        assert export(made.directory, "atif") == file.read_bytes()
