"""A batch from its files: units in the order in which they were planned, with all their folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.batches.files.writing import call, configuration, exited, opened, planned, write_batch, write_trial
from trajectories.batches.events import BatchClosed, Ended, How, Started
from trajectories.batches.journal import BatchWriter
from trajectories.batches.reader import first_name_of, read_batch
from trajectories.errors import RecordError

X, Y = configuration("x"), configuration("y", arm="plan")


def start(unit: str, how: How = "fresh", *, counted: bool = False) -> Started:
    return Started(unit=unit, trial="t", how=how, worker="w1", counted=counted)


def end(unit: str, cause: str = "environment_lost") -> Ended:
    return Ended(unit=unit, trial="t", status="failed", cause=cause)


def test_units_come_in_the_order_in_which_they_were_planned_also_after_the_grid_grew(tmp_path: Path) -> None:
    batch = write_batch(tmp_path / "b", Y, X, attempts=2)
    with BatchWriter(batch) as writer:
        writer.append(opened(workers=9))
        writer.append(planned(Y, 3))
    made = read_batch(batch)
    assert [(unit.trial, unit.arm, unit.attempt) for unit in made.units] == [
        (Y.trial(1), "plan", 1), (Y.trial(2), "plan", 2), (X.trial(1), "base", 1), (X.trial(2), "base", 2),
        (Y.trial(3), "plan", 3),
    ]  # fmt: skip
    assert made.opened.workers == 9
    assert made.by_identity[X.unit(2)].configuration == X
    assert list(made.configurations) == [Y.id, X.id]


def test_starts_ends_and_the_close_are_those_of_the_journal(tmp_path: Path) -> None:
    batch = write_batch(tmp_path / "b", X, Y)
    x, y = X.unit(1), Y.unit(1)
    with BatchWriter(batch) as writer:
        for event in (start(x), end(x), start(x, "rerun", counted=True), start(y), end(y, "disk_full")):
            writer.append(event)
        writer.append(BatchClosed(why="interrupted"))
    made = read_batch(batch)
    assert [(unit.starts, unit.counted, unit.last and unit.last.cause) for unit in made.units] == [
        (2, 1, None), (1, 0, "disk_full"),
    ]  # fmt: skip
    assert made.closed is not None
    with BatchWriter(batch) as writer:
        writer.append(opened())
    assert read_batch(batch).closed is None, "another coordinator has taken over"


def test_the_last_rerun_that_has_begun_counts(tmp_path: Path) -> None:
    batch = write_batch(tmp_path / "b", X)
    first = X.trial(1)
    assert (read_batch(batch).units[0].current, read_batch(batch).units[0].superseded) == (first, ())
    write_trial(batch, X, [exited("environment_lost", 0)])
    (batch / f"{first}.r1").mkdir()
    (batch / f"{first}.r1" / "events.jsonl").write_bytes(b'{"seq":0,"t')
    (unit,) = read_batch(batch).units
    assert (unit.current, unit.rerun, unit.superseded) == (first, 0, ())
    for number in (2, 10):
        write_trial(batch, X, [*call(1), exited()], rerun=number)
    (unit,) = read_batch(batch).units
    assert (unit.current, unit.rerun) == (f"{first}.r10", 10), "numbers are compared, not names"
    assert unit.superseded == (first, f"{first}.r1", f"{first}.r2")


def test_turns_of_reruns_belong_to_their_unit_and_foreign_trials_to_none(tmp_path: Path) -> None:
    batch = write_batch(tmp_path / "b", X, attempts=2)
    first = X.trial(1)
    for name in (first, f"{first}.t2", f"{first}.r1", f"{first}.r1.t2"):
        (batch / name).mkdir()
        (batch / name / "events.jsonl").write_text(first_line())
    for name in ("other.m.00000000.1", f"{first}.extra", f"{X.stem}.9"):
        (batch / name).mkdir()
        (batch / name / "events.jsonl").write_text("x\n")
    for name in ("notes", ".pool"):
        (batch / name).mkdir()
    made = read_batch(batch)
    unit = made.units[0]
    assert unit.folders == (first, f"{first}.r1", f"{first}.r1.t2", f"{first}.t2")
    assert (unit.current, unit.superseded) == (f"{first}.r1", (first, f"{first}.t2"))
    assert made.units[1].folders == ()
    assert set(made.strays) == {"other.m.00000000.1", f"{first}.extra", f"{X.stem}.9"}


def first_line() -> str:
    """Return the first line of a record."""
    start = X.first_event(1)
    return start.model_dump_json(by_alias=True) + "\n"


def test_names_of_folders_lead_to_their_unit() -> None:
    first = "a-b.t2.00000000.1"
    assert {first_name_of(f"{first}{end}") for end in ("", ".t2", ".r1", ".r1.t3", ".t2.r4", ".r10")} == {first}
    assert first_name_of(f"{first}.r0") == f"{first}.r0"


def test_a_unit_of_an_unknown_configuration_is_an_error_with_its_place(tmp_path: Path) -> None:
    batch = write_batch(tmp_path / "b", X)
    with BatchWriter(batch) as writer:
        writer.append(planned(Y))
    with pytest.raises(RecordError, match=r"batch\.jsonl: event 2 plans 'y\..*' for a configuration that grid"):
        read_batch(batch)


def test_folders_without_a_journal_are_not_batches(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="not a batch of agent batch"):
        read_batch(tmp_path)
    (tmp_path / "batch.jsonl").write_bytes(b'{"seq":0')
    with pytest.raises(RecordError, match=r"batch\.jsonl: the journal of the batch is empty"):
        read_batch(tmp_path)


@pytest.mark.parametrize("name", ["../elsewhere/x.m.1.1", "/etc", "y.m.00000000.1"])
def test_a_unit_never_lies_in_another_folder(tmp_path: Path, name: str) -> None:
    batch = write_batch(tmp_path / "b", X)
    with BatchWriter(batch) as writer:
        writer.append(planned(X, 2).model_copy(update={"trial": name}))
    with pytest.raises(RecordError, match=r"batch\.jsonl: event 2 plans '.*', which is not the name of attempt 2"):
        read_batch(batch)
