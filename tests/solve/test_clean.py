"""`agent clean` as a user meets it."""

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
    process = subprocess.Popen(["sleep", "100"])
    owner = replace(this_process(), pid=process.pid, start=start_time(process.pid) or 0)
    process.kill()
    process.wait()
    return owner


@pytest.fixture
def left(tmp_path: Path, dead: Owner) -> Path:
    """A directory that a dead process left."""
    path = tmp_path / "tmp" / f"{dead.prefix}abcdefgh"
    path.mkdir(parents=True)
    (path / "file").write_bytes(b"x" * 3_000_000)
    return path


def clean(folder: Path, *argv: str, docker: str = NOWHERE) -> CommandResult:
    (folder / "tmp").mkdir(exist_ok=True)
    return agent(folder, "clean", *argv, TMPDIR=str(folder / "tmp"), DOCKER_HOST=docker)


def test_nothing_to_clean_is_one_line(tmp_path: Path) -> None:
    done = clean(tmp_path)
    assert (done.status, done.out) == (0, "nothing was left behind\n")


def test_a_table_tells_what_went(tmp_path: Path, left: Path, dead: Owner) -> None:
    tried = clean(tmp_path, "--dry-run")
    assert "would be removed" in tried.out
    assert left.is_dir()
    done = clean(tmp_path)
    assert done.status == 0
    row = done.out.splitlines()[1]
    for cell in ("directory", str(left), "2.9 MiB", f"process {dead.pid}", "removed"):
        assert cell in row
    assert not left.exists()


def test_without_docker_the_rest_is_cleaned_and_that_is_said(tmp_path: Path, left: Path) -> None:
    done = clean(tmp_path, "--json")
    assert done.status == 0
    assert done.err.startswith("containers were not examined: no Docker daemon answers")
    assert done.json["docker"] in done.err
    assert [(one["kind"], one["name"]) for one in done.json["removed"]] == [("directory", str(left))]
    assert set(done.json) == {"removed", "kept", "unknown", "failed", "docker", "dry_run"}
    assert not left.exists()


def test_what_cannot_be_judged_is_listed_with_the_way_out(tmp_path: Path, dead: Owner) -> None:
    strange = tmp_path / "tmp" / f"{replace(dead, pid_ns=1).prefix}x"
    strange.mkdir(parents=True)
    done = clean(tmp_path)
    assert done.status == 0
    assert "left alone" in done.out
    assert f"rm -r {strange}" in done.out
    assert strange.is_dir()


@pytest.fixture
def immovable(left: Path) -> Iterator[Path]:
    if not shutil.which("chattr") or subprocess.run(["chattr", "+i", left / "file"], capture_output=True).returncode:
        pytest.skip("no file can be made immutable here")
    yield left
    subprocess.run(["chattr", "-R", "-i", left.parent], capture_output=True)


def test_what_cannot_be_removed_is_named_and_the_status_is_1(tmp_path: Path, immovable: Path) -> None:
    done = clean(tmp_path, "--json")
    assert done.status == 1
    assert f"agent: directory {immovable} could not be removed" in done.err
    assert [one["name"] for one in done.json["failed"]] == [str(immovable)]


@pytest.mark.docker
def test_containers_are_looked_at(tmp_path: Path) -> None:
    done = agent(tmp_path, "clean", "--dry-run", "--json", TMPDIR=str(tmp_path))
    assert done.json["docker"] is None
