"""`score(rows)` scores a batch: it selects the trials that count and puts the tables together into a `Report`.

Formulas are in `scoring.agentmeter`, `scoring.statistics` and `scoring.families`; nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from scoring.agentmeter.profiles import Profile
from scoring.agentmeter.tiers import Tier, tiers_from_words, tiers_of
from scoring.arms.tables import arm_tables
from scoring.arms.units import Unit, with_arms
from scoring.choices import AttemptRule, CostKind, DuplicateRule, InfrastructureRule, IntegrityBy, IntegrityRule
from scoring.errors import ScoringError
from scoring.families import defaults
from scoring.families.family_rows import longcli_rows, mode_rows, suite_rows
from scoring.integrity import with_flags
from scoring.interventions.chains import of_benchmark
from scoring.interventions.modes import intervention_rows
from scoring.notes import about_arms, notes
from scoring.report import Configuration, Counts, Report
from scoring.report_rows import RowMaker
from scoring.rows import TrialRow
from scoring.selecting.judged import kept_apart
from scoring.selecting.selection import by_setup, select_trials, with_labels
from scoring.selecting.superseded import without_superseded
from scoring.statistics.intervals import LEVEL, REPLICATES, SEED
from scoring.violations import ViolationsTable, flagged_by_setup


def score(
    rows: Iterable[TrialRow],
    profile: Profile | None = None,
    *,
    tiers: Mapping[str, str] | None = None,
    tasks: Collection[str] | None = None,
    cost: CostKind | None = None,
    infrastructure: InfrastructureRule = InfrastructureRule.EXCLUDE,
    duplicates: DuplicateRule = DuplicateRule.REFUSE,
    attempts: AttemptRule = AttemptRule.LATEST,
    integrity: IntegrityRule = IntegrityRule.SHOW,
    integrity_by: IntegrityBy | None = None,
    against: str | Mapping[str, str] | None = None,
    level: float = LEVEL,
    seed: int = SEED,
    replicates: int = REPLICATES,
    units: Collection[Unit] = (),
) -> Report:
    """Score trials of one benchmark.

    `profile` has the budgets (default: the benchmark's, `scoring.families.defaults`), `tiers` the tier of every task
    (default: those that the benchmark published, otherwise those that trials record), `tasks` every task of the
    benchmark (default: those of `tiers` and of the trials). Both are denominators, so tasks that nobody tried count.
    `against` is
    the setup or label that all others are compared with (default: the first, best line of the table), or one for each
    setup. Flagged trials are treated by the rule `integrity`; `integrity_by` is the evidence that flags them, of what
    the rows hold (`scoring.integrity.with_rules` adds the findings by rule). `units` are the planned ones of a batch,
    whose trials are reported by arm; of a unit that was run again only the last trial counts, with the costs of all.

    Raises: ScoringError as `select_trials` and `tiers_of` do, for an unknown tier, an unknown `against`, a level that
    is not between 0 and 1, or fewer than one replicate.
    """
    if not 0 < level < 1:
        raise ScoringError(f"a level of {level}: it must lie between 0 and 1, for instance 0.95")
    if replicates < 1:
        raise ScoringError(f"{replicates} bootstrap replicates: at least 1 is needed")
    all_rows = without_superseded(tuple(rows))
    all_rows = with_labels(kept_apart(with_arms(with_flags(all_rows, integrity_by), units)))
    selection = select_trials(all_rows, infrastructure=infrastructure, duplicates=duplicates, integrity=integrity)
    profile = profile or defaults.profile_of(all_rows[0].benchmark)
    if tiers is None:
        published = defaults.published_tiers(all_rows[0].benchmark)
        tiers = within(published, selection.rows, tasks) or recorded_tiers(all_rows, selection.rows, tasks)
    own = of_benchmark(selection.trials)
    maker = RowMaker(
        selection.rows,
        profile,
        tiers_from_words(tiers),
        tasks or (),
        attempts=attempts,
        level=level,
        seed=seed,
        replicates=replicates,
        of_benchmark=own,
    )
    flagged = flagged_by_setup(selection.before)
    configurations = [
        line.model_copy(update={"flagged": flagged.get(line.setup)})
        for line in maker.configurations([row for row in selection.every if row.setup in maker.names])
    ]
    table = ViolationsTable(selection.before, maker.tasks, attempts=attempts, level=level)
    pairs = _pairs(against, configurations)
    by_arm = arm_tables(units, selection, level=level)
    return Report(
        benchmark=all_rows[0].benchmark,
        cost=cost,
        infrastructure=infrastructure,
        duplicates=duplicates,
        attempts=attempts,
        integrity=integrity,
        integrity_by=integrity_by,
        level=level,
        seed=seed,
        replicates=replicates,
        profile=profile,
        profile_sha256=profile.sha256,
        counts=Counts(
            given=len(all_rows),
            counted=len(selection.trials),
            configurations=len(configurations),
            tasks=len(maker.tasks),
            infrastructure=selection.infrastructure,
            unfinished=selection.unfinished,
            superseded=selection.superseded,
            replaced=sum(row.superseded for row in all_rows),
            unjudged=selection.unjudged,
            unknown_cost=selection.unknown_cost,
            flagged=selection.flagged,
            examined=selection.examined,
        ),
        notes=(
            *about_arms(by_arm, all_rows),
            *notes(
                all_rows,
                selection,
                profile,
                maker.tiers,
                maker.tasks,
                infrastructure,
                integrity,
                has_arms=bool(by_arm.rows),
            ),
        ),
        configurations=tuple(configurations),
        tiers=tuple(maker.tier_rows(configurations)),
        effort=tuple(maker.effort_rows(configurations)),
        passes=tuple(maker.passes_rows(configurations)),
        headlines=tuple(maker.headline_rows(configurations)),
        modes=tuple(mode_rows(selection.trials)),
        interventions=tuple(intervention_rows(selection.trials, level=level, seed=seed, replicates=replicates)),
        longcli=tuple(longcli_rows(by_setup(row for row in selection.trials if not row.interventions.tests_revealed))),
        suites=tuple(suite_rows(by_setup(own))),
        violations=tuple(table.rows(integrity_by)),
        panels=tuple(table.panels()),
        comparisons=tuple(maker.comparison(configuration, reference) for configuration, reference in pairs),
        arms=by_arm.rows,
        arm_differences=by_arm.differences,
        task_tiers=dict(sorted(maker.tiers.items())),
    )


def within(tiers: Mapping[str, Tier], counted: Iterable[TrialRow], tasks: Collection[str] | None) -> Mapping[str, Tier]:
    """Return the tiers of the `tasks` that the caller names and of those with a trial that counts; all of them if the
    caller names none."""
    named = {row.task for row in counted} | set(tasks or ())
    return {task: tier for task, tier in tiers.items() if task in named} if tasks else tiers


def recorded_tiers(
    rows: Sequence[TrialRow], counted: Iterable[TrialRow], tasks: Collection[str] | None
) -> dict[str, Tier]:
    """Return the tiers that trials record, of the `tasks` that the caller names and of those with a trial that counts.

    A task whose trials are all left out keeps its recorded tier if the caller names the task.

    Raises: ScoringError as `tiers_of` does.
    """
    named = {row.task for row in counted} | set(tasks or ())
    return tiers_of([row for row in rows if row.task in named])


def _pairs(
    against: str | Mapping[str, str] | None, configurations: Sequence[Configuration]
) -> list[tuple[Configuration, Configuration]]:
    """Return each configuration that is compared, with its reference."""
    if isinstance(against, Mapping):
        by_setup = {configuration.setup: configuration for configuration in configurations}
        references = [by_setup.get(against.get(configuration.setup, "")) for configuration in configurations]
        pairs = zip(configurations, references, strict=True)
        return [(configuration, reference) for configuration, reference in pairs if reference is not None]
    if not configurations:  # chains that have not come to their end
        return []
    reference = configurations[0] if against is None else _named(against, configurations)
    return [(configuration, reference) for configuration in configurations if configuration != reference]


def _named(against: str, configurations: Sequence[Configuration]) -> Configuration:
    for configuration in configurations:
        if against in (configuration.setup, configuration.label):
            return configuration
    names = ", ".join(repr(configuration.label) for configuration in configurations[:8])
    raise ScoringError(f"no configuration {against!r} to compare with: there are {names}")
