"""The parsers of terminal-bench: from the output of a test script to the result of each test.

They follow the originals, quirks included, so that verdicts agree. They read the raw output, not a picture of a
terminal, so no name is cut at column 160, and colors are removed first. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from trajectories.record.verdict import Case, CaseStatus
from trajectories.writing import excerpts


class ParserError(ValueError):
    """An output without the marks that its parser looks for."""


@dataclass(frozen=True)
class TestResult:
    """The result of one test. `passes` is the authors' view, in which a skipped test passes."""

    __test__ = False  # not a class of tests

    status: CaseStatus
    passes: bool
    message: str = ""

    def case(self, id: str, group: str) -> Case:
        """Return the case of a verdict. A skipped test that passes for the authors is a passed case, and says so."""
        skipped = self.status == "skipped" and self.passes
        return Case(
            id=excerpts.middle(id, _ID_CHARACTERS),
            group=group,
            status="passed" if skipped else self.status,
            message="skipped, which the authors count as passed" if skipped else excerpts.middle(self.message, 2000),
        )


Results = Mapping[str, TestResult]
Parser = Callable[[str], Results]

_ID_CHARACTERS = 1000
_NOTE_CHARACTERS = 2000
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_SUMMARY = re.compile(r"short test summary info\s*(=+)", re.I)
"""The title of pytest's summary, in a line of equals signs. Those before it are looked for backwards, because a pattern
that begins with them needs quadratic time for an output of nothing else."""
_PYTEST: Mapping[str, tuple[CaseStatus, bool]] = {
    "PASSED": ("passed", True),
    "XFAIL": ("passed", True),
    "SKIPPED": ("skipped", True),
    "FAILED": ("failed", False),
    "XPASS": ("failed", False),
    "ERROR": ("error", False),
}


def skipped_note(results: Results) -> tuple[str, ...]:
    """Return a note that lists the skipped tests; nothing if there are none."""
    names = [name for name, result in results.items() if result.status == "skipped"]
    if not names:
        return ()
    tests = "1 skipped test counts" if len(names) == 1 else f"{len(names)} skipped tests count"
    listed = excerpts.middle(excerpts.on_one_line(", ".join(names)), _NOTE_CHARACTERS)
    return (f"{tests} as passed, as by the authors: {listed}",)


def text_of(output: bytes) -> str:
    """Return the output as text without escape sequences of a terminal."""
    return _ESCAPES.sub("", output.decode("utf-8", "replace")).replace("\r\n", "\n")


def pytest(text: str) -> Results:
    """Return the results after pytest's first short summary; of several with the same name the last one counts.

    Raises: ParserError if there is no summary.
    """
    results = {}
    for line in _summary(text).splitlines():
        words = line.split(maxsplit=1)
        kind = _PYTEST.get(words[0].strip(":")) if len(words) == 2 else None
        if kind is None:
            continue
        test, message = words[1].strip(), ""
        if words[0].startswith("FAILED") and " - " in test:
            test, _, message = test.rpartition(" - ")
        name = test.partition("::")[2] or test
        results[name] = TestResult(*kind, message=message)
    return results


def _summary(text: str) -> str:
    """Return the text after the first title of a summary. Raises: ParserError if there is none."""
    for match in _SUMMARY.finditer(text):
        before = match.start() - 1
        while before >= 0 and text[before].isspace():
            before -= 1
        if before >= 0 and text[before] == "=":
            return text[match.end() :]
    raise ParserError("pytest printed no short test summary (it needs the option -rA)")


def swebench(text: str) -> Results:
    """Return the one result that the script of an SWE-bench task prints. Raises: ParserError without its marks."""
    return {"SWEBench": _single(_between(text, "SWEBench") == "PASSED")}


def sweperf(text: str) -> Results:
    """Return the one result that the script of an SWE-Perf task prints. Raises: ParserError without its marks."""
    return {"SWE-Perf": _single(_between(text, "SWE-Perf") == "PASSED")}


def mlebench(text: str) -> Results:
    """Return the one result that the script of an MLE-bench task prints; without its marks, the test failed."""
    try:
        return {"MLEBench": _single(_between(text, "MLEBench") == "ALL TESTS PASSED")}
    except ParserError as error:
        return {"MLEBench": _single(False, str(error))}


def swelancer(text: str) -> Results:
    """Return the one result that the script of an SWE-Lancer task prints."""
    lower = text.lower()
    if "swe lancer success" in lower:
        passed = True
    elif "swe lancer failure" in lower:
        passed = False
    else:
        passed = "user_tool" in lower and "completed" in lower
    return {"SWE-Lancer": _single(passed)}


PARSERS: Mapping[str, Parser] = {
    "pytest": pytest,
    "swebench": swebench,
    "swelancer": swelancer,
    "mlebench": mlebench,
    "sweperf": sweperf,
}
"""The parsers by the name that a task.yaml gives."""


def _single(passed: bool, message: str = "") -> TestResult:
    return TestResult("passed" if passed else "failed", passed, message)


def _between(text: str, name: str) -> str:
    begin, end = f"{name} results starts here", f"{name} results ends here"
    _, begun, rest = text.partition(begin)
    result, ended, _ = rest.partition(end)
    if not begun or not ended:
        raise ParserError(f"the tests did not print the line {end if begun else begin!r}")
    return result.strip()
