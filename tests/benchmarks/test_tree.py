"""A directory of the host as content: complete, with links, and without special files, which are reported."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from benchmarks.task import tree
from benchmarks.task.task import TaskError
from tests.benchmarks import odd_files
from tests.pace import plain_python_s


def unpacked(files: tree.Tree, to: Path, *, plain_modes: bool = False) -> Path:
    to.mkdir()
    with tree.packed(files, plain_modes=plain_modes) as archive:
        subprocess.run(["tar", "-x", "--no-same-owner", "-C", to], stdin=archive, check=True)
    return to


def test_everything_except_special_files_arrives(tmp_path: Path) -> None:
    source = odd_files.make(tmp_path)
    content = tree.scan(source)
    skipped = [(entry.path, entry.why) for entry in content.skipped]
    assert skipped[-2:] == [("pipe", "a named pipe"), ("socket", "a socket")]
    assert skipped[:-2] == ([("null", "a character device")] if (source / "null").exists() else [])
    expected = {path: entry for path, entry in odd_files.listing(source).items() if entry[0] != "special"}
    arrived = unpacked(content, tmp_path / "copy")
    assert odd_files.listing(arrived) == expected
    assert (arrived / "run.sh").stat().st_mode & 0o777 == 0o755


def test_plain_modes_and_one_time_stamp(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name, mode in (("a", 0o600), ("b", 0o4777)):
        (source / name).write_text(name)
        (source / name).chmod(mode)
    arrived = unpacked(tree.scan(source), tmp_path / "copy", plain_modes=True)
    assert [(arrived / name).stat().st_mode & 0o777 for name in "ab"] == [0o644, 0o755]
    assert {(arrived / name).stat().st_mtime for name in "ab"} == {1577836800.0}


def test_digest_sees_every_byte_of_a_sparse_file(tmp_path: Path) -> None:
    path = tmp_path / "files" / "sparse"
    path.parent.mkdir()
    with path.open("wb") as file:
        file.truncate(2 << 30)
    began = time.process_time()
    digests = {tree.digest(tree.scan(path.parent))}
    assert time.process_time() - began < 10 * plain_python_s(), "holes were read; hashing 2 GiB takes longer"
    for at in (0, 1 << 20, (2 << 30) - 1):
        with path.open("r+b") as file:
            file.seek(at)
            file.write(b"x")
        digests.add(tree.digest(tree.scan(path.parent)))
    os.truncate(path, 1)
    digests.add(tree.digest(tree.scan(path.parent)))
    assert len(digests) == 5


def test_a_hole_counts_as_zeros(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a/file").write_bytes(bytes(3 << 20) + b"x")
    with (tmp_path / "b/file").open("wb") as file:
        file.seek(3 << 20)
        file.write(b"x")
    assert tree.digest(tree.scan(tmp_path / "a")) == tree.digest(tree.scan(tmp_path / "b"))


def test_a_sparse_file_stays_sparse(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    with (source / "sparse").open("wb") as file:
        file.seek((1 << 30) - 1)
        file.write(b"x")
    arrived = unpacked(tree.scan(source), tmp_path / "copy") / "sparse"
    assert arrived.stat().st_size == 1 << 30
    assert arrived.stat().st_blocks * 512 < 1 << 20


def test_a_file_that_vanishes_during_packing_is_an_error(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "here").write_text("x")
    content = tree.scan(source)
    (source / "here").unlink()
    with (
        pytest.raises(TaskError, match=r"cannot be packed: .*here"),
        tree.packed(content, plain_modes=False) as archive,
    ):
        archive.read()
