"""Pictures of analyzed trials: their numbers, their names, and none without content."""

from __future__ import annotations

import re
from pathlib import Path

from trajectories.analysis.plots import write_plots
from trajectories.analysis.report import CodeGrowth
from trajectories.analysis.trial import analyze_trial

GROWTH = CodeGrowth(
    initial_lines=0,
    final_lines=50,
    surviving_lines=50,
    written_lines=60,
    largest_step=None,
    curve=[percent // 2 for percent in range(101)],
    written_by_step={1: 40, 2: 20},
    unread=0,
)


def test_pictures_have_their_n_and_are_the_same_each_time(tmp_path: Path, recordings: Path) -> None:
    trials = [analyze_trial(recordings / "ledger").model_copy(update={"growth": GROWTH})] * 2
    turns = 2 * sum(kind is not None for kind in trials[0].turns.sequence)
    pictures = list(write_plots(tmp_path / "one", trials, ["svg"]))
    files = [picture.file for picture in pictures if picture.file is not None]
    assert [file.stem for file in files] == ["classes", "growth", "step-sizes", "observations"]
    comments = set(re.findall(r"<!-- (.*?) -->", files[0].read_text()))
    assert f"Classes of turns (n={turns} turns of 2 trials)" in comments
    assert {f"{kind}  n={2 * number}" for kind, number in trials[0].turns.by_class.items()} <= comments
    names = set(re.findall(r"<!-- (.*?) -->", files[1].read_text()))
    assert {"Growth of the code (n=2 trials)", "ledger (1)", "ledger (2)"} <= names
    for picture in write_plots(tmp_path / "two", trials, ["svg"]):
        assert picture.file is not None
        assert picture.file.read_bytes() == (tmp_path / "one" / picture.file.name).read_bytes()


def test_no_empty_picture_is_written(tmp_path: Path, recordings: Path) -> None:
    trial = analyze_trial(recordings / "ledger")
    bare = trial.model_copy(
        update={
            "growth": None,
            "turns": trial.turns.model_copy(update={"sequence": [None]}),
            "observations": trial.observations.model_copy(update={"largest": []}),
        }
    )
    assert [str(picture) for picture in write_plots(tmp_path, [bare], ["png", "svg"])] == [
        "no picture classes: no trial has a turn with an action",
        "no picture growth: no trial has snapshots",
        "no picture step-sizes: no snapshots show a step that wrote code",
        "no picture observations: no trial has an observation",
    ]
    assert list(tmp_path.iterdir()) == []
