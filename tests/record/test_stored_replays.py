"""Reports of replays are kept beside the record: whole or not at all, masked, the last one of each request."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agent.replay.report import Divergence, ReplayReport
from tests.record.writing import Writing
from trajectories.checks.check import check
from trajectories.reading.reader import read_events
from trajectories.reading.replays import ReplayRequest, read_replays
from trajectories.reading.summary import summarize
from trajectories.views.replays import replay_lines
from trajectories.writing.masking import Masker
from trajectories.writing.replays import store_replay

HERE = ReplayRequest(environment="docker")
NO_SECRETS = Masker({})


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    return Writing(tmp_path / "b" / "trial", {b"a": b"0"}).step({b"a": b"1"}).done()


def store(trial: Path, detail: str = "x", request: ReplayRequest = HERE, masker: Masker = NO_SECRETS) -> Path:
    report = ReplayReport(trial, "docker", actions=3, returncodes_equal=3, outputs_identical=1, workspace_equal=False)
    report.outputs_equal_normalized = 2
    report.divergences = [Divergence("1.1", "dates", "y"), Divergence("2.1", "output", detail)]
    report.first_causal = report.divergences[1]
    report.notes = [detail]
    size = (trial / "events.jsonl").stat().st_size
    return store_replay(trial, report.stored(request, size), masker)


def test_a_stored_replay_is_read_back_in_a_few_figures(trial: Path) -> None:
    path = store(trial)
    (replay,) = read_replays(trial)
    assert (replay.environment, replay.to, replay.actions, replay.outputs_identical) == ("docker", None, 3, 1)
    assert (replay.classes, replay.first_causal, replay.record_changed) == ({"dates": 1, "output": 1}, "2.1", False)
    assert replay.file == str(path)
    lines = list(replay_lines(replay))
    assert lines[0].endswith(
        " (docker): 3 of 3 exit codes equal; 1 outputs identical, 2 equal when normalized; workspace different"
    )
    assert lines[1:] == [
        "  differences: dates 1, output 1",
        "  the workspace differs first after 2.1",
        f"  report: {path}",
    ]
    stored = json.loads(path.read_text())
    assert [each["class"] for each in stored["report"]["divergences"]] == ["dates", "output"]


def test_each_request_keeps_its_last_replay(trial: Path) -> None:
    requests = [HERE, ReplayRequest(environment="docker", to=2), ReplayRequest(environment="docker", image="debian")]
    for request in (*requests, HERE):
        store(trial, request=request)
    assert [(replay.to, replay.image) for replay in read_replays(trial)] == [(2, None), (None, "debian"), (None, None)]
    assert len(os.listdir(trial / "replays")) == 3


def test_secrets_are_masked_in_a_stored_replay(trial: Path) -> None:
    secret = "sk-0123456789"
    request = ReplayRequest(environment="local", workspace=f"/w/{secret}")
    path = store(trial, f"printed {secret}", request, Masker({"KEY": secret}))
    assert secret not in path.read_text()
    assert json.loads(path.read_text())["report"]["notes"] == ["printed [secret:KEY]"]
    (replay,) = read_replays(trial)
    assert replay.workspace == "/w/[secret:KEY]"


def test_a_report_that_cannot_be_written_whole_leaves_the_old_one(trial: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = store(trial, "old").read_bytes()

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        store(trial, "new")
    (path,) = (trial / "replays").iterdir()
    assert path.read_bytes() == before


def test_false_files_are_left_out_and_replays_are_no_part_of_the_record(trial: Path) -> None:
    before = check(trial), summarize_file(trial)
    store(trial)
    folder = trial / "replays"
    (folder / "half.json").write_text('{"version": 1, "replayed": ')
    (folder / "newer.json").write_text('{"version": 2}')
    os.mkfifo(folder / "pipe.json")
    (folder / "zero.json").symlink_to("/dev/zero")
    assert len(read_replays(trial)) == 1
    assert (check(trial), summarize_file(trial)) == before


def summarize_file(trial: Path) -> object:
    return summarize(trial, read_events(trial))


def test_a_link_in_place_of_the_folder_leads_nowhere(trial: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (trial / "replays").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="a link"):
        store(trial)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_replay_of_a_record_that_changed_since_is_marked(trial: Path) -> None:
    store(trial)
    with (trial / "events.jsonl").open("a") as events:
        events.write("{}\n")
    (replay,) = read_replays(trial)
    assert replay.record_changed
    assert "  the record has changed since" in list(replay_lines(replay))
