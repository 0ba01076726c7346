"""A fork whose harness died goes on to the same end, whatever of its beginning is recorded."""

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
    place = ["--instruction", "x", "--workspace", "start", "--env", "local", "--model", model]
    parent = agent(work, "solve", *place, "--json").trial
    other = script(work, "-", "-", "echo three >>log", "cat log", SUBMIT)
    branch = ["--at", "2", "--model", other, "--plan", "plan.md", "--inject", "Hurry."]
    child = agent(work, "fork", str(parent), *branch, "--json")
    assert child.status == 0, child.err
    shutil.rmtree(work / "start")  # nothing of this is needed any more
    (work / "plan.md").unlink()
    return child.trial


def copy_cut(forked: Path, to: Path, lines: int) -> tuple[Path, Path]:
    """The fork, dead after so many lines, and its parent beside it."""
    (parent,) = (path.parent for path in forked.parent.glob("*/events.jsonl") if path.parent != forked)
    trial = cut(forked, to, lines)
    return trial, Path(shutil.copytree(parent, trial.parent / parent.name))


def messages(trial: Path) -> list[tuple[str, str, str]]:
    found = [event for event in read_events(trial) if isinstance(event, Message) and event.why != "notice"]
    return [(one.role, one.content, one.why) for one in found]


def kinds(trial: Path) -> list[str | None]:
    return [kind_of(line) for line in (trial / "events.jsonl").read_bytes().splitlines()]


def test_after_every_event_of_its_beginning(forked: Path, tmp_path: Path) -> None:
    answered = kinds(forked).index("call_finished") + 1
    for lines in [*range(1, answered + 2), len(kinds(forked)) - 3]:
        trial, _ = copy_cut(forked, tmp_path / str(lines), lines)
        resume(trial)
        assert messages(trial) == messages(forked), lines
        assert facts_of(forked).differences(facts_of(trial)) == [], lines
        assert check(trial).first is None, lines


@pytest.mark.parametrize("lost", ["parent", "hint"])
def test_without_its_parent_or_its_hint(forked: Path, tmp_path: Path, lost: str) -> None:
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
