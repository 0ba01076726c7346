"""Packed records: the same events as before, whatever is killed, and no harm from a file that is none."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import zstandard

from tests.record.writing import Writing
from tests.records.compared import read_only
from trajectories.blobs.garbage import collect_garbage
from trajectories.checks.check import check
from trajectories.errors import RecordError, RecordFull
from trajectories.reading import lines, packed as reading
from trajectories.reading.family import family
from trajectories.reading.packed import open_record, record_state
from trajectories.reading.reader import events_file, read_events
from trajectories.reading.runs import directories_named, find_trial, listed, trial_directories
from trajectories.record.events import Warned
from trajectories.record.layout import TrialFolder
from trajectories.views.follow import follow
from trajectories.workspace.states import state_at
from trajectories.writing import packing
from trajectories.writing.derived import write_conveniences
from trajectories.writing.lock import TrialLock
from trajectories.writing.packing import pack, pack_finished, unpack
from trajectories.writing.recorder import Recorder


@pytest.fixture
def trial(tmp_path: Path) -> Path:
    trial = Writing(tmp_path / "batch" / "trial", {b"a": b"1"}).step({b"a": b"2"}).step({b"b": b"3"}).done()
    write_conveniences(trial)
    return trial


def names(trial: Path) -> set[str]:
    """Return the names of the record's files, temporary ones included."""
    return {path.name for path in trial.iterdir() if "events" in path.name}


def append(trial: Path) -> None:
    events = list(read_events(trial))
    recorder = Recorder(trial, after=events[-1])
    recorder.append(Warned(kind="x", text="one more"))
    recorder.close()


def test_a_packed_record_is_read_as_before(trial: Path) -> None:
    plain = (trial / "events.jsonl").read_bytes()
    events, summary, state = list(read_events(trial)), listed(trial).summary, record_state(trial / "events.jsonl")
    pack(trial)
    assert names(trial) == {"events.jsonl.zst"}
    assert zstandard.ZstdDecompressor().decompress((trial / "events.jsonl.zst").read_bytes()) == plain
    assert list(read_events(trial)) == list(follow(trial)) == events
    assert listed(trial).summary == summary
    assert record_state(trial / "events.jsonl.zst") == state, "caches by time and size stay valid"
    assert check(trial).consistent
    assert set(state_at(trial, 1).manifest) == {"a"}
    runs = trial.parent.parent
    assert trial_directories(runs) == [find_trial("tri", runs), trial][:1]
    assert directories_named(["batch"], runs)[0] == [trial] == [find_trial(str(trial / "events.jsonl.zst"), runs)]
    assert family(trial)[1].directory == trial
    unpack(trial)
    assert names(trial) == {"events.jsonl"}
    assert (trial / "events.jsonl").read_bytes() == plain
    assert record_state(trial / "events.jsonl") == state


