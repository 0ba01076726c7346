"""Output comes back byte for byte, up to the cap; no disk fills up, and memory stays flat."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from trajectories.blobs.spooled import PIECE_BYTES, Spooled

from .conftest import ALL, DOCKER, SANDBOX, Place

ODD = {
    "nothing": b"",
    "a nul": b"\0",
    "nuls": b"\0\0a\0b\0\0",
    "no newline": b"x",
    "newlines": b"\n\n",
    "invalid utf-8": b"\xff\xfe\xc3\x28",
    "surrogates": b"\xed\xa0\x80",
    "terminal": b"\x1b[31mred\x1b[0m\r\x07\b",
    "every byte": bytes(range(256)) * 3,
    "backslashes": rb"\\ \n \0 % %s",
}


@pytest.mark.parametrize("name", ODD)
def test_output_comes_back_byte_for_byte(place: Place, name: str) -> None:
    script = "printf '" + "".join(f"\\{byte:03o}" for byte in ODD[name]) + "'"
    for separate in (False, True):
        action = place.run(script, separate=separate)
        assert (action.output, action.counted) == (ODD[name], len(ODD[name]))
    assert place.run(f"{script} >&2", separate=True).stderr == ODD[name]


@pytest.mark.parametrize("size", [65535, 65536, 65537, 131073, 1_000_000])
def test_sizes_around_those_of_pipes_and_buffers(place: Place, size: int) -> None:
    action = place.run(f"head -c {size} /dev/urandom | tee copy; sha256sum copy | cut -c1-64 >sum; rm copy")
    assert (len(action.output), action.counted) == (size, size)
    assert hashlib.sha256(bytes(action.output)).hexdigest() == place.text("cat sum; rm sum").strip()
    assert place.text("echo next") == "next\n"


def test_20_megabytes(place: Place) -> None:
    action = place.run("head -c 20000000 /dev/urandom | tee copy; sha256sum copy | cut -c1-64 >sum; rm copy")
    assert hashlib.sha256(bytes(action.output)).hexdigest() == place.text("cat sum; rm sum").strip()


def test_one_line_of_10_megabytes(place: Place) -> None:
    action = place.run("head -c 10000000 /dev/zero | tr '\\0' x")
    assert action.output == b"x" * 10_000_000


@pytest.mark.parametrize("cap", [1, 1000, 100_000])
def test_an_action_that_writes_more_than_its_cap(place: Place, cap: int) -> None:
    action = place.run(f"head -c {cap + 1} /dev/zero | tr '\\0' y", output_bytes=cap)
    assert (action.ended, action.exit_code, action.output, action.counted) == ("output_cap", None, b"y" * cap, cap + 1)
    exact = place.run(f"head -c {cap} /dev/zero | tr '\\0' y", output_bytes=cap)
    assert (exact.ended, exact.output, exact.counted) == ("exited", b"y" * cap, cap)


def test_an_action_that_writes_forever(place: Place) -> None:
    action = place.run("yes", output_bytes=1_000_000)
    assert action.ended == "output_cap"
    assert action.output == b"y\n" * 500_000
    assert action.counted > 1_000_000
    assert place.text("echo next") == "next\n"


def test_the_cap_holds_for_each_stream(place: Place) -> None:
    action = place.run("echo out; yes >&2", output_bytes=1000, separate=True)
    assert (action.ended, action.output, len(action.stderr or b"")) == ("output_cap", b"out\n", 1000)


def test_an_environment_s_cap_is_the_largest(start: object) -> None:
    place: Place = start("local", output_bytes=1000)  # type: ignore[operator]
    action = place.run("yes", output_bytes=10**9)
    assert (action.ended, len(action.output)) == ("output_cap", 1000)


def test_the_process_ids_of_up_to_five_background_processes_are_reported(place: Place) -> None:
    action = place.run("for i in 1 2 3 4 5 6 7; do sleep 20 & echo $! >>pids; done; cat pids")
    started = {int(word) for word in bytes(action.output).split()}
    still = place.text("kill $(cat pids) && rm pids && echo killed")
    assert (action.left_running, len(action.left_pids), still) == (7, 5, "killed\n")
    assert set(action.left_pids) <= started
    assert place.run("true").left_pids == ()


@pytest.mark.parametrize("short_of_a_piece", [0, 1, 10, 60, 1000])
def test_a_large_output_beside_a_background_process_ends_where_the_action_ended(
    place: Place, short_of_a_piece: int
) -> None:
    size = 8 * PIECE_BYTES - short_of_a_piece
    action = place.run(f"(sleep 20; echo late) & echo $! >pid; head -c {size} /dev/zero | tr '\\0' x")
    place.text("kill $(cat pid); rm pid")
    assert isinstance(action.output, Spooled)
    assert (len(action.output), action.counted) == (size, size)
    assert action.left_running
    assert action.output == b"x" * size


@pytest.mark.parametrize("label", ALL)
def test_64_mebibytes_are_captured_and_recorded_with_32_of_memory(label: str, tmp_path: Path) -> None:
    script = textwrap.dedent(f"""
        import resource
        from pathlib import Path
        from tests.environments.conftest import environment
        from trajectories.writing.masking import Masker
        from trajectories.writing.recorder import Recorder
        place = environment({label!r})
        place.start()
        recorder = Recorder(Path({str(tmp_path)!r}), masker=Masker({{"KEY": "a secret key"}}))
        done = place.execute("head -c 100000 /dev/urandom", deadline_s=20)
        recorder.output(done.output, done.counted)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        done = place.execute("head -c 67108864 /dev/urandom", deadline_s=20)
        assert (done.ended, len(done.output)) == ("exited", 64 << 20), done.ended
        assert recorder.output(done.output, done.counted).kept == 64 << 20
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        place.stop()
    """)
    action = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert action.returncode == 0, action.stderr
    assert int(action.stdout) < 32 << 10


@pytest.mark.parametrize("label", [SANDBOX, DOCKER])
def test_a_background_process_that_writes_much_fills_nothing(start: object, label: str) -> None:
    place: Place = start(label, output_bytes=1 << 20)  # type: ignore[operator]
    place.run("(sleep 0.2; head -c 300000000 /dev/zero; echo done >finished) &")
    deadline = time.monotonic() + 60
    while place.run("cat finished").output != b"done\n":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert place.text("echo next") == "next\n"
