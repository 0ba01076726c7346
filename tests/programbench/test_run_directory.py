"""`agent export --format programbench`: a run directory that the benchmark's own tools take, and only honest trials."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.programbench.handover import hand_over
from benchmarks.programbench.run_directory import RunExport, export_run
from tests.programbench.archives import PROGRAM, submitted
from tests.programbench.finished import FILES, IDS, evaluated, finished
from trajectories.errors import RecordError
from trajectories.record.events import Skipped
from trajectories.record.usage import Costs, Usage

FFMPEG, JQ = IDS
LIMITS = ("steps", "time", "tokens", "cost", "context")
NOT_DONE = ("model_unavailable", "environment_lost", "disk_full", "harness_defect", "interrupted")


def official(*argv: str) -> subprocess.CompletedProcess[str]:
    """The benchmark's own command line, without network."""
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


def stats(run: Path) -> dict[str, Any]:
    return {name: json.loads((run / "_stats" / f"{name}.json").read_bytes()) for name in ("calls", "cost", "tokens")}


def test_from_trials_to_a_registered_submission(batch: Path, run: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """The whole way with the benchmark's own tools: package, verify, publish to a repository on disk, register."""
    for instance, passing in ((FFMPEG, 1.0), (JQ, 0.5)):
        evaluated(finished(batch, instance), passing=passing)
    monkeypatch.chdir(tmp_path)
    done = agent("export", "b", "--format", "programbench", "--output", str(run), "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [one["instance"] for one in told["instances"]] == sorted(IDS)
    assert all(one["evaluated"] and one["withheld"] == ["copy"] for one in told["instances"])
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

    done = official("submit", "package", str(run))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 instance(s)" in done.stdout
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
    done = official("submit", "publish", str(run), "--remote", str(bare))
    assert done.returncode == 0, done.stdout + done.stderr
    listed = subprocess.run(
        ["git", "-C", str(bare), "ls-tree", "-r", "--name-only", "main"], check=True, capture_output=True, text=True
    ).stdout.split()
    assert f"{JQ}/{JQ}.traj.json" in listed
    assert not [name for name in listed if "export-" in name]
    done = official("submit", "register", str(run), "--dry-run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "_stats/cost.json" in done.stdout

    score[JQ][next(name for name, passed in score[JQ].items() if not passed)] = True
    (run / "_stats" / "score.json").write_text(json.dumps(score))
    done = official("submit", "verify", str(run))
    assert done.returncode == 1
    assert JQ in done.stdout


def test_again_it_changes_nothing_also_after_packaging(batch: Path, run: Path, into: Callable[..., RunExport]) -> None:
    trial = finished(batch, FFMPEG)
    evaluated(trial, passing=0.5)
    before = files(trial)
    first = into(batch)
    made = files(run)
    assert into(batch) == first
    assert files(run) == made
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


def test_a_result_of_another_submission_is_replaced_or_removed(
    batch: Path, run: Path, into: Callable[..., RunExport]
) -> None:
    evaluated(finished(batch, FFMPEG, 1), passing=0.5)
    into(batch)
    assert official("submit", "package", str(run)).returncode == 0
    second = finished(batch, FFMPEG, 2, files={**FILES, "./new": b"new"}, costs=Costs())
    done = into(batch)
    assert done.instances[0].trial == str(second)
    assert not done.instances[0].evaluated
    assert "submit package" in done.notes[0]
    assert {name for name in files(run) if name.startswith(FFMPEG)} == {
        f"{FFMPEG}/submission.tar.gz",
        f"{FFMPEG}/{FFMPEG}.traj.json",
    }
    assert stats(run)["cost"] == {}
    evaluated(second, passing=1.0)
    into(batch)
    assert official("submit", "package", str(run)).returncode == 0
    assert all(json.loads((run / "_stats" / "score.json").read_bytes())[FFMPEG].values())


def test_an_uploaded_submission_stays_where_it_is(batch: Path, run: Path, into: Callable[..., RunExport]) -> None:
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


def test_the_submission_is_the_one_that_was_evaluated(
    batch: Path, run: Path, into: Callable[..., RunExport], tmp_path: Path
) -> None:
    trial = finished(batch, FFMPEG)
    hand_over(trial / "workspace.tar.zst", tmp_path / "s", {hashlib.sha256(PROGRAM).hexdigest(), "0" * 64})
    evaluated(trial, submission=(tmp_path / "s").read_bytes() + b"\0")
    into(trial)
    assert (run / FFMPEG / "submission.tar.gz").read_bytes() == (tmp_path / "s").read_bytes() + b"\0"
    evaluated(trial, submission=b"of another evaluation", says="0" * 64)
    into(trial)
    assert (run / FFMPEG / "submission.tar.gz").read_bytes() == (tmp_path / "s").read_bytes()
    evaluated(trial, submission=b"left by an evaluation that failed", error="no daemon")
    (one,) = into(trial).instances
    assert (run / FFMPEG / "submission.tar.gz").read_bytes() == (tmp_path / "s").read_bytes()
    assert one.notes == ["the evaluation failed: no daemon"]
    assert not (run / FFMPEG / f"{FFMPEG}.eval.json").exists()


@pytest.mark.parametrize("cause", LIMITS)
def test_a_trial_that_a_limit_ended_is_submitted_as_it_stands(
    cause: Any, batch: Path, run: Path, into: Callable[..., RunExport]
) -> None:
    (one,) = into(finished(batch, FFMPEG, cause=cause)).instances
    assert one.exit == f"limit: {cause}"
    assert (run / FFMPEG / "submission.tar.gz").is_file()


@pytest.mark.parametrize("cause", [*NOT_DONE, None])
def test_a_trial_that_did_not_come_to_its_end_is_none(
    cause: Any, batch: Path, run: Path, into: Callable[..., RunExport]
) -> None:
    lost = finished(batch, FFMPEG, 2, cause=cause)
    with pytest.raises(RecordError, match=lost.name):
        into(lost)
    with pytest.raises(RecordError, match="none of 1 trials"):
        into(batch)
    assert not run.exists()
    first = finished(batch, FFMPEG, 1)
    done = into(batch)
    assert [one.trial for one in done.instances] == [str(first)]
    assert [one.trial for one in done.left_out] == [str(lost)]
    assert "agent resume" in done.left_out[0].why


def test_of_several_attempts_the_latest_is_taken_unless_one_is_named(
    batch: Path, into: Callable[..., RunExport]
) -> None:
    third, first, second = (finished(batch, FFMPEG, number) for number in (3, 1, 2))  # in this order
    done = into(batch)
    assert [one.trial for one in done.instances] == [str(second)]
    assert {one.trial: one.why for one in done.left_out} == dict.fromkeys(
        map(str, (first, third)), f"{second.name} is the later attempt"
    )
    done = into(batch, first)
    assert [one.trial for one in done.instances] == [str(first)]
    assert {one.why for one in done.left_out} == {f"{first.name} is named"}
    with pytest.raises(RecordError, match=f"{first.name} and {third.name} are both trials of {FFMPEG}"):
        into(first, third)


def test_only_this_benchmarks_trials_and_not_its_variants(batch: Path, into: Callable[..., RunExport]) -> None:
    other = finished(batch, "ledger", benchmark="demo")
    with pytest.raises(RecordError, match=r"a trial of demo/ledger"):
        into(other)
    variant = finished(batch, FFMPEG, variant="internet")
    finished(batch, JQ)
    done = into(batch)
    assert [one.instance for one in done.instances] == [JQ]
    assert {one.trial for one in done.left_out} == {str(other), str(variant)}
    assert "variant internet" in into(variant).instances[0].notes[0]


def test_an_export_that_left_something_unread_is_refused(batch: Path, into: Callable[..., RunExport]) -> None:
    harmless = [Skipped(path="p", why="named pipe"), Skipped(path="s", why="socket")]
    harmless.append(Skipped(path="l", why="its path has more than 3840 bytes"))
    into(finished(batch, JQ, skipped=tuple(harmless)))
    unread = Skipped(path="src/a\nb", why="Warning: Cannot open: Permission denied")
    with pytest.raises(RecordError, match=r"src/a.*could not be read unchanged") as error:
        into(finished(batch, FFMPEG, skipped=(*harmless, unread)))
    assert "\n" not in str(error.value)


def test_what_is_unknown_is_left_out_and_said(batch: Path, run: Path, into: Callable[..., RunExport]) -> None:
    finished(batch, FFMPEG, usages=(Usage(input=1, output=3), None), costs=Costs())
    finished(batch, JQ, usages=(Usage(input=0, output=0),), costs=Costs(billed=0.25))
    done = into(batch)
    assert stats(run) == {"calls": {FFMPEG: 2, JQ: 1}, "cost": {JQ: 0.25}, "tokens": {JQ: 0}}
    assert done.instances[0].notes[-1].endswith("cost, tokens")


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


@pytest.mark.parametrize("what", ["gone", "torn", "another"])
def test_a_workspace_that_is_not_the_exported_one_is_refused(
    what: str, batch: Path, into: Callable[..., RunExport]
) -> None:
    trial = finished(batch, FFMPEG)
    path = trial / "workspace.tar.zst"
    data = path.read_bytes()
    path.unlink()
    if what != "gone":
        path.write_bytes(data[:-9] if what == "torn" else data + b"\0")
    with pytest.raises(RecordError, match="workspace"):
        into(trial)


def test_the_command_says_what_is_wrong_in_one_line(batch: Path, run: Path) -> None:
    trial = finished(batch, FFMPEG, exported=False)
    other = finished(batch, JQ)
    done = agent("export", str(other), "--format", "programbench", "-o", str(run))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{JQ}: {other} (agent: submitted), no eval.json\n")
    for argv, words in (
        ([str(trial), "--format", "programbench"], "--output"),
        ([str(trial), "--format", "programbench", "-o", str(run)], "not exported"),
        ([str(other), "--format", "programbench", "-o", str(other / "events.jsonl")], "cannot be written"),
        ([str(trial), str(other), "--format", "mini"], "one at a time"),
        ([str(other), "--format", "programbench", "-o", str(run), "--reasoning"], "--reasoning"),
    ):
        done = agent("export", *argv)
        assert done.returncode == 2, argv
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert not done.stdout


def test_trials_of_two_models_are_said_to_be_mixed(batch: Path, into: Callable[..., RunExport]) -> None:
    ours = finished(batch, FFMPEG)
    finished(batch, JQ, model="other")
    (said,) = into(batch).notes
    assert said.startswith("2 setups are mixed here (m prompt=programbench; other prompt=programbench)")
    assert into(ours).notes == []


def test_an_instance_that_is_not_the_benchmark_s_is_said_to_be_none(
    batch: Path, into: Callable[..., RunExport]
) -> None:
    finished(batch, FFMPEG)
    finished(batch, "testorg__calculator.abc1234")
    theirs, fixture = into(batch).instances
    assert not any("not one of the benchmark's instances" in note for note in theirs.notes)
    assert fixture.notes[0] == "not one of the benchmark's instances: `programbench submit` leaves it out"
