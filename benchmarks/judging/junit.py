"""JUnit XML to cases.

The XML may be hostile or torn: it is size-bounded, and a document type (which is what entities need) is
refused before it is parsed. Cases that were collected but have no result are `missing`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

from trajectories.record.text import cut_middle
from trajectories.record.verdict import Case, CaseStatus

XML_BYTES = 64 << 20
MESSAGE_CHARACTERS = 2000
_SEVERITY: Mapping[CaseStatus, int] = {"passed": 0, "skipped": 1, "failed": 2, "error": 3, "missing": 4}
_CHILDREN: Mapping[str, CaseStatus] = {"failure": "failed", "error": "error", "skipped": "skipped"}


class JUnitError(ValueError):
    """A file that is no usable JUnit XML."""


@dataclass(frozen=True)
class Result:
    """One `testcase`; of several with one name the worst counts."""

    classname: str
    name: str
    status: CaseStatus
    seconds: float | None
    message: str


def parse(data: bytes) -> dict[tuple[str, str], Result]:
    """Results by (classname, name), in order of first appearance.

    Raises: JUnitError.
    """
    if len(data) > XML_BYTES:
        raise JUnitError(f"{len(data)} bytes of JUnit XML, more than {XML_BYTES}")
    parser = ElementTree.XMLParser(target=_NoDoctype())
    results: dict[tuple[str, str], Result] = {}
    try:
        parser.feed(data)
        root = parser.close()
    except JUnitError:
        raise
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # the latter two: an unknown encoding
        raise JUnitError(f"no JUnit XML: {error}") from None
    for element in root.iter("testcase"):
        result = _result(element)
        key = (result.classname, result.name)
        known = results.get(key)
        if known is None or _SEVERITY[result.status] > _SEVERITY[known.status]:
            results[key] = result
    return results


class _NoDoctype(ElementTree.TreeBuilder):
    """Stops where a document type starts, before a single entity is defined."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise JUnitError("JUnit XML with a document type")


def _result(element: ElementTree.Element) -> Result:
    status: CaseStatus = "passed"
    message = ""
    for child in element:
        found = _CHILDREN.get(child.tag)
        if found is not None and _SEVERITY[found] > _SEVERITY[status]:
            status = found
            message = child.get("message") or (child.text or "").strip()
    try:
        seconds = float(element.get("time") or "")
    except ValueError:
        seconds = None
    return Result(
        element.get("classname") or "",
        element.get("name") or "",
        status,
        seconds,
        cut_middle(message, MESSAGE_CHARACTERS),
    )


def address(nodeid: str) -> tuple[str, str]:
    """The (classname, name) that pytest gives a node id in JUnit XML."""
    path, bracket, parameters = nodeid.partition("[")
    names = path.split("::")
    names[0] = re.sub(r"\.py$", "", names[0].replace("/", "."))
    return ".".join(names[:-1]), names[-1] + bracket + parameters


def group_of(nodeid: str) -> str:
    """The first directory below the suite's root, else `tests`."""
    first, slash, _ = nodeid.partition("::")[0].partition("/")
    return first if slash else "tests"


def cases(
    collected: Iterable[str], results: Mapping[tuple[str, str], Result], why_missing: str = ""
) -> tuple[Case, ...]:
    """The collected node ids in order, each with its result; without one it is `missing`."""
    made = []
    for nodeid in collected:
        result = results.get(address(nodeid))
        if result is None:
            made.append(Case(id=nodeid, group=group_of(nodeid), status="missing", message=why_missing or "no result"))
        else:
            made.append(
                Case(
                    id=nodeid,
                    group=group_of(nodeid),
                    status=result.status,
                    seconds=result.seconds,
                    message=result.message,
                )
            )
    return tuple(made)
