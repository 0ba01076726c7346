"""An ad-hoc task copies a directory unchanged, leaves the original alone, and is never evaluated."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard

from benchmarks.task.adhoc import adhoc_task
from benchmarks.task.submission import Archive
from benchmarks.task.task import TaskError
from environments.choose import make
from environments.protocol import Kind
from environments.sandbox.bubblewrap import NOBODY
from tests.benchmarks import odd_files

KINDS = [pytest.param("sandbox", marks=pytest.mark.sandbox), "local"]


def test_an_instruction_and_an_image_or_a_workspace_are_needed() -> None:
    with pytest.raises(TaskError, match="the instruction is empty"):
        adhoc_task(" \n", image="x")
    with pytest.raises(TaskError, match="an image or a workspace"):
        adhoc_task("Do it.")
    with pytest.raises(TaskError, match="/no/where is not a directory"):
        adhoc_task("Do it.", workspace=Path("/no/where"))


def test_identity_and_kinds_follow_image_and_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    by_image = adhoc_task("Do it.", image="some/image:1")[1]
    by_directory = adhoc_task("Do it.", workspace=tmp_path)[1]
    both = adhoc_task("Do it.", image="some/image:1", workspace=tmp_path)[1]
    assert [task.kinds for task in (by_image, by_directory, both)] == [
        ("docker",),
        ("sandbox", "local"),
        ("docker",),
    ]
    assert adhoc_task("Do it.", workspace=tmp_path)[1].digest == by_directory.digest
    (tmp_path / "a").write_text("2")
    digests = [adhoc_task("Do it.", workspace=tmp_path)[1], adhoc_task("Do that.", image="some/image:1")[1]]
    assert len({task.digest for task in (by_image, by_directory, both, *digests)}) == 5
    assert (by_image.evaluable, by_image.title, by_image.id.startswith("adhoc/")) == (False, "Do it.", True)


def test_its_evaluation_is_an_error(tmp_path: Path) -> None:
    adapter, task = adhoc_task("Do it.", image="x")
    verdict = adapter.evaluate(task, Archive(tmp_path / "w"), "docker", tmp_path)
    assert (verdict.status, verdict.error) == ("error", f"{task.id} is an ad-hoc task, it has no tests")


@pytest.mark.parametrize("kind", KINDS)
def test_a_directory_with_odd_files_is_copied_completely(kind: Kind, tmp_path: Path) -> None:
    source = odd_files.make(tmp_path)
    before = odd_files.listing(source)
    stamps = {path: os.lstat(os.path.join(os.fsencode(source), path)).st_mtime_ns for path in before}
    adapter, task = adhoc_task("Look.", workspace=source)
    environment = make(replace(task.spec, kind=kind))
    try:
        environment.start()
        left_out = adapter.prepare(task, environment)
        assert {skipped.path for skipped in left_out} - {"null"} == {"pipe", "socket"}
        execution = environment.execute("echo more >> empty; rm -- -n; ./run.sh && stat -c %a run.sh", deadline_s=10)
        assert (execution.output, execution.exit_code) == (b"755\n", 0)
        environment.export(tmp_path / "w.tar.zst")
    finally:
        environment.stop()
    assert odd_files.listing(source) == before
    assert stamps == {path: os.lstat(os.path.join(os.fsencode(source), path)).st_mtime_ns for path in before}
    expected = {path: entry for path, entry in before.items() if entry[0] != "special" and path != b"-n"}
    expected[b"empty"] = ("file", b"more\n")
    assert odd_files.listing(extracted(tmp_path / "w.tar.zst", tmp_path / "out")) == expected


@pytest.mark.sandbox
def test_a_sparse_file_of_two_gigabytes_stays_sparse(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    with (source / "sparse").open("wb") as file:
        file.seek((2 << 30) - 1)
        file.write(b"x")
    adapter, task = adhoc_task("Look.", workspace=source)
    environment = make(replace(task.spec, kind="sandbox"))
    try:
        environment.start()
        adapter.prepare(task, environment)
        execution = environment.execute("stat -c '%s' sparse; du -k sparse | cut -f1; tail -c1 sparse", deadline_s=30)
    finally:
        environment.stop()
    size, kilobytes, last = execution.output.split()
    assert (int(size), last) == (2 << 30, b"x")
    assert int(kilobytes) < 1024


@pytest.mark.sandbox
def test_a_hundred_thousand_files_are_copied(in_memory: Path) -> None:
    source, workspace = in_memory / "source", in_memory / "workspace"
    for directory in (source / str(number) for number in range(100)):
        directory.mkdir(parents=True)
        for name in range(1000):
            (directory / str(name)).touch()
    workspace.mkdir()
    if os.geteuid() == 0:
        os.chown(workspace, NOBODY, NOBODY)
    adapter, task = adhoc_task("Look.", workspace=source)
    environment = make(replace(task.spec, kind="sandbox", workspace=workspace))
    try:
        environment.start()
        adapter.prepare(task, environment)
        assert environment.execute("find . -type f | wc -l", deadline_s=60).output == b"100000\n"
        assert environment.export(in_memory / "w.tar.zst").entries >= 100_100
    finally:
        environment.stop()


@pytest.fixture
def in_memory(tmp_path: Path) -> Iterator[Path]:
    """Return a directory in which many files are quick to create."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="retrace-") as directory:
        os.chmod(directory, 0o711)
        yield Path(directory)


def extracted(archive: Path, to: Path) -> Path:
    to.mkdir()
    with archive.open("rb") as file:
        plain = zstandard.ZstdDecompressor().stream_reader(file).read()
    subprocess.run(["tar", "-x", "-C", to], input=plain, check=True)
    return to
