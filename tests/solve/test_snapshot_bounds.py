"""Snapshots of workspaces with huge or very many files: bounded, and honest about what they do not hold."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.errors import UserError
from agent.loop.actions import SUBMIT
from agent.trial.restoring.final_workspace import require_export
from agent.trial.restoring.standing import standing_of
from agent.trial.snapshots import Snapshots
from tests.environments.conftest import ALL, DOCKER, SANDBOX, Place, start as start
from tests.record.test_recorder import started
from tests.solve.command import CommandResult, agent, script
from trajectories.checks.check import check
from trajectories.reading.reader import read_events
from trajectories.record.events import BaseEvent, Resumed, Snapshot, Warned
from trajectories.workspace.exported import archive_contents
from trajectories.workspace.snapshot_bounds import Budget, batches
from trajectories.workspace.states import state_at
from trajectories.writing.recorder import Recorder

HUGE = 8 << 40
MAKE = f"truncate -s {HUGE} huge && echo small >small"


def place_of(work: Path, kind: str) -> tuple[str, ...]:
    """Return the options of a trial in this kind of environment."""
    if kind == "docker":
        return ("--task", "demo/spans", "--env", kind)
    (work / "start").mkdir()
    return ("--instruction", "Work hard.", "--workspace", "start", "--env", kind)


def solve(work: Path, kind: str, *commands: str) -> CommandResult:
    model = script(work, *commands, SUBMIT)
    return agent(work, "solve", *place_of(work, kind), "--model", model, "--no-evaluate", "--json")


def snapshots(result: CommandResult) -> list[Snapshot]:
    return [event for event in result.events if isinstance(event, Snapshot)]


@pytest.mark.parametrize("kind", ["local", SANDBOX, DOCKER])
def test_a_sparse_file_of_terabytes_is_recorded_as_not_kept_and_exported_with_its_hole(
    tmp_path: Path, kind: str
) -> None:
    result = solve(tmp_path, kind, MAKE, "echo more >more")
    assert result.status == 0, result.err
    if any(event.type == "action_finished" and event.exit_code for event in result.events):
        pytest.skip("this file system has no files of 8 TiB")
    first, second, third = snapshots(result)[:3]
    assert first.complete
    huge = next(change for change in second.changes if change.path == "huge")
    assert (second.complete, huge.kept, huge.sha256, huge.size) == (False, False, None, HUGE)
    assert second.why_incomplete.startswith("a snapshot reads at most 4 GiB: huge: its content was not read")
    assert next(change for change in second.changes if change.path == "small").kept
    assert (third.complete, third.why_incomplete) == (True, "")
    assert "the snapshot of step 1 is not whole: a snapshot reads at most 4 GiB: huge" in result.err
    assert check(result.trial).consistent
    archive = result.trial / "workspace.tar.zst"
    assert archive.stat().st_size < 1 << 20
    assert archive_contents(archive, {"small"}, 100) == {"small": b"small\n"}
    forked = agent(
        tmp_path, "fork", str(result.trial), "--at", "2", "--model", script(tmp_path, "-", "-", SUBMIT), "--json"
    )
    assert forked.status == 0, forked.err
    warned = [event.text for event in forked.events if isinstance(event, Warned)]
    assert f"huge: its content was not read ({HUGE} bytes)" in warned
    replayed = agent(tmp_path, "replay", str(result.trial), "--json")  # which hashes no terabytes either
    assert (replayed.status, replayed.json["returncodes_equal"]) == (0, 2), replayed.err
    shown = agent(tmp_path, "show", str(result.trial))
    assert "the snapshot of step 1 is not whole" in shown.out


def test_a_snapshot_that_is_not_whole_does_not_stand_in_for_an_export(tmp_path: Path) -> None:
    result = solve(tmp_path, "local", MAKE)
    (result.trial / "workspace.tar.zst").unlink()
    with pytest.raises(UserError, match="its last snapshot is not whole: huge: its content was not read"):
        require_export(result.trial, standing_of(read_events(result.trial)))


def recorded(folder: Path, place: Place, budgets: list[Budget]) -> tuple[Recorder, Snapshots]:
    trial = folder / "batch" / "trial"
    trial.mkdir(parents=True)
    recorder = Recorder(trial)
    recorder.append(started())
    return recorder, Snapshots(place.environment, recorder, budget=lambda: budgets.pop(0))


def test_files_that_a_bound_kept_out_are_kept_by_the_next_snapshot(start: Callable[..., Place], tmp_path: Path) -> None:
    place = start("local")
    recorder, snapshots = recorded(tmp_path, place, [Budget(), Budget(seconds=-1), Budget()])
    snapshots.keep_first()
    place.text("echo a >a; echo b >b; ln -s a link; mkdir d; echo c >d/c")
    snapshots.after_step(1)
    place.text("rm b; echo new >new")
    snapshots.after_step(2)
    recorder.close()
    _, first, second = (event for event in read_events(recorder.directory) if isinstance(event, Snapshot))
    assert not first.complete
    assert first.why_incomplete.startswith("a snapshot reads for at most -1 s: ")
    assert [change.path for change in first.changes if change.kept and change.type == "file"] == []
    assert second.complete
    assert {change.path: change.change for change in second.changes} == {
        "a": "modified",
        "b": "deleted",
        "d/c": "modified",
        "link": "modified",
        "new": "created",
    }
    state = state_at(recorder.directory, 2)
    assert {path for path, entry in state.manifest.items() if entry.missing} == set()


def test_the_bound_in_bytes_leaves_the_largest_files_out(start: Callable[..., Place], tmp_path: Path) -> None:
    place = start("local")
    recorder, snapshots = recorded(tmp_path, place, [Budget(), Budget(bytes=20_000_000)])
    snapshots.keep_first()
    place.text("for n in 1 2 3; do head -c 9000000 /dev/urandom >large$n; echo $n >small$n; done")
    snapshots.after_step(1)
    recorder.close()
    _, snapshot = (event for event in read_events(recorder.directory) if isinstance(event, Snapshot))
    kept = {change.path for change in snapshot.changes if change.kept}
    assert kept == {"small1", "small2", "small3", "large1", "large2"}
    assert snapshot.why_incomplete == "a snapshot reads at most 4 GiB: large3: its content was not read (9000000 bytes)"


def test_batches_hold_every_path_once_and_the_small_ones_come_first() -> None:
    sizes = {f"f{number:04}": number * 8 for number in range(9000)}
    parts = list(batches(sizes))
    assert [path for part in parts for path in part] == list(sizes)
    assert max(len(part) for part in parts) == 2000
    assert all(sum(part.values()) <= 16 << 20 or len(part) == 1 for part in parts)


class Lines:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def feed(self, event: BaseEvent) -> None:
        pass

    def note(self, line: str) -> None:
        self.lines.append(line)


@pytest.mark.slow
@pytest.mark.parametrize("label", ["local", DOCKER])
def test_sixty_thousand_small_files_of_one_step_are_all_kept(
    start: Callable[..., Place], label: str, tmp_path: Path
) -> None:
    place = start(label)
    recorder, snapshots = recorded(tmp_path, place, [Budget(), Budget()])
    recorder.observer = lines = Lines()
    snapshots.keep_first()
    place.text("for d in {1..60}; do mkdir $d; for f in {1..1000}; do echo $d.$f >$d/$f; done; done", deadline_s=160)
    snapshots.after_step(1)
    recorder.close()
    _, snapshot = (event for event in read_events(recorder.directory) if isinstance(event, Snapshot))
    assert (snapshot.complete, len(snapshot.changes)) == (True, 60_060)
    assert all(line.startswith("keeping the workspace: ") for line in lines.lines)
    assert lines.lines or snapshot.seconds < 5


@pytest.mark.parametrize("label", ALL)
def test_an_interrupt_while_a_large_file_is_hashed_leaves_the_environment_usable(
    start: Callable[..., Place], label: str
) -> None:
    place = start(label)
    place.text("truncate -s 64G large; echo kept >small")
    main = threading.get_ident()
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        place.environment.digests(["large"], 3)
    assert time.monotonic() - began > 0.2
    assert place.text("cat small") == "kept\n"
    place.text("rm large")


@pytest.mark.parametrize(
    "label",
    [
        "local",
        pytest.param("sandbox", marks=[pytest.mark.sandbox, pytest.mark.slow]),
        pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.slow]),
    ],
)
def test_a_trial_that_is_interrupted_with_a_huge_sparse_file_exports_its_hole(tmp_path: Path, label: str) -> None:
    """The export of a lost container would write out every zero."""
    from tests.solve.test_interrupts import begin, wait_for

    model = script(tmp_path, MAKE, "sleep 5", SUBMIT)  # it runs again, whole, when the trial is resumed
    process = begin(tmp_path, "solve", *place_of(tmp_path, label), "--model", model, "--no-evaluate")
    trial = wait_for(tmp_path / "runs", '"action":"2.1"').parent
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(100) == 130
    exported = [event for event in read_events(trial) if event.type == "workspace_exported"]
    assert exported, [event.text for event in read_events(trial) if isinstance(event, Warned)]
    assert (trial / "workspace.tar.zst").stat().st_size < 1 << 20
    resumed = agent(tmp_path, "resume", str(trial), "--json")
    assert resumed.status == 0, resumed.err
    (event,) = (event for event in resumed.events if isinstance(event, Resumed))
    assert event.lost[-1] == f"huge: its content was not read ({HUGE} bytes)"


@pytest.mark.docker
def test_a_daemon_is_not_asked_for_the_zeros_of_a_huge_file(start: Callable[..., Place], tmp_path: Path) -> None:
    from environments.protocol import EnvironmentLost
    from tests.environments.test_rescue import pause

    place = start("docker")
    place.text(MAKE)
    pause(place)
    with pytest.raises(EnvironmentLost):
        place.run("sleep 9")
    with pytest.raises(EnvironmentLost, match=f"at most 16 GiB of files, and .*huge. has {HUGE} bytes"):
        place.environment.export(tmp_path / "workspace.tar.zst")
    assert list(tmp_path.iterdir()) == []
