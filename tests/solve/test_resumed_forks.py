"""A fork whose harness died is resumed to the same end, no matter how much of its beginning is recorded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agent.errors import UserError
from agent.loop.actions import SUBMIT
from scripts.crash_facts import facts_of
from tests.solve.command import agent, script
from tests.solve.test_every_death import cut, resume
from trajectories.blobs.store import BlobStore
from trajectories.checks.check import check
from trajectories.reading.lines import kind_of
from trajectories.reading.reader import first_event, read_events
from trajectories.record.events import Message


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fork with inherited messages, a plan and a hint."""
    work = tmp_path_factory.mktemp("forked")
    (work / "start").mkdir()
    (work / "start" / "given").write_text("given\n")
    (work / "plan.md").write_text("Count to four.")
    model = script(work, "echo one >>log", "echo two >>log", SUBMIT)
    options = ["--instruction", "x", "--workspace", "start", "--env", "local", "--model", model]
    parent = agent(work, "solve", *options, "--json").trial
    other = script(work, "-", "-", "echo three >>log", "cat log", SUBMIT)
    branch = ["--at", "2", "--model", other, "--plan", "plan.md", "--inject", "Hurry."]
    child = agent(work, "fork", str(parent), *branch, "--json")
    assert child.status == 0, child.err
    shutil.rmtree(work / "start")  # a resumed fork needs none of these files
    (work / "plan.md").unlink()
    return child.trial


def copy_cut(forked: Path, to: Path, lines: int) -> tuple[Path, Path]:
    """Copy the fork as if its harness had died after so many lines, and its parent beside it; return both copies."""
    (parent,) = (path.parent for path in forked.parent.glob("*/events.jsonl") if path.parent != forked)
    trial = cut(forked, to, lines)
    return trial, Path(shutil.copytree(parent, trial.parent / parent.name))


def messages(trial: Path) -> list[tuple[str, str, str]]:
    """Return role, content and reason of each message of a trial, except notices."""
    return [
        (event.role, event.content, event.why)
        for event in read_events(trial)
        if isinstance(event, Message) and event.why != "notice"
    ]


def kinds(trial: Path) -> list[str | None]:
    return [kind_of(line) for line in (trial / "events.jsonl").read_bytes().splitlines()]


def test_a_fork_cut_off_after_any_event_of_its_beginning_is_resumed_to_the_same_end(
    forked: Path, tmp_path: Path
) -> None:
    answered = kinds(forked).index("call_finished") + 1
    for lines in [*range(1, answered + 2), len(kinds(forked)) - 3]:
        trial, _ = copy_cut(forked, tmp_path / str(lines), lines)
        resume(trial)
        assert messages(trial) == messages(forked), lines
        assert facts_of(forked).differences(facts_of(trial)) == [], lines
        assert check(trial).first is None, lines


@pytest.mark.parametrize("lost", ["parent", "hint"])
def test_a_fork_that_lost_its_parent_or_its_hint_is_not_resumed_and_the_error_names_the_loss(
    forked: Path, tmp_path: Path, lost: str
) -> None:
    trial, parent = copy_cut(forked, tmp_path, kinds(forked).index("inherited_reply") + 1)
    if lost == "parent":
        shutil.rmtree(parent)
    else:
        first = first_event(trial)
        assert first.injected is not None
        BlobStore(trial / "blobs").path(first.injected.sha256).unlink()
    before = (trial / "events.jsonl").read_bytes()
    with pytest.raises(UserError, match=f"died before its first call.* its {lost}"):
        resume(trial)
    assert (trial / "events.jsonl").read_bytes() == before
