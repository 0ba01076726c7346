"""The transcript of a trial for a judge: the recorded commands with their endings and outputs, within a budget.

Each line is one JSON object, so that quoted text cannot pass for the frame around it. Commands and outputs are cut in
the middle, less in steps with a finding. If the whole is too long, steps in the middle are left out with a notice, but
never steps with a finding.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from trajectories.record.events import ActionFinished, ActionStarted, CallFinished, Event
from trajectories.record.texts.text import cut_middle

BUDGET = 120_000
"""Largest number of characters of a transcript, about 30,000 tokens."""
_COMMAND, _OUTPUT = 2000, 600
"""Number of characters of each command and of each output."""
_COMMAND_FINDING, _OUTPUT_FINDING = 8000, 2000
"""Number of characters of each command and output in a step with a finding."""
_COMMAND_LEAST = 1000
"""Number of characters of each command if the steps with a finding alone exceed the budget; outputs are left out."""


@dataclass(frozen=True)
class Transcript:
    """The text, the number of the last step, and one line for each run of steps that is left out."""

    text: str
    last_step: int
    left_out: tuple[str, ...]


def transcript(events: Iterable[Event], with_findings: Collection[int], budget: int = BUDGET) -> Transcript:
    """Write the transcript of a trial; the steps `with_findings` must stay."""
    actions: dict[int, list[tuple[ActionStarted, ActionFinished | None]]] = {}
    at: dict[str, tuple[int, int]] = {}
    steps = 0
    for event in events:
        match event:
            case CallFinished():
                steps = max(steps, event.step)
            case ActionStarted():
                here = actions.setdefault(event.step, [])
                at[event.action] = (event.step, len(here))
                here.append((event, None))
            case ActionFinished() if event.action in at:
                step, index = at[event.action]
                actions[step][index] = (actions[step][index][0], event)
    texts = {
        step: _step(of_step, *((_COMMAND_FINDING, _OUTPUT_FINDING) if step in with_findings else (_COMMAND, _OUTPUT)))
        for step, of_step in actions.items()
    }
    kept = _within(texts, with_findings, budget)
    if sum(len(texts[step]) for step in kept) > budget:
        texts |= {step: _step(actions[step], _COMMAND_LEAST, 0) for step in kept}
    return _joined(texts, kept, max([steps, *texts]) if texts else steps)


def _step(actions: list[tuple[ActionStarted, ActionFinished | None]], command: int, output: int) -> str:
    lines = []
    for started, finished in actions:
        line = {"action": started.action, "command": cut_middle(started.command, command)}
        if finished is None:
            line["ended"] = "unknown"
        else:
            has_status = finished.exit_code is not None and finished.ended in ("exited", "unknown")
            line["ended"] = f"exit code {finished.exit_code}" if has_status else finished.ended
            printed = finished.output.text + (finished.stderr.text if finished.stderr else "")
            line["output"] = cut_middle(printed, output) if output else f"({len(printed)} characters, left out)"
        lines.append(json.dumps(line, ensure_ascii=False))
    return "\n".join(lines) + "\n"


def _within(texts: dict[int, str], with_findings: Collection[int], budget: int) -> set[int]:
    """Return the steps that fit: those with findings, then steps from both ends inwards until one does not fit."""
    kept = {step for step in texts if step in with_findings}
    left = budget - sum(len(texts[step]) for step in kept)
    order = sorted(texts)
    inwards = [step for pair in zip(order, reversed(order), strict=True) for step in pair]
    for step in inwards:
        if step in kept:
            continue
        left -= len(texts[step])
        if left < 0:
            break
        kept.add(step)
    return kept


def _joined(texts: dict[int, str], kept: set[int], last_step: int) -> Transcript:
    parts: list[str] = []
    notices: list[str] = []
    gap: list[int] = []
    ends: list[int | None] = [*sorted(texts), None]
    for step in ends:
        if step is not None and step not in kept:
            gap.append(step)
            continue
        if gap:
            notices.append(f"steps {gap[0]} to {gap[-1]} ({len(gap)} with commands) are left out for length")
            parts.append(json.dumps({"notice": notices[-1]}) + "\n")
            gap = []
        if step is not None:
            parts.append(texts[step])
    return Transcript("".join(parts), last_step, tuple(notices))
