"""Two outputs that differ in something a program computed are never equal, whatever kinds of noise stand beside it.

The corpus is lines of real tools and of programs such as a candidate writes, with one computed value each.
"""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings, strategies as st

from trajectories.comparison.compare import Span, compare

THEN = Span(1_780_000_000, 1_780_000_030)  # 2026-05-28, 20:26:40 UTC
NOW = Span(1_790_000_000, 1_790_000_020)  # 2026-09-21, 14:13:20 UTC

_COUNT = st.integers(0, 10**7)
_HEX = st.text("0123456789abcdef", min_size=40, max_size=40)
_WORD = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8)
_OLD_DAY = st.dates(min_value=date(1970, 1, 1), max_value=date(2025, 1, 1))
_CLOCK = st.tuples(st.integers(0, 23), st.sampled_from([2, 3, 5, 6, 7, 8, 9, 17, 18, 20, 21, 23]), st.integers(0, 59))

CORPUS: list[tuple[str, st.SearchStrategy[str]]] = [
    ("total: {}", _COUNT.map(str)),
    ("{} files changed, 3 insertions(+)", _COUNT.map(str)),
    ("src/a.py:{}: error: x", _COUNT.map(str)),
    ("== {} passed in 0.12s ==", _COUNT.map(str)),
    ("Ran {} tests in 0.01s", _COUNT.map(str)),
    ("took {} seconds", _COUNT.map(str)),
    ("result={}ms", _COUNT.map(str)),
    ("{}m3.5s", _COUNT.map(str)),
    ("Elapsed: {} s", _COUNT.map(lambda count: f"{count / 1000:.3f}")),
    ("exit status {}", _COUNT.map(str)),
    ("process {} items", _COUNT.map(str)),
    ("could not process {}", _COUNT.map(str)),
    ("-rw-r--r-- 1 a a {} May 28 20:27 f", _COUNT.map(str)),
    ("  {} f", _HEX),
    ("{}", _HEX),
    ("sha1: {}", _HEX),
    ("index {}..1a2b3c4 100644", _HEX.map(lambda digits: digits[:9])),
    (
        "crc 0x{}",
        st.integers(0, 2**32 - 1).map(lambda value: f"{value:08x}").filter(lambda value: value[-1] not in "08"),
    ),
    ("flags 0x{}", st.integers(0, 15).map(lambda value: f"{value}000000")),
    (
        "hash 0x{}",
        st.integers(0, 2**40 - 1).map(lambda value: f"{value:x}").filter(lambda value: value[-1] not in "08"),
    ),
    ("born {}", _OLD_DAY.map(str)),
    ("{} 10:00:00 paid", _OLD_DAY.map(lambda day: day.strftime("%b %d %Y"))),
    ("epoch {}", st.integers(1_000_000_000, 1_700_000_000).map(str)),
    ("alarm at {}", _CLOCK.map(lambda clock: f"{clock[0]:02}:{clock[1]:02}:{clock[2]:02}")),
    ("{{'name': '{}'}}", _WORD),
    ("{{'b': {{'x', 'y'}}, 'a': {{'{}'}}}}", _WORD),
    ("['a', '{}']", _WORD),
    ("version 1.2.{}", _COUNT.map(str)),
    ("Python 3.11.{}", st.integers(0, 30).map(str)),
    ("Python 3.{}.5 (main, Sep 11 2023, 13:54:46) [GCC 11.2.0] on linux", st.integers(6, 14).map(str)),
    ("<Foo value={}>", _COUNT.map(str)),
    ("/tmp/{}", _WORD),
    ("{} {{'b', 'a'}} pid 12", _COUNT.map(str)),
]
NOISE = ["at 20:27:01", "<Foo object at 0x7f0e1c2d3e50>", "3 passed in 0.12s", "pid 42", "/tmp/tmp.a1B2c3D4e5"]
OTHER_NOISE = ["at 14:13:30", "<Foo object at 0x7fa0b1c2d3e0>", "3 passed in 12.1s", "pid 7", "/tmp/tmp.Z9y8X7w6V5"]


@pytest.mark.parametrize(("line", "values"), CORPUS, ids=[line for line, _ in CORPUS])
@given(data=st.data())
@settings(max_examples=40)
def test_a_computed_value_is_never_taken_for_noise(
    line: str, values: st.SearchStrategy[str], data: st.DataObject
) -> None:
    mine, other = data.draw(values), data.draw(values)
    script = data.draw(st.sampled_from(["", "./program", "python report.py | head"]))
    beside = data.draw(st.lists(st.integers(0, len(NOISE) - 1), max_size=3))
    then = "\n".join([*(NOISE[k] for k in beside), line.format(mine)])
    now = "\n".join([*(OTHER_NOISE[k] for k in beside), line.format(other)])
    comparison = compare(then.encode(), now.encode(), THEN, NOW, script)
    assert comparison.equal == (mine == other), comparison.name


@given(st.permutations(["a", "b", "c", "d"]), st.sampled_from(["sort x", "./rank", "python order.py", "ls | sort -r"]))
def test_a_computed_order_is_never_taken_for_noise(lines: list[str], script: str) -> None:
    comparison = compare(b"a\nb\nc\nd", "\n".join(lines).encode(), THEN, NOW, script)
    assert comparison.equal == (lines == ["a", "b", "c", "d"])
