"""The lines of a batch's view: the counts, the result so far, the budget, the pace, and the running units.

A low terminal leaves out the running units first, then the pace. Every text is safe for a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from rich.text import Text

from agent.batch.state.view import BatchState, RunningUnit
from agent.cli.progress.cells import cut, packed
from agent.cli.progress.state import clock, on_one_line
from trajectories.record.texts.text import quantity
from trajectories.views.tables import ALWAYS, UNLIMITED, TextColumn, TextTable

_PHASES = {
    "running": "",
    "stopping": "stopping, running units finish",
    "interrupted": "interrupted",
    "finished": "finished",
    "waiting": "nothing can go on",
    "lost": "its coordinator is gone",
}
_BAR = 40
"""Widest bar of the units that have ended."""
_ENDS = "\u2588"
_OPEN = "\u2591"
_COLUMNS = (
    TextColumn("trial", rank=ALWAYS),
    TextColumn("arm", rank=3),
    TextColumn("steps", right=True),
    TextColumn("phase", rank=2),
    TextColumn("time", right=True),
    TextColumn("node", rank=4),
)


def page(state: BatchState, width: int, height: int) -> list[Text]:
    """Return the lines for a terminal of this size, each narrower than it and together lower: the cursor stays below.

    Running units are left out where there are too few lines, and their number stands in their place.
    """
    width = max(1, width - 1)
    reasons = ((state.failed, "failed", "red"), (state.held, "waiting for", "yellow"))
    lines = [
        cut(title(state), width, "bold"),
        _bar(state, width),
        *packed(counts(state), width, "bold"),
        *(cut(f"{name}: {_by_reason(units)}", width, style) for units, name, style in reasons if units),
        *packed(result(state), width, ""),
        *packed(money(state), width, ""),
        *packed(pace(state), width),
    ]
    room = max(1, height - 1)
    return [*lines, *_running(state, width, room - len(lines))][:room]


def line(state: BatchState) -> str:
    """Return the state as one line."""
    parts = [
        ", ".join(counts(state)),
        ", ".join(result(state)),
        ", ".join(money(state)),
        ", ".join(pace(state)),
        *([f"failed: {_by_reason(state.failed)}"] if state.failed else []),
        *([f"waiting for: {_by_reason(state.held)}"] if state.held else []),
    ]
    return f"{title(state)}: {'; '.join(filter(None, parts))}"


def title(state: BatchState) -> str:
    """Return the name of the batch with its phase."""
    phase = _PHASES[state.phase]
    return on_one_line(f"batch {state.name}{f' ({phase})' if phase else ''}")


def counts(state: BatchState) -> list[str]:
    """Return the numbers of units, each in a few words."""
    return [
        f"{state.done} of {quantity(state.units, 'unit')} done",
        f"{len(state.running)} running",
        f"{state.waiting} waiting",
        f"{state.failures} failed",
        *([f"{state.reruns} resumed or run again"] if state.reruns else []),
    ]


def result(state: BatchState) -> list[str]:
    """Return the pass rate so far with Wilson's interval, and the number of units without a verdict."""
    parts = []
    if (interval := state.pass_rate_interval) is not None:
        low, high = interval
        share = state.passed / state.judged
        parts.append(f"passed {state.passed} of {state.judged}: {100 * share:.1f}% [{100 * low:.1f}, {100 * high:.1f}]")
    if state.unevaluated:
        parts.append(f"{state.unevaluated} not evaluated")
    return parts


def money(state: BatchState) -> list[str]:
    """Return the dollars and the tokens, each with its budget."""
    bound = "at least " if state.unpriced_calls else ""
    uses_tokens = bool(state.tokens or state.reserved_tokens or state.budget_tokens)
    return [
        _against(f"{bound}{usd(state.spent_usd)}", state.reserved_usd, state.budget_usd, usd),
        *([_against(f"{count(state.tokens)} tokens", state.reserved_tokens, state.budget_tokens, count)] * uses_tokens),
        *([f"{quantity(state.unpriced_calls, 'call')} of unknown cost"] if state.unpriced_calls else []),
    ]


def pace(state: BatchState) -> list[str]:
    """Return the calls and tokens a minute, the cache hit rate, and the times."""
    parts = [quantity(state.calls, "call")] if state.calls else []
    if state.calls_per_minute:
        parts.append(f"{state.calls_per_minute:.1f} calls a minute")
    if state.tokens_per_minute:
        parts.append(f"{count(state.tokens_per_minute)} tokens a minute")
    if state.cache_hit_rate is not None:
        parts.append(f"cache hits {100 * state.cache_hit_rate:.0f}%")
    if state.elapsed_s is not None:
        parts.append(f"time {clock(state.elapsed_s)}")
    if state.left_s is not None and state.phase in ("running", "stopping"):
        parts.append(f"about {clock(state.left_s)} left")
    return parts


def usd(value: float) -> str:
    """Return an amount in dollars; small ones with more digits."""
    return f"${value:,.2f}" if value >= 1 or value == 0 else f"${value:.4f}"


def count(value: float) -> str:
    """Return a number of tokens with three digits: 950, 12.3k, 1.25M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.{2 if value < 10 * size else 1 if value < 100 * size else 0}f}{unit}"
    return f"{value:.0f}"


def _against(spent: str, reserved: float, budget: float | None, text: Callable[[float], str]) -> str:
    parts = f"{spent}{f' + {text(reserved)} reserved' if reserved else ''}"
    return parts if budget is None else f"{parts} of {text(budget)}"


def _by_reason(reasons: Mapping[str, int]) -> str:
    return on_one_line(", ".join(f"{number} {reason}" for reason, number in sorted(reasons.items())))


def _bar(state: BatchState, width: int) -> Text:
    """Return the bar of all units: done, failed, and the others."""
    size = min(_BAR, width)
    done = min(size, size * state.done // max(1, state.units))
    failed = min(size - done, -(-size * state.failures // max(1, state.units)))
    bar = Text(_ENDS * done, "green").append(_ENDS * failed, "red")
    return bar.append(_OPEN * (size - done - failed), "dim")


def _running(state: BatchState, width: int, room: int) -> Iterator[Text]:
    """Yield the table of the running units on at most so many lines, those that run longest first."""
    if not state.running or room < 2:
        return
    units = sorted(state.running, key=lambda unit: (-(unit.seconds or 0.0), unit.trial))
    shown = units if len(units) < room else units[: room - 2]
    lines = TextTable(_COLUMNS, [_row(unit) for unit in shown]).lines(min(width, UNLIMITED - 1))
    for number, text in enumerate(islice(lines, 1 + len(shown)) if shown else ()):
        yield cut(text, width, "" if number else "dim")
    if len(shown) < len(units):
        yield cut(f"and {len(units) - len(shown)} more running", width, "dim")


def _row(unit: RunningUnit) -> tuple[str, ...]:
    time = "" if unit.seconds is None else clock(unit.seconds)
    return unit.trial, unit.arm, str(unit.steps), unit.phase, time, unit.node or ""
