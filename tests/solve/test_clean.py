"""`agent clean` as a user sees it: its output, its exit status, and the files and containers that it removes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from environments.leftovers.owner import Owner, this_process
from tests.alone import alone
from trajectories.processes import start_time

from .command import CommandResult, agent

NOWHERE = "unix:///nonexistent.sock"


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    with alone():
        yield


@pytest.fixture
def dead() -> Owner:
    """An owner whose process was killed."""
    process = subprocess.Popen(["sleep", "100"])
    owner = replace(this_process(), pid=process.pid, start=start_time(process.pid) or 0)
    process.kill()
    process.wait()
    return owner


@pytest.fixture
def left(tmp_path: Path, dead: Owner) -> Path:
    """A directory of a dead process, with a file in it."""
    path = tmp_path / "tmp" / f"{dead.prefix}abcdefgh"
    path.mkdir(parents=True)
    (path / "file").write_bytes(b"x" * 3_000_000)
    return path


def clean(folder: Path, *argv: str, docker: str = NOWHERE) -> CommandResult:
    (folder / "tmp").mkdir(exist_ok=True)
    return agent(folder, "clean", *argv, TMPDIR=str(folder / "tmp"), DOCKER_HOST=docker)


def test_a_single_line_reports_that_nothing_was_left_behind(tmp_path: Path) -> None:
    result = clean(tmp_path)
    assert (result.status, result.out) == (0, "nothing was left behind\n")


def test_a_table_lists_what_was_removed(tmp_path: Path, left: Path, dead: Owner) -> None:
    dry_run = clean(tmp_path, "--dry-run")
    assert "would be removed" in dry_run.out
    assert left.is_dir()
    result = clean(tmp_path)
    assert result.status == 0
    row = result.out.splitlines()[1]
    for cell in ("directory", str(left), "2.9 MiB", f"process {dead.pid}", "removed"):
        assert cell in row
    assert not left.exists()


def test_without_docker_everything_else_is_cleaned_and_the_gap_is_reported(tmp_path: Path, left: Path) -> None:
    result = clean(tmp_path, "--json")
    assert result.status == 0
    assert result.err.startswith("containers were not examined: no Docker daemon answers")
    assert result.json["docker"] in result.err
    assert [(entry["kind"], entry["name"]) for entry in result.json["removed"]] == [("directory", str(left))]
    assert set(result.json) == {"removed", "kept", "unknown", "failed", "docker", "dry_run"}
    assert not left.exists()


def test_a_directory_of_an_unknown_owner_is_listed_with_the_command_that_removes_it(
    tmp_path: Path, dead: Owner
) -> None:
    strange = tmp_path / "tmp" / f"{replace(dead, pid_ns=1).prefix}x"
    strange.mkdir(parents=True)
    result = clean(tmp_path)
    assert result.status == 0
    assert "left alone" in result.out
    assert f"rm -r {strange}" in result.out
    assert strange.is_dir()


@pytest.fixture
def immutable(left: Path) -> Iterator[Path]:
    """A directory of a dead process that cannot be removed, because its file is immutable."""
    if not shutil.which("chattr") or subprocess.run(["chattr", "+i", left / "file"], capture_output=True).returncode:
        pytest.skip("files cannot be made immutable here")
    yield left
    subprocess.run(["chattr", "-R", "-i", left.parent], capture_output=True)


def test_a_directory_that_cannot_be_removed_is_named_and_the_status_is_1(tmp_path: Path, immutable: Path) -> None:
    result = clean(tmp_path, "--json")
    assert result.status == 1
    assert f"agent: directory {immutable} could not be removed" in result.err
    assert [entry["name"] for entry in result.json["failed"]] == [str(immutable)]


@pytest.mark.docker
def test_containers_are_examined_if_docker_runs(tmp_path: Path) -> None:
    result = agent(tmp_path, "clean", "--dry-run", "--json", TMPDIR=str(tmp_path))
    assert result.json["docker"] is None
