"""Terminal table of a trial's summary."""

from __future__ import annotations

from trajectories.reading.interventions.expert_tally import Interventions
from trajectories.reading.summary import Summary
from trajectories.record.texts.text import quantity
from trajectories.views.tables import TextTable, facts_table


def summary_table(summary: Summary) -> TextTable:
    """Return the table of a trial's figures, which `agent solve` shows last."""
    exit = f"{summary.exit.reason}: {summary.exit.cause}" if summary.exit else "not closed"
    if summary.exit and summary.exit.detail:
        exit += f" ({summary.exit.detail})"
    usage, cost = summary.usage, summary.cost_usd
    no_call = not (summary.steps or summary.failed_calls or summary.unmetered_calls)
    tokens = f"input {_tokens(usage.input)}, cache read {_tokens(usage.cache_read)}, output {_tokens(usage.output)}"
    costs = f"billed {_usd(cost.billed)}, computed {_usd(cost.computed)}, list {_usd(cost.list)}"
    expert = summary.interventions
    rows = [
        ("trial", summary.trial),
        ("exit", exit),
        ("steps", f"{summary.steps} ({summary.commands} commands, {summary.failed_calls} failed calls)"),
        ("tokens", "none, because no model was called" if no_call else tokens),
        ("cost", "none" if no_call else costs),
        *([] if expert is None else [("expert", _expert(expert))]),
        ("time", f"{_seconds(summary.wall_s)}, {_seconds(summary.working_s)} of it working"),
    ]
    return facts_table(rows)


def _expert(expert: Interventions) -> str:
    answers = f"{quantity(expert.questions, 'question')}, {quantity(expert.given, 'answer')}"
    answers += f", {quantity(expert.refused, 'refusal')}" if expert.refused else ""
    return f"{answers}; cost {_usd(expert.cost_usd.best)}" if expert.calls else answers


def _tokens(count: int | None) -> str:
    return "unknown" if count is None else f"{count:,}"


def _seconds(seconds: float | None) -> str:
    return "unknown" if seconds is None else f"{seconds:.1f} s"


def _usd(amount: float | None) -> str:
    return "unknown" if amount is None else f"${amount:.4f}"
