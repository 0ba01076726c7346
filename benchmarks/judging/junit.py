"""Cases and their results from pytest's JUnit XML.

The XML may be hostile or torn. Its size is bounded, and defusedxml rejects it at the first sign of a document type,
before any entity is defined. Cases that were collected but have no result are `missing`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DTDForbidden
from defusedxml.ElementTree import fromstring
from junitparser import Error, Failure, Skipped, TestCase

from trajectories.record.verdict import Case, CaseStatus
from trajectories.writing import excerpts

XML_BYTES = 64 << 20
MESSAGE_CHARACTERS = 2000
_SEVERITY: Mapping[CaseStatus, int] = {"passed": 0, "skipped": 1, "failed": 2, "error": 3, "missing": 4}
_WORST_FIRST: tuple[tuple[type[Error | Failure | Skipped], CaseStatus], ...] = (
    (Error, "error"),
    (Failure, "failed"),
    (Skipped, "skipped"),
)


class JUnitError(ValueError):
    """A file that is not usable JUnit XML."""


@dataclass(frozen=True)
class CaseResult:
    """The result of a test case. If several have the same name, the worst one counts."""

    classname: str
    name: str
    status: CaseStatus
    seconds: float | None
    message: str


def parse(data: bytes) -> dict[tuple[str, str], CaseResult]:
    """Return the results by (classname, name), in order of first appearance.

    Raises: JUnitError.
    """
    if len(data) > XML_BYTES:
        raise JUnitError(f"{len(data)} bytes of JUnit XML, more than {XML_BYTES}")
    try:
        root = fromstring(data, forbid_dtd=True)
    except DTDForbidden:
        raise JUnitError("JUnit XML with a document type") from None
    except (ParseError, LookupError, ValueError) as error:  # the latter two: an unknown encoding
        raise JUnitError(f"no JUnit XML: {error}") from None
    results: dict[tuple[str, str], CaseResult] = {}
    for element in root.iter("testcase"):  # suites may be nested
        result = _result(element)
        key = (result.classname, result.name)
        previous = results.get(key)
        if previous is None or _SEVERITY[result.status] > _SEVERITY[previous.status]:
            results[key] = result
    return results


def _result(element: Element) -> CaseResult:
    case: TestCase = TestCase.fromelem(element)  # type: ignore[no-untyped-call]
    status: CaseStatus = "passed"
    message = ""
    for kind, status_of_kind in _WORST_FIRST:
        outcome: Error | Failure | Skipped | None = case.child(kind)  # type: ignore[no-untyped-call]
        if outcome is not None:
            status = status_of_kind
            message = outcome.message or (outcome.text or "").strip()
            break
    try:
        seconds = float(element.get("time") or "")  # junitparser's own `time` fails for what is not a number
    except ValueError:
        seconds = None
    return CaseResult(
        case.classname or "", case.name or "", status, seconds, excerpts.middle(message, MESSAGE_CHARACTERS)
    )


def address(nodeid: str) -> tuple[str, str]:
    """Return the (classname, name) that pytest gives a node id in JUnit XML."""
    path, bracket, parameters = nodeid.partition("[")
    names = path.split("::")
    names[0] = re.sub(r"\.py$", "", names[0].replace("/", "."))
    return ".".join(names[:-1]), names[-1] + bracket + parameters


def group_of(nodeid: str) -> str:
    """Return the first directory below the suite's root, or `tests` if the file lies in the root itself."""
    first, slash, _ = nodeid.partition("::")[0].partition("/")
    return first if slash else "tests"


def cases(
    collected: Iterable[str], results: Mapping[tuple[str, str], CaseResult], missing_reason: str = ""
) -> tuple[Case, ...]:
    """Return the collected node ids in order, each with its result; a case without a result is `missing`."""
    judged = []
    for nodeid in collected:
        result = results.get(address(nodeid))
        if result is None:
            case = Case(id=nodeid, group=group_of(nodeid), status="missing", message=missing_reason or "no result")
        else:
            case = Case(
                id=nodeid,
                group=group_of(nodeid),
                status=result.status,
                seconds=result.seconds,
                message=result.message,
            )
        judged.append(case)
    return tuple(judged)
