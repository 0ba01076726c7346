"""A batch by arm: a line for each arm and model, and one for its difference to the first arm with the same model.

Every planned unit is either counted or left out for a stated reason. Figures are means over tasks of each task's
attempts, with intervals clustered by task (`scoring.statistics.clustered`). The cost of a unit is that of its agent in
all turns, of its expert, and of the trials that reruns replaced; plans are shared and stand beside it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from scoring.arms.units import Unit, unit_of
from scoring.interventions.plan_costs import expert_total, plans_total
from scoring.rows import TrialRow
from scoring.selecting.selection import Selection, passed_and_quality
from scoring.statistics.clustered import Paired, mean_by_task, paired_mean, paired_rate, rate_by_task
from scoring.statistics.diagnostics import Total
from scoring.statistics.intervals import Estimate
from scoring.statistics.sums import known_sum


class ArmLine(BaseModel):
    """The arm of a batch and the model that a line is about."""

    model_config = ConfigDict(frozen=True)

    batch: str
    arm: str
    model: str


class ArmRow(ArmLine):
    """Figures of one arm with one model. `units` = `counted` + all of `left_out`."""

    units: int
    """Planned units: attempts at the tasks of the grid. A chain of turns is one."""
    counted: int
    left_out: dict[str, int]
    """Number of units without a result, by the reason."""
    unjudged: int
    """Counted units without a verdict; they are in costs and times only."""
    tasks: int
    """Tasks with a counted unit."""
    pass_rate: Estimate
    quality: Estimate
    usd: Estimate
    """Cost of a unit in US dollars, over known costs."""
    wall_s: Estimate
    """Time of a unit in seconds, of all its turns, over known times."""
    total: Total
    """Cost of all counted units."""
    superseded: int
    """Trials that reruns replaced; their costs are among those of their units."""
    superseded_usd: float | None
    """Part of `total` that they cost. None if it is unknown."""
    expert: Total | None
    """Part of `total` that experts cost. None without experts."""
    plans: Total | None
    """Cost of the different plans, each counted once, which is not part of `total`. None without plans."""


class ArmDifference(ArmLine):
    """One arm less the first one with the same model, paired by task.

    A detectable difference is the smallest one that as many tasks and attempts would show to differ from 0 with a
    probability of 0.8, at the level of the intervals. None without an interval.
    """

    against: str
    pass_rate: Estimate
    detectable_pass_rate: float | None
    quality: Estimate
    detectable_quality: float | None
    usd: Estimate
    detectable_usd: float | None
    wall_s: Estimate
    detectable_wall_s: float | None


@dataclass(frozen=True)
class ArmTables:
    """Both tables: batches and models in the order of the units, arms in that of the spec."""

    rows: tuple[ArmRow, ...] = ()
    differences: tuple[ArmDifference, ...] = ()


def arm_tables(units: Iterable[Unit], selection: Selection, *, level: float) -> ArmTables:
    """Return the tables of these units, whose trials are among the selected ones if they have a result."""
    members: defaultdict[tuple[str, str, str], list[Unit]] = defaultdict(list)
    for unit in units:
        members[unit.batch, unit.model, unit.arm].append(unit)
    lines = {(batch, model): place for place, (batch, model, _) in reversed([*enumerate(members)])}
    order = sorted(members, key=lambda key: (lines[key[:2]], members[key][0].place))
    counted = {unit_of(row): row for row in selection.rows}
    every = {unit_of(row): row for row in selection.every}
    rows, differences = [], []
    first: dict[tuple[str, str], tuple[str, list[TrialRow]]] = {}
    for key in order:
        batch, model, arm = key
        line = {"batch": batch, "model": model, "arm": arm}
        of_arm = [counted[unit.directory] for unit in members[key] if unit.directory in counted]
        reasons = Counter(_reason(unit, every) for unit in members[key] if unit.directory not in counted)
        rows.append(_row(line, of_arm, reasons, level))
        if (batch, model) in first:
            against, reference = first[batch, model]
            differences.append(_difference(line, of_arm, against, reference, level))
        else:
            first[batch, model] = arm, of_arm
    return ArmTables(tuple(rows), tuple(differences))


def cost_of_unit(row: TrialRow) -> float | None:
    """Return the cost of a unit: of its agent in all turns and replaced trials, and of its expert."""
    facts = row.interventions
    return known_sum([row.cost_usd, *([] if facts.expert_costs is None else [facts.expert_usd])])


def _reason(unit: Unit, every: Mapping[str, TrialRow]) -> str:
    """Return why a unit has no result that counts."""
    row = every.get(unit.directory)
    if row is None:
        return unit.state or "not among the trials given"
    if row.completed:
        return "flagged for a violation"
    if row.infrastructure:
        return "evaluator failed" if row.exit_reason != "infrastructure" else f"ended by {row.exit_cause}"
    return unit.state or "not finished"


def _row(line: Mapping[str, str], rows: Sequence[TrialRow], left_out: Mapping[str, int], level: float) -> ArmRow:
    judged = [row for row in rows if _is_judged(row)]
    tasks = {row.task for row in rows}
    passes, qualities = _by_task(judged, _passed), _by_task(judged, _quality)
    costs, times = _by_task(rows, cost_of_unit), _by_task(rows, _wall_s)
    return ArmRow(
        **line,
        units=len(rows) + sum(left_out.values()),
        counted=len(rows),
        left_out=dict(sorted(left_out.items())),
        unjudged=len(rows) - len(judged),
        tasks=len(tasks),
        pass_rate=rate_by_task(passes, missing=len(tasks) - len(passes), level=level),
        quality=mean_by_task(qualities, missing=len(tasks) - len(qualities), level=level, least=0, most=1),
        usd=mean_by_task(costs, missing=len(tasks) - len(costs), level=level, least=0),
        wall_s=mean_by_task(times, missing=len(tasks) - len(times), level=level, least=0),
        total=Total.of([cost_of_unit(row) for row in rows]),
        superseded=sum(row.superseded for row in rows),
        superseded_usd=known_sum(row.superseded_usd for row in rows),
        expert=expert_total(rows),
        plans=plans_total(rows),
    )


def _difference(
    line: Mapping[str, str], rows: Sequence[TrialRow], against: str, reference: Sequence[TrialRow], level: float
) -> ArmDifference:
    def paired(value: Callable[[TrialRow], float | None], *, judged: bool = False) -> Paired:
        sides = ([row for row in side if _is_judged(row) or not judged] for side in (rows, reference))
        ours, theirs = (_by_task(side, value) for side in sides)
        return (paired_rate if value is _passed else paired_mean)(ours, theirs, level=level)

    passed, quality = paired(_passed, judged=True), paired(_quality, judged=True)
    usd, wall_s = paired(cost_of_unit), paired(_wall_s)
    return ArmDifference(
        **line,
        against=against,
        pass_rate=passed.difference,
        detectable_pass_rate=passed.detectable,
        quality=quality.difference,
        detectable_quality=quality.detectable,
        usd=usd.difference,
        detectable_usd=usd.detectable,
        wall_s=wall_s.difference,
        detectable_wall_s=wall_s.detectable,
    )


def _by_task(rows: Iterable[TrialRow], value: Callable[[TrialRow], float | None]) -> dict[str, list[float]]:
    by_task: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        if (number := value(row)) is not None:
            by_task[row.task].append(number)
    return by_task


def _is_judged(row: TrialRow) -> bool:
    return row.judged or row.infrastructure


def _passed(row: TrialRow) -> float:
    return float(passed_and_quality(row)[0])


def _quality(row: TrialRow) -> float:
    return passed_and_quality(row)[1]


def _wall_s(row: TrialRow) -> float | None:
    return row.wall_s
