"""A file with the answers of an expert: a YAML or JSON list of texts, in the order in which they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from agent.errors import UserError
from agent.guidance.no_code import Violation
from trajectories import yaml_mistakes
from trajectories.yaml_mistakes import Mistake, Mistakes, kind_of

Check = Callable[[str], Violation | None]
"""Returns the first place where an answer breaks the rule for answers."""


def parse_answers(data: bytes, file: str, check: Check | None = None) -> tuple[str, ...]:
    """Return the answers of a file; with `check`, each of them has to keep the rule.

    Raises: UserError naming the file and all its mistakes.
    """
    try:
        answers = yaml_mistakes.checked(yaml_mistakes.decoded(data), lambda entries: _mistakes_in(entries, check))
    except Mistakes as mistakes:
        raise UserError(f"--guidance file:{file}: {mistakes}") from None
    return tuple(answers)


def _mistakes_in(entries: Any, check: Check | None) -> Iterator[Mistake]:
    if not isinstance(entries, list):
        raise Mistakes(f"must be a list of answers, not {kind_of(entries)}")
    if not entries:
        raise Mistakes("holds no answer; write a list with at least one")
    for index, entry in enumerate(entries):
        key = f"answer {index + 1}"
        if not isinstance(entry, str):
            yield Mistake((index,), f"must be a text (put it in quotes), not {kind_of(entry)}", key=key)
        elif not entry.strip():
            yield Mistake((index,), "is empty", key=key)
        elif check is not None and (violation := check(entry)) is not None:
            yield Mistake(
                (index,),
                f"breaks the rule no-code ({violation.rule}): {violation.line!r}; describe it in words, or use "
                "--guidance-rule none",
                key=key,
            )
