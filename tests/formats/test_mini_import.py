"""Every real file becomes a trial with the file's own totals, which are also counted without our code."""

from __future__ import annotations

import hashlib
import itertools
import json
from pathlib import Path

import pytest

from tests.formats.corpus import DATA, FILES, count, name_of, with_known_end
from trajectories.blobs.store import BlobStore
from trajectories.checks.check import check
from trajectories.formats.trial import ImportedTrial, import_file
from trajectories.reading.reader import read_events
from trajectories.reading.runs import listed
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    CallFailed,
    CallFinished,
    CallStarted,
    Event,
    Message,
    TrialStarted,
    Warned,
)

pytestmark = pytest.mark.skipif(not FILES, reason=f"the real files are not beside this checkout ({DATA})")


def imported(tmp_path: Path, name: str) -> tuple[ImportedTrial, list[Event]]:
    made = import_file(DATA / name, tmp_path / "batch")
    return made, list(read_events(made.directory))


def start(events: list[Event]) -> TrialStarted:
    assert isinstance(events[0], TrialStarted)
    return events[0]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_totals_equal_an_independent_count(tmp_path: Path, path: Path) -> None:
    expected = count(path)
    made, events = imported(tmp_path, name_of(path))
    summary = made.summary
    answered = [event for event in events if isinstance(event, CallFinished)]
    assert summary.steps == len(answered) == expected.replies + expected.lost_replies
    if expected.calls is not None and "excerpt" not in path.name:
        assert summary.steps + summary.failed_calls == expected.calls
    usage = summary.usage
    if expected.prompt is None:
        assert (usage.input, usage.output) == (None, None)
    else:
        assert (usage.prompt, usage.cache_read or 0, usage.output) == (
            expected.prompt,
            expected.cached,
            expected.output,
        )
    assert summary.cost_usd.billed == expected.cost_usd
    assert summary.commands == expected.commands
    assert [event.exit_code for event in with_known_end(events)] == [
        None if code == -1 else code for code in expected.codes
    ]
    assert start(events).imported.exit_status == expected.status  # type: ignore[union-attr]
    assert (summary.exit is None) == (expected.status is None)
    if summary.exit is not None:
        assert summary.exit.detail.partition(":")[0] == expected.status


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_trial_is_well_formed_and_holds_the_file(tmp_path: Path, path: Path) -> None:
    made, events = imported(tmp_path, name_of(path))
    assert [event.seq for event in events] == list(range(len(events)))
    assert all(before.mono_s <= after.mono_s for before, after in itertools.pairwise(events))
    began = [event.action for event in events if isinstance(event, ActionStarted)]
    ended = [event.action for event in events if isinstance(event, ActionFinished)]
    assert len(set(began)) == len(began)
    assert len(set(ended)) == len(ended)
    assert set(ended) == set(began)
    assert check(made.directory).first is None
    calls = [event for event in events if isinstance(event, CallStarted)]
    sent = [id for call in calls for id in call.message_ids]
    assert len(sent) == len(set(sent))
    source = start(events).imported
    assert source is not None
    assert BlobStore(made.directory / "blobs").get(source.sha256) == path.read_bytes()
    assert listed(made.directory).summary == made.summary


def test_the_same_bytes_are_imported_once_under_any_name(tmp_path: Path) -> None:
    first, _ = imported(tmp_path, "v1/rfc-mini-1.13.4.traj.json")
    copy = tmp_path / "other.json"
    copy.write_bytes((DATA / "v1/rfc-mini-1.13.4.traj.json").read_bytes())
    again = import_file(copy, tmp_path / "another batch")
    assert (again.already, again.directory) == (True, first.directory)
    copy.write_bytes(copy.read_bytes() + b"\n")
    assert not import_file(copy, tmp_path / "another batch").already


