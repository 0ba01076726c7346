"""Texts with a person's judgment whether they hold code, and the outcome of the rule no-code on them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml

from agent.guidance.no_code import check
from tests.analysis.real_commands import documents

FOLDER = Path(__file__).parent / "labeled"
Part = Literal["heldout", "tuning"]


@dataclass(frozen=True)
class LabeledText:
    """A plan or an answer for a task in this language."""

    language: str | None
    holds_code: bool
    text: str

    @property
    def refused(self) -> bool:
        """Return the rule's judgment."""
        return check(self.text, language=self.language) is not None


def labeled_texts(part: Part) -> Iterator[LabeledText]:
    """Yield the texts of a part of the corpus."""
    for entry in yaml.safe_load((FOLDER / f"{part}.yaml").read_text(encoding="utf-8")):
        yield LabeledText(**entry)


@dataclass(frozen=True)
class Measured:
    """Number of texts by label and judgment."""

    honest: int
    honest_refused: int
    code: int
    code_refused: int

    @property
    def precision(self) -> float:
        """Return the share of refused texts that hold code."""
        return self.code_refused / (self.code_refused + self.honest_refused)

    @property
    def recall(self) -> float:
        """Return the share of texts with code that are refused."""
        return self.code_refused / self.code


def measured(part: Part) -> Measured:
    """Apply the rule to a part of the corpus."""
    texts = list(labeled_texts(part))
    honest = [text for text in texts if not text.holds_code]
    code = [text for text in texts if text.holds_code]
    return Measured(len(honest), sum(text.refused for text in honest), len(code), sum(text.refused for text in code))


def measured_table() -> str:
    """Return precision and recall as a Markdown table for the docs."""
    result = measured("heldout")
    return "\n".join(
        (
            "| texts | without code | of them refused | with code | of them refused (recall) | precision |",
            "|---|---|---|---|---|---|",
            f"| {result.honest + result.code} | {result.honest} | {result.honest_refused} | {result.code} "
            f"| {result.code_refused} ({result.recall:.1%}) | {result.precision:.1%} |",
        )
    )


_FENCED = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_TEXTS = ("content", "text", "thought", "message", "reasoning", "reasoning_content")
_LONGEST = 20_000
"""Longest text that is taken for a model's own words."""


def real_prose(shared_data: Path) -> list[str]:
    """Return the different lines that models wrote outside of fenced blocks, in the recordings of other harnesses."""
    lines: dict[str, None] = {}
    for path in sorted(shared_data.rglob("*")):
        if path.is_file() and path.relative_to(shared_data).parts[0] not in ("papers", "programbench-stats"):
            for document in documents(path):
                for text in _by_models(document, ""):
                    lines.update(dict.fromkeys(line for line in _FENCED.sub("", text).splitlines() if line.strip()))
    return list(lines)


def _by_models(value: object, role: object) -> Iterator[str]:
    if isinstance(value, list):
        for part in value:
            yield from _by_models(part, role)
    if not isinstance(value, dict):
        return
    role = value.get("role") or value.get("source") or role
    for key, part in value.items():
        if key in _TEXTS and isinstance(part, str) and role in ("assistant", "agent", "model") and len(part) < _LONGEST:
            yield part
        elif not isinstance(part, str):
            yield from _by_models(part, role)
