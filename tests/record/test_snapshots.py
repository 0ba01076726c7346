"""Workspaces in the record: every step is restored to the byte, and nothing is written outside."""

from __future__ import annotations

import io
import json
import os
import stat
import tarfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.record.test_recorder import started
from tests.record.writing import MTIME_NS, Writing, tree_on_disk
from trajectories.blobs.garbage import collect_garbage
from trajectories.errors import RecordError, RecordFull
from trajectories.reading.reader import read_events
from trajectories.record.events import Snapshot
from trajectories.record.texts.paths import components, from_text, to_text
from trajectories.workspace.checkout import check_out
from trajectories.workspace.snapshot_writer import SnapshotWriter
from trajectories.workspace.states import NoSnapshots, state_at
from trajectories.workspace.tar_stream import left_out, restore_archive
from trajectories.writing.recorder import Recorder

START = {b"src": None, b"src/a.c": b"int a;\n", b"empty": None, b"link": (b"src/a.c",), b"x\xff\\n": b"odd"}
AFTER = {b"src": None, b"src/a.c": b"int b;\n", b"link": (b"/etc/passwd",), b"src/new": b"", b"x\xff\\n": b"odd"}


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    return Writing(tmp_path / "batch" / "trial", START).step(AFTER).step({}).done()


@given(st.binary(max_size=60))
def test_any_path_is_restored_from_its_text(path: bytes) -> None:
    assert from_text(to_text(path)) == path
    json.dumps(to_text(path)).encode()


@given(st.text(alphabet="\\x41fe0é", max_size=12))
def test_a_text_that_is_not_the_spelling_of_its_path_is_rejected(text: str) -> None:
    try:
        path = from_text(text)
    except RecordError:
        return
    assert to_text(path) == text


@pytest.mark.parametrize(
    "text", ["", "/a", "a/../b", "..", ".", "a//b", "a/", "a\0b", "\\x41", "\\q", "\ud800", "a" * 70000]
)
def test_a_path_that_is_not_plainly_below_the_workspace_is_rejected(text: str) -> None:
    with pytest.raises(RecordError):
        components(text)


def test_every_step_is_checked_out_as_it_was(trial: Path, tmp_path: Path) -> None:
    for step, tree in enumerate([START, AFTER, {}]):
        result = check_out(state_at(trial, step), tmp_path / f"out{step}")
        assert tree_on_disk(tmp_path / f"out{step}") == tree
        assert not result.missing
    file = (tmp_path / "out1" / "src" / "a.c").stat()
    assert (stat.S_IMODE(file.st_mode), file.st_mtime_ns) == (0o640, MTIME_NS)
    assert (tmp_path / "out1" / "src").stat().st_mtime_ns == MTIME_NS
    assert (tmp_path / "out1" / "link").lstat().st_mtime_ns == MTIME_NS
    assert state_at(trial).step == 2


def test_every_step_is_restored_as_an_archive(trial: Path, tmp_path: Path) -> None:
    for step, tree in enumerate([START, AFTER, {}]):
        with tarfile.open(fileobj=io.BytesIO(b"".join(restore_archive(trial, step)))) as tar:
            assert {(member.uid, member.gid) for member in tar} <= {(0, 0)}
            tar.extractall(tmp_path / str(step), filter="fully_trusted")
        assert tree_on_disk(tmp_path / str(step)) == tree
    assert abs((tmp_path / "1" / "src" / "a.c").stat().st_mtime_ns - MTIME_NS) < 1000


def test_gnu_tar_takes_the_archive_with_its_times_to_the_nanosecond(trial: Path, tmp_path: Path) -> None:
    import subprocess

    subprocess.run(["tar", "-x", "-C", tmp_path], input=b"".join(restore_archive(trial, 0)), check=True)
    assert (tmp_path / "src" / "a.c").stat().st_mtime_ns == MTIME_NS
    assert (tmp_path / os.fsdecode(b"x\xff\\n")).read_bytes() == b"odd"


names = st.binary(min_size=1, max_size=4).filter(lambda name: name not in (b".", b"..") and not set(name) & {0, 47})
trees = st.dictionaries(names, st.one_of(st.none(), st.binary(max_size=9), st.tuples(names)), max_size=5)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(trees, min_size=1, max_size=4), below=names)
def test_any_history_is_restored(tmp_path_factory: pytest.TempPathFactory, steps: list[dict], below: bytes) -> None:
    base = tmp_path_factory.mktemp("history")
    full = [
        {**tree, **{name + b"/" + below: b"in" for name, content in tree.items() if content is None}} for tree in steps
    ]
    writing = Writing(base / "b" / "t", full[0])
    for tree in full[1:]:
        writing.step(tree)
    trial = writing.done()
    for step, tree in enumerate(full):
        check_out(state_at(trial, step), base / f"o{step}")
        assert tree_on_disk(base / f"o{step}") == tree


def test_a_content_is_stored_once_for_all_steps_and_trials(tmp_path: Path) -> None:
    first = Writing(tmp_path / "b" / "1", {b"a": b"same", b"b": b"same"}).step({b"a": b"same"}).done()
    second = Writing(tmp_path / "b" / "2", {b"c": b"same"}).done()
    same = [path for path in tmp_path.rglob("*.zst") if path.stat().st_nlink == 3]
    assert len(same) == 3
    for trial in (first, second):
        assert not list(trial.rglob(".new-*"))


