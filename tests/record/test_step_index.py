"""The index of steps: it tells what the events tell, is made while a trial runs, and is never believed over them."""

from __future__ import annotations

import json
import os
import pty
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from agent.cli.commands.show import _overview as show
from tests.record.test_recorder import started
from tests.record.writing import Writing
from trajectories.checks.check import check
from trajectories.errors import RecordError
from trajectories.reading import reader
from trajectories.reading.outputs import recorded_output
from trajectories.reading.reader import read_events
from trajectories.reading.runs import listed
from trajectories.reading.steps.events import events_from_step, events_of_last, read_step, until_step
from trajectories.reading.steps.index import IndexMisfit, read_index, rows_of
from trajectories.reading.summary import summarize
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    CallFinished,
    CallStarted,
    Checkpoint,
    Event,
    Exited,
    Reply,
    Resumed,
)
from trajectories.record.exits import Exit
from trajectories.record.layout import TrialFolder
from trajectories.record.usage import Costs, Usage
from trajectories.writing.lock import TrialLock
from trajectories.writing.masking import Masker
from trajectories.writing.packing import pack
from trajectories.writing.recorder import Recorder

RECORDS = sorted(
    path.parent
    for path in Path(__file__).parents[1].glob("records/v*/*/*/events.jsonl")
    if TrialFolder(path.parent).is_trial()
)


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    """Return a trial of 40 steps; nothing reads its index before the test."""
    writing = Writing(tmp_path / "b" / "trial", {b"a": b"0"})
    for number in range(1, 41):
        writing.step({b"a": b"%d" % number})
    return writing.done()


def index_file(trial: Path) -> Path:
    return trial / "steps.jsonl"


@contextmanager
def parsed_lines() -> Iterator[list[int]]:
    """Count the lines that are parsed as events, in the one element of the list."""
    counted = [0]
    code = reader.parse_event.__code__

    def profile(frame: object, event: str, _: object) -> None:
        if event == "call" and getattr(frame, "f_code", None) is code:
            counted[0] += 1

    sys.setprofile(profile)
    try:
        yield counted
    finally:
        sys.setprofile(None)


def step(recorder: Recorder, number: int, script: str, usage: Usage | None = None, costs: Costs | None = None) -> None:
    """Record a step with one command."""
    recorder.append(CallStarted(step=number, message_ids=(), messages=0, messages_sha256="0"))
    reply = CallFinished(
        step=number, id=f"m{number}", reply=Reply(text="x"), model_requested="m", latency_s=1.5, usage=usage
    )
    recorder.append(reply.model_copy(update={"costs": costs or Costs()}))
    recorder.append(ActionStarted(action=f"{number}.1", step=number, script=script, deadline_s=1))
    output = recorder.output(b"abc", 7)
    finished = ActionFinished(
        action=f"{number}.1", step=number, ended="exited", exit_code=3, duration_s=0.25, output=output
    )
    recorder.append(finished)


def test_a_row_tells_what_the_events_of_its_step_tell(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.append(started())
    step(recorder, 1, "x" * 500, Usage(input=5, output=2), Costs(computed=0.5))
    recorder.append(Exited(exit=Exit.of("submitted"), steps=1))
    recorder.close()
    (_, row) = read_index(tmp_path).rows
    assert (row.step, row.replied, row.latency_s, row.failed_calls, row.changes) == (1, True, 1.5, 0, None)
    assert (row.usage, row.costs.computed) == (Usage(input=5, output=2), 0.5)
    (command,) = row.commands
    assert command.model_dump() == {
        "action": "1.1",
        "script": "x" * 160,
        "ended": "exited",
        "exit_code": 3,
        "signal": None,
        "duration_s": 0.25,
        "output_bytes": 7,
    }
    lines = (tmp_path / "events.jsonl").read_bytes()[row.start : row.end].splitlines()
    assert [json.loads(line)["type"] for line in lines] == [
        "call_started",
        "call_finished",
        "action_started",
        "action_finished",
    ]


def test_changed_paths_are_counted_and_the_first_are_named(tmp_path: Path) -> None:
    tree = {b"%03d" % number: b"x" for number in range(30)}
    trial = Writing(tmp_path / "b" / "t", {}).step(tree).step(tree).done()
    changes = [(row.changes, row.paths) for row in read_index(trial).rows]
    assert changes == [(0, ()), (30, tuple(f"{number:03d}" for number in range(20))), (0, ())]


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.name)
def test_rows_of_all_recorded_trials_add_up_to_their_summaries(record: Path, tmp_path: Path) -> None:
    """They hold for records of all versions, killed, resumed, forked and imported ones."""
    shutil.copy(record / "events.jsonl", tmp_path)
    events = list(read_events(tmp_path))
    summary, index = summarize(tmp_path, events), read_index(tmp_path)
    rows = index.rows
    assert index.steps == summary.steps
    assert sum(len(row.commands) for row in rows) <= summary.commands  # a command that ran again has one row
    assert sum(row.failed_calls for row in rows) == summary.failed_calls
    assert sum(row.unmetered_calls for row in rows) == summary.unmetered_calls
    assert Usage.sum(row.usage for row in rows) == summary.usage
    for number in {row.step for row in rows}:
        assert read_step(tmp_path, number) == _of_step(events, number)
    assert read_index(tmp_path) == index
    assert rows[0].start == 0
    assert all(row.end == following.start for row, following in pairwise(rows))


