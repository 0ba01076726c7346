"""Records that were made to do harm: nothing is written outside, and memory stays small."""

from __future__ import annotations

import json
import stat
import tracemalloc
from pathlib import Path

import pytest
import zstandard

from tests.record.writing import Writing
from trajectories.errors import RecordError
from trajectories.reading.reader import read_events
from trajectories.workspace.checkout import check_out
from trajectories.workspace.states import state_at
from trajectories.workspace.tar_stream import restore_archive


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    return Writing(tmp_path / "batch" / "trial", {b"a": b"1"}).done()


def hostile(tmp_path: Path, *changes: dict) -> Path:
    """Return a record whose first snapshot holds these changes."""
    trial = Writing(tmp_path / "b" / "hostile", {b"a": b"content"}).done()
    lines = (trial / "events.jsonl").read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if '"type":"snapshot"' in line)
    event = json.loads(lines[at])
    original = event["changes"][0]
    event["changes"] = [{**original, **change} for change in changes]
    lines[at] = json.dumps(event, separators=(",", ":"))
    (trial / "events.jsonl").write_text("\n".join(lines) + "\n")
    return trial


@pytest.mark.parametrize(
    "changes",
    [
        [{"path": "../evil"}],
        [{"path": "/evil"}],
        [{"path": "a/../../evil"}],
        [{"path": "d", "type": "symlink", "link": "../.."}, {"path": "d/evil"}],
        [{"path": "d/evil"}, {"path": "d", "type": "symlink", "link": "../.."}],
        [{"path": "f"}, {"path": "f/evil"}],
        [{"path": "\\x2e./evil"}],
    ],
)
def test_a_hostile_record_writes_nothing_outside(tmp_path: Path, changes: list[dict]) -> None:
    trial = hostile(tmp_path, *changes)
    before = set(tmp_path.rglob("*"))
    with pytest.raises(RecordError):
        check_out(state_at(trial), tmp_path / "deep" / "out")
    assert {path.name for path in tmp_path.rglob("*")} - {path.name for path in before} <= {"deep", "out"}


def test_false_facts_about_contents_do_no_harm(tmp_path: Path) -> None:
    trial = hostile(
        tmp_path,
        {"path": "suid", "mode": 0o6755},
        {"path": "short", "size": 99},
        {"path": "long", "size": 3},
        {"path": "none", "sha256": "0" * 64},
        {"path": "climbs", "sha256": "../../../../etc/passwd"},
        {"path": "n" * 300},
        {"path": "late", "mtime_ns": 10**40},
        {"path": "pipe", "type": "other"},
        {"path": "to", "type": "symlink", "link": "/etc"},
        {"path": "twice"},
        {"path": "twice"},
        {"path": "/".join(["d"] * 300)},
    )
    result = check_out(state_at(trial), tmp_path / "out")
    assert {skipped.path for skipped in result.missing} == {
        "short",
        "long",
        "none",
        "climbs",
        "n" * 300,
        "late",
        "pipe",
    }
    assert stat.S_IMODE((tmp_path / "out" / "suid").stat().st_mode) == 0o755
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["d", "suid", "to", "twice"]
    assert (tmp_path / "out" / "/".join(["d"] * 300)).read_bytes() == b"content"


def test_a_blob_that_unpacks_to_more_than_its_file_is_stopped(tmp_path: Path) -> None:
    trial = Writing(tmp_path / "b" / "t", {b"a": b"content"}).done()
    blob = next(trial.rglob("*.zst"))
    blob.write_bytes(zstandard.ZstdCompressor().compress(bytes(1 << 30)))
    tracemalloc.start()
    result = check_out(state_at(trial), tmp_path / "out")
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()
    assert "more than 7 bytes" in result.missing[0].why
    with pytest.raises(RecordError, match="more than 7 bytes"):
        b"".join(restore_archive(trial))


def test_a_directory_that_is_not_empty_is_rejected(trial: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("")
    with pytest.raises(RecordError, match="not empty; give a new or an empty one"):
        check_out(state_at(trial), tmp_path / "full")
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="new directory"):
        check_out(state_at(trial), tmp_path / "file")


def test_a_read_only_directory_is_filled_before_it_is_locked(tmp_path: Path) -> None:
    trial = hostile(tmp_path, {"path": "d", "type": "directory", "mode": 0o500}, {"path": "d/a", "mode": 0o400})
    check_out(state_at(trial), tmp_path / "out")
    assert stat.S_IMODE((tmp_path / "out" / "d").stat().st_mode) == 0o500


def test_a_huge_sparse_or_odd_events_file_is_read_in_little_memory(tmp_path: Path) -> None:
    trial = Writing(tmp_path / "b" / "t", {b"a": b"1"}).done()
    with (trial / "events.jsonl").open("ab") as file:
        file.truncate(1 << 30)
    tracemalloc.start()
    assert len(list(read_events(trial))) == 4  # zeros after the last line, which a power failure leaves
    assert list(state_at(trial).manifest) == ["a"]
    with (trial / "events.jsonl").open("ab") as file:
        file.write(b"\n")
    with pytest.raises(RecordError, match=r"events\.jsonl:5"):
        list(read_events(trial))
    assert tracemalloc.get_traced_memory()[1] < 30 << 20
    tracemalloc.stop()
