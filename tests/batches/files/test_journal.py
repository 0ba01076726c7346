"""The journal of a batch: complete lines in one sequence over all coordinators, and mistakes with their place."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.batches.files.writing import opened
from trajectories.batches.events import BatchClosed, Ended, UnknownBatchEvent
from trajectories.batches.journal import BatchWriter, read_batch_events
from trajectories.errors import RecordError
from trajectories.writing.masking import Masker


def ended(detail: str = "") -> Ended:
    return Ended(unit="u", trial="t", status="failed", cause="environment_lost", detail=detail)


def journal(batch: Path, *lines: bytes) -> Path:
    """Write a journal with a beginning and these lines."""
    with BatchWriter(batch) as writer:
        writer.append(opened())
    with (batch / "batch.jsonl").open("ab") as file:
        file.writelines(lines)
    return batch


def test_a_journal_is_continued_in_one_sequence_with_one_clock(tmp_path: Path) -> None:
    with BatchWriter(tmp_path) as writer:
        first = [writer.append(opened()), writer.append(ended())]
    with BatchWriter(tmp_path) as writer:
        second = [writer.append(opened()), writer.append(BatchClosed(why="finished"))]
        writer.sync()
        assert list(read_batch_events(tmp_path)) == first + second, "it can be read while it is written"
    assert [event.seq for event in first + second] == [0, 1, 2, 3]
    times = [event.mono_s for event in first + second]
    assert times == sorted(times)


@pytest.mark.parametrize("lost", range(1, 60, 7))
def test_a_torn_last_line_is_skipped_by_readers_and_cut_off_by_the_next_writer(tmp_path: Path, lost: int) -> None:
    with BatchWriter(tmp_path) as writer:
        writer.append(opened())
        writer.append(ended())
    path = tmp_path / "batch.jsonl"
    os.truncate(path, path.stat().st_size - lost)
    assert [event.seq for event in read_batch_events(tmp_path)] == [0]
    with BatchWriter(tmp_path) as writer:
        writer.append(BatchClosed(why="interrupted"))
    assert [event.type for event in read_batch_events(tmp_path)] == ["batch_opened", "batch_closed"]
    assert path.read_bytes().count(b"\n") == 2


def test_a_journal_that_lost_everything_begins_again(tmp_path: Path) -> None:
    (tmp_path / "batch.jsonl").write_bytes(b'{"seq":0,"t')
    with BatchWriter(tmp_path) as writer:
        assert writer.append(opened()).seq == 0
    assert len(list(read_batch_events(tmp_path))) == 1


def test_an_event_of_a_later_version_keeps_its_place(tmp_path: Path) -> None:
    batch = journal(tmp_path, b'{"seq":1,"t":"x","mono_s":1.0,"type":"moved","to":"elsewhere"}\n')
    with BatchWriter(batch) as writer:
        writer.append(BatchClosed(why="finished"))
    events = list(read_batch_events(batch))
    assert events[1] == UnknownBatchEvent(seq=1, t="x", mono_s=1.0, type="moved")
    assert events[2].seq == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"seq":1,"type":"planned"}\n', r"batch\.jsonl:2: not a valid event of a batch: .*\(planned\.unit\)"),
        (b"nonsense\n", r"batch\.jsonl:2: not a valid event of a batch: Invalid JSON"),
        (b"\0\0\0\n", r"batch\.jsonl:2: not a valid event of a batch"),
    ],
)
def test_a_damaged_line_is_an_error_with_its_place(tmp_path: Path, line: bytes, message: str) -> None:
    batch = journal(tmp_path, line)
    with pytest.raises(RecordError, match=message) as error:
        list(read_batch_events(batch))
    assert "\n" not in str(error.value)
    with pytest.raises(RecordError, match=r"batch\.jsonl: the last line: not a valid event"):
        BatchWriter(batch)


def test_a_journal_of_a_newer_major_version_is_refused_and_a_newer_minor_one_is_read(tmp_path: Path) -> None:
    for version in ("1.9", "2.0"):
        (tmp_path / version).mkdir()
        line = {**json.loads(opened().model_dump_json()), "schema_version": version, "later": True}
        (tmp_path / version / "batch.jsonl").write_text(json.dumps(line) + "\n")
    assert len(list(read_batch_events(tmp_path / "1.9"))) == 1
    with pytest.raises(RecordError, match=r"batch\.jsonl:1: version 2\.0 of the files of a batch; .* reads 1\.x"):
        list(read_batch_events(tmp_path / "2.0"))


def test_a_file_of_another_program_is_not_read_as_a_batch(tmp_path: Path) -> None:
    (tmp_path / "batch.jsonl").write_text('{"type": "train", "loss": 1}\n')
    with pytest.raises(
        RecordError, match=r"batch\.jsonl:1: a batch begins with batch_opened, but this file with 'train'; if it"
    ):
        list(read_batch_events(tmp_path))
    with pytest.raises(RecordError, match=r"not a batch of agent batch \(no batch\.jsonl\)"):
        list(read_batch_events(tmp_path / "absent"))
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "batch.jsonl")
    with pytest.raises(RecordError, match=r"pipe/batch\.jsonl: cannot be read"):
        list(read_batch_events(tmp_path / "pipe"))
    with pytest.raises(RecordError, match=r"pipe/batch\.jsonl: cannot be written"):
        BatchWriter(tmp_path / "pipe")


def test_secrets_in_words_are_masked_and_names_stay(tmp_path: Path) -> None:
    with BatchWriter(tmp_path, masker=Masker({"API_KEY": "verysecret"})) as writer:
        event = writer.append(ended("key verysecret refused").model_copy(update={"unit": "verysecret"}))
    assert event.detail == "key [secret:API_KEY] refused"
    assert (tmp_path / "batch.jsonl").read_text().count("verysecret") == 1, "only the name"


FULL = """
import resource, signal, sys
from pathlib import Path
from tests.batches.files.test_journal import ended, opened
from trajectories.batches.journal import BatchWriter
from trajectories.errors import RecordFull
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
writer = BatchWriter(Path(sys.argv[1]))
writer.append(opened())
size = (Path(sys.argv[1]) / "batch.jsonl").stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 1000, resource.RLIM_INFINITY))
try:
    for _ in range(100):
        writer.append(ended("y" * 100))
except RecordFull as error:
    print(error)
writer.close()
"""


def test_on_a_full_disk_the_journal_stays_whole_and_is_continued_later(tmp_path: Path) -> None:
    result = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "no space left for the batch; free some" in result.stdout
    before = list(read_batch_events(tmp_path))
    assert (tmp_path / "batch.jsonl").read_bytes().endswith(b"\n")
    with BatchWriter(tmp_path) as writer:
        assert writer.append(ended()).seq == len(before)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a read-only file system needs root")
def test_a_read_only_folder_is_one_line(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)], check=True)
    try:
        journal(tmp_path)
        subprocess.run(["mount", "-o", "remount,ro", str(tmp_path)], check=True)
        with pytest.raises(RecordError, match="cannot be written"):
            BatchWriter(tmp_path)
        assert len(list(read_batch_events(tmp_path))) == 1
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)
