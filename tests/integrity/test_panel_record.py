"""Panels in a damaged or changed record: each impossible value is named, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.trials import started
from trajectories.analysis.integrity.panels import panels_of
from trajectories.checks.check import check
from trajectories.reading.reader import parse_event, read_events
from trajectories.record.events import (
    Answer,
    Exited,
    ModelRef,
    PanelStarted,
    Purpose,
    RoleCallFinished,
    RoleCallStarted,
    TextRef,
    Unknown,
    Voted,
)
from trajectories.record.exits import Exit
from trajectories.record.panel import KINDS
from trajectories.record.usage import Costs
from trajectories.writing.recorder import Recorder

Events = list[dict[str, Any]]


def panel(judges: int = 2) -> PanelStarted:
    model, text = ModelRef(asked="m", name="m"), TextRef(name="x", sha256="0")
    return PanelStarted(panel=1, about="integrity", questions=KINDS, judges=(model,) * judges, prompt=text, case=text)


def vote(judge: int) -> tuple[RoleCallStarted, RoleCallFinished, Voted]:
    answers = {kind: Answer(violated=False, why="nothing") for kind in KINDS}
    model, text = ModelRef(asked="m", name="m"), TextRef(name="x", sha256="0")
    purpose = Purpose(panel=1, judge=judge)
    return (
        RoleCallStarted(call=judge, role="judge", purpose=purpose, model=model, prompt=text),
        RoleCallFinished(call=judge, status="answered", text="{}", costs=Costs(billed=1.0)),
        Voted(panel=1, judge=judge, outcome="valid", answers=answers, calls=(judge,)),
    )


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    recorder = Recorder(tmp_path)
    for event in (started(), Exited(exit=Exit.of("submitted"), steps=0), panel(), *vote(1), *vote(2)):
        recorder.append(event)
    recorder.close()
    return tmp_path


def change(trial: Path, edit: Callable[[Events], object]) -> list[str]:
    path = trial / "events.jsonl"
    events = [json.loads(line) for line in path.read_text().splitlines()]
    edit(events)
    for number, event in enumerate(events):
        event["seq"] = number
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return [finding.text for finding in check(trial).findings if finding.rule == "panels"]


def test_a_whole_panel_is_consistent(trial: Path) -> None:
    assert check(trial).consistent


# The events are: trial_started, exit, panel_started, and for each judge its call, the result and its vote.
BREAKS: dict[str, tuple[Callable[[Events], object], str]] = {
    "no panel": (lambda e: e.pop(2), "has not begun"),
    "a judge that is none": (lambda e: e[8].update(judge=3), "judge 3 of a panel of 2"),
    "twice": (lambda e: e[8].update(judge=1), "votes twice"),
    "half an answer": (lambda e: e[5]["answers"].pop("tracing"), "outcome valid has 3 answers"),
    "an answer of no vote": (lambda e: e[5].update(outcome="failed"), "outcome failed has 4 answers"),
    "asked after all": (lambda e: e[5].update(outcome="not_asked", answers={}), "was not asked, but has 1"),
    "calls that are not named": (lambda e: e[5].update(calls=[]), "names the role calls [], but its own are [1]"),
    "a vote from nowhere": (lambda e: e.pop(4), "has a vote, but no reply"),
    "a result of nothing": (lambda e: e[7].update(call=3), "belongs to role call 3, which has not begun"),
    "two results": (lambda e: e.insert(5, dict(e[4])), "role call 1 has two results"),
    "a call too many": (lambda e: e[6].update(call=3), "role call 3 instead of 2"),
    "out of order": (lambda e: [each.update(panel=2) for each in (e[2], e[5], e[8])], "panel 2 instead of 1"),
    "before the end": (lambda e: e.append(e.pop(1)), "before the exit"),
    "nobody": (lambda e: [e[2].update(judges=[]), e.pop(), e.pop(), e.pop(), e.pop(), e.pop(), e.pop()], "no judges"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_an_impossible_panel_is_named(trial: Path, name: str) -> None:
    edit, words = BREAKS[name]
    problems = change(trial, edit)
    assert problems, name
    assert words in problems[0]


def test_the_cost_of_a_judge_that_was_cut_off_is_unknown(trial: Path) -> None:
    assert panels_of(read_events(trial))[0].cost_usd.billed == 2
    change(trial, lambda events: [events.pop(), events.pop()])
    assert check(trial).consistent
    (panel,) = panels_of(read_events(trial))
    assert (panel.votes[1].outcome, panel.valid, panel.cost_usd.billed) == (None, 1, None)
    assert panel.decisions["tracing"].violated is None


def test_a_panel_is_outdated_if_the_trial_continued(trial: Path) -> None:
    def continue_trial(events: Events) -> None:
        events[1]["exit"] = {"reason": "user", "cause": "interrupted"}
        common = {"t": events[-1]["t"], "mono_s": events[-1]["mono_s"]}
        events += [{"type": "paused", "why": "down", **common}, {"type": "resumed", **common}]
        events.append({"type": "exit", "exit": {"reason": "agent", "cause": "submitted"}, "steps": 0, **common})

    change(trial, continue_trial)
    assert check(trial).consistent, check(trial).findings
    assert [panel.outdated for panel in panels_of(read_events(trial))] == [True]


def test_a_reader_that_does_not_know_panels_keeps_their_events(trial: Path) -> None:
    lines = (trial / "events.jsonl").read_bytes().replace(b'"type":"vote"', b'"type":"vote_of_later"').splitlines()
    assert isinstance(parse_event(lines[5], "x"), Unknown)
