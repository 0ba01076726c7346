"""Commands that walk a runs folder, over a batch: its own files are in nobody's way, and reruns are found and named."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.batches.files.writing import call, configuration, exited, judged, write_batch, write_trial
from tests.solve.command import agent
from trajectories.batches.inputs import BatchInputs
from trajectories.batches.lock import BatchLock
from trajectories.reading.runs import directories_named, find_trial, trial_directories
from trajectories.record.events import Chain

X, Y = configuration("x"), configuration("y", arm="plan")
ROUNDS = Chain(first="", turns=2, feedback="scores", conversation="fresh", until="fixed")
CHAIN = configuration("c", chain=ROUNDS, turn=1)
TRIALS = {X.trial(1), f"{X.trial(1)}.r1", Y.trial(1), CHAIN.trial(1), f"{CHAIN.trial(1)}.t2"}
COMMANDS = (
    ["trials", "study", "--json"],
    ["show", f"{X.trial(1)}.r1", "--json"],
    ["show", f"{CHAIN.trial(1)}.t2"],
    ["analyze", "study", "--json"],
    ["score", "study", "--json"],
    ["batch", "status", "runs/study", "--json"],
    ["gc", "--json"],
)


def study(folder: Path) -> Path:
    """Write a batch with a rerun, a chain, and units that have not begun."""
    batch = write_batch(folder / "runs" / "study", X, Y, CHAIN, attempts=2)
    BatchInputs(batch).put(b"a plan\n", "plan.md")
    write_trial(batch, X, [*call(1), exited("disk_full")], snapshot=False)
    write_trial(batch, X, [*call(1), exited(), *judged(1.0)], rerun=1)
    write_trial(batch, Y, [*call(1), exited(), *judged(0.5)])
    for turn in (1, 2):
        write_trial(batch, CHAIN, [*call(1), exited(), *judged(turn / 2)], turn=turn)
    with BatchLock(batch):
        pass
    return batch


def test_only_the_trials_of_a_batch_are_found(tmp_path: Path) -> None:
    batch = study(tmp_path)
    assert {trial.name for trial in trial_directories(batch.parent)} == TRIALS
    named, together = directories_named(["study"], batch.parent)
    assert {trial.name for trial in named} == {trial.name for trial in together} == TRIALS
    assert find_trial(X.trial(1), batch.parent).name == X.trial(1), "the whole name is that of the first trial"
    assert find_trial(f"{X.trial(1)}.r", batch.parent).name == f"{X.trial(1)}.r1"


def test_the_list_names_what_a_rerun_replaces(tmp_path: Path) -> None:
    study(tmp_path)
    result = agent(tmp_path, "trials", "study")
    assert result.status == 0, result.err
    (row,) = (line for line in result.out.splitlines() if line.startswith(f"{X.trial(1)}.r1 "))
    assert row.endswith(f" {X.trial(1)}")


def test_show_tells_which_trial_counts_in_place_of_another(tmp_path: Path) -> None:
    batch = study(tmp_path)
    last = write_trial(batch, X, [*call(1), exited(), *judged(0.0)], rerun=2)
    (batch / f"{X.trial(1)}.r3").mkdir()
    for name in (X.trial(1), f"{X.trial(1)}.r1"):
        result = agent(tmp_path, "show", f"runs/study/{name}")
        assert f"replaced by runs/study/{last.name}, which counts in its place" in result.out, result.err
    shown = agent(tmp_path, "show", str(batch / X.trial(1)), "--json")
    assert shown.json["replaced_by"] == str(last)
    for name in (last.name, Y.trial(1), f"{CHAIN.trial(1)}.t2"):
        assert "replaced_by" not in agent(tmp_path, "show", f"runs/study/{name}", "--json").json


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder whose runs cannot be written."""
    runs = study(tmp_path).parent
    subprocess.run(["mount", "--bind", str(runs), str(runs)], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", str(runs)], check=True)
    yield tmp_path
    subprocess.run(["umount", "-l", str(runs)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a read-only folder needs root")
def test_a_read_only_batch_is_read_by_every_command(read_only: Path) -> None:
    for argv in COMMANDS:
        result = agent(read_only, *argv)
        assert result.status == 0, (argv, result.err)
        if "--json" in argv:
            json.loads(result.out)
    result = agent(read_only, "evaluate", "runs/study")
    assert "Traceback" not in result.err


def test_garbage_is_collected_without_the_contents_of_a_batch(tmp_path: Path) -> None:
    batch = study(tmp_path)
    before = {path: path.read_bytes() for path in batch.rglob("*") if path.is_file()}
    result = agent(tmp_path, "gc", "--json")
    assert (result.status, result.json["blobs"], result.json["temporaries"]) == (0, 0, 0), result.err
    assert {path: path.read_bytes() for path in batch.rglob("*") if path.is_file()} == before
    assert agent(tmp_path, "gc", "--pack").status == 0
    packed = {path.parent.name for path in batch.glob("*/events.jsonl.zst")}
    assert packed == TRIALS
    status = agent(tmp_path, "batch", "status", "runs/study", "--json")
    assert status.status == 0, status.err
    score = agent(tmp_path, "score", "study", "--json")
    assert score.status == 0, score.err


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda batch: (batch / "batch.jsonl").write_text('{"type":"train"}\n'), "batch.jsonl:1: a batch begins with"),
        (lambda batch: spoil(batch / "batch.jsonl", 3), "batch.jsonl:3: not a valid event of a batch: "),
        (lambda batch: spoil(batch / "grid.jsonl", 2), "grid.jsonl:2: not a configuration of a batch: "),
        (lambda batch: (batch / "grid.jsonl").unlink(), "that grid.jsonl does not hold; restore that file"),
    ],
)
def test_a_damaged_batch_is_one_line_and_its_trials_can_still_be_read(
    tmp_path: Path, damage: Callable[[Path], object], message: str
) -> None:
    damage(study(tmp_path))
    for argv in (["score", "study"], ["batch", "status", "runs/study"], ["evaluate", "runs/study"]):
        result = agent(tmp_path, *argv)
        assert result.status != 0
        assert message in result.err
        assert result.err.count("\n") == 1, result.err
    for argv in (["trials", "study"], ["show", Y.trial(1)], ["analyze", "study"]):
        assert agent(tmp_path, *argv).status == 0


def spoil(path: Path, number: int) -> None:
    lines = path.read_text().splitlines(keepends=True)
    lines[number - 1] = lines[number - 1].replace('"', "'", 1)
    path.write_text("".join(lines))
