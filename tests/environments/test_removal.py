"""Removal of a directory that a hostile program filled: all of it, and nothing else."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
import zstandard

from environments.leftovers.removal import remove_tree

from .conftest import ALL, Place


def mode(path: Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    parent = tmp_path / "parent"
    parent.mkdir()
    parent.chmod(0o1777)
    return parent


def test_removing_a_missing_directory_changes_nothing_above_it(parent: Path) -> None:
    assert remove_tree(parent / "gone")
    assert mode(parent) == 0o1777


def test_a_link_instead_of_the_directory_is_removed_and_its_target_stays(parent: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    (parent / "link").symlink_to(outside)
    assert remove_tree(parent / "link")
    assert (mode(outside), mode(parent), os.listdir(parent)) == (0o755, 0o1777, [])


def test_deeper_than_any_path(parent: Path) -> None:
    top = parent / "top"
    top.mkdir()
    at = os.open(top, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=at)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=at))
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(at)
    open_before = len(os.listdir("/proc/self/fd"))
    assert remove_tree(top)
    assert (os.listdir(parent), len(os.listdir("/proc/self/fd"))) == ([], open_before)


def test_locked_directories_of_the_same_user(parent: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    top = parent / "top"
    (top / "a/b/c").mkdir(parents=True)
    (top / "a/b/c/-file\n").touch()
    for directory in ("a", "a/b", "."):
        (top / directory / "link").symlink_to(outside)
    child = os.fork()
    if child == 0:  # root is not kept out by any mode
        try:
            for path in (tmp_path, *tmp_path.parents):
                if path.stat().st_uid == os.geteuid() and path.name.startswith(("pytest", "test", "popen")):
                    path.chmod(mode(path) | 0o011)
            if os.geteuid() == 0:
                for path in (outside, *top.rglob("*"), top):
                    os.chown(path, 65534, 65534, follow_symlinks=False)
                os.setresuid(65534, 65534, 65534)
            for directory in ("a/b/c", "a/b", "a", "."):
                (top / directory).chmod(0)
            os._exit(0 if remove_tree(top) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (os.listdir(parent), mode(outside), mode(parent)) == ([], 0o755, 0o1777)


@pytest.mark.parametrize("label", ALL)
def test_a_stop_leaves_nothing_and_changes_nothing_else(label: str, start, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    place: Place = start(label)
    directories = list(getattr(place.environment, "_directories", []))
    dig = """mkdir deep; cd deep; perl -e 'for (1..1500) { mkdir "d"; chdir "d" or die }'"""
    lock = f"mkdir -p k/e; ln -s {outside} k/l; ln -s {outside} k/e/l; chmod 555 k/e; chmod 555 k; chmod 0 ."
    place.text(f"({dig}); {lock}")
    memory = Path("/dev/shm")
    before = mode(memory)
    place.environment.stop()
    assert (mode(outside), mode(memory)) == (0o755, before)
    assert not any(directory.exists() for directory in directories)


@pytest.mark.parametrize("label", ALL)
def test_an_export_leaves_out_paths_that_are_too_deep_and_reports_them(label: str, start, tmp_path: Path) -> None:
    place: Place = start(label)
    name = "n" * 100
    dig = f"for i in {{1..60}}; do mkdir {name}; cd ./{name}; done; touch bottom"
    place.text(f"touch beside; mkdir a; cd a; {dig}")
    export = place.environment.export(tmp_path / "w.tar.zst")
    assert [skipped.why for skipped in export.skipped] == ["its path has more than 3840 bytes"]
    assert export.skipped[0].path.startswith(f"a/{name}/")
    again: Place = start(label)
    with (tmp_path / "w.tar.zst").open("rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw) as stream:
        again.environment.put(stream, ".")
    assert again.text("ls; find a -type d | wc -l").split() == ["a", "beside", "38"]