def test_values_that_the_bare_list_does_not_have_are_null(tmp_path: Path) -> None:
    made, events = imported(tmp_path, "v0-barelist/github_issue.traj.json")
    head = start(events)
    assert (head.model.name, head.environment, head.imported.layout) == ("unknown", "unknown", "list")  # type: ignore[union-attr]
    summary = made.summary
    assert (summary.exit, summary.wall_s, summary.working_s, summary.started) == (None, None, None, "")
    assert (summary.cost_usd.billed, summary.usage.output) == (None, None)
    assert all(event.deadline_s is None for event in events if isinstance(event, ActionStarted))
    assert all(event.duration_s is None for event in events if isinstance(event, ActionFinished))
    assert all(event.latency_s is None for event in events if isinstance(event, CallFinished))


def test_the_submission_is_kept_and_is_not_a_message(tmp_path: Path) -> None:
    for name in ("v0-barelist/github_issue.traj.json", "v2/2.3.0-astropy-12907.traj.json"):
        _, events = imported(tmp_path, name)
        submission = start(events).imported.submission  # type: ignore[union-attr]
        value = json.loads((DATA / name).read_text())
        last = (value if isinstance(value, list) else value["messages"])[-1]["content"]
        assert submission is not None
        assert submission.sha256 == hashlib.sha256(last.encode()).hexdigest()
        assert all(event.content != last for event in events if isinstance(event, Message))


def test_the_oldest_observations_are_python_literals_with_two_streams(tmp_path: Path) -> None:
    _, events = imported(tmp_path, "v0-barelist/github_issue.traj.json.3881aa42")
    first = next(event for event in events if isinstance(event, ActionFinished))
    assert (first.exit_code, first.streams, first.output.text) == (1, "separate", "")
    assert first.stderr is not None
    assert first.stderr.text.endswith("No such file or directory\n")
    assert start(events).environment == "docker"


def test_a_cost_without_shares_is_the_files_total(tmp_path: Path) -> None:
    made, events = imported(tmp_path, "v1/rfc-mini-1.13.4.traj.json")
    assert all(event.costs.billed is None for event in events if isinstance(event, CallFinished))
    assert made.summary.cost_usd.billed == 0.010520999999999999


def test_requested_and_served_model_differ(tmp_path: Path) -> None:
    _, events = imported(tmp_path, "v2/2.3.0-astropy-12907.traj.json")
    calls = [event for event in events if isinstance(event, CallFinished)]
    assert {(event.model_requested, event.model_served) for event in calls} == {
        ("deepseek/deepseek-chat", "deepseek-v4-flash")
    }


def test_a_command_that_timed_out_has_no_return_code(tmp_path: Path) -> None:
    (path,) = (DATA / "v2-cmdtimeout").iterdir()
    _, events = imported(tmp_path, name_of(path))
    (late,) = [event for event in with_known_end(events) if event.ended != "exited"]
    assert (late.ended, late.exit_code, late.signal) == ("deadline", None, None)
    assert late.output.text.startswith("Collecting numpy\n")
    began = next(event for event in events if isinstance(event, ActionStarted) and event.action == late.action)
    assert (began.script, began.deadline_s) == ("pip install numpy", 60.0)


def test_the_call_that_ended_an_aborted_run_is_a_failed_call(tmp_path: Path) -> None:
    errors = {}
    for path in (DATA / "v2-failed").iterdir():
        made, events = imported(tmp_path, name_of(path))
        (failed,) = [event for event in events if isinstance(event, CallFailed)]
        assert not failed.retry
        assert made.summary.exit is not None
        errors[path.name.partition(".")[0]] = (failed.error, made.summary.exit.reason, made.summary.exit.cause)
    assert errors == {
        "InternalServerError": ("server_error", "infrastructure", "model_unavailable"),
        "Timeout": ("timeout", "infrastructure", "model_unavailable"),
    }


def test_a_lost_format_error_is_a_step_of_unknown_cost(tmp_path: Path) -> None:
    made, events = imported(tmp_path, "v2-formaterror/django__django-13964.traj.json")
    (lost,) = [event for event in events if isinstance(event, CallFinished) and event.usage is None]
    assert (lost.costs.billed, lost.reply.text, lost.reply.tool_calls) == (None, "", ())
    assert made.summary.unmetered_calls == 1
    after = events[events.index(lost) + 1]
    assert isinstance(after, Message)
    assert (after.role, after.why) == ("user", "format_error")
    assert any(isinstance(event, Warned) and "messages[266]" in event.text for event in events)


