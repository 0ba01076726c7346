"""Scores a batch: `score(rows)` puts together what the other modules compute into a `Report`.

Nothing is computed here that has a formula of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean

from scoring.agentmeter import ams
from scoring.agentmeter.profiles import AGENTMETER, Profile
from scoring.agentmeter.tiers import tiers_given, tiers_of
from scoring.errors import ScoringError
from scoring.families.choose import longcli_rows, mode_rows, suite_rows
from scoring.notes import notes
from scoring.report import (
    Attempts,
    Comparison,
    Configuration,
    Counts,
    EffortRow,
    HeadlineRow,
    PassesRow,
    Report,
    TierRow,
)
from scoring.rows import CostKind, TrialRow
from scoring.selection import (
    Counted,
    Duplicates,
    Infrastructure,
    by_setup,
    counted,
    labels,
    last_turns,
    latest_completed,
    outcome,
)
from scoring.statistics import diagnostics, pareto
from scoring.statistics.intervals import LEVEL, REPLICATES, SEED, Estimate, difference
from scoring.statistics.passes import passes

_MOST_K = 10


def score(
    rows: Iterable[TrialRow],
    profile: Profile = AGENTMETER,
    *,
    tiers: Mapping[str, str] | None = None,
    tasks: Collection[str] | None = None,
    cost: CostKind | None = None,
    infrastructure: Infrastructure = "exclude",
    duplicates: Duplicates = "refuse",
    attempts: Attempts = "latest",
    against: str | Mapping[str, str] | None = None,
    level: float = LEVEL,
    seed: int = SEED,
    replicates: int = REPLICATES,
) -> Report:
    """Score trials of one benchmark.

    `tiers` names the tier of every task (default: what trials record), `tasks` every task of the benchmark (default:
    those of `tiers` and of the trials): both are denominators, also for tasks that nobody tried. `against` is the setup
    or label that others are compared with (default: the first of the table, the best), or for each setup its own.

    Raises: ScoringError as `counted` and `tiers_of` do, for an unknown tier, an unknown `against`, a level outside of
    (0, 1), and no replicates.
    """
    if not 0 < level < 1:
        raise ScoringError(f"a level of {level}: it must lie between 0 and 1, for instance 0.95")
    if replicates < 1:
        raise ScoringError(f"{replicates} bootstrap replicates: at least 1 is needed")
    given = list(rows)
    counted_ones = counted(given, infrastructure=infrastructure, duplicates=duplicates)
    if tiers is None:  # also of a task whose every trial is left out, where the caller says that it is one
        known = {row.task for row in counted_ones.rows} | set(tasks or ())
        tiers = tiers_of([row for row in given if row.task in known])
    scoring = _Scoring(counted_ones, profile, tiers, tasks, attempts, level, seed, replicates)
    configurations = scoring.configurations([row for row in given if row.setup in scoring.names])
    pairs = _pairs(against, configurations)
    return Report(
        benchmark=given[0].benchmark,
        cost=cost,
        infrastructure=infrastructure,
        duplicates=duplicates,
        attempts=attempts,
        level=level,
        seed=seed,
        replicates=replicates,
        profile=profile,
        profile_sha256=profile.sha256,
        counts=Counts(
            given=len(given),
            counted=len(counted_ones.rows),
            configurations=len(configurations),
            tasks=len(scoring.tasks),
            infrastructure=counted_ones.infrastructure,
            unfinished=counted_ones.unfinished,
            superseded=counted_ones.superseded,
            unjudged=counted_ones.unjudged,
            unknown_cost=counted_ones.unknown_cost,
        ),
        notes=tuple(notes(given, counted_ones, profile, scoring.tiers, scoring.tasks, infrastructure)),
        configurations=tuple(configurations),
        tiers=tuple(scoring.tier_rows(configurations)),
        effort=tuple(scoring.effort_rows(configurations)),
        passes=tuple(scoring.passes_rows(configurations)),
        headlines=tuple(scoring.headline_rows(configurations)),
        modes=tuple(mode_rows(counted_ones.rows)),
        longcli=tuple(longcli_rows(scoring.members, scoring.names)),
        suites=tuple(suite_rows(scoring.members, scoring.names)),
        comparisons=tuple(scoring.comparison(one, other) for one, other in pairs),
        task_tiers=dict(sorted(scoring.tiers.items())),
    )


class _Scoring:
    """The trials that count, by configuration, and the choices that all tables share."""

    def __init__(
        self,
        counted_ones: Counted,
        profile: Profile,
        tiers: Mapping[str, str],
        tasks: Collection[str] | None,
        attempts: Attempts,
        level: float,
        seed: int,
        replicates: int,
    ) -> None:
        self.counted = counted_ones
        self.profile = profile
        self.names = labels(counted_ones.rows)
        self.members = by_setup(counted_ones.rows)
        self.tiers = tiers_given(tiers)
        self.tasks = sorted({row.task for row in counted_ones.rows} | set(tasks or ()) | set(self.tiers))
        self.untiered = [task for task in self.tasks if task not in self.tiers]
        self.level, self.seed, self.replicates = level, seed, replicates
        latest = latest_completed(counted_ones.rows)
        self.chosen = {
            setup: [row for row in found if attempts == "all" or latest[setup, row.task] is row]
            for setup, found in self.members.items()
        }
        self.outcomes = {setup: ams.outcomes_of(found) for setup, found in self.chosen.items()}
        self.scored = bool(self.tiers) and not self.untiered
        self._drawn: dict[str, ams.Drawn] = {}

    def configurations(self, given: Sequence[TrialRow]) -> list[Configuration]:
        """The main table, best AMS first, else best quality."""
        lines = [self._configuration(setup, rows) for setup, rows in by_setup(given).items()]
        gaps = diagnostics.best_gaps({one.setup: (one.model, one.ams.value if one.ams else None) for one in lines})
        points = {
            one.setup: (one.passed.quality.value, None if one.passed.usd.unknown else one.passed.cost.value)
            for one in lines
        }
        best = set(pareto.front(points))
        lines = [one.model_copy(update={"gap": gaps[one.setup], "pareto": one.setup in best}) for one in lines]
        return sorted(lines, key=_order)

    def _configuration(self, setup: str, given: Sequence[TrialRow]) -> Configuration:
        rows = self.members[setup]
        tried = {row.task for row in rows}
        estimate = None
        if self.scored:
            drawn = self._drawn[setup] = ams.draw(
                self.outcomes[setup], self.tiers, self.profile, seed=self.seed, replicates=self.replicates
            )
            estimate = drawn.estimate(self.level)
        return Configuration(
            setup=setup,
            label=self.names[setup],
            model=rows[0].model,
            harness=rows[0].harness,
            variant=rows[0].variant,
            trials=len(rows),
            tasks=len(tried),
            missing_tasks=len(self.tasks) - len(tried),
            infrastructure=sum(row.infrastructure for row in given),
            unfinished=sum(not row.completed and not row.infrastructure for row in given),
            unjudged=sum(not row.judged and not row.infrastructure for row in rows),
            passed=diagnostics.passed(
                rows,
                missing=len(self.tasks) - len(tried),
                level=self.level,
                seed=self.seed,
                replicates=self.replicates,
            ),
            ams=estimate,
            gap=None,
            pareto=False,
        )

    def tier_rows(self, configurations: Sequence[Configuration]) -> list[TierRow]:
        if not self.scored:
            return []
        return [
            TierRow(setup=one.setup, label=one.label, score=tier)
            for one in configurations
            for tier in self._drawn[one.setup].ams.tiers
        ]

    def effort_rows(self, configurations: Sequence[Configuration]) -> list[EffortRow]:
        return [
            EffortRow(setup=one.setup, label=one.label, effort=effort)
            for one in configurations
            for effort in diagnostics.effort_by_tier(self.members[one.setup], self.tiers)
        ]

    def passes_rows(self, configurations: Sequence[Configuration]) -> list[PassesRow]:
        """k from 1 to the number of attempts that at least half of the tried tasks have; the others are counted."""
        found = []
        for one in configurations:
            by_task = {
                task: [outcome.passed for outcome in outcomes]
                for task, outcomes in ams.outcomes_of(
                    [row for row in last_turns(self.members[one.setup]) if row.judged or row.infrastructure]
                ).items()
            }
            attempts = sorted(map(len, by_task.values()))
            for k in range(1, min(_MOST_K, attempts[len(attempts) // 2] if attempts else 0) + 1):
                found.append(PassesRow(setup=one.setup, label=one.label, passes=passes(by_task, k)))
        return found

    def headline_rows(self, configurations: Sequence[Configuration]) -> list[HeadlineRow]:
        found = []
        for one in configurations:
            judged = {row.task for row in self.chosen[one.setup] if row.judged or row.infrastructure}
            line = diagnostics.headline(
                {
                    task: fmean(item.quality for item in items) if task in judged else None
                    for task, items in self.outcomes[one.setup].items()
                },
                len(self.tasks),
                level=self.level,
                seed=self.seed,
                replicates=self.replicates,
            )
            found.append(HeadlineRow(setup=one.setup, label=one.label, headline=line))
        return found

    def comparison(self, one: Configuration, reference: Configuration) -> Comparison:
        """Over judged trials that both have; AMS over all tasks of the tiers."""
        sides = [self._by_task(one.setup), self._by_task(reference.setup)]
        paired: Callable[..., Estimate] = partial(
            difference, level=self.level, seed=self.seed, replicates=self.replicates
        )
        return Comparison(
            setup=one.setup,
            label=one.label,
            against=reference.setup,
            against_label=reference.label,
            pass_rate=paired(*({t: [float(p) for p, _ in v] for t, v in side.items()} for side in sides)),
            quality=paired(*({t: [q for _, q in v] for t, v in side.items()} for side in sides)),
            ams=self._drawn[one.setup].less(self._drawn[reference.setup], self.level) if self.scored else None,
        )

    def _by_task(self, setup: str) -> dict[str, list[tuple[bool, float]]]:
        found: dict[str, list[tuple[bool, float]]] = {}
        for row in self.members[setup]:
            if row.judged or row.infrastructure:
                found.setdefault(row.task, []).append(outcome(row))
        return found


def _order(one: Configuration) -> tuple[float, float, str]:
    score = one.ams.value if one.ams is not None else None
    quality = one.passed.quality.value
    return (-(score if score is not None else -1), -(quality if quality is not None else -1), one.label)


def _pairs(
    against: str | Mapping[str, str] | None, configurations: Sequence[Configuration]
) -> list[tuple[Configuration, Configuration]]:
    """Who is compared with whom."""
    if isinstance(against, Mapping):
        known = {one.setup: one for one in configurations}
        pairs = [(one, known.get(against.get(one.setup, ""))) for one in configurations]
        return [(one, other) for one, other in pairs if other is not None]
    reference = configurations[0] if against is None else _named(against, configurations)
    return [(one, reference) for one in configurations if one != reference]


def _named(against: str, configurations: Sequence[Configuration]) -> Configuration:
    for one in configurations:
        if against in (one.setup, one.label):
            return one
    names = ", ".join(repr(one.label) for one in configurations[:8])
    raise ScoringError(f"no configuration {against!r} to compare with: there are {names}")
