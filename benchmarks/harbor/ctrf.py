"""The single tests of a verifier, from the file `ctrf.json` that many test scripts let pytest write (ctrf.io).

They explain a verdict; the rewards alone decide it. Harbor shows the file and computes nothing from it either.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from benchmarks.harbor.rewards import LOGS
from trajectories.record.verdict import Case, CaseStatus
from trajectories.writing import excerpts

FILE = f"{LOGS}/ctrf.json"
_GROUP = "tests"
_CASES = 10_000
_ID_CHARACTERS = 500
_MESSAGE_CHARACTERS = 2000
_STATUSES: Mapping[str, CaseStatus] = {"passed": "passed", "failed": "failed", "skipped": "skipped"}


class NotCtrf(ValueError):
    """A file that is not usable; the message is one line."""


class _Test(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    status: str
    duration: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Milliseconds."""
    message: str | None = None
    trace: str | None = None


class _Results(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    tests: tuple[_Test, ...] = Field(max_length=_CASES)


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    results: _Results


def cases(data: bytes) -> tuple[Case, ...]:
    """Return the tests in a report; a name that occurs again gets a number.

    Raises: NotCtrf.
    """
    try:
        report = _Report.model_validate(json.loads(data.decode()))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise NotCtrf(f"{'.'.join(map(str, first['loc']))}: {first['msg']}"[:300]) from None
    except (ValueError, RecursionError):
        raise NotCtrf("it is not JSON") from None
    return tuple(_cases(report))


def _cases(report: _Report) -> Iterator[Case]:
    count: dict[str, int] = {}
    ids: set[str] = set()
    for test in report.results.tests:
        name = id = excerpts.beginning(" ".join(_valid(test.name).split()), _ID_CHARACTERS)
        while id in ids:
            count[name] = count.get(name, 1) + 1
            id = f"{name} #{count[name]}"
        ids.add(id)
        status = _STATUSES.get(test.status, "error")  # pending, other
        message = _valid(test.message or test.trace or "")
        yield Case(
            id=id,
            group=_GROUP,
            status=status,
            seconds=None if test.duration is None else test.duration / 1000,
            message="" if status == "passed" else excerpts.middle(message, _MESSAGE_CHARACTERS),
        )


def _valid(text: str) -> str:
    """Return the text with a mark in place of halves of characters, which JSON can hold and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()