def test_a_large_content_takes_little_memory_and_above_the_limit_only_its_hash_is_kept(tmp_path: Path) -> None:
    def content(megabytes: int) -> Iterator[bytes]:
        for number in range(megabytes):
            yield bytes([number]) * (1 << 20)

    trial = tmp_path / "b" / "t"
    trial.mkdir(parents=True)
    recorder = Recorder(trial)
    recorder.append(started())
    tracemalloc.start()
    with SnapshotWriter(recorder, 0, cap_bytes=40 << 20) as writer:
        writer.changed(b"fits", "created", "file", content=content(40))
        writer.changed(b"large", "created", "file", content=content(41))
        snapshot = writer.finish()
    assert tracemalloc.get_traced_memory()[1] < 12 << 20
    tracemalloc.stop()
    recorder.close()
    fits, large = snapshot.changes
    assert (fits.kept, fits.size, large.kept, large.size) == (True, 40 << 20, False, 41 << 20)
    assert large.sha256
    assert len(list(trial.rglob("*.zst"))) == 1
    assert [skipped.path for skipped in left_out(state_at(trial).manifest)] == ["large"]
    result = check_out(state_at(trial), tmp_path / "out")
    assert [skipped.path for skipped in result.missing] == ["large"]
    assert "not kept" in result.missing[0].why
    assert (tmp_path / "out" / "fits").stat().st_size == 40 << 20


def test_an_environment_that_fails_within_a_snapshot_leaves_no_files_and_no_event(tmp_path: Path) -> None:
    def breaks() -> Iterator[bytes]:
        yield b"x" * (2 << 20)
        raise RuntimeError("gone")

    writing = Writing(tmp_path / "b" / "t", {})
    with pytest.raises(RuntimeError), SnapshotWriter(writing.recorder, 1) as writer:  # noqa: PT012
        writer.changed(b"a", "created", "file", content=[b"first"])
        writer.changed(b"b", "created", "file", content=breaks())
    trial = writing.done()
    assert not list(trial.rglob(".new-*"))
    assert [event.step for event in read_events(trial) if isinstance(event, Snapshot)] == [0]


def test_an_unread_path_is_reported_until_it_changes(tmp_path: Path) -> None:
    writing = Writing(tmp_path / "b" / "t", {b"a": b"1"})
    with SnapshotWriter(writing.recorder, 0) as writer:
        writer.unread("b\udcff", "permission denied")
        writer.finish()
    assert [skipped.path for skipped in state_at(writing.step({b"a": b"2"}).directory).unread] == ["b\\xff"]
    assert state_at(writing.step({b"a": b"2", b"b\xff": b"3"}).done()).unread == ()


def test_a_step_that_was_not_recorded_is_an_error(tmp_path: Path) -> None:
    writing = Writing(tmp_path / "b" / "t", {b"a": b"1"}).step({b"a": b"2"})
    writing._snapshots = False
    trial = writing.step({b"a": b"3"}).done()
    assert state_at(trial).step == 1
    with pytest.raises(RecordError, match="after step 2 was not recorded"):
        state_at(trial, 2)
    with pytest.raises(RecordError, match="no step 3; the last is 2"):
        state_at(trial, 3)
    with pytest.raises(NoSnapshots):
        state_at(Writing(tmp_path / "b" / "u", {}, snapshots=False).done())


def test_a_full_disk_is_a_full_record(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    import subprocess

    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)], check=True)
    try:
        writing = Writing(tmp_path / "b" / "t", {})
        with pytest.raises(RecordFull), SnapshotWriter(writing.recorder, 1) as writer:  # noqa: PT012
            writer.changed(b"a", "created", "file", content=(os.urandom(1 << 18) for _ in range(20)))
            writer.finish()
        assert state_at(writing.done()).manifest == {}
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def test_gc_deletes_contents_that_no_trial_links_and_nothing_else(tmp_path: Path) -> None:
    import shutil

    first = Writing(tmp_path / "b" / "1", {b"a": b"one", b"s": b"shared"}).done()
    second = Writing(tmp_path / "b" / "2", {b"a": b"two", b"s": b"shared"}).done()
    left = second / "blobs" / ".new-dead"
    left.write_bytes(b"x")
    os.utime(left, (0, 0))
    (second / "blobs" / ".new-live").write_bytes(b"x")
    (tmp_path / "b" / ".pool" / "mine.txt").write_bytes(b"x")
    shutil.rmtree(first)
    assert collect_garbage(tmp_path, dry_run=True).blobs == 1
    collected = collect_garbage(tmp_path)
    assert (collected.blobs, collected.temporaries) == (1, 1)
    assert collected.bytes > 0
    assert collect_garbage(tmp_path).bytes == 0
    assert len(list((tmp_path / "b" / ".pool").rglob("*.zst"))) == 2
    assert (tmp_path / "b" / ".pool" / "mine.txt").exists()
    assert not left.exists()
    check_out(state_at(second), tmp_path / "out")
    assert tree_on_disk(tmp_path / "out") == {b"a": b"two", b"s": b"shared"}
