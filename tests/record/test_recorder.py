"""Writing and reading the record: complete lines, exact contents, nothing lost."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from trajectories.blobs.store import BlobStore
from trajectories.errors import RecordError, RecordFull, TrialInUse
from trajectories.reading.reader import read_events
from trajectories.record.events import (
    EVENT,
    CallFinished,
    CallStarted,
    Exited,
    Limits,
    Message,
    ModelRef,
    Reply,
    TaskRef,
    TextRef,
    ToolCall,
    TrialStarted,
    Warned,
)
from trajectories.record.exits import Exit
from trajectories.record.texts.text import printable, shown, storable
from trajectories.writing.lock import TrialLock
from trajectories.writing.masking import Masker
from trajectories.writing.recorder import Recorder


def started() -> TrialStarted:
    return TrialStarted(
        trial="t.m.0.1",
        identity="0",
        task=TaskRef(id="demo/x", benchmark="demo", digest="0"),
        model=ModelRef(asked="m", name="m"),
        prompt=TextRef(name="default", sha256="0"),
        limits=Limits(),
        environment="local",
    )


def test_events_are_numbered_stamped_and_read_back_as_written(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    written = [
        recorder.append(started()),
        recorder.append(CallStarted(step=1, try_=2, message_ids=("m1",), messages=1, messages_sha256="x")),
        recorder.append(Exited(exit=Exit.of("submitted"), steps=1)),
    ]
    recorder.close()
    assert list(read_events(tmp_path)) == written
    assert [event.seq for event in written] == [0, 1, 2]
    assert [event.mono_s for event in written] == sorted(event.mono_s for event in written)
    assert '"try":2' in (tmp_path / "events.jsonl").read_text()


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet=st.characters(codec=None)))
def test_any_text_can_be_recorded(tmp_path: Path, text: str) -> None:
    event = Message(id="m1", role="user", content=storable(text), why="task")
    line = event.model_dump_json(by_alias=True).encode()
    assert b"\n" not in line
    assert EVENT.validate_json(line) == event


def test_a_torn_last_line_is_skipped_and_another_torn_line_is_an_error_with_its_place(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.append(started())
    recorder.append(Warned(kind="x", text="y"))
    recorder.close()
    path = tmp_path / "events.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    assert len(list(read_events(tmp_path))) == 1
    path.write_bytes(whole[:-5] + b"\n" + whole)
    with pytest.raises(RecordError, match=r"events\.jsonl:2: not a valid event"):
        list(read_events(tmp_path))


def test_unknown_fields_are_ignored_and_an_unknown_major_version_is_rejected_with_its_number(tmp_path: Path) -> None:
    content = json.loads(started().model_dump_json(by_alias=True))
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps({**content, "later": 1, "schema_version": "1.9"}) + "\n")
    assert len(list(read_events(tmp_path))) == 1
    path.write_text(json.dumps({**content, "schema_version": "7.0"}) + "\n")
    with pytest.raises(RecordError, match=r"schema version 7\.0"):
        list(read_events(tmp_path))


def test_a_record_that_does_not_begin_with_trial_started_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text(Warned(kind="x", text="y").model_dump_json() + "\n")
    with pytest.raises(RecordError, match="begins with trial_started"):
        list(read_events(tmp_path))


@pytest.mark.parametrize(
    "data",
    [b"", b"plain\n", b"\x00\xff\xfe\n", b"tab\r\nline", "\u00e9\U0001f600".encode(), b"\xed\xa0\x80", b"x" * 10_001],
)
def test_output_is_kept_to_the_byte_whether_or_not_it_can_be_shown(tmp_path: Path, data: bytes) -> None:
    recorder = Recorder(tmp_path)
    output = recorder.output(data, len(data))
    recorder.close()
    kept = output.text.encode() if output.blob is None else BlobStore(tmp_path / "blobs").get(output.blob)
    assert kept == data
    assert output.sha256 == hashlib.sha256(data).hexdigest()
    assert output.bytes == output.kept == len(data)


def test_long_output_is_shown_by_its_first_and_last_half() -> None:
    text = "a" * 6000 + "b" * 6000
    cut = shown(text.encode())
    assert cut.startswith("a" * 5000 + "\n[... 2000 characters left out here ...]\n" + "b")
    assert cut.endswith("b" * 5000)
    assert shown(("x" * 10_000).encode()) == "x" * 10_000
    assert shown(b"a\rb") == "a\rb"


def test_secrets_are_masked_by_value_in_output_and_in_events(tmp_path: Path) -> None:
    masker = Masker.from_environment({"OPENAI_API_KEY": 'sk-"1234567890', "HOME": "/home/me", "X_TOKEN": "short"})
    recorder = Recorder(tmp_path, masker=masker)
    output = recorder.output(b'key sk-"1234567890 /home/me short', 33)
    recorder.append(started())
    recorder.append(Message(id="m", role="user", content='my sk-"1234567890', why="task"))
    recorder.close()
    assert output.masked
    assert output.text == "key [secret:OPENAI_API_KEY] /home/me short"
    assert output.sha256 == hashlib.sha256(output.text.encode()).hexdigest()
    assert "1234567890" not in (tmp_path / "events.jsonl").read_text()
    assert list(read_events(tmp_path))[1].content == "my [secret:OPENAI_API_KEY]"


def test_blobs_are_shared_with_the_pool_and_damage_is_reported(tmp_path: Path) -> None:
    pool = tmp_path / ".pool"
    first, second = BlobStore(tmp_path / "1", pool), BlobStore(tmp_path / "2", pool)
    digest = first.put(b"same")
    assert second.put(b"same") == digest
    files = list(tmp_path.rglob("*.zst"))
    assert len(files) == 3
    assert len({path.stat().st_ino for path in files}) == 1
    (tmp_path / "1" / digest[:2] / f"{digest[2:]}.zst").write_bytes(b"junk")
    with pytest.raises(RecordError, match="damaged"):
        second.get(digest)
    with pytest.raises(RecordError, match="missing"):
        first.get("0" * 64)


def test_a_second_process_cannot_take_the_lock(tmp_path: Path) -> None:
    code = "import sys\nfrom pathlib import Path\nfrom trajectories.writing.lock import TrialLock\n"
    code += "with TrialLock(Path(sys.argv[1])): print('held')"
    with TrialLock(tmp_path):
        other = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert other.returncode == 1
    assert f"process {os.getpid()} is at work" in other.stderr
    with TrialLock(tmp_path):
        pass
    with pytest.raises(TrialInUse), TrialLock(tmp_path), TrialLock(tmp_path):
        pass


FULL = """
import resource, signal, sys
from pathlib import Path
from tests.record.test_recorder import started
from trajectories.errors import RecordFull
from trajectories.record.events import Exited, Warned
from trajectories.record.exits import Exit
from trajectories.writing.recorder import Recorder
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
recorder = Recorder(Path(sys.argv[1]))
recorder.append(started())
size = (Path(sys.argv[1]) / "events.jsonl").stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 1000, resource.RLIM_INFINITY))
try:
    for _ in range(100):
        recorder.append(Warned(kind="x", text="y" * 100))
