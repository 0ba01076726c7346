"""The files that are derived from a trial's events. They save reading the events, and can be rebuilt at any time.

`trial.json` is the summary, `verdict.json` the verdict with its cases (`standing_verdict`), and `score.json` quality
and cost.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from trajectories.reading.packed import record_state
from trajectories.reading.reader import events_file, read_events
from trajectories.reading.summary import StoredSummary, Summary, summarize
from trajectories.record.events import Evaluated, Event, PriceRef, TrialStarted
from trajectories.record.layout import SCORE, SUMMARY, VERDICT
from trajectories.record.usage import Costs, Usage
from trajectories.record.verdict import standing_verdict


class Score(BaseModel):
    """Quality and cost of a trial, with the prices that the cost is computed from."""

    quality: float | None
    passed: bool | None
    usage: Usage
    cost_usd: Costs
    prices: PriceRef | None


def write_conveniences(directory: Path) -> Summary:
    """Write the three files from the events and return the summary. A file that cannot be written is left out.

    Raises: RecordError if the events cannot be read.
    """
    size = record_state(events_file(directory)).size
    contents = derived(directory, list(read_events(directory)))
    summary = contents[SUMMARY]
    assert isinstance(summary, Summary)
    contents[SUMMARY] = StoredSummary(**dict(summary), events_bytes=size)
    for name, content in contents.items():
        try:
            _replace(directory / name, content)
        except OSError:
            pass  # a full or read-only disk; the events hold everything
    return summary


def derived(directory: Path, events: Sequence[Event]) -> dict[str, BaseModel]:
    """Return the content of each file by its name. There is no `verdict.json` without a verdict.

    Raises: RecordError if the events do not begin with `trial_started`.
    """
    summary = summarize(directory, events)
    start = events[0]
    contents: dict[str, BaseModel] = {
        SUMMARY: summary,
        SCORE: Score(
            quality=summary.verdict.quality if summary.verdict else None,
            passed=summary.verdict.passed if summary.verdict else None,
            usage=summary.usage,
            cost_usd=summary.cost_usd,
            prices=start.prices if isinstance(start, TrialStarted) else None,
        ),
    }
    verdict = standing_verdict(event.verdict for event in events if isinstance(event, Evaluated))
    if verdict is not None:
        contents[VERDICT] = verdict
    return contents


def _replace(path: Path, content: BaseModel) -> None:
    temporary = path.with_suffix(".new")
    temporary.unlink(missing_ok=True)
    with temporary.open("x", encoding="utf-8") as file:
        file.write(content.model_dump_json(indent=1) + "\n")
    os.replace(temporary, path)
