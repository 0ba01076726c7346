"""Reruns in records: the trial that replaces another one names it, and keeps its identity."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.record.intervention_records import write_chain
from tests.record.test_check_interventions import chain, changed, put, source
from tests.record.test_recorder import started
from tests.solve.command import agent, script
from trajectories.batches.configuration import Configuration
from trajectories.checks.check import check
from trajectories.reading.reader import first_event
from trajectories.record.events import Exited
from trajectories.record.exits import Exit
from trajectories.record.identity import identity_of
from trajectories.record.layout import is_trial_or_rerun, name_of_rerun, rerun_in
from trajectories.writing.claim import stem_of
from trajectories.writing.recorder import Recorder


def rerun(folder: Path, **changes: object) -> Path:
    """Write the record of a trial without a step, and return its folder."""
    start = started().model_copy(update={"mode": "base", "identity": identity_of(started()), **changes})
    folder.mkdir()
    recorder = Recorder(folder)
    recorder.append(start)
    recorder.append(Exited(exit=Exit.of("submitted"), steps=0))
    recorder.close()
    return folder


def test_a_rerun_has_the_identity_of_the_trial_that_it_replaces() -> None:
    replacing = started().model_copy(update={"rerun": 1, "replaces": "t.m.0.1"})
    assert identity_of(replacing) == identity_of(started())


def test_an_event_0_without_a_rerun_has_neither_field(tmp_path: Path) -> None:
    trial = rerun(tmp_path / "t.m.0.1")
    assert {"rerun", "replaces"}.isdisjoint(json.loads((trial / "events.jsonl").read_text().splitlines()[0]))
    assert check(trial).consistent


def test_show_names_the_trial_that_a_rerun_replaces(tmp_path: Path) -> None:
    trial = rerun(tmp_path / "t.m.0.1.r2", trial="t.m.0.1.r2", rerun=2, replaces="t.m.0.1.r1")
    result = agent(tmp_path, "show", str(trial))
    assert result.status == 0, result.err
    assert "rerun 2, replaces t.m.0.1.r1" in result.out
    assert check(trial).consistent


@pytest.mark.parametrize("changes", [{"rerun": 1}, {"replaces": "t.m.0.1"}, {"rerun": 0, "replaces": "t.m.0.1"}])
def test_a_rerun_has_a_number_and_names_what_it_replaces(tmp_path: Path, changes: dict[str, object]) -> None:
    first = check(rerun(tmp_path / "t", **changes)).first
    assert first is not None
    assert (first.rule, first.text[:19]) == ("parentage", "the trial is rerun ")


def test_a_turn_may_be_run_again_and_later_turns_take_their_feedback_from_the_rerun(tmp_path: Path) -> None:
    trial = write_chain(tmp_path, *[{"a": "failed"}] * 3)[2]
    (trial / "trial.json").unlink()
    name = "ledger.m.1.t3.r1"
    result = changed(trial, lambda e: put(e, "trial_started", 0, trial=name, rerun=1, replaces="ledger.m.1.t3"))
    assert result.consistent, result.first
    assert changed(trial, lambda e: source(e, trial="ledger.m.1.t2.r2")).consistent
    assert not changed(trial, lambda e: source(e, trial="ledger.m.1.t2.rx")).consistent


def test_the_turns_after_a_rerun_of_turn_1_are_named_after_the_rerun(tmp_path: Path) -> None:
    trial = write_chain(tmp_path, *[{"a": "failed"}] * 2)[0]
    (trial / "trial.json").unlink()
    first = "ledger.m.1.r1"
    change = {"trial": first, "rerun": 1, "replaces": "ledger.m.1"}
    result = changed(trial, lambda e: (put(e, "trial_started", 0, **change), chain(e, first=first)))
    assert result.consistent, result.first


def test_names_of_reruns_are_read_back() -> None:
    assert name_of_rerun("a.1", 0) == "a.1"
    assert rerun_in(name_of_rerun("a.1.t2", 12)) == ("a.1.t2", 12)
    assert [rerun_in(name) for name in ("a.1", "a.1.r", "a.1.r0", "a.1.r01", ".r1", "a.1.r1.t2", "a.r²")] == [None] * 7
    assert is_trial_or_rerun("a.1.r3", "a.1")
    assert not is_trial_or_rerun("a.1.r3.t2", "a.1")


def test_the_trials_of_a_configuration_are_named_as_agent_solve_names_them(tmp_path: Path) -> None:
    model = script(tmp_path, "nothing", "nothing", "nothing")
    result = agent(tmp_path, "solve", "--task", "ledger", "--model", model, "--env", "local", "--json", "--no-evaluate")
    start = first_event(result.trial)
    configuration = Configuration(
        id=Configuration.id_of(start), arm="base", stem=stem_of(start), first=start.model_copy(update={"trial": ""})
    )
    assert configuration.trial(1) == result.trial.name
    assert configuration.unit(1) == start.identity