except RecordFull as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
recorder.append(Exited(exit=Exit.of("disk_full"), steps=0))
recorder.close()
"""


def test_on_a_full_disk_the_record_stays_complete_and_can_be_closed(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert "no space left" in result.stdout
    events = list(read_events(tmp_path))
    assert 3 <= len(events) < 20
    assert isinstance(events[-1], Exited)
    assert [event.seq for event in events] == list(range(len(events)))
    assert not (tmp_path / ".reserve").exists()


def test_terminal_escapes_are_made_visible() -> None:
    hostile = "a\x1b[2Jb\tc\nd\u202e\x9b\r\x7f\ud800"
    assert printable(hostile) == "a\u241b[2Jb\tc\nd\\u202e\\x9b\u240d\u2421\\ud800"
    assert printable("plain Ünïcode 中 \n") == "plain Ünïcode 中 \n"


def test_a_lone_surrogate_anywhere_in_a_reply_is_recorded_as_a_replacement(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.append(started())
    reply = Reply(text="hi", message={"content": "hi \ud83d", "\udc00": ["\ud800"]})
    written = recorder.append(CallFinished(step=1, id="m1", reply=reply, model_requested="m", latency_s=1.0))
    recorder.close()
    assert written.reply.message == {"content": "hi \ufffd", "\ufffd": ["\ufffd"]}
    assert list(read_events(tmp_path))[1] == written


@pytest.mark.parametrize(
    "secret", ["messages", "observation", "call_finished", "12345678", "trial_started", "t.m.0.11"]
)
def test_a_secret_that_looks_like_a_name_or_a_number_does_not_make_the_record_unreadable(
    tmp_path: Path, secret: str
) -> None:
    recorder = Recorder(tmp_path, masker=Masker({"DB_PASSWORD": secret}))
    recorder.append(started())
    recorder.append(Message(id="m1", role="user", content=f"say {secret}", why="observation"))
    recorder.append(CallStarted(step=1, message_ids=("m1",), messages=12345678, messages_sha256="12345678"))
    recorder.close()
    events = list(read_events(tmp_path))
    assert events[1].content == "say [secret:DB_PASSWORD]"
    assert events[1].why == "observation"
    assert events[2].messages == 12345678


def test_a_secret_inside_json_inside_json_is_masked(tmp_path: Path) -> None:
    secret = 'pa"ss\\wörd/1'
    masker = Masker({"X_TOKEN": secret})
    recorder = Recorder(tmp_path, masker=masker)
    arguments = json.dumps({"command": f"login {secret}"})
    reply = Reply(
        tool_calls=(ToolCall(id="c", name="bash", arguments=arguments),),
        message={"tool_calls": [{"function": {"arguments": arguments}}], "raw": json.dumps(arguments)},
    )
    recorder.append(started())
    written = recorder.append(CallFinished(step=1, id="m1", reply=reply, model_requested="m", latency_s=1.0))
    recorder.close()
    assert list(read_events(tmp_path))[1] == written
    assert json.loads(written.reply.tool_calls[0].arguments) == {"command": "login [secret:X_TOKEN]"}
    text = (tmp_path / "events.jsonl").read_text()
    assert "rd/1" not in text
    assert "rd\\/1" not in text


@pytest.mark.parametrize(
    "name", ["AWS_BEARER_TOKEN_BEDROCK", "OPENAI_KEY", "SECRET", "GITHUB_PAT", "db_pass", "AWS_ACCESS_KEY_ID"]
)
def test_variables_named_like_secrets_are_masked(name: str) -> None:
    assert Masker.from_environment({name: "0123456789"}).text("a 0123456789") == f"a [secret:{name}]"


@pytest.mark.parametrize(
    "name", ["HOME", "MONKEYS", "KEYBOARD", "SSH_KEY_PATH", "TOKENIZERS_PARALLELISM", "XDG_SESSION_CLASS"]
)
def test_other_variables_are_not_masked(name: str) -> None:
    assert Masker.from_environment({name: "0123456789"}).text("a 0123456789") == "a 0123456789"


def test_an_observer_that_fails_is_dropped_and_recording_continues(tmp_path: Path) -> None:
    seen = []

    class ClosedTerminal:
        def feed(self, event: object) -> None:
            seen.append(event)
            raise BrokenPipeError

    recorder = Recorder(tmp_path, observer=ClosedTerminal())
    recorder.append(started())
    recorder.append(Warned(kind="x", text="y"))
    recorder.close()
    assert len(seen) == 1
    assert len(list(read_events(tmp_path))) == 2


def test_an_event_of_a_newer_version_keeps_its_place(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.append(started())
    recorder.close()
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write('{"seq": 1, "t": "", "mono_s": 1.0, "type": "new_in_1_1", "more": 1}\n')
    assert [event.type for event in read_events(tmp_path)] == ["trial_started", "new_in_1_1"]


def test_a_blob_that_unpacks_to_more_than_the_limit_is_an_error(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    digest = store.put(bytes(10 << 20))
    assert len(store.get(digest)) == 10 << 20
    with pytest.raises(RecordError, match="more than 1000 bytes"):
        store.get(digest, most_bytes=1000)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_the_event_that_meets_a_full_disk_is_written_into_the_reserve(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)], check=True)
    try:
        recorder = Recorder(tmp_path)
        recorder.append(started())
        numbers = iter(range(1000))

        def fill() -> None:
            while True:
                recorder.append(Warned(kind=str(next(numbers)), text="y" * 20_000))

        with pytest.raises(RecordFull):
            fill()
        recorder.append(Exited(exit=Exit.of("disk_full"), steps=0))
        recorder.close()
        events = list(read_events(tmp_path))
        assert [event.seq for event in events] == list(range(len(events)))
        assert events[-2].kind == str(next(numbers) - 1), "the event that met the full disk is there"
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)
