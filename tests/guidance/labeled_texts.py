"""Texts with a person's judgment whether they hold code, and the outcome of the rule no-code on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml

from agent.guidance.no_code import check

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
