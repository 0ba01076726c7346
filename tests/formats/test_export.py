"""Trials in other programs' formats, read by those programs' own code if it is installed."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.formats.corpus import DATA, FILES, name_of
from trajectories.formats.export import FORMATS, Format, export
from trajectories.formats.source import Source
from trajectories.formats.trial import import_file
from trajectories.reading.reader import read_events
from trajectories.reading.summary import summarize
from trajectories.record.events import (
    ActionFinished,
    CallFinished,
    Event,
    Exited,
    Message,
)

RECORDINGS = sorted(path.parent for path in (Path(__file__).parents[2] / "docs" / "recordings").glob("*/events.jsonl"))
real_files = pytest.mark.skipif(not FILES, reason=f"the real files are not beside this checkout ({DATA})")


def of(events: list[Event], kind: type[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def trial_of(path: Path, tmp_path: Path) -> Path:
    return import_file(path, tmp_path / "runs" / "batch").directory


@real_files
@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_an_imported_mini_file_is_exported_byte_for_byte(tmp_path: Path, path: Path) -> None:
    assert export(trial_of(path, tmp_path), "mini") == path.read_bytes()


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.name)
def test_our_trial_is_the_same_after_export_and_import(tmp_path: Path, recording: Path) -> None:
    file = tmp_path / "trial.traj.json"
    file.write_bytes(export(recording, "mini"))
    made = import_file(file, tmp_path / "runs" / "batch")
    before, after = list(read_events(recording)), list(read_events(made.directory))
    ours = summarize(recording, before)
    for name in ("task", "steps", "commands", "failed_calls", "usage", "cost_usd", "environment"):
        assert getattr(made.summary, name) == getattr(ours, name), name
    assert made.summary.exit is not None and ours.exit is not None  # noqa: PT018
    assert (made.summary.exit.reason, made.summary.exit.cause) == (ours.exit.reason, ours.exit.cause)

    def outcomes(trial: Path) -> list[Any]:
        source = Source.of(trial)  # outputs as text: the format holds no bytes
        return [
            (e.action, e.ended, e.exit_code, e.signal, e.duration_s, source.text(e.output), e.tool_call_id)
            for e in source.finished.values()
        ]

    assert outcomes(made.directory) == outcomes(recording)
    assert [(m.role, m.content, m.why, m.tool_call_id) for m in of(after, Message)] == [
        (m.role, m.content, m.why, m.tool_call_id) for m in of(before, Message)
    ]
    assert [(c.reply.text, c.reply.tool_calls, c.usage, c.costs) for c in of(after, CallFinished)] == [
        (c.reply.text, c.reply.tool_calls, c.usage, c.costs) for c in of(before, CallFinished)
    ]
    assert of(after, Exited)[0].exit == of(before, Exited)[0].exit


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.name)
def test_the_mini_document_has_the_keys_that_its_readers_need(recording: Path) -> None:
    """The keys are those that mini-swe-agent 2.4.6 writes and that its inspector and the leaderboard's scripts read."""
    value = json.loads(export(recording, "mini"))
    assert value["trajectory_format"] == "mini-swe-agent-1.1"
    info, messages = value["info"], value["messages"]
    assert set(info) >= {"exit_status", "submission", "model_stats", "config", "mini_version"}
    assert set(info["config"]) >= {"agent", "agent_type", "model", "model_type", "environment", "environment_type"}
    replies = [m for m in messages if m["role"] == "assistant"]
    assert info["model_stats"]["api_calls"] == len(replies)
    assert info["model_stats"]["instance_cost"] == sum(m["extra"]["cost"] for m in replies)
    assert messages[-1]["role"] == "exit"
    assert messages[-1]["extra"]["exit_status"] == info["exit_status"] == "Submitted"
    called = [call["id"] for m in replies for call in m["tool_calls"]]
    acted = [action["tool_call_id"] for m in replies for action in m["extra"]["actions"]]
    answered = [m["tool_call_id"] for m in messages if m["role"] == "tool"]
    assert called == acted == answered
    for m in messages:
        if m["role"] == "tool":
            assert set(m["extra"]) >= {"raw_output", "returncode", "timestamp", "exception_info"}


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.name)
def test_minis_own_inspector_reads_our_document(tmp_path: Path, recording: Path) -> None:
    inspector = pytest.importorskip(
        "minisweagent.run.utilities.inspector", reason="mini-swe-agent is not installed (it needs pyarrow and pandas)"
    )
    file = tmp_path / "trial.traj.json"
    file.write_bytes(export(recording, "mini"))
    shown = inspector.TrajectoryInspector([file])
    value = json.loads(file.read_text())
    assert shown.messages == value["messages"]
    assert len(shown.steps) == 1 + sum(m["role"] == "assistant" for m in value["messages"])
    from minisweagent.models.utils.content_string import get_content_string

    texts = [get_content_string(m) for step in shown.steps for m in step]
    assert sum(map(bool, texts)) >= len(texts) - 1


