"""Durations in outputs: noise if a known tool measured its own run, otherwise a difference with a name.

`took 3 seconds` may be a stopwatch or a result, and nothing in the text tells which.
"""

from __future__ import annotations

import re

_N = r"\d{1,12}(?:\.\d{1,12})?"
_UNIT = r"(?:ns|nsec|us|µs|usec|ms|msec|s|secs?|seconds?)"
_COLOR = r"(?:\x1b\[[\d;]{0,12}m)*"
_COUNTED = r"(?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?|rerun|ran)"

_PYTEST = re.compile(
    rf"^{_COLOR}(?:=+ )?(?P<counts>[^=\n]{{0,200}}\b{_COUNTED}\b[^=\n]{{0,40}} in ){_N}(?:s| ?seconds)"
    rf"(?: \((?:\d+ days?, )?\d+:\d\d:\d\d\))?(?P<end>{_COLOR})(?: ?{_COLOR}=+{_COLOR})?$"
)
"""pytest's last line. Its width is fixed, so the number of `=` around the text depends on the time in it."""

_OF_TOOLS = (
    rf"(?:real|user|sys)\t(\d{{1,9}}m{_N}s)",  # bash
    rf"(?:real|user|sys) ({_N})",  # POSIX
    r"([\d.:]{1,20}user [\d.:]{1,20}system [\d.:]{1,20}elapsed \d{1,9}%CPU .*)",  # GNU time
    rf"Ran \d{{1,9}} tests? in ({_N}s)",  # unittest
    rf"({_N}s) +(?:call|setup|teardown) +\S.*",  # pytest --durations
    rf"(?:Resolved|Prepared|Installed|Uninstalled|Audited|Built) \d{{1,9}} packages? in ({_N} ?{_UNIT})",  # uv
    rf" *Finished .* in ({_N}s)|test result: .*; finished in ({_N}s)",  # cargo
    rf"(?:ok|FAIL)\s+\S+\s+({_N}s)|\s*--- (?:PASS|FAIL|SKIP): \S+ \(({_N}s)\)",  # go test
    rf"Time: {{2,}}({_N} ?m?s)(?:, estimated .*)?|\s*[✓√✔✕×] .* \(({_N} ?m?s)\)",  # jest
    rf" *\d{{1,9}} (?:passing|failing|pending) \(({_N} ?m?s)\)",  # mocha
    rf"-- (?:Configuring|Generating) done \(({_N}s)\)",  # CMake
    rf" *\d{{1,9}}/\d{{1,9}} Test .* ({_N} sec)|Total Test time \(real\) = +({_N} sec)",  # CTest
    rf"\d{{1,12}} loops?, best of \d{{1,9}}: ({_N} {_UNIT}) per loop",  # timeit
    rf"\d{{1,18}} bytes .*copied, ({_N} s, .*)",  # dd
    rf"(?:added|removed|changed|up to date|audited)\b.* in ({_N} ?m?s)",  # npm
    rf"\[INFO\] Total time: +({_N} ?\S+)|.*Tests run: .*Time elapsed: ({_N} s(?:ec)?)\b.*",  # Maven
    rf"BUILD (?:SUCCESSFUL|FAILED) in ({_N}s|\d{{1,9}}m \d{{1,9}}s)",  # Gradle
    rf"\d{{1,9}} bytes from .* time=({_N} ms)",  # ping
)
_MEASURED = re.compile("|".join(f"(?:{frame})" for frame in _OF_TOOLS))
_ANY = re.compile(rf"(?<![\w.])\d{{1,12}}m ?{_N}s\b|(?<![\w.]){_N} ?{_UNIT}\b")


def without_measured(line: str) -> str:
    """Remove the durations that known tools measured of their own runs, from lines that are wholly theirs."""
    summary = _PYTEST.match(line)
    if summary is not None:
        return f"{summary['counts']}<duration>{summary['end']}"
    measured = _MEASURED.fullmatch(line)
    if measured is None or measured.lastindex is None:
        return line
    start, end = measured.span(measured.lastindex)
    return f"{line[:start]}<duration>{line[end:]}"


def without_any(line: str) -> str:
    """Remove everything that may be a duration."""
    return _ANY.sub("<duration>", line)
