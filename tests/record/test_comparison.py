"""Comparison of outputs: noise is removed and named, a program's results never are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tests.record.cpu_time import check_linear
from trajectories.comparison.compare import (
    DIFFERENT,
    NORMALIZED_BYTES,
    PART,
    REORDERED,
    UNORDERED,
    Span,
    compare,
    first_difference,
    first_differing_byte,
)
from trajectories.comparison.interleaving import INTERLEAVED
from trajectories.comparison.noise import NORMALIZERS, PAIRED, SUSPECTED, Circumstances

DAY_S = 86400.0
THEN = Span(1_780_000_000, 1_780_003_600)  # 2026-05-28, 20:26 to 21:26 UTC
NOON = Span(1_779_969_600, 1_779_971_400)  # 2026-05-28, 12:00 to 12:30 UTC: the same day in every time zone
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
    ("===== 3 passed in 0.12s =====", "==== 3 passed in 12.50s ====", "durations"),
    (
        "== 1 failed, 9 passed, 2 warnings in 9.99s ==",
        "= 1 failed, 9 passed, 2 warnings in 61.01s (0:01:01) =",
        "durations",
    ),
    ("=== 9 passed in 59.90s ===", "== 9 passed in 61.01s (0:01:01) ==", "durations"),
    (
        "\x1b[32m== \x1b[1m1 passed\x1b[0m\x1b[32m in 0.01s\x1b[0m ==",
        "\x1b[32m= \x1b[1m1 passed\x1b[0m\x1b[32m in 10.01s\x1b[0m =",
        "durations",
    ),
    ("1 passed in 0.12 seconds", "1 passed in 1.12 seconds", "durations"),
    ("Ran 3 tests in 0.001s", "Ran 3 tests in 0.012s", "durations"),
    ("0.01s call     test_a.py::test_a", "0.02s call     test_a.py::test_a", "durations"),
    ("ok  \texample.com/a\t0.003s", "ok  \texample.com/a\t1.2s", "durations"),
    (
        "test result: ok. 1 passed; 0 failed; finished in 0.00s",
        "test result: ok. 1 passed; 0 failed; finished in 0.01s",
        "durations",
    ),
    ("10 loops, best of 5: 12.3 nsec per loop", "10 loops, best of 5: 1.3 nsec per loop", "durations"),
    ("512 bytes (512 B) copied, 0.1 s, 5.1 kB/s", "512 bytes (512 B) copied, 0.2 s, 2.5 kB/s", "durations"),
    (
        "platform linux -- Python 3.11.5, pytest-9.0.3, pluggy-1.6.0",
        "platform linux -- Python 3.11.7, pytest-9.0.3, pluggy-1.6.0",
        "interpreter banners",
    ),
    (
        "Python 3.11.5 (main, Sep 11 2023, 13:54:46) [GCC 11.2.0] on linux",
        "Python 3.11.7 (main, Dec  4 2023, 18:10:11) [GCC 11.4.0] on linux",
        "interpreter banners",
    ),
    ("index ae9c8bdf1..5f8f03a87 100644", "index ae9c8bd..5f8f03a 100644", "abbreviated hashes"),
    ("index ae9c8bd..5f8f03a87", "index ae9c8bdf1..5f8f03a", "abbreviated hashes"),
    ("p = 0x21e92a0", "p = 0x1c5d2a0", "heap addresses"),
    ("p = 0x21e92a0 q = 0x1000", "p = 0x101c52a0 q = 0x1000", "heap addresses"),
    ("{'b': {'y', 'x'}, 'a': 1}", "{'a': 1, 'b': {'x', 'y'}}", "hash-seeded order"),
    ("[{'b': [1, 2], 'a': 'it, or {'}]", "[{'a': 'it, or {', 'b': [1, 2]}]", "hash-seeded order"),
    ("frozenset({('b', 1), ('a', 2)})", "frozenset({('a', 2), ('b', 1)})", "hash-seeded order"),
    ('{"b": {"d": null, "c": {}}, "a": []}', '{"a": [], "b": {"c": {}, "d": null}}', "hash-seeded order"),
    ("<Foo object at 0x7f0e1c2d3e50>", "<Foo object at 0x7fa0b1c2d3e0>", "addresses"),
    ("<function f at 0x7f955bf25620>", "<function f at 0x7f43b1531620>", "addresses"),
    ("pid 123", "pid 4567", "process ids"),
    ("/proc/12/stat", "/proc/9876/stat", "process ids"),
    ("x: line 3:  1234 Killed   sleep 9", "x: line 3:  98 Killed   sleep 9", "process ids"),
    ("[main 1a2b3c4] first", "[main 9f8e7d6] first", "commit hashes"),
    ("commit " + "1a" * 20, "commit " + "2b" * 20, "commit hashes"),
    ("1a2b3c4 (HEAD -> main) first", "9f8e7d6 (HEAD -> main) first", "commit hashes"),
    ("HEAD is now at 1a2b3c4 first", "HEAD is now at 9f8e7d6 first", "commit hashes"),
    ("{'a', 'b', 'c'}", "{'c', 'a', 'b'}", "hash-seeded order"),
    ("b\na\nc", "a\nb\nc", "unordered listing"),
    ("x\n1 passed in 0.1s", "1 passed in 0.3s\nx", "durations + unordered listing"),
]

SUSPECTS = [
    ("took 12 ms", "took 9 ms", "possible durations"),
    ("took 3 seconds", "took 4 seconds", "possible durations"),
    ("result=10ms", "result=20ms", "possible durations"),
    ("x 0.1s\nRan 3 tests in 0.1s", "x 0.2s\nRan 3 tests in 0.2s", "possible durations"),
    ("Python 3.11.5", "Python 3.11.7", "interpreter version"),
    ("GNU bash, version 5.2.15", "GNU bash, version 5.2.37", "interpreter version"),
]
"""Differences that only may be noise: they have a name and stay differences."""

REAL = [
    ("exit status 1", "exit status 2"),
    ("-rw-r--r-- 1 a a 12 May 28 20:30 f", "-rw-r--r-- 1 a a 13 Sep 21 14:20 f"),
    ("-rw-r--r-- 1 a a 1700000000 May 28 20:30 f", "-rw-r--r-- 1 a a 1700000001 Sep 21 14:20 f"),
    ("-rwxr-xr-x 1 a a 12 May 28 20:30 f", "-rw-r--r-- 1 a a 12 Sep 21 14:20 f"),
    ("===== 3 passed in 0.12s =====", "==== 4 passed in 12.50s ===="),
    ("===== 3 passed in 0.12s =====", "==== 3 failed in 12.50s ===="),
    ("Python 3.11.5", "Python 3.12.5"),
    ("platform linux -- Python 3.11.5, pytest-9.0.3", "platform linux -- Python 3.12.5, pytest-9.0.3"),
    ("platform linux -- Python 3.11.5, pytest-9.0.3", "platform linux -- Python 3.11.5, pytest-9.0.4"),
    ("0x1000000", "0x2000000"),
    ("p = 0x21e92a0", "p = 0x21e92b0"),
    ("index ae9c8bdf1..5f8f03a87 100644", "index ae9c8be..5f8f03a 100644"),
    ("{'a': 1, 'b': 2}", "{'a': 2, 'b': 1}"),
    ("{'a': ['x', 'y']}", "{'a': ['y', 'x']}"),
    ("('a', 'b')", "('b', 'a')"),
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
    comparison = compare(then.encode(), now.encode(), THEN, NOW, "git log; find .")
    assert (comparison.identical, comparison.equal, comparison.name) == (False, True, name)


@pytest.mark.parametrize(("then", "now", "name"), SUSPECTS)
def test_a_difference_that_may_be_noise_is_named_and_stays_a_difference(then: str, now: str, name: str) -> None:
    comparison = compare(then.encode(), now.encode(), THEN, NOW)
    assert (comparison.identical, comparison.equal, comparison.name) == (False, False, name)


@pytest.mark.parametrize("script", ["", "sort -r names", "find . | sort", "./program"])
def test_an_order_of_lines_that_a_command_makes_is_a_difference(script: str) -> None:
    comparison = compare(b"b\na\nc", b"a\nb\nc", THEN, NOW, script)
    assert (comparison.equal, comparison.name) == (False, "order of lines")


def test_other_lines_of_an_unordered_listing_are_a_difference_with_a_name() -> None:
    comparison = compare(b"./a.py\n./b.py", b"./c.py\n./a.py", THEN, NOW, "find . -name '*.py' | head -2")
    assert (comparison.equal, comparison.name) == (False, "part of an unordered listing")
    assert compare(b"./a.py", b"./c.py", THEN, NOW, "find . -name '*.py'").name == "output"


def test_a_checksum_is_not_taken_for_a_commit() -> None:
    then, now = b"1a" * 20, b"2b" * 20
    assert compare(then, now, THEN, NOW, "python digest.py").name == "output"
    assert compare(then, now, THEN, NOW, "git rev-parse HEAD").name == "commit hashes"


@pytest.mark.parametrize(("then", "now"), REAL)
def test_a_real_difference_is_reported(then: str, now: str) -> None:
    comparison = compare(then.encode(), now.encode(), THEN, NOW)
    assert (comparison.identical, comparison.equal, comparison.name) == (False, False, "output")


def test_a_real_difference_amid_noise_is_reported() -> None:
    then, now = b"Ran 1 test in 1.5s\n1 failed\n", b"Ran 1 test in 2.5s\n2 failed\n"
    assert not compare(then, now, THEN, NOW).equal


@given(st.binary(max_size=300))
def test_equal_bytes_are_identical(data: bytes) -> None:
    assert compare(data, data).identical
    assert first_differing_byte((data,), (data,)) is None


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_different_outputs_are_never_equal_without_named_noise(then: bytes, now: bytes) -> None:
    comparison = compare(then, now, THEN, NOW)
    assert comparison.identical == (then == now)
    named = bool(comparison.noise) and not {*comparison.noise} & {*SUSPECTED, "order of lines"}
    assert comparison.equal == (comparison.identical or named)
    assert bool(comparison.name) == (then != now)


@given(st.lists(st.binary(max_size=9)), st.lists(st.binary(max_size=9)))
def test_the_first_differing_byte_does_not_depend_on_the_pieces(then: list[bytes], now: list[bytes]) -> None:
    a, b = b"".join(then), b"".join(now)
    at = first_differing_byte(then, now)
    assert (at is None) == (a == b)
    if at is not None:
        assert a[:at] == b[:at]
        assert a[at : at + 1] != b[at : at + 1]


@pytest.mark.parametrize(
    ("seconds", "noise"),
    [
        (THEN.start_s - 2 * DAY_S, True),
        (THEN.start_s - 2 * DAY_S - 1, False),
        (THEN.end_s + 2 * DAY_S, True),
        (THEN.end_s + 2 * DAY_S + 1, False),
    ],
)
def test_seconds_up_to_two_days_around_a_trial_are_noise(seconds: float, noise: bool) -> None:
    then, now = (f"at {value:.0f}".encode() for value in (seconds, THEN.start_s + 1))
    assert compare(then, now, THEN, THEN).name == ("times" if noise else "output")


@pytest.mark.parametrize(
    ("day", "noise"),
    [
        ("2026-05-26", True),
        ("2026-05-25", False),
        ("2026-05-30", True),
        ("2026-05-31", False),
        ("2026-05-32", False),  # not a date
        ("May 26", True),
        ("May 31", False),
    ],
)
def test_dates_up_to_two_days_around_a_trial_are_noise(day: str, noise: bool) -> None:
    assert compare(f"on {day}".encode(), b"on 2026-05-28", NOON, NOON).name == ("dates" if noise else "output")


@pytest.mark.parametrize(("day", "noise"), [("Dec 30", True), ("Dec 28", False), ("Jan  2", True), ("Jan  4", False)])
def test_a_date_without_a_year_may_be_of_either_year_of_a_trial(day: str, noise: bool) -> None:
    new_year = Span(1_798_718_400, 1_798_804_800)  # 2026-12-31 to 2027-01-01, both at 12:00 UTC
    assert compare(f"on {day}".encode(), b"on 2026-12-31", new_year, new_year).equal == noise


@pytest.mark.parametrize("spans", [(None, NOW), (THEN, None), (None, None)])
@pytest.mark.parametrize(
    ("then", "now"),
    [
        ("due 2026-05-28", "due 2026-09-21"),
        ("due 1999-12-31", "due 2026-09-21"),
        ("due 2026-05-28", "due 1999-12-31"),
        ("1780000001", "1790000009"),
    ],
)
def test_dates_are_data_on_both_sides_if_a_time_is_unknown(
    then: str, now: str, spans: tuple[Span | None, Span | None]
) -> None:
    assert compare(then.encode(), now.encode(), *spans).name == "output"


@pytest.mark.parametrize("spans", [(None, NOW), (THEN, None), (None, None), (THEN, NOW)])
@pytest.mark.parametrize("day", ["2023-01-01", "2026-05-28", "2026-09-21", "May 28 20:30", "Sep 21 14:20"])
def test_a_date_that_is_the_same_on_both_sides_does_not_hide_noise_beside_it(
    day: str, spans: tuple[Span | None, Span | None]
) -> None:
    assert compare(f"{day}\nreal\t0m0.34s".encode(), f"{day}\nreal\t0m0.12s".encode(), *spans).name == "durations"


def test_a_time_beside_the_same_date_is_data_if_the_date_is() -> None:
    assert compare(b"Jan  5 10:00 rent", b"Jan  5 11:00 rent", THEN, NOW).name == "output"
    assert compare(b"2026-05-28 10:00:00 rent", b"2026-05-28 11:00:00 rent", THEN, NOW).name == "output"


def test_the_first_difference_names_its_line() -> None:
    assert first_difference(b"a\nb\nc", b"a\nx\nc") == "line 2: 'b' then, 'x' now"


def test_the_first_difference_of_a_long_line_shows_what_is_before_it() -> None:
    line = "".join(chr(ord("a") + number % 26) for number in range(200))
    then, now = line[:100] + "0" + line[100:], line[:100] + "1" + line[100:]
    before, after = line[70:100], line[100:129]
    message = f"line 1: '{before}0{after}' then, '{before}1{after}' now"
    assert first_difference(then.encode(), now.encode()) == message


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
def test_every_kind_of_noise_is_removed_in_linear_time(piece: str) -> None:
    def remove(size: int) -> None:
        text = piece * (size // len(piece))
        for normalize in (*NORMALIZERS.values(), *SUSPECTED.values()):
            normalize(text, Circumstances(THEN, git=True))
        for pair in PAIRED.values():
            pair(text, text + "x")

    check_linear(remove, 125_000)


def test_comparing_many_timestamps_takes_linear_time() -> None:
    def compare_lines(count: int) -> None:
        then = "".join(f"20:30:{number % 60:02} something was done {number:6}\n" for number in range(count)).encode()
        now = then.replace(b"20:30:", b"21:31:")
        assert compare(then, now, THEN, NOW).noise == ("times",)

    check_linear(compare_lines, NORMALIZED_BYTES // 320)


def test_noise_is_removed_from_outputs_up_to_the_limit() -> None:
    rest = b"x\n" * ((NORMALIZED_BYTES - len(b"sys 0.100\n")) // 2)
    then, now = b"sys 0.100\n" + rest, b"sys 0.200\n" + rest
    assert len(then) == NORMALIZED_BYTES
    assert compare(then, now).name == "durations"


def test_a_larger_output_is_compared_byte_by_byte() -> None:
    large = b"x" * (NORMALIZED_BYTES + 1)
    assert compare(large, large).identical
    assert compare(large + b" 0.1s", large + b" 0.2s").name == "output"


def test_the_reference_page_has_every_class() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "replay.md").read_text()
    listed = set(re.findall(r"`([^`]+)`", page))
    assert {*NORMALIZERS, *PAIRED, *SUSPECTED, UNORDERED, REORDERED, PART, DIFFERENT, INTERLEAVED} <= listed