def test_outputs_that_the_model_saw_cut_are_whole(tmp_path: Path) -> None:
    for path in (DATA / "v2-truncated").iterdir():
        _, events = imported(tmp_path, name_of(path))
        raws = [m["extra"]["raw_output"] for m in json.loads(path.read_text())["messages"] if m["role"] == "tool"]
        outputs = [event.output for event in with_known_end(events)]
        assert [output.sha256 for output in outputs] == [hashlib.sha256(raw.encode()).hexdigest() for raw in raws]
        shown = [event for event in events if isinstance(event, Message) and "<elided_chars>" in event.content]
        assert shown
        assert any(output.blob for output in outputs)


def test_the_output_can_be_read_from_the_text_without_raw_output(tmp_path: Path) -> None:
    """In 1,469 observations of real runs the output that is read from the text equals `raw_output`."""
    compared = 0
    for path in FILES:
        value = json.loads(path.read_text())
        if isinstance(value, list) or "raw_output" not in path.read_text():
            continue
        raws = [m["extra"].pop("raw_output") for m in value["messages"] if m.get("role") == "tool"]
        stripped = tmp_path / "stripped.json"
        stripped.write_text(json.dumps(value))
        made = import_file(stripped, tmp_path / "batch")
        outputs = [event.output for event in with_known_end(read_events(made.directory))]
        assert len(outputs) == len(raws)
        for raw, output in zip(raws, outputs, strict=True):
            if len(raw) < 10_000:
                assert output.sha256 == hashlib.sha256(raw.encode()).hexdigest()
                compared += 1
            else:
                assert output.kept < output.bytes
    assert compared > 1400


def test_times_are_the_files_own(tmp_path: Path) -> None:
    name = "v2/2.3.0-astropy-12907.traj.json"
    made, events = imported(tmp_path, name)
    stamps = [m["extra"]["timestamp"] for m in json.loads((DATA / name).read_text())["messages"][2:-1]]
    assert made.summary.wall_s == round(stamps[-1] - stamps[0], 3)
    first = next(event for event in events if isinstance(event, CallFinished))
    assert (first.t, first.mono_s) == ("2026-06-05T17:25:49.441036Z", 0.0)
    assert {event.t for event in events if isinstance(event, CallStarted | ActionStarted)} == {""}


def test_the_responses_layout(tmp_path: Path) -> None:
    _, events = imported(tmp_path, "excerpts/layout-responses.gpt-5.5.cmatrix.excerpt.json")
    assert start(events).imported.layout == "responses"  # type: ignore[union-attr]
    second = [event for event in events if isinstance(event, CallFinished)][1]
    assert [item["type"] for item in second.reply.message["output"]] == ["reasoning", "message", "function_call"]
    assert second.reply.text.startswith("The repository appears")
    assert second.usage is not None
    assert second.usage.reasoning is not None
    notes = [event.text for event in events if isinstance(event, Warned)]
    assert any("40 calls" in note for note in notes)
    assert any("not the sum" in note for note in notes)


def test_the_anthropic_layout_is_read_without_display_copies(tmp_path: Path) -> None:
    _, events = imported(tmp_path, "excerpts/layout-anthropic-native.haiku-4-5.cmatrix.excerpt.json")
    assert start(events).imported.layout == "anthropic"  # type: ignore[union-attr]
    reply = next(event for event in events if isinstance(event, CallFinished)).reply
    assert reply.text.startswith("I'll start by exploring")
    tool_use = reply.message["content"][1]
    assert tool_use["type"] == "tool_use"
    assert "text" not in tool_use
    answers = [event for event in events if isinstance(event, Message) and event.role == "tool"]
    assert [event.why for event in answers] == ["observation"] * 3
    assert all(event.tool_call_id and event.action for event in answers)