def test_a_derived_file_is_used_for_a_packed_record(trial: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack(trial)
    monkeypatch.setattr("trajectories.reading.runs.read_events", None)
    assert listed(trial).summary is not None
    monkeypatch.undo()
    write_conveniences(trial)
    assert json.loads((trial / "trial.json").read_text())["events_bytes"] == record_state(trial / "events.jsonl").size


def test_ranges_of_bytes_are_those_of_the_plain_file(trial: Path) -> None:
    plain = (trial / "events.jsonl").read_bytes()
    pack(trial)
    with open_record(trial / "events.jsonl") as file:
        for start, end in [(100, 300), (0, 10), (700, 900), (len(plain) - 5, len(plain)), (len(plain), len(plain) + 9)]:
            file.seek(start)
            assert file.read(end - start) == plain[start:end]
        assert file.seek(0, os.SEEK_END) == file.tell() == len(plain)
        assert file.read() == b""
        file.seek(-5, os.SEEK_END)
        assert file.read() == plain[-5:]


def test_a_packed_record_is_unpacked_before_it_grows(trial: Path) -> None:
    before = (trial / "events.jsonl").read_bytes()
    pack(trial)
    append(trial)
    assert names(trial) == {"events.jsonl"}
    after = (trial / "events.jsonl").read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == before.count(b"\n") + 1


def test_a_private_record_stays_private(trial: Path) -> None:
    (trial / "events.jsonl").chmod(0o600)
    pack(trial)
    assert stat.S_IMODE((trial / "events.jsonl.zst").stat().st_mode) == 0o600
    (trial / "events.jsonl.zst").chmod(0o640)
    unpack(trial)
    assert stat.S_IMODE((trial / "events.jsonl").stat().st_mode) == 0o640


def test_a_trial_is_found_in_the_middle_of_packing(trial: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record has its other name from one look to the next: it is never in neither place."""
    real = Path.stat
    for work in (pack, unpack):
        for find in (
            lambda: trial_directories(trial.parent.parent) == [trial],
            lambda: TrialFolder(trial).is_trial(),
            lambda: events_file(trial).parent == trial,
            lambda: listed(trial).summary is not None,
        ):
            if work is unpack:
                pack(trial)
            looks = 0

            def moved(path: Path, *args: Any, **kwargs: Any) -> os.stat_result:
                nonlocal looks
                looks += path.name.startswith("events.jsonl")
                if looks == 2:
                    looks += 1
                    monkeypatch.setattr(Path, "stat", real)
                    work(trial)  # noqa: B023
                    monkeypatch.setattr(Path, "stat", moved)
                return real(path, *args, **kwargs)

            monkeypatch.setattr(Path, "stat", moved)
            assert find()
            monkeypatch.setattr(Path, "stat", real)
            unpack(trial)


def test_a_new_record_never_hides_a_packed_one(trial: Path) -> None:
    pack(trial)
    with pytest.raises(FileExistsError):
        Recorder(trial)
    assert names(trial) == {"events.jsonl.zst"}


def test_a_torn_line_stays_torn(trial: Path) -> None:
    """A trial may have ended, and its evaluation may have been killed."""
    with (trial / "events.jsonl").open("ab") as file:
        file.write(b'{"seq":')
    plain = (trial / "events.jsonl").read_bytes()
    findings = check(trial).findings
    pack(trial)
    assert [(each.rule, each.text) for each in check(trial).findings] == [(each.rule, each.text) for each in findings]
    unpack(trial)
    assert (trial / "events.jsonl").read_bytes() == plain
    append(trial)
    assert check(trial).findings == []


def killed_before_each_line(work: Callable[[], None]) -> Callable[[int], bool]:
    """Return a function that runs `work` in a process that ends for good before the n-th line of the packing."""

    def run(number: int) -> bool:
        """Return True if the process was killed, and False if it came to its end before."""
        child = os.fork()
        if child:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        left = number

        def trace(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal left
            if frame.f_code.co_filename != packing.__file__:
                return None
            if event in ("line", "return"):
                left -= 1
                if left < 0:
                    os._exit(9)
            return trace

        sys.settrace(trace)
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)

    return run


def test_a_kill_at_any_moment_of_packing_loses_nothing(trial: Path) -> None:
    """After each kill, the events are the same, and what comes next, to pack or to continue, works."""
    events, plain = list(read_events(trial)), (trial / "events.jsonl").read_bytes()
    run, number = killed_before_each_line(lambda: pack(trial)), 0
    states = set()
    while run(number):
        states.add(frozenset(names(trial)))
        assert list(read_events(trial)) == events, number
        if number % 2:
            pack(trial) if (trial / "events.jsonl").exists() else None
            assert names(trial) - {".new-events.jsonl.zst"} == {"events.jsonl.zst"}
            assert list(read_events(trial)) == events
        append(trial)
        assert len(list(read_events(trial))) == len(events) + 1, number
        assert names(trial) - {".new-events.jsonl.zst"} == {"events.jsonl"}, "a copy that no longer holds is gone"
        (trial / "events.jsonl").write_bytes(plain)
        number += 1
    assert number > 20
    assert {"events.jsonl"} in states
    assert {"events.jsonl", "events.jsonl.zst"} in states
    assert {"events.jsonl.zst"} in states


def test_a_kill_at_any_moment_of_unpacking_loses_nothing(trial: Path) -> None:
    events, plain = list(read_events(trial)), (trial / "events.jsonl").read_bytes()
    pack(trial)
    packed = (trial / "events.jsonl.zst").read_bytes()
    run, number = killed_before_each_line(lambda: append(trial)), 0
    states = set()
    while run(number):
        states.add(frozenset(names(trial)))
        assert list(read_events(trial)) == events, number
        if (trial / "events.jsonl").exists():
            assert (trial / "events.jsonl").read_bytes() == plain
        append(trial)
        assert len(list(read_events(trial))) == len(events) + 1
        assert names(trial) - {".new-events.jsonl"} == {"events.jsonl"}
        (trial / "events.jsonl").unlink()
        (trial / "events.jsonl.zst").write_bytes(packed)
        number += 1
    assert number > 15
    assert {"events.jsonl.zst"} in states
    assert {"events.jsonl", "events.jsonl.zst"} in states


def test_a_file_is_durable_before_it_has_its_name_and_before_the_other_is_gone(
    trial: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def noted(name: str, module: Any) -> None:
        real = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *args, **kwargs: (calls.append(name), real(*args, **kwargs))[1])

    noted("fsync", os)
    noted("replace", os)
    noted("sync_directory", packing)
    noted("unlink", Path)
    for work in (pack, unpack):
        calls.clear()
        work(trial)
        order = [call for call in calls[1:] if call != "fsync" or calls.index("replace") > calls.index(call)]
        assert [call for call in order if call != "fsync"] == ["replace", "sync_directory", "unlink", "sync_directory"]
        assert order[0] == "fsync"


def test_a_full_disk_while_unpacking_leaves_the_packed_record(
    trial: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(trial)

    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(packing.shutil, "copyfileobj", full)
    with pytest.raises(RecordFull, match="no space left"):
        append(trial)
    assert names(trial) == {"events.jsonl.zst"}


def test_packing_leaves_trials_that_run_or_may_be_resumed(trial: Path, tmp_path: Path) -> None:
    runs = trial.parent.parent
    unfinished = Writing(runs / "batch" / "unfinished", {}).directory
    broken = runs / "batch" / "broken"
    broken.mkdir()
    (broken / "events.jsonl").write_text("{}\n")
    size = (trial / "events.jsonl").stat().st_size
    dry = pack_finished(runs, dry_run=True)
    assert (dry.trials, dry.bytes_before, dry.bytes_after, dry.unfinished) == (1, size, None, 1)
    assert names(trial) == {"events.jsonl"}
    with TrialLock(trial):
        held = pack_finished(runs)
        assert (held.trials, held.running, held.unfinished) == (0, 1, 1)
    assert names(trial) == {"events.jsonl"}
    packed = pack_finished(runs)
    assert (packed.trials, packed.running, packed.unfinished) == (1, 0, 1)
    assert packed.bytes_after == (trial / "events.jsonl.zst").stat().st_size
    assert packed.bytes_before == size
    assert list(packed.failed) == [str(broken)]
    assert "events.jsonl:1: not a valid event" in packed.failed[str(broken)]
    assert names(unfinished) == {"events.jsonl"}
    assert pack_finished(runs).trials == 0


def test_a_record_that_cannot_be_packed_is_named(trial: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(packing.os, "fsync", full)
    packed = pack_finished(trial.parent.parent)
    assert packed.failed == {str(trial): f"{trial}: No space left on device"}
    assert packed.trials == 0
    assert names(trial) == {"events.jsonl"}


def test_an_abandoned_temporary_file_is_collected(trial: Path) -> None:
    old, new = trial / ".new-events.jsonl", trial / ".new-events.jsonl.zst"
    for path in (old, new):
        path.write_bytes(b"x")
    os.utime(old, (1, 1))
    assert collect_garbage(trial.parent.parent).temporaries == 1
    assert (old.exists(), new.exists()) == (False, True)


def damaged(packed: bytes) -> dict[str, tuple[bytes, str]]:
    """Return contents of a packed record that are wrong, each with the words of its error."""
    plain = zstandard.ZstdDecompressor().decompress(packed)
    flipped = bytearray(packed)
    flipped[len(packed) // 2] ^= 0x55
    without_size = zstandard.ZstdCompressor(write_content_size=False).compress(plain)
    bomb = zstandard.ZstdCompressor().compress(bytes(1 << 20))
    huge = zstandard.ZstdCompressor().compressobj(size=1 << 50)
    return {
        "cut off": (packed[: len(packed) // 2], "cut off"),
        "only the header": (packed[:18], "cut off"),
        "flipped": (bytes(flipped), "damaged"),
        "no frame": (plain, "not a packed record"),
        "empty": (b"", "not a packed record"),
        "no size": (without_size, "does not hold the size"),
        "more behind it": (packed + b"x" * 20, "damaged"),
        "another frame": (packed + bomb, "holds more than the"),
        "too large": (huge.compress(b"x") + huge.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK), "larger than 8 GiB"),
    }


CASES = (
    *("cut off", "only the header", "flipped", "no frame"),
    *("empty", "no size", "more behind it", "another frame", "too large"),
)


@pytest.mark.parametrize("case", CASES)
def test_a_damaged_packed_record_is_one_clear_line(trial: Path, case: str) -> None:
    pack(trial)
    path = trial / "events.jsonl.zst"
    content, words = damaged(path.read_bytes())[case]
    path.write_bytes(content)
    with pytest.raises(RecordError, match=words) as error:
        list(read_events(trial))
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)
    assert listed(trial).summary is None or case not in ("no frame", "empty", "no size", "too large")
    assert not check(trial).consistent
    assert family(trial)[1].directory == trial
    with pytest.raises(RecordError, match=words):
        unpack(trial)
    assert names(trial) == {"events.jsonl.zst"}, "it is kept, and nothing takes its place"


@pytest.mark.parametrize("byte", [b"\0", b"{"])
def test_a_decompression_bomb_takes_little_memory(trial: Path, monkeypatch: pytest.MonkeyPatch, byte: bytes) -> None:
    """Its content is a line without an end, and no event."""
    monkeypatch.setattr(lines, "LINE_BYTES", 8 << 20)
    (trial / "events.jsonl").unlink()
    (trial / "events.jsonl.zst").write_bytes(zstandard.compress(byte * (64 << 20)))
    tracemalloc.start()
    if byte == b"{":
        with pytest.raises(RecordError, match="a line of more than 8 MiB is not an event"):
            list(read_events(trial))
    else:
        assert list(read_events(trial)) == []
    assert tracemalloc.get_traced_memory()[1] < 30 << 20
    tracemalloc.stop()


def test_a_packed_record_that_is_no_plain_file_is_not_opened(trial: Path) -> None:
    (trial / "events.jsonl").unlink()
    os.mkfifo(trial / "events.jsonl.zst")
    with pytest.raises(RecordError, match="not a trial"):
        list(read_events(trial))


def test_a_reader_finds_the_record_while_it_is_packed_and_unpacked(
    trial: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has its other name between the look and the opening."""
    events = list(read_events(trial))
    real = reading._opened

    def moved(change: Callable[[Path], None]) -> None:
        def opened(path: Path) -> Any:
            monkeypatch.setattr(reading, "_opened", real)
            change(trial)
            return real(path)

        monkeypatch.setattr(reading, "_opened", opened)
        assert list(read_events(trial)) == events

    moved(pack)
    moved(unpack)


def test_a_trial_that_continues_is_followed_from_its_packed_record(
    trial: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = list(read_events(trial))
    pack(trial)
    stream = follow(trial)
    with TrialLock(trial):
        for event in events:
            assert next(stream) == event
        append(trial)
        following = next(stream)
        assert isinstance(following, Warned)
    assert list(stream) == []


def test_the_command_tells_what_it_packed_and_what_it_left(trial: Path, tmp_path: Path) -> None:
    runs = trial.parent.parent
    Writing(runs / "batch" / "unfinished", {}).recorder.close()
    size = (trial / "events.jsonl").stat().st_size
    dry = read_only("gc", "--pack", "--dry-run", "--runs", str(runs))
    assert dry.status == 0
    assert f"1 finished trials would be packed, {size} bytes; 1 left: unfinished" in dry.out.decode()
    packed = read_only("gc", "--pack", "--runs", str(runs))
    after = (trial / "events.jsonl.zst").stat().st_size
    assert f"1 finished trials packed, {size} bytes became {after}; 1 left: unfinished" in packed.out.decode()
    broken = runs / "batch" / "broken"
    broken.mkdir()
    (broken / "events.jsonl").write_text("{}\n")
    failed = read_only("gc", "--pack", "--runs", str(runs), "--json")
    assert failed.status == 1
    assert failed.json["packed"]["failed"].keys() == {str(broken)}
    assert "not packed" in failed.err
    assert read_only("gc", "--runs", str(runs), "--json").json["packed"] is None
