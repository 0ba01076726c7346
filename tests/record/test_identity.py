"""Identities: which conditions make another configuration, and which facts are not part of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.record.test_recorder import started
from trajectories.checks.check import check
from trajectories.reading.entry import TrialEntry
from trajectories.reading.reader import first_event
from trajectories.record.events import Exited, Plan, TrialStarted
from trajectories.record.exits import Exit
from trajectories.record.identity import _conditions, configuration_hash, identity_of, sha256_of
from trajectories.record.layout import TrialFolder
from trajectories.writing.recorder import Recorder

RECORDS = sorted(
    path
    for path in (Path(__file__).parents[1] / "records").glob("v*/*/*/events.jsonl")
    if TrialFolder(path.parent).is_trial()
)

OLD = {"image": "x", "platform": None, "network": False, "cpus": 1.0, "memory_bytes": None, "pids": 4096, "env": {}}
USUAL = {"disk_bytes": None, "shm_bytes": None, "ulimits": {}, "shell": "fresh"}


def test_conditions_that_were_added_later_keep_older_identities() -> None:
    assert _conditions(OLD | USUAL) == _conditions(OLD) == OLD


@pytest.mark.parametrize(
    ("key", "value"), [("disk_bytes", 1), ("shm_bytes", 1), ("ulimits", {"nofile": 9}), ("shell", "persistent")]
)
def test_each_condition_that_was_added_later_makes_another_configuration(key: str, value: object) -> None:
    assert _conditions(OLD | USUAL | {key: value}) == OLD | {key: value}


@pytest.mark.parametrize("events", RECORDS, ids=lambda path: f"{path.parts[-4]}-{path.parent.name}")
def test_the_identity_of_a_recorded_trial_is_computed_as_it_was(events: Path) -> None:
    start = first_event(events.parent)
    if start.imported is None:  # the identity of an import is that of its file
        assert identity_of(start) == start.identity


def changed(**fields: Any) -> TrialStarted:
    return started().model_copy(update=fields)


def test_turns_of_a_chain_share_setup_configuration_and_label_and_have_identities_of_their_own() -> None:
    alone, first, second = changed(), changed(turn=1), changed(turn=2)
    entries = [TrialEntry.of(start) for start in (alone, first, second)]
    assert len({(entry.setup, entry.configuration, entry.label) for entry in entries}) == 1
    assert identity_of(alone) == sha256_of([configuration_hash(alone), 1]), "as ever"
    assert len({identity_of(start) for start in (alone, first, second, changed(turn=1, attempt=2))}) == 4
    assert [entry.mode for entry in entries] == ["base", "self-correction", "self-correction"]


def test_mode_and_label_are_not_part_of_an_identity() -> None:
    assert identity_of(changed(mode="plan", label="mine")) == identity_of(changed())


def test_a_stored_mode_that_does_not_follow_from_plan_and_turn_is_reported(tmp_path: Path) -> None:
    plan = Plan(name="plan.md", sha256="0" * 64)
    problem = "the mode is 'plan-and-interactive', but plan, turn and guidance make it 'plan'"
    for number, (mode, problems) in enumerate(
        (
            (
                "plan-and-interactive",
                [problem],
            ),
            ("plan", []),
            (None, []),
        )
    ):
        trial = tmp_path / str(number)
        trial.mkdir()
        recorder = Recorder(trial)
        recorder.append(changed(plan=plan, mode=mode))
        recorder.append(Exited(exit=Exit.of("submitted"), steps=0))
        recorder.close()
        assert [finding.text for finding in check(trial).findings if finding.rule == "parentage"] == problems
