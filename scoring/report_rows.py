"""The rows of a report's tables, made from the trials that count."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean

from scoring.agentmeter.ams import outcomes_of
from scoring.agentmeter.bootstrap import AmsSample, sample
from scoring.agentmeter.profiles import Profile
from scoring.agentmeter.tiers import Tier
from scoring.choices import AttemptRule
from scoring.interventions.plan_costs import expert_total, plans_total
from scoring.report import Comparison, Configuration, EffortRow, HeadlineRow, PassesRow, TierRow
from scoring.rows import TrialRow
from scoring.selecting.selection import by_setup, labels, passed_and_quality, scored_attempts
from scoring.statistics import diagnostics, pareto
from scoring.statistics.intervals import Estimate, difference
from scoring.statistics.passes import passes

_MOST_K = 10
"""Largest k of pass@k in a report."""


class RowMaker:
    """The trials that count, by setup, and the choices that all tables share."""

    def __init__(
        self,
        rows: Sequence[TrialRow],
        profile: Profile,
        tiers: Mapping[str, Tier],
        tasks: Collection[str],
        *,
        attempts: AttemptRule,
        level: float,
        seed: int,
        replicates: int,
        of_benchmark: Sequence[TrialRow],
    ) -> None:
        self.names = labels(rows)
        self.members = by_setup(rows)
        self.tiers = tiers
        self.tasks = sorted({row.task for row in rows} | set(tasks) | set(tiers))
        self._profile = profile
        self._level, self._seed, self._replicates = level, seed, replicates
        self._chosen = scored_attempts(rows, attempts)
        self._outcomes = {setup: outcomes_of(trials) for setup, trials in self._chosen.items()}
        self._of_benchmark, self._outcomes_of_benchmark = self._chosen, self._outcomes
        if len(of_benchmark) != len(rows) or any(row.turn is not None for row in of_benchmark):
            self._of_benchmark = scored_attempts(of_benchmark, attempts)
            self._outcomes_of_benchmark = {setup: outcomes_of(some) for setup, some in self._of_benchmark.items()}
        self._has_ams = bool(tiers) and all(task in tiers for task in self.tasks)
        self._samples: dict[str, AmsSample] = {}

    def configurations(self, rows: Sequence[TrialRow]) -> list[Configuration]:
        """Return the main table, best AMS first, or best quality without AMS.

        `rows` are all trials of these setups, including those that do not count.
        """
        lines = [self._configuration(setup, trials) for setup, trials in by_setup(rows).items()]
        gaps = diagnostics.best_gaps({line.setup: (line.model, line.ams.value if line.ams else None) for line in lines})
        points = {
            line.setup: (line.passed.quality.value, None if line.passed.usd.unknown else line.passed.cost.value)
            for line in lines
        }
        best = set(pareto.front(points))
        lines = [line.model_copy(update={"gap": gaps[line.setup], "pareto": line.setup in best}) for line in lines]
        return sorted(lines, key=_order)

    def _configuration(self, setup: str, all_rows: Sequence[TrialRow]) -> Configuration:
        rows = self.members[setup]
        tried = {row.task for row in rows}
        estimate = None
        if self._has_ams:
            ams = self._samples[setup] = sample(
                self._outcomes[setup], self.tiers, self._profile, seed=self._seed, replicates=self._replicates
            )
            estimate = ams.estimate(self._level)
        return Configuration(
            setup=setup,
            label=self.names[setup],
            model=rows[0].model,
            harness=rows[0].harness,
            variant=rows[0].variant,
            trials=len(rows),
            tasks=len(tried),
            missing_tasks=len(self.tasks) - len(tried),
            infrastructure=sum(row.infrastructure for row in all_rows),
            unfinished=sum(not row.completed and not row.infrastructure for row in all_rows),
            unjudged=sum(not row.judged and not row.infrastructure for row in rows),
            passed=diagnostics.passed(
                rows,
                missing=len(self.tasks) - len(tried),
                level=self._level,
                seed=self._seed,
                replicates=self._replicates,
            ),
            plans=plans_total(rows),
            expert=expert_total(rows),
            ams=estimate,
            gap=None,
            pareto=False,
        )

    def tier_rows(self, configurations: Sequence[Configuration]) -> list[TierRow]:
        """Return a row for each configuration and tier; none without AMS."""
        if not self._has_ams:
            return []
        return [
            TierRow(setup=configuration.setup, label=configuration.label, score=tier)
            for configuration in configurations
            for tier in self._samples[configuration.setup].ams.tiers
        ]

    def effort_rows(self, configurations: Sequence[Configuration]) -> list[EffortRow]:
        """Return the effort of passed and of failed trials, for each configuration and tier."""
        return [
            EffortRow(setup=configuration.setup, label=configuration.label, effort=effort)
            for configuration in configurations
            for effort in diagnostics.effort_by_tier(self.members[configuration.setup], self.tiers)
        ]

    def passes_rows(self, configurations: Sequence[Configuration]) -> list[PassesRow]:
        """Return pass@k for k from 1 to the number of attempts that at least half of the tried tasks have.

        Tasks with fewer attempts are counted as missing.
        """
        rows = []
        for configuration in configurations:
            judged = _judged(self.members[configuration.setup])
            by_task = {task: [outcome.passed for outcome in outcomes] for task, outcomes in outcomes_of(judged).items()}
            attempts = sorted(map(len, by_task.values()))
            most = min(_MOST_K, attempts[len(attempts) // 2] if attempts else 0)
            rows += [
                PassesRow(setup=configuration.setup, label=configuration.label, passes=passes(by_task, k))
                for k in range(1, most + 1)
            ]
        return rows

    def headline_rows(self, configurations: Sequence[Configuration]) -> list[HeadlineRow]:
        """Return resolved, almost and mean of each configuration, over all tasks.

        They are the benchmark's own figures, so of a chain only turn 1 counts, and no trial with revealed tests.
        """
        rows = []
        tasks = len(set(self.tasks).union(*self._outcomes_of_benchmark.values()))
        for configuration in configurations:
            setup = configuration.setup
            if (chosen := self._of_benchmark.get(setup)) is None:
                continue
            judged = {row.task for row in chosen if row.judged or row.infrastructure}
            headline = diagnostics.headline(
                {
                    task: fmean(outcome.quality for outcome in outcomes) if task in judged else None
                    for task, outcomes in self._outcomes_of_benchmark[setup].items()
                },
                tasks,
                level=self._level,
                seed=self._seed,
                replicates=self._replicates,
            )
            rows.append(HeadlineRow(setup=setup, label=configuration.label, headline=headline))
        return rows

    def comparison(self, configuration: Configuration, reference: Configuration) -> Comparison:
        """Return the difference of two configurations: over judged trials of shared tasks, AMS over all tasks."""
        ours, theirs = (_judged(self.members[side.setup]) for side in (configuration, reference))
        paired: Callable[..., Estimate] = partial(
            difference, level=self._level, seed=self._seed, replicates=self._replicates
        )
        ams = None
        if self._has_ams:
            ams = self._samples[configuration.setup].less(self._samples[reference.setup], self._level)
        return Comparison(
            setup=configuration.setup,
            label=configuration.label,
            against=reference.setup,
            against_label=reference.label,
            pass_rate=paired(_by_task(ours, _passes), _by_task(theirs, _passes)),
            quality=paired(_by_task(ours, _quality), _by_task(theirs, _quality)),
            ams=ams,
        )


def _judged(rows: Iterable[TrialRow]) -> list[TrialRow]:
    return [row for row in rows if row.judged or row.infrastructure]


def _by_task(rows: Iterable[TrialRow], value: Callable[[TrialRow], float]) -> dict[str, list[float]]:
    by_task: dict[str, list[float]] = {}
    for row in rows:
        by_task.setdefault(row.task, []).append(value(row))
    return by_task


def _passes(row: TrialRow) -> float:
    return float(passed_and_quality(row)[0])


def _quality(row: TrialRow) -> float:
    return passed_and_quality(row)[1]


def _order(line: Configuration) -> tuple[float, float]:
    score = line.ams.value if line.ams is not None else None
    quality = line.passed.quality.value
    return (-(score if score is not None else -1), -(quality if quality is not None else -1))
