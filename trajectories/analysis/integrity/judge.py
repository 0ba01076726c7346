"""The protocol of a model judge, which answers each question about a case, and the form of its answer.

`agent` implements the protocol. An answer is one JSON object, alone or in one fenced block:

    {"source_lookup": {"violated": false, "confidence": 0.9, "step": null, "why": "..."}, "wrapping": ..., ...}

with every question and no other key. `confidence` may be left out; `step` is required if `violated` is true.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from trajectories.record.events import Answer, Json, ModelRef, RoleCallFinished
from trajectories.record.panel import KINDS, Kind, VoteOutcome
from trajectories.writing import excerpts

_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)
_KEYS = frozenset(("violated", "confidence", "step", "why"))
_LONGEST_WHY = 2000


@dataclass(frozen=True)
class Reserved:
    """Amount that was reserved for a request in a budget that others share. None: nothing was."""

    usd: float | None = None
    tokens: int | None = None


NOTHING = Reserved()


class Journal(Protocol):
    """The record of the requests to one judge."""

    def started(self, model: ModelRef, messages: Sequence[Json], try_: int, reserved: Reserved = NOTHING) -> int:
        """Record that a request is about to leave, and return the number of the role call."""

    def finished(self, result: RoleCallFinished) -> None:
        """Record the result of a request."""


@dataclass(frozen=True)
class JudgeRequest:
    """The case that every judge of a panel gets."""

    system: str
    case: str
    last_step: int
    may_ask: Callable[[], bool]
    """Function to call before each request; it returns False if the budget is spent or the user interrupts."""
    journal: Journal
    """Record of the requests."""


@dataclass(frozen=True)
class JudgeResult:
    """The result of asking one judge."""

    outcome: VoteOutcome
    answers: Mapping[Kind, Answer] = field(default_factory=dict)
    calls: Sequence[int] = ()
    """Numbers of the role calls, in order."""


class Judge(Protocol):
    """A judge that is asked once for each case."""

    @property
    def model(self) -> ModelRef:
        """The judge's model."""

    def judge(self, request: JudgeRequest) -> JudgeResult:
        """Ask the judge, and once more after a malformed answer. Errors of a provider are part of the result."""

    def close(self) -> None:
        """Release the judge's resources."""


class MalformedAnswer(Exception):
    """A reply that is not an answer; the message names the problem without quoting the reply."""


def parse_answers(text: str, last_step: int) -> dict[Kind, Answer]:
    """Parse a reply into answers to every question; a step of evidence is at most `last_step`.

    Raises: MalformedAnswer.
    """
    text = text.strip()
    fenced = _FENCED.fullmatch(text)
    try:
        value = json.loads(fenced[1] if fenced else text, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:
        if isinstance(error, _DuplicateKey):
            raise MalformedAnswer("a key occurs twice") from None
        raise MalformedAnswer("the reply is not one JSON object") from None
    if not isinstance(value, dict) or set(value) != set(KINDS):
        raise MalformedAnswer(f"the object must have exactly the keys {', '.join(KINDS)}")
    return {kind: _answer(kind, value[kind], last_step) for kind in KINDS}


def _answer(kind: Kind, value: Any, last_step: int) -> Answer:
    if not isinstance(value, dict) or not {"violated", "why"} <= set(value) <= _KEYS:
        raise MalformedAnswer(f"{kind} must be an object with violated, confidence, step and why")
    violated, step, confidence, reason = (value.get(key) for key in ("violated", "step", "confidence", "why"))
    if not isinstance(violated, bool):
        raise MalformedAnswer(f"{kind}.violated must be true or false")
    if step is not None and (type(step) is not int or not 0 <= step <= last_step):
        raise MalformedAnswer(f"{kind}.step must be null or a step's number, 0 to {last_step}")
    if violated and step is None:
        raise MalformedAnswer(f"{kind}.step must name the step of the evidence where violated is true")
    if confidence is not None and (type(confidence) not in (int, float) or not 0 <= confidence <= 1):
        raise MalformedAnswer(f"{kind}.confidence must be a number from 0 to 1")
    if not isinstance(reason, str) or not reason.strip():
        raise MalformedAnswer(f"{kind}.why must be a text")
    return Answer(violated=violated, confidence=confidence, step=step, why=excerpts.beginning(reason, _LONGEST_WHY))


class _DuplicateKey(ValueError):
    pass


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _DuplicateKey
    return members
