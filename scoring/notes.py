"""What a reader must know beside the figures: what was left out, what is unknown, and why a figure is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from scoring.agentmeter.profiles import Profile
from scoring.agentmeter.tiers import Tier
from scoring.rows import TrialRow
from scoring.selection import Counted, Infrastructure, mixed_conditions
from scoring.statistics.intervals import no_bootstrap

if TYPE_CHECKING:
    from scoring.report import Report

_ENOUGH = 10
"""Tasks; measured with uniform qualities: over 10 of them 93 % of intervals hold the mean, 88 % over 5, 74 % over 3."""


def notes(
    given: Sequence[TrialRow],
    some: Counted,
    profile: Profile,
    tiers: Mapping[str, Tier],
    tasks: Sequence[str],
    infrastructure: Infrastructure,
) -> list[str]:
    """A line each: of the trials `given`, those that count, and all tasks of the benchmark."""
    lines = [f"profile {profile.name}: {note}" for note in profile.notes]
    if some.infrastructure:
        how = "left out" if infrastructure == "exclude" else "counted as failed"
        lines.append(f"{_trials(some.infrastructure)} ended by the infrastructure or its evaluator: {how}")
    if some.unfinished:
        lines.append(f"{_trials(some.unfinished)} not finished (running, crashed or interrupted): left out")
    if some.superseded:
        lines.append(f"{_trials(some.superseded)} left out for a later one with the same identity and attempt")
    if some.unjudged:
        lines.append(f"{_trials(some.unjudged)} without a verdict: no part of rates and means, 0 in AMS and headlines")
    if some.unknown_cost:
        models = ", ".join(sorted({row.model for row in some.rows if row.cost_usd is None}))
        lines.append(f"{_trials(some.unknown_cost)} of unknown cost ({models}): within no budget, totals unknown")
    untiered = [task for task in tasks if task not in tiers]
    if not tiers:
        lines.append("no AMS: no trial records a tier, and none were given (--tiers calibrate or FILE)")
    elif untiered:
        shown = ", ".join(untiered[:3]) + (", ..." if len(untiered) > 3 else "")
        lines.append(f"no AMS: {len(untiered)} of {len(tasks)} tasks are in no tier ({shown})")
    elif missing := [tier for tier in ("easy", "medium", "hard") if tier not in set(tiers.values())]:
        lines.append(f"no AMS: no task is in the tier {' or '.join(missing)}")
    left_out = {row.setup for row in given} - {row.setup for row in some.rows}
    if left_out:
        labels_left = ", ".join(sorted({row.label for row in given if row.setup in left_out}))
        lines.append(f"no trial that counts, so no line in the tables: {labels_left}")
    tried = Counter(setup for setup, _ in {(row.setup, row.task) for row in some.rows})
    if few := [count for count in tried.values() if 2 <= count < _ENOUGH]:
        lines.append(
            f"bootstrap over few tasks ({min(few)}): below {_ENOUGH}, intervals but Wilson's are too narrow (of 95%, "
            "half hold the true value over 2 tasks, 88% over 5)"
        )
    if why := no_bootstrap(max(2, len(tasks))):
        lines.append(why)
    return lines + mixed_conditions(some.rows)


def basis(report: Report) -> list[str]:
    """What every table of the report rests on, a line each: intervals, costs, budgets."""
    prices = ", ".join(report.pricing.tables)
    lines = [
        f"intervals: {report.level:.0%}, rates by Wilson, the rest by a bootstrap over tasks ({report.replicates:,} "
        f"replicates, seed {report.seed}); n: trials",
        f"costs: {report.cost or 'as given'}{f', priced with {prices}' if prices else ''}; infrastructure failures: "
        f"{'left out' if report.infrastructure == 'exclude' else 'counted as failed'}",
    ]
    if report.tiers:
        lines.append(f"budgets: profile {report.profile.name}, sha256 {report.profile_sha256[:12]}")
    return lines


def _trials(count: int) -> str:
    return f"{count} trial{'s' * (count != 1)}"
