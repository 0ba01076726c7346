"""What a model judge is: given a case, it answers each question. The protocol and the form of an answer, no model.

`agent` has the implementation. An answer is one JSON object, alone or in one fenced block:

    {"source_lookup": {"violated": false, "confidence": 0.9, "step": null, "why": "..."}, "wrapping": ..., ...}

with every question and no other key; `confidence` may be left out, `step` is needed where `violated` is true.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from trajectories.record.events import Answer, Ask, ModelRef
from trajectories.record.panel import KINDS, Kind, Outcome

_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)
_KEYS = frozenset(("violated", "confidence", "step", "why"))
_LONGEST_WHY = 2000


@dataclass(frozen=True)
class JudgeRequest:
    """What every judge of a panel is given, and what it may spend."""

    system: str
    case: str
    last_step: int
    may_ask: Callable[[], bool]
    """Asked before each request; False where the money is spent or the user interrupts."""


@dataclass(frozen=True)
class JudgeResult:
    """What came of one judge."""

    outcome: Outcome
    answers: Mapping[Kind, Answer] = field(default_factory=dict)
    asks: Sequence[Ask] = ()


class Judge(Protocol):
    """One judge, asked once a sitting."""

    @property
    def model(self) -> ModelRef:
        """What is asked."""

    def judge(self, sitting: JudgeRequest) -> JudgeResult:
        """Ask it; a malformed answer is asked for once more. Never raises for what a provider does."""

    def close(self) -> None:
        """Release what it holds."""


class MalformedAnswer(Exception):
    """A reply that is no answer; the message says what is wrong, without quoting the reply."""


def parse_answers(text: str, last_step: int) -> dict[Kind, Answer]:
    """A reply as answers to every question; `last_step` bounds the evidence.

    Raises: MalformedAnswer.
    """
    text = text.strip()
    fenced = _FENCED.fullmatch(text)
    try:
        found = json.loads(fenced[1] if fenced else text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        if isinstance(error, _Twice):
            raise MalformedAnswer("a key occurs twice") from None
        raise MalformedAnswer("the reply is not one JSON object") from None
    if not isinstance(found, dict) or set(found) != set(KINDS):
        raise MalformedAnswer(f"the object must have exactly the keys {', '.join(KINDS)}")
    return {kind: _answer(kind, found[kind], last_step) for kind in KINDS}


def _answer(kind: Kind, value: Any, last_step: int) -> Answer:
    if not isinstance(value, dict) or not {"violated", "why"} <= set(value) <= _KEYS:
        raise MalformedAnswer(f"{kind} must be an object with violated, confidence, step and why")
    violated, step, confidence, why = (value.get(key) for key in ("violated", "step", "confidence", "why"))
    if not isinstance(violated, bool):
        raise MalformedAnswer(f"{kind}.violated must be true or false")
    if step is not None and (type(step) is not int or not 0 <= step <= last_step):
        raise MalformedAnswer(f"{kind}.step must be null or a step's number, 0 to {last_step}")
    if violated and step is None:
        raise MalformedAnswer(f"{kind}.step must name the step of the evidence where violated is true")
    if confidence is not None and (type(confidence) not in (int, float) or not 0 <= confidence <= 1):
        raise MalformedAnswer(f"{kind}.confidence must be a number from 0 to 1")
    if not isinstance(why, str) or not why.strip():
        raise MalformedAnswer(f"{kind}.why must be a text")
    return Answer(violated=violated, confidence=confidence, step=step, why=why[:_LONGEST_WHY])


class _Twice(ValueError):
    pass


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Twice
    return found
