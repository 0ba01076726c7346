"""`agent export --format programbench`: a run directory for the benchmark's own tools, of finished trials only."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.programbench.handover import hand_over
from benchmarks.programbench.instance_folder import InstanceExport
from benchmarks.programbench.run_directory import LeftOut, RunExport, export_run
from tests.programbench.archives import PROGRAM, submitted
from tests.programbench.finished import FILES, IDS, evaluated, finished
from tests.programbench.own import make_instance
from trajectories.errors import RecordError
from trajectories.record.events import Chain, Skipped
from trajectories.record.usage import Costs, Usage

FFMPEG, JQ = IDS
LIMITS = ("steps", "time", "tokens", "cost", "context")
NOT_DONE = ("model_unavailable", "environment_lost", "image_unusable", "disk_full", "harness_defect", "interrupted")


def official(*argv: str) -> subprocess.CompletedProcess[str]:
    """Run the benchmark's own command line, without network."""
    return subprocess.run(
        [sys.executable, "-c", "from programbench.cli.main import app; app()", *argv],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "GIT_CONFIG_GLOBAL": os.devnull, "COLUMNS": "200"},
    )


def agent(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "agent.cli.main", *argv], capture_output=True, text=True, timeout=60)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return tmp_path / "20261120_retrace_m"


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "b"


@pytest.fixture
def into(run: Path, tmp_path: Path) -> Callable[..., RunExport]:
    return lambda *names: export_run([str(name) for name in names], tmp_path / "runs", run)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def trials(entries: Sequence[InstanceExport | LeftOut]) -> list[str]:
    return [entry.trial for entry in entries]


def stats(run: Path) -> dict[str, Any]:
    return {name: json.loads((run / "_stats" / f"{name}.json").read_bytes()) for name in ("calls", "cost", "tokens")}