def _of_step(events: list[Event], number: int) -> list[Event]:
    """Return the events of a step, without the commit that a finished trial ends with: no row holds it."""
    before = until_step(events, number - 1) if number else []
    exit = max((event.seq for event in events if isinstance(event, Exited)), default=len(events))
    return [
        event
        for event in until_step(events, number)
        if event not in before and not (isinstance(event, Checkpoint) and event.seq > exit)
    ]


def test_the_index_is_written_while_the_trial_runs(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.append(started())
    for number in (1, 2, 3):
        step(recorder, number, "true")
        assert [json.loads(line)["step"] for line in index_file(tmp_path).read_text().splitlines()[1:]] == list(
            range(number)
        )
    with TrialLock(tmp_path):  # a reader leaves the index of a running trial alone
        stored = index_file(tmp_path).read_bytes()
        assert [row.step for row in read_index(tmp_path).rows] == [0, 1, 2, 3]
        assert index_file(tmp_path).read_bytes() == stored
    recorder.append(Exited(exit=Exit.of("submitted"), steps=3))
    recorder.close()
    written = index_file(tmp_path).read_bytes()
    assert read_index(tmp_path).rows == rows_of(tmp_path).rows
    index_file(tmp_path).unlink()
    read_index(tmp_path)
    assert index_file(tmp_path).read_bytes() == written


def test_a_resumed_trial_has_one_row_for_the_step_that_it_continued(trial: Path) -> None:
    events = list(read_events(trial))
    recorder = Recorder(trial, after=events[-1])
    recorder.append(Resumed(restored_step=40))
    step(recorder, 41, "true")
    recorder.append(Exited(exit=Exit.of("submitted"), steps=41))
    recorder.close()
    stored = index_file(trial).read_bytes()
    index = read_index(trial)
    assert [row.step for row in index.rows] == list(range(42))
    assert index.rows == rows_of(trial).rows
    assert index_file(trial).read_bytes() == stored
    assert isinstance(read_step(trial, 40)[-1], Resumed)


def cut_lines(path: Path) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:9]))


def tear(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def rename_version(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'{"version": 1}', b'{"version": 0}'))


def spoil(path: Path) -> None:
    path.write_bytes(b"\0" * 5000)


def put_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def shift(path: Path) -> None:
    path.write_text(path.read_text().replace('"start":', '"start":1'))


@pytest.mark.parametrize("damage", [Path.unlink, cut_lines, tear, rename_version, spoil, put_pipe, shift])
def test_an_absent_torn_old_or_damaged_index_is_made_again(trial: Path, damage: Callable[[Path], None]) -> None:
    whole = index_file(trial).read_bytes()
    damage(index_file(trial))
    assert read_index(trial).rows == rows_of(trial).rows
    assert index_file(trial).read_bytes() == whole


def test_the_index_of_other_events_is_not_used(trial: Path) -> None:
    """Neither size nor time of the file tell that it was edited."""
    events = trial / "events.jsonl"
    times = events.stat().st_atime_ns, events.stat().st_mtime_ns
    events.write_text(events.read_text().replace('"exit_code":0', '"exit_code":9'))
    os.utime(events, ns=times)
    codes = {command.exit_code for row in read_index(trial).rows for command in row.commands}
    assert codes == {9}


def test_events_after_the_index_are_added_to_it(trial: Path) -> None:
    before = index_file(trial).read_bytes()
    recorder = Recorder(trial, after=list(read_events(trial))[-1])
    recorder.append(Resumed(restored_step=40))
    step(recorder, 41, "true")
    recorder.append(Exited(exit=Exit.of("submitted"), steps=41))
    recorder.close()
    index_file(trial).write_bytes(before)
    with parsed_lines() as counted:
        rows = read_index(trial).rows
    assert rows == rows_of(trial).rows
    assert counted[0] < 40
    assert read_index(trial).rows == rows


def forge(trial: Path, change: Callable[[list[dict[str, object]]], None]) -> None:
    """Change the rows of the index, which keeps the sha256 of the events."""
    head, *lines = index_file(trial).read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    change(rows)
    index_file(trial).write_text("\n".join([head, *map(json.dumps, rows)]) + "\n")


def swap_places(rows: list[dict[str, object]]) -> None:
    """Let two steps show each other's events."""
    rows[7]["step"], rows[8]["step"] = rows[8]["step"], rows[7]["step"]


