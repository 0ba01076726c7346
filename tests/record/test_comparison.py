"""Outputs compared: noise is taken out and named, and never what a program worked out."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, strategies as st

from trajectories.comparison.compare import NORMALISED_BYTES, Span, compare, first_difference, parting
from trajectories.comparison.noise import NORMALISERS

DAY_S = 86400.0
THEN = Span(1_780_000_000, 1_780_003_600)  # 2026-05-28, 20:26 to 21:26 UTC
NOW = Span(1_790_000_000, 1_790_003_600)  # 2026-09-21, 14:13 to 15:13 UTC

NOISE = [
    ("Thu May 28 20:30:01 UTC 2026", "Mon Sep 21 14:20:59 UTC 2026", "dates + times"),
    ("-rw-r--r-- 1 a a 12 May 28 20:30 f", "-rw-r--r-- 1 a a 12 Sep 21 14:20 f", "dates + times"),
    ("at 20:30:01", "at 21:00:00", "times"),
    ("2026-05-28T20:30:01.123Z x", "2026-09-21T14:20:01.5Z x", "dates + times"),
    ("1780000001", "1790000009", "times"),
    ("1780000001.25", "1790000009.5", "times"),
    ("made /tmp/tmp.a1B2c3D4e5/x", "made /tmp/tmp.Z9y8X7w6V5/x", "temporary names"),
    ("/tmp/tmpab12_cd9", "/tmp/tmpzz99yy11", "temporary names"),
    ("/tmp/ccAb12Cd.o: undefined", "/tmp/ccZz98Yx.o: undefined", "temporary names"),
    ("in /tmp/retrace-12-345-678-abc_1/workspace", "in /tmp/retrace-9-8-7-zz/workspace", "temporary names"),
    ("3 passed in 0.12s", "3 passed in 1.5s", "durations"),
    ("real\t0m0.012s", "real\t1m2.5s", "durations"),
    ("took 12 ms", "took 9 ms", "durations"),
    ("<Foo object at 0x7f0e1c2d3e50>", "<Foo object at 0x7fa0b1c2d3e0>", "addresses"),
    ("pid 123", "pid 4567", "process ids"),
    ("/proc/12/stat", "/proc/9876/stat", "process ids"),
    ("x: line 3:  1234 Killed   sleep 9", "x: line 3:  98 Killed   sleep 9", "process ids"),
    ("[main 1a2b3c4] first", "[main 9f8e7d6] first", "commit hashes"),
    ("commit " + "1a" * 20, "commit " + "2b" * 20, "commit hashes"),
    ("1a2b3c4 (HEAD -> main) first", "9f8e7d6 (HEAD -> main) first", "commit hashes"),
    ("HEAD is now at 1a2b3c4 first", "HEAD is now at 9f8e7d6 first", "commit hashes"),
    ("{'a', 'b', 'c'}", "{'c', 'a', 'b'}", "hash-seeded order"),
    ("b\na\nc", "a\nb\nc", "unordered listing"),
    ("x 0.1s\ny 0.2s", "y 0.3s\nx 0.4s", "durations + unordered listing"),
]

REAL = [
    ("exit status 1", "exit status 2"),
    ("-rw-r--r-- 1 a a 12 May 28 20:30 f", "-rw-r--r-- 1 a a 13 Sep 21 14:20 f"),
    ("-rw-r--r-- 1 a a 1700000000 May 28 20:30 f", "-rw-r--r-- 1 a a 1700000001 Sep 21 14:20 f"),
    ("-rwxr-xr-x 1 a a 12 May 28 20:30 f", "-rw-r--r-- 1 a a 12 Sep 21 14:20 f"),
    ("1634567890 12 file", "1934567890 12 file"),  # cksum
    ("2024-01-05 rent", "2024-01-06 rent"),
    ("2024-01-05 10:00:00 rent", "2024-01-05 11:00:00 rent"),
    ("Jan  5  2024 rent", "Jan  6  2024 rent"),
    ("foo.c:10:25: error", "foo.c:10:35: error"),
    ("12:34 a line of grep -n", "12:35 a line of grep -n"),
    ("d41d8cd98f00b204e9800998ecf8427e  f", "a41d8cd98f00b204e9800998ecf8427e  f"),
    ("da39a3ee5e6b4b0d3255bfef95601890afd80709  f", "aa39a3ee5e6b4b0d3255bfef95601890afd80709  f"),
    ("a" * 63 + "1", "a" * 63 + "2"),
    ("crc deadbee1", "crc deadbee2"),
    ("index 1a2b3c4..9f8e7d6 100644", "index 1a2b3c4..9f8e7d5 100644"),
    ("00000f0  61", "00001f0  61"),
    ("0xdeadbeef", "0xdeadbeee"),
    ("[1] 42", "[1] 43"),  # R
    ("process 3 items", "process 4 items"),
    ("{1, 2, 3}", "{1, 3, 2}"),
    ("{'a': [1, 2, 3, 4]}", "{'a': [1, 3, 2, 4]}"),
    ("x: line 3:  1234 Killed", "x: line 4:  1234 Killed"),
    ("a\nb", "a\nb\nb"),
    ("10 minutes", "20 minutes"),
    ("v1.2.3", "v1.2.4"),
    ("25:61:00", "25:61:01"),
    ("x ", "x"),
]


@pytest.mark.parametrize(("then", "now", "name"), NOISE)
def test_noise_is_named_and_is_not_identical(then: str, now: str, name: str) -> None:
    found = compare(then.encode(), now.encode(), THEN, NOW)
    assert (found.identical, found.equal, found.name) == (False, True, name)


@pytest.mark.parametrize(("then", "now"), REAL)
def test_a_real_difference_is_one(then: str, now: str) -> None:
    found = compare(then.encode(), now.encode(), THEN, NOW)
    assert (found.identical, found.equal, found.name) == (False, False, "output")


def test_a_real_difference_amid_noise_is_one() -> None:
    then, now = b"took 1.5s\n1 failed\n", b"took 2.5s\n2 failed\n"
    assert not compare(then, now, THEN, NOW).equal


@given(st.binary(max_size=300))
def test_what_is_the_same_is_identical(data: bytes) -> None:
    assert compare(data, data).identical
    assert parting((data,), (data,)) is None


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_equal_without_a_name_there_is_not(then: bytes, now: bytes) -> None:
    found = compare(then, now, THEN, NOW)
    assert found.identical == (then == now)
    assert found.equal == (found.identical or bool(found.noise))
    assert bool(found.name) == (then != now)


@given(st.lists(st.binary(max_size=9)), st.lists(st.binary(max_size=9)))
def test_where_two_outputs_part_does_not_depend_on_the_pieces(then: list[bytes], now: list[bytes]) -> None:
    a, b = b"".join(then), b"".join(now)
    at = parting(then, now)
    assert (at is None) == (a == b)
    if at is not None:
        assert a[:at] == b[:at]
        assert a[at : at + 1] != b[at : at + 1]


def test_the_first_difference_names_its_line() -> None:
    assert first_difference(b"a\nb\nc", b"a\nx\nc") == "line 2: 'b' then, 'x' now"


@pytest.mark.parametrize(
    "piece",
    [
        "1",
        "a",
        "0x",
        "{",
        "{'a', ",
        "12:",
        "1.",
        "1m",
        "/tmp",
        "/pytest-of-",
        "1a2b3c4d5e6f7",
        "May ",
        "[1] ",
        "\n",
        "| ",
    ],
)
def test_every_kind_of_noise_is_looked_for_in_linear_time(piece: str) -> None:
    text = piece * (500_000 // len(piece))
    began = time.process_time()
    for normalise in NORMALISERS.values():
        normalise(text, THEN)
    assert time.process_time() - began < 4


def test_ten_megabytes_of_timestamps_take_seconds() -> None:
    lines = NORMALISED_BYTES // 40
    then = "".join(f"20:30:{number % 60:02} something was done {number:6}\n" for number in range(lines)).encode()
    now = then.replace(b"20:30:", b"21:31:")
    began = time.process_time()
    assert compare(then, now, THEN, NOW).noise == ("times",)
    assert time.process_time() - began < 30


def test_what_is_larger_is_compared_to_the_byte() -> None:
    large = b"x" * (NORMALISED_BYTES + 1)
    assert compare(large, large).identical
    assert compare(large + b" 0.1s", large + b" 0.2s").name == "output"
