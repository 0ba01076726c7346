"""Notes beside the figures: trials that were left out, unknown costs, and the reasons for missing figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from scoring.agentmeter.profiles import Profile
from scoring.agentmeter.tiers import Tier, TierGap, tier_gap
from scoring.arms.tables import ArmTables
from scoring.choices import InfrastructureRule, IntegrityBy, IntegrityRule
from scoring.interventions.chains import attempts_of
from scoring.report import Note, Report
from scoring.rows import TrialRow
from scoring.selecting.selection import Selection, mixed_conditions
from scoring.statistics.clustered import POWER
from scoring.statistics.intervals import no_bootstrap
from trajectories.record.interventions import BASE
from trajectories.record.texts.text import quantity

_ENOUGH = 10
"""Tasks above which a bootstrap is good enough. Measured with uniform qualities: over 10 tasks 93 % of the intervals
hold the mean, over 5 tasks 88 %, over 3 tasks 74 %."""


def notes(
    rows: Sequence[TrialRow],
    selection: Selection,
    profile: Profile,
    tiers: Mapping[str, Tier],
    tasks: Sequence[str],
    infrastructure: InfrastructureRule,
    integrity: IntegrityRule,
    *,
    has_arms: bool = False,
) -> Iterator[Note]:
    """Return the notes about all trials in `rows`, those of them that count, and all tasks of the benchmark."""
    for text in profile.notes:
        yield Note(f"profile {profile.name}: {text}", "profile")
    yield from _about_trials(selection, infrastructure)
    yield from _about_chains(selection)
    yield from _about_flags(selection, integrity)
    if revealed := sum(row.interventions.tests_revealed for row in rows):
        text = "whose agents were shown hidden tests (--reveal-tests): not in the benchmark's own tables"
        yield Note(f"{quantity(revealed, 'trial')} {text}", "revealed")
    if apart := sum((row.judged_as or "").endswith("not-comparable") for row in rows):
        text = "whose score cannot be compared with published ones (agent show tells why)"
        yield Note(f"{quantity(apart, 'trial')} {text}", "not_comparable")
    if (gap := tier_gap(tiers, tasks)) is not None:
        yield Note(f"no AMS: {_gap_text(gap)}", "no_ams")
    left_out = {row.setup for row in rows} - {row.setup for row in selection.rows}
    if left_out:
        labels = ", ".join(sorted({row.label for row in rows if row.setup in left_out}))
        yield Note(f"no trial that counts, so no line in the tables: {labels}", "no_trials")
    tried = Counter(setup for setup, _ in {(row.setup, row.task) for row in selection.rows})
    if few := [count for count in tried.values() if 2 <= count < _ENOUGH]:
        yield Note(
            f"bootstrap over few tasks ({min(few)}): below {_ENOUGH}, all intervals except Wilson's"
            f"{' and those of arms' * has_arms} are too narrow (of 95%, half hold the true value over 2 tasks, "
            "88% over 5)",
            "few_tasks",
        )
    if reason := no_bootstrap(max(2, len(tasks))):
        yield Note(reason, "no_intervals")
    for mixed in mixed_conditions(selection.rows):
        yield Note(
            f"{mixed.label}: its trials of {mixed.task} were made under {mixed.configurations} different limits, "
            "images or environments",
            "mixed_conditions",
        )


def about_arms(tables: ArmTables, rows: Sequence[TrialRow]) -> Iterator[Note]:
    """Return the notes about a batch: units without a result, what the tables by arm hold, and trials run again."""
    left_out: Counter[str] = Counter()
    for row in tables.rows:
        left_out.update(row.left_out)
    units = sum(row.units for row in tables.rows)
    if left_out:
        reasons = ", ".join(f"{number} {reason}" for reason, number in sorted(left_out.items()))
        yield Note(f"{sum(left_out.values())} of {quantity(units, 'planned unit')} have no result: {reasons}", "arms")
    if tables.rows:
        yield Note(
            "arms: means over tasks of each task's attempts, intervals clustered by task; USD: agent, expert and "
            "trials that were run again; differences are paired by task, with the first arm of the same model; "
            f"detectable: the smallest difference found with a probability of {POWER:.0%} by as many tasks and "
            "attempts",
            "arms",
        )
    if replaced := sum(row.superseded for row in rows):
        yield Note(
            f"{quantity(replaced, 'trial')} that infrastructure ended {'was' if replaced == 1 else 'were'} run again: "
            "the last one counts, with the costs and tokens of all",
            "superseded",
        )


def _about_trials(selection: Selection, infrastructure: InfrastructureRule) -> Iterator[Note]:
    if selection.infrastructure:
        treatment = "left out" if infrastructure == InfrastructureRule.EXCLUDE else "counted as failed"
        trials = quantity(selection.infrastructure, "trial")
        yield Note(f"{trials} ended by the infrastructure or its evaluator: {treatment}", "infrastructure")
    if selection.unfinished:
        trials = quantity(selection.unfinished, "trial")
        yield Note(f"{trials} not finished (running, crashed or interrupted): left out", "unfinished")
    if selection.superseded:
        trials = quantity(selection.superseded, "trial")
        yield Note(f"{trials} left out for a later one with the same identity and attempt", "superseded")
    if selection.unjudged:
        trials = quantity(selection.unjudged, "trial")
        yield Note(f"{trials} without a verdict: no part of rates and means, 0 in AMS and headlines", "unjudged")
    if selection.unknown_cost:
        trials = quantity(selection.unknown_cost, "trial")
        models = ", ".join(sorted({row.model for row in selection.rows if row.cost_usd is None}))
        yield Note(f"{trials} of unknown cost ({models}): within no budget, totals unknown", "unknown_cost")


def _about_chains(selection: Selection) -> Iterator[Note]:
    """Explain what the tables make of turns and other modes, if there are any."""
    turns = [row for row in selection.trials if row.turn is not None]
    if turns:
        chains = quantity(len({attempt.last.directory for attempt in attempts_of(turns)}), "chain")
        yield Note(
            f"{quantity(len(turns), 'trial')} are turns of {chains}: a chain is one attempt, with the state at its "
            "last turn and the costs, tokens and time of all turns; only the first turn counts in headlines and in "
            "tables of the benchmark without turns",
            "turns",
        )
    if any(row.mode != BASE for row in selection.trials):
        yield Note(
            "modes: T1, T2, ... are the states after these turns, each with the time and costs of all turns up to it; "
            "any turn: passed after this turn or one before; carried on: passed and stopped before; missing: no result "
            "at this turn, and no part of its means; less: differences, paired by task; plans USD: each plan once; "
            "costs of experts and plans are as recorded, and beside those of the agent",
            "modes",
        )


def _about_flags(selection: Selection, integrity: IntegrityRule) -> Iterator[Note]:
    """Name the flagged trials and their treatment, and those that were not examined if that matters."""
    trials = quantity(selection.flagged, "trial")
    if selection.flagged:
        treatment = {
            IntegrityRule.SHOW: "scored like all others (--integrity exclude or zero)",
            IntegrityRule.EXCLUDE: "left out of all tables, with their costs",
            IntegrityRule.ZERO: "counted as failed with quality 0, at their cost",
        }[integrity]
        yield Note(f"{trials} flagged for a violation of the rules: {treatment}", "flagged")
    unexamined = len(selection.before) - selection.examined
    if unexamined and (selection.examined or integrity != IntegrityRule.SHOW):
        text = f"{quantity(unexamined, 'trial')} not examined for violations, and treated as not flagged"
        yield Note(f"{text} (--integrity-by rules applies the rules to every trial)", "flagged")


_EVIDENCE = {
    None: "the panel if it decided, otherwise the rules; a tampered test system in any case",
    IntegrityBy.PANEL: "the panel",
    IntegrityBy.RULES: "the rules, or a tampered test system",
    IntegrityBy.ANY: "the panel, the rules, or a tampered test system",
}


def _gap_text(gap: TierGap) -> str:
    if len(gap.untiered) == gap.tasks:
        return "no trial records a tier, and none were given (--tiers calibrate or FILE)"
    if gap.untiered:
        shown = ", ".join(gap.untiered[:3]) + (", ..." if len(gap.untiered) > 3 else "")
        return f"{len(gap.untiered)} of {gap.tasks} tasks are in no tier ({shown})"
    return f"no task is in the tier {' or '.join(gap.empty)}"


def basis(report: Report) -> list[str]:
    """Return the lines that every table of the report rests on: intervals, costs, budgets."""
    prices = ", ".join(report.pricing.tables)
    excluded = report.infrastructure == InfrastructureRule.EXCLUDE
    lines = [
        f"intervals: {report.level:.0%}, rates by Wilson, the rest by a bootstrap over tasks ({report.replicates:,} "
        f"replicates, seed {report.seed}); n: trials",
        f"costs: {report.cost or 'as given'}{f', priced with {prices}' if prices else ''}; infrastructure failures: "
        f"{'left out' if excluded else 'counted as failed'}",
    ]
    if report.counts.examined:
        lines.append(f"flagged by {_EVIDENCE[report.integrity_by]}; --integrity {report.integrity}")
    if report.arms:
        lines.insert(1, "intervals of arms: clustered by task, without a bootstrap; n: units with the figure")
    if report.tiers:
        lines.append(f"budgets: profile {report.profile.name}, sha256 {report.profile_sha256[:12]}")
    return lines