def test_the_official_packager_accepts_a_run_with_our_trajectory(tmp_path: Path) -> None:
    """`programbench submit package` works on a run's folder in which our export is the instance's trajectory."""
    pytest.importorskip("programbench")
    from programbench.submission import benchmark_instances

    instance = sorted(benchmark_instances())[0]
    folder = tmp_path / "20261120_retrace_model" / instance
    folder.mkdir(parents=True)
    trajectory = export(RECORDINGS[0], "mini")
    (folder / f"{instance}.traj.json").write_bytes(trajectory)
    results = [{"name": "tests/test_a.py::test_b", "branch": "x", "status": "passed", "extra": {}}]
    (folder / f"{instance}.eval.json").write_text(json.dumps({"test_results": results, "log": []}))
    (folder / "submission.tar.gz").write_bytes(b"")
    process = subprocess.run(
        [
            *(sys.executable, "-c", "from programbench.cli.main import app; app()"),
            *("submit", "package", str(folder.parent)),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert (folder.parent / "submission.yaml").is_file()
    assert (folder / f"{instance}.traj.json").read_bytes() == trajectory


@pytest.fixture(scope="module")
def all_trials(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return our recordings and every imported file."""
    folder = tmp_path_factory.mktemp("trials")
    return [*RECORDINGS, *(trial_of(path, folder) for path in FILES)]


def test_every_trial_is_valid_atif(all_trials: list[Path]) -> None:
    atif = pytest.importorskip("atif")
    for trial in all_trials:
        data = export(trial, "atif")
        parsed = atif.Trajectory.model_validate_json(data)
        assert parsed.schema_version == "ATIF-v1.8"
        value = json.loads(data)
        assert parsed.to_json_dict() == value  # parsing changed no value
        check_atif(value, trial)


def check_atif(value: dict[str, Any], trial: Path) -> None:
    """Check rules that the format's own code does not enforce: ids, totals and times."""
    summary = summarize(trial, read_events(trial))
    steps = value["steps"]
    agent = [step for step in steps if step["source"] == "agent"]
    assert len(agent) == sum(step["llm_call_count"] for step in agent) == summary.steps
    for step in steps:
        ids = [call["tool_call_id"] for call in step.get("tool_calls", [])]
        assert len(set(ids)) == len(ids)
        answered = [result["source_call_id"] for result in step.get("observation", {}).get("results", [])]
        assert len(set(answered)) == len(answered)
        assert set(answered) <= set(ids)
        assert step.get("timestamp", "Z").endswith("Z")
    codes = [
        result["extra"].get("returncode")
        for step in agent
        for result in step.get("observation", {}).get("results", [])
        if "ended" in result["extra"]
    ]
    observed = {event.action for event in of(list(read_events(trial)), Message)}
    ends = [event for event in of(list(read_events(trial)), ActionFinished) if event.action in observed]
    assert codes == [event.exit_code for event in ends]
    totals = value["final_metrics"]
    assert totals["total_steps"] == len(steps)
    for total, name in (("total_prompt_tokens", "prompt_tokens"), ("total_completion_tokens", "completion_tokens")):
        values = [step.get("metrics", {}).get(name) for step in agent]
        assert totals.get(total) == (None if None in values else sum(values))
    if "total_completion_tokens" in totals and agent:
        assert totals["total_completion_tokens"] == summary.usage.output
        assert totals["total_prompt_tokens"] == summary.usage.prompt
    if "total_cost_usd" in totals and summary.steps:
        assert totals["total_cost_usd"] == pytest.approx(summary.cost_usd.best)


def test_openai_messages_are_a_legal_conversation(all_trials: list[Path]) -> None:
    for trial in all_trials:
        events = list(read_events(trial))
        if not of(events, CallFinished):
            continue
        lines = export(trial, "openai").decode().splitlines()
        assert len(lines) == 1
        line = json.loads(lines[0])
        open_calls: set[str] = set()
        has_calls = False
        for message in line["messages"]:
            assert set(message) <= {"role", "content", "tool_calls", "tool_call_id", "refusal", "weight"}
            if message["role"] == "tool":
                assert message["tool_call_id"] in open_calls
                open_calls.remove(message["tool_call_id"])
                continue
            assert not open_calls, "a call in mid-conversation without its answer"
            for call in message.get("tool_calls", []):
                has_calls = True
                assert call["function"]["name"] == "bash"
                json.loads(call["function"]["arguments"])
                open_calls.add(call["id"])
            assert message["content"] or message.get("tool_calls") or message["role"] != "assistant"
        assert ("tools" in line) == has_calls
        contents = [m["content"] for m in line["messages"] if m["role"] in ("user", "tool", "system")]
        assert contents == [event.content for event in of(events, Message)]


@real_files
def test_reasoning_is_only_exported_on_request(tmp_path: Path) -> None:
    path = next(path for path in FILES if "sqlfluff-1625" in path.name)
    trial = trial_of(path, tmp_path)
    assert b"reasoning_content" not in export(trial, "openai")
    line = json.loads(export(trial, "openai", reasoning=True))
    thoughts = [m["reasoning_content"] for m in line["messages"] if "reasoning_content" in m]
    raw = [m.get("reasoning_content") for m in json.loads(path.read_text())["messages"]]
    assert thoughts == [thought for thought in raw if thought]
    assert thoughts


def test_casts_are_asciicast_v2_with_the_records_times(all_trials: list[Path]) -> None:
    for trial in all_trials:
        events = list(read_events(trial))
        if not any(event.t for event in events):
            from trajectories.formats.errors import CannotExport

            with pytest.raises(CannotExport, match="no times"):
                export(trial, "asciicast")
            continue
        header, *lines = map(json.loads, export(trial, "asciicast").decode().splitlines())
        assert header["version"] == 2
        assert isinstance(header["width"], int)
        assert isinstance(header["timestamp"], int)
        times = [time for time, _, _ in lines]
        assert times == sorted(times)
        assert {kind for _, kind, _ in lines} <= {"i", "o"}
        assert set(times) <= {event.mono_s for event in events}
        assert not any("\n" in text.replace("\r\n", "") for _, kind, text in lines if kind == "o")


def test_terminal_escapes_stay_in_a_cast(tmp_path: Path) -> None:
    file = tmp_path / "escapes.traj.json"
    file.write_text(json.dumps(minimal(output="\x1b[31mred\x1b[0m\x07\n")))
    lines = export(trial_of(file, tmp_path), "asciicast").decode().splitlines()
    assert json.loads(lines[-1])[2] == "\x1b[31mred\x1b[0m\x07\r\n"


def minimal(output: str = "hello\n", **changes: Any) -> dict[str, Any]:
    """Return the smallest run with a command."""
    return {
        "info": {"exit_status": "LimitsExceeded", "submission": "", "model_stats": {"api_calls": 1}},
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "u"},
            {
                "role": "assistant",
                "content": "look",
                "tool_calls": [{"id": "a/../b", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}],
                "extra": {"actions": [{"command": "ls", "tool_call_id": "a/../b"}], "timestamp": 1000.5},
            },
            {
                "role": "tool",
                "tool_call_id": "a/../b",
                "content": output,
                "extra": {"raw_output": output, "returncode": 0, "timestamp": 1001.25, "exception_info": ""},
            },
        ],
        "trajectory_format": "mini-swe-agent-1.1",
        **changes,
    }


@pytest.mark.parametrize("format", FORMATS)
def test_an_export_changes_nothing_in_the_trial(tmp_path: Path, format: Format) -> None:
    file = tmp_path / "run.traj.json"
    file.write_text(json.dumps(minimal()))
    trial = trial_of(file, tmp_path)

    def state() -> dict[str, str]:
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in trial.rglob("*") if path.is_file()}

    before = state()
    assert export(trial, format)
    assert state() == before