def join_steps(rows: list[dict[str, object]]) -> None:
    """Hide a step within the one before it."""
    rows[7]["end"] = rows[8]["end"]
    del rows[8]


@pytest.mark.parametrize("change", [swap_places, join_steps])
def test_a_false_index_does_not_show_the_events_of_another_step(
    trial: Path, change: Callable[[list[dict[str, object]]], None]
) -> None:
    expected = [read_step(trial, number) for number in range(41)]
    forge(trial, change)
    index = read_index(trial)
    with pytest.raises(IndexMisfit):
        index.events(index.of_step(7)[0])
    assert read_step(trial, 7) == expected[7]
    assert [read_step(trial, number) for number in range(41)] == expected
    assert check(trial).consistent


def test_a_false_index_changes_no_summary(trial: Path) -> None:
    def cheaper(rows: list[dict[str, object]]) -> None:
        for row in rows:
            row["costs"] = {"computed": 0.0}

    before = listed(trial).summary, summarize(trial, read_events(trial))
    assert check(trial).consistent
    forge(trial, cheaper)
    assert (listed(trial).summary, summarize(trial, read_events(trial))) == before
    first = check(trial).first
    assert first is not None
    assert (first.place, first.text.partition(" (")[0]) == ("steps.jsonl", "it differs from the events in step 0")


def test_reading_a_part_parses_only_that_part(trial: Path) -> None:
    lines = len((trial / "events.jsonl").read_bytes().splitlines())
    reads: list[Callable[[], object]] = [
        lambda: read_step(trial, 20),
        lambda: list(events_from_step(trial, 39)),
        lambda: list(events_of_last(trial, 2)),
        lambda: recorded_output(trial, "20.1"),
    ]
    for read in reads:
        with parsed_lines() as counted:
            assert read()
        assert counted[0] < lines / 8


def test_the_index_finds_steps_in_a_packed_record(trial: Path) -> None:
    expected = [read_step(trial, number) for number in (0, 20, 40)]
    with TrialLock(trial):
        pack(trial)
    for present in (True, False):
        if not present:
            index_file(trial).unlink()
        with parsed_lines() as counted:
            assert read_step(trial, 20) == expected[1]
        assert (counted[0] < 20) == present
        assert list(events_of_last(trial, 1))[: len(expected[2])] == expected[2]
        assert read_index(trial).rows == rows_of(trial).rows


def test_a_part_that_a_trial_does_not_have_is_named(trial: Path) -> None:
    with pytest.raises(RecordError, match="there is no step 41; the last is 40"):
        read_step(trial, 41)
    with pytest.raises(RecordError, match="there is no step 41; the last is 40"):
        events_from_step(trial, 41)
    with pytest.raises(RecordError, match=r"no finished command 'x.y'; the last is 40.1"):
        recorded_output(trial, "x.y")


def test_an_index_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    trial = Writing(tmp_path / "b" / "trial", {}).step({}).done()
    shutil.rmtree(trial / "steps.jsonl", ignore_errors=True)
    index_file(trial).unlink(missing_ok=True)
    index_file(trial).mkdir()
    assert [row.step for row in read_index(trial).rows] == [0, 1]
    recorder = Recorder(trial, after=list(read_events(trial))[-1])
    recorder.append(Resumed(restored_step=1))
    recorder.close()
    assert [row.step for row in read_index(trial).rows] == [0, 1]


def test_secrets_are_masked_in_the_index_also_at_its_cut(tmp_path: Path) -> None:
    secret = "sk-0123456789abcdef"
    recorder = Recorder(tmp_path, masker=Masker({"KEY": secret}))
    recorder.append(started())
    step(recorder, 1, "x" * 150 + secret)
    recorder.append(Exited(exit=Exit.of("submitted"), steps=1))
    recorder.close()
    read_index(tmp_path)
    text = index_file(tmp_path).read_text()
    assert '"script":"' + "x" * 150 + "[secret:KE" in text
    assert "sk-0" not in text


@pytest.mark.parametrize("options", [(None, None), (2, None), (None, 590)])
def test_the_first_screen_of_a_long_trial_needs_only_its_own_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[int | None, int | None]
) -> None:
    """The pager takes nothing, so printing stops when the pipe to it is full; the rest must not have been read."""
    (tmp_path / "trial").mkdir()
    recorder = Recorder(tmp_path / "trial")
    recorder.append(started())
    for number in range(1, 601):
        step(recorder, number, "x" * 2000)
    recorder.append(Exited(exit=Exit.of("submitted"), steps=600))
    recorder.close()
    main, terminal = pty.openpty()
    monkeypatch.setenv("PAGER", "sleep 1")
    with open(terminal, "w") as out, open(os.dup(main)) as in_, parsed_lines() as counted:
        monkeypatch.setattr("sys.stdout", out)
        monkeypatch.setattr("sys.stdin", in_)
        show(tmp_path / "trial", *options)
        monkeypatch.undo()
    os.close(main)
    assert 10 < counted[0] < 600