def test_from_trials_to_a_registered_submission(batch: Path, run: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """Use the benchmark's own tools: package, verify, publish to a repository on disk, register."""
    for instance, passing in ((FFMPEG, 1.0), (JQ, 0.5)):
        evaluated(finished(batch, instance), passing=passing)
    monkeypatch.chdir(tmp_path)
    result = agent("export", "b", "--format", "programbench", "--output", str(run), "--json")
    assert result.returncode == 0, result.stderr
    exported = json.loads(result.stdout)
    assert [instance["instance"] for instance in exported["instances"]] == sorted(IDS)
    assert all(instance["evaluated"] and instance["withheld"] == ["copy"] for instance in exported["instances"])
    assert sorted(files(run)) == sorted(
        [f"_stats/{name}.json" for name in ("calls", "cost", "tokens")]
        + [f"{id}/{name}" for id in IDS for name in ("submission.tar.gz", f"{id}.traj.json", f"{id}.eval.json")]
    )
    assert stats(run) == {
        "calls": dict.fromkeys(IDS, 2),
        "cost": dict.fromkeys(IDS, 1.0),
        "tokens": dict.fromkeys(IDS, 12),
    }
    assert json.loads((run / JQ / f"{JQ}.traj.json").read_bytes())["info"]["exit_status"] == "Submitted"
    assert set(submitted(run / JQ / "submission.tar.gz")) == {".", "./compile.sh", "./.git/HEAD"}

    result = official("submit", "package", str(run))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "2 instance(s)" in result.stdout
    assert official("submit", "verify", str(run)).returncode == 0
    score = json.loads((run / "_stats" / "score.json").read_bytes())
    assert len(score[FFMPEG]) == 3041
    assert all(score[FFMPEG].values())
    assert not all(score[JQ].values())

    manifest = yaml.safe_load((run / "submission.yaml").read_text())
    manifest["system"] |= {"model": "m", "provider": "p", "agent": "retrace"}
    (run / "submission.yaml").write_text(yaml.safe_dump(manifest))
    bare = tmp_path / "bare.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
    result = official("submit", "publish", str(run), "--remote", str(bare))
    assert result.returncode == 0, result.stdout + result.stderr
    listed = subprocess.run(
        ["git", "-C", str(bare), "ls-tree", "-r", "--name-only", "main"], check=True, capture_output=True, text=True
    ).stdout.split()
    assert f"{JQ}/{JQ}.traj.json" in listed
    assert not [name for name in listed if "export-" in name]
    result = official("submit", "register", str(run), "--dry-run")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "_stats/cost.json" in result.stdout

    score[JQ][next(name for name, passed in score[JQ].items() if not passed)] = True
    (run / "_stats" / "score.json").write_text(json.dumps(score))
    result = official("submit", "verify", str(run))
    assert result.returncode == 1
    assert JQ in result.stdout


def test_a_second_export_changes_nothing_even_after_packaging(
    batch: Path, run: Path, into: Callable[..., RunExport]
) -> None:
    trial = finished(batch, FFMPEG)
    evaluated(trial, passing=0.5)
    before = files(trial)
    first = into(batch)
    exported = files(run)
    assert into(batch) == first
    assert files(run) == exported
    assert official("submit", "package", str(run)).returncode == 0
    (run / "submission.yaml").write_text((run / "submission.yaml").read_text().replace("TODO", "me", 1))
    (run / "_scripts").mkdir()
    (run / "_scripts" / "cost.py").write_text("mine")
    (run / "_stats" / "languages.json").write_text("{}")
    packaged = files(run)
    assert f"{FFMPEG}/{FFMPEG}.eval.log.json" in packaged
    assert into(trial).notes == []
    assert files(run) == packaged
    assert files(trial) == before


def test_the_result_of_another_submission_is_replaced_or_removed(
    batch: Path, run: Path, into: Callable[..., RunExport]
) -> None:
    evaluated(finished(batch, FFMPEG, 1), passing=0.5)
    into(batch)
    assert official("submit", "package", str(run)).returncode == 0
    second = finished(batch, FFMPEG, 2, files={**FILES, "./new": b"new"}, costs=Costs())
    result = into(batch)
    assert result.instances[0].trial == str(second)
    assert not result.instances[0].evaluated
    assert "submit package" in result.notes[0]
    assert {name for name in files(run) if name.startswith(FFMPEG)} == {
        f"{FFMPEG}/submission.tar.gz",
        f"{FFMPEG}/{FFMPEG}.traj.json",
    }
    assert stats(run)["cost"] == {}
    evaluated(second, passing=1.0)
    into(batch)
    assert official("submit", "package", str(run)).returncode == 0
    assert all(json.loads((run / "_stats" / "score.json").read_bytes())[FFMPEG].values())


def test_an_uploaded_submission_is_not_written_again(batch: Path, run: Path, into: Callable[..., RunExport]) -> None:
    finished(batch, FFMPEG)
    into(batch)
    folder = run / FFMPEG
    path = folder / "submission.tar.gz"
    (folder / "submission.tar.gz.sha256").write_text(hashlib.sha256(path.read_bytes()).hexdigest() + "\n")
    (folder / "submission.tar.gz.url").write_text("https://example.org/submission.tar.gz\n")
    path.unlink()
    before = files(run)
    into(batch)
    assert files(run) == before
    finished(batch, FFMPEG, 2, files={"./other": b""})
    into(batch)
    assert sorted(os.listdir(folder)) == [f"{FFMPEG}.traj.json", "submission.tar.gz"]


def test_the_evaluated_submission_is_exported(
    batch: Path, run: Path, into: Callable[..., RunExport], tmp_path: Path
) -> None:
    trial = finished(batch, FFMPEG)
    hand_over(trial / "workspace.tar.zst", tmp_path / "s", {hashlib.sha256(PROGRAM).hexdigest(), "0" * 64})
    evaluated(trial, submission=(tmp_path / "s").read_bytes() + b"\0")
    into(trial)
    assert (run / FFMPEG / "submission.tar.gz").read_bytes() == (tmp_path / "s").read_bytes() + b"\0"
    evaluated(trial, submission=b"of another evaluation", recorded_sha256="0" * 64)
    into(trial)
    assert (run / FFMPEG / "submission.tar.gz").read_bytes() == (tmp_path / "s").read_bytes()
    evaluated(trial, submission=b"left by an evaluation that failed", error="no daemon")
    (instance,) = into(trial).instances
    assert (run / FFMPEG / "submission.tar.gz").read_bytes() == (tmp_path / "s").read_bytes()
    assert instance.notes == ["the evaluation failed: no daemon"]
    assert not (run / FFMPEG / f"{FFMPEG}.eval.json").exists()


@pytest.mark.parametrize("cause", LIMITS)
def test_a_trial_that_a_limit_ended_is_exported(
    cause: Any, batch: Path, run: Path, into: Callable[..., RunExport]
) -> None:
    (instance,) = into(finished(batch, FFMPEG, cause=cause)).instances
    assert instance.exit == f"limit: {cause}"
    assert (run / FFMPEG / "submission.tar.gz").is_file()


@pytest.mark.parametrize("cause", [*NOT_DONE, None])
def test_an_unfinished_trial_is_not_exported(
    cause: Any, batch: Path, run: Path, into: Callable[..., RunExport]
) -> None:
    lost = finished(batch, FFMPEG, 2, cause=cause)
    with pytest.raises(RecordError, match=lost.name):
        into(lost)
    with pytest.raises(RecordError, match="none of 1 trials"):
        into(batch)
    assert not run.exists()
    first = finished(batch, FFMPEG, 1)
    result = into(batch)
    assert trials(result.instances) == [str(first)]
    assert trials(result.left_out) == [str(lost)]
    assert "agent resume" in result.left_out[0].why


def test_the_latest_attempt_is_taken_unless_another_is_named(batch: Path, into: Callable[..., RunExport]) -> None:
    third, first, second = (finished(batch, FFMPEG, number) for number in (3, 1, 2))  # in this order
    result = into(batch)
    assert trials(result.instances) == [str(second)]
    assert {trial.trial: trial.why for trial in result.left_out} == dict.fromkeys(
        map(str, (first, third)), f"{second.name} is the later attempt"
    )
    result = into(batch, first)
    assert trials(result.instances) == [str(first)]
    assert {trial.why for trial in result.left_out} == {f"{first.name} is named"}
    with pytest.raises(RecordError, match=f"{first.name} and {third.name} are both trials of {FFMPEG}"):
        into(first, third)


def test_trials_of_other_benchmarks_and_of_variants_are_left_out(batch: Path, into: Callable[..., RunExport]) -> None:
    other = finished(batch, "ledger", benchmark="demo")
    with pytest.raises(RecordError, match=r"is a trial of demo/ledger"):
        into(other)
    variant = finished(batch, FFMPEG, variant="internet")
    finished(batch, JQ)
    result = into(batch)
    assert [instance.instance for instance in result.instances] == [JQ]
    assert set(trials(result.left_out)) == {str(other), str(variant)}
    assert "variant internet" in into(variant).instances[0].notes[0]


def test_only_turn_1_of_a_chain_that_reveals_nothing_is_exported(batch: Path, into: Callable[..., RunExport]) -> None:
    policy = Chain(first="t", turns=2, feedback="scores", conversation="fresh", until="fixed")
    first = finished(batch, FFMPEG, chain={"chain": policy, "turn": 1})
    second = finished(batch, FFMPEG, 2, chain={"chain": policy, "turn": 2})
    revealed = finished(batch, JQ, chain={"chain": policy, "turn": 1, "tests_revealed": True})
    fork = finished(batch, FFMPEG, 3, feedback=True)
    result = into(batch)
    assert [Path(instance.trial).name for instance in result.instances] == [first.name]
    reasons = {left_out.trial: left_out.why for left_out in result.left_out}
    assert "turn 2 of a chain" in reasons[str(second)]
    assert "--reveal-tests" in reasons[str(revealed)]
    assert "forked from a turn with feedback" in reasons[str(fork)]
    for trial in (second, revealed, fork):
        with pytest.raises(RecordError, match=r"turn 2 of a chain|--reveal-tests|forked from a turn"):
            into(trial)


def test_an_export_with_unreadable_files_is_rejected(batch: Path, into: Callable[..., RunExport]) -> None:
    harmless = [Skipped(path="p", why="named pipe"), Skipped(path="s", why="socket")]
    harmless.append(Skipped(path="l", why="its path has more than 3840 bytes"))
    harmless.append(Skipped(path="b", why="a reason of a later version", harmless=True))
    into(finished(batch, JQ, skipped=tuple(harmless)))
    unread = Skipped(path="src/a\nb", why="Warning: Cannot open: Permission denied")
    with pytest.raises(RecordError, match=r"src/a.*could not be read unchanged") as error:
        into(finished(batch, FFMPEG, skipped=(*harmless, unread)))
    assert "\n" not in str(error.value)


def test_unknown_figures_are_left_out_with_a_note(batch: Path, run: Path, into: Callable[..., RunExport]) -> None:
    finished(batch, FFMPEG, usages=(Usage(input=1, output=3), None), costs=Costs())
    finished(batch, JQ, usages=(Usage(input=0, output=0),), costs=Costs(billed=0.25))
    result = into(batch)
    assert stats(run) == {"calls": {FFMPEG: 2, JQ: 1}, "cost": {JQ: 0.25}, "tokens": {JQ: 0}}
    assert result.instances[0].notes[-1].endswith("cost, tokens")


def test_figures_of_other_instances_stay_and_a_foreign_table_is_an_error(
    batch: Path, run: Path, into: Callable[..., RunExport]
) -> None:
    (run / "_stats").mkdir(parents=True)
    (run / "_stats" / "cost.json").write_text('{"a__b.0000000": 3.5}')
    into(finished(batch, FFMPEG))
    assert stats(run)["cost"] == {FFMPEG: 1.0, "a__b.0000000": 3.5}
    (run / "_stats" / "cost.json").write_text("[1]")
    with pytest.raises(RecordError, match=r"cost\.json"):
        into(batch)


@pytest.mark.parametrize("damage", ["gone", "torn", "another"])
def test_a_workspace_other_than_the_exported_one_is_rejected(
    damage: str, batch: Path, into: Callable[..., RunExport]
) -> None:
    trial = finished(batch, FFMPEG)
    path = trial / "workspace.tar.zst"
    data = path.read_bytes()
    path.unlink()
    if damage != "gone":
        path.write_bytes(data[:-9] if damage == "torn" else data + b"\0")
    with pytest.raises(RecordError, match="workspace"):
        into(trial)


def test_an_error_of_the_command_is_one_line(batch: Path, run: Path) -> None:
    trial = finished(batch, FFMPEG, exported=False)
    other = finished(batch, JQ)
    result = agent("export", str(other), "--format", "programbench", "-o", str(run))
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith(f"{JQ}: {other} (agent: submitted), no eval.json\n")
    for argv, words in (
        ([str(trial), "--format", "programbench"], "--output"),
        ([str(trial), "--format", "programbench", "-o", str(run)], "not exported"),
        ([str(other), "--format", "programbench", "-o", str(other / "events.jsonl")], "cannot be written"),
        ([str(trial), str(other), "--format", "mini"], "one at a time"),
        ([str(other), "--format", "programbench", "-o", str(run), "--reasoning"], "--reasoning"),
    ):
        result = agent("export", *argv)
        assert result.returncode == 2, argv
        assert words in result.stderr
        assert len(result.stderr.splitlines()) == 1
        assert not result.stdout


def test_trials_of_two_models_get_a_note(batch: Path, into: Callable[..., RunExport]) -> None:
    ours = finished(batch, FFMPEG)
    finished(batch, JQ, model="other")
    (note,) = into(batch).notes
    assert note.startswith("2 setups are mixed here (m prompt=programbench; other prompt=programbench)")
    assert into(ours).notes == []


def test_an_instance_outside_of_the_benchmark_is_never_in_a_run_directory(
    batch: Path, run: Path, into: Callable[..., RunExport], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RETRACE_PROGRAMBENCH_TASKS", str(tmp_path / "own"))
    own = finished(batch, make_instance(tmp_path / "own", "us/mine"))
    fixture = finished(batch, "testorg__calculator.abc1234")
    for trial in (own, fixture):
        with pytest.raises(RecordError, match="which is not one of ProgramBench's 200 tasks"):
            into(trial)
    finished(batch, FFMPEG)
    result = into(batch)
    assert [instance.instance for instance in result.instances] == [FFMPEG]
    assert set(trials(result.left_out)) == {str(own), str(fixture)}
    assert [set(figures) for figures in stats(run).values()] == [{FFMPEG}] * 3
