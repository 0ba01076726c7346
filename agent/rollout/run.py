"""Runs a rollout: everything is resolved and checked first, then one child follows the other, each to its verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent.continuation.fork import at_step, fork
from agent.errors import UserError
from agent.loop.worker import LoopWorker
from agent.models.bounds import FREE_EXPERT, CostBound, cost_bound
from agent.reports.prices import price_problem
from agent.rollout.children import ForkedTrial, children_of, cost_of, forks_of, settings_of, status_of
from agent.rollout.plan import Count, Ended, RolloutPlan
from agent.rollout.points import expected_losses, parse_steps
from agent.trial.options import OptionChanges
from agent.trial.order import Order
from agent.trial.outcome import Outcome
from agent.trial.run import run_new
from scoring.interventions.rollouts import Run, Spent
from trajectories.interrupts import held, interruptible
from trajectories.reading.reader import first_event
from trajectories.reading.runs import current_summary
from trajectories.reading.summary import Summary
from trajectories.record.events import ModelRef
from trajectories.writing.recorder import Observer

_FREE = ("script", "replay", "human", "oracle", "nop")
"""Names of models that cannot go on by themselves, or that do the same from every step."""

Watch = Callable[[Order, int, int], AbstractContextManager[Observer]]
"""Shows the progress of a child: its order, the step it begins after, and its number in this run."""


@dataclass
class Rollout:
    """A rollout that can start, and what came of it so far."""

    parent: Path
    steps: tuple[int, ...]
    changes: OptionChanges
    order: Order
    """Order of the children of the first step; the others have the same settings."""
    plan: RolloutPlan
    bound: CostBound
    losses: Mapping[int, tuple[str, ...]]
    """State that each step will lack, as far as it is known before the start."""
    settings: str
    """Hash of the settings that all children share."""
    cost_limit_usd: float | None
    outcomes: list[Outcome] = field(default_factory=list)
    costs: list[Spent] = field(default_factory=list)

    @property
    def largest_cost_usd(self) -> float | None:
        """Largest possible cost of all children together; None if nothing bounds it."""
        return self.bound.of(self.plan.planned, self.cost_limit_usd)

    def run(self, watch: Watch) -> None:
        """Run children until the plan stops. An interrupt closes the child that runs, and stops the plan.

        Raises: UserError, MachineError, RecordError if a child cannot begin.
        """
        with held():
            while (step := self.plan.next()) is not None:
                try:
                    with interruptible():
                        order, start = fork(self.parent, step, **self.changes)
                except KeyboardInterrupt:
                    self.plan.interrupt()
                    return
                self.plan.start()
                order = replace(order, budget_usd=self.plan.left_usd)
                with watch(order, step, self.plan.started) as observer:
                    outcome, summary = run_new(order, start, LoopWorker(order), observer)
                self._end(step, outcome, summary)

    def _end(self, step: int, outcome: Outcome, summary: Summary) -> None:
        cost = cost_of(outcome.directory, summary)
        self.outcomes.append(outcome)
        self.costs.append(cost)
        verdict = summary.verdict
        counts = verdict is not None and status_of(summary) == "counted"
        self.plan.end(
            Ended(
                step,
                passed=bool(verdict.passed) if verdict is not None and counts else None,
                cost_usd=cost.at_least_usd,
                interrupted=outcome.interrupted,
                failed=outcome.exit.reason == "infrastructure" or outcome.evaluator_failed,
            )
        )

    def as_run(self) -> Run:
        """Return this run for the report."""
        return Run(
            planned=self.plan.planned,
            started=self.plan.started,
            stopped=self.plan.stopped or "error",
            cost=Spent.sum(self.costs),
            cost_limit_usd=self.cost_limit_usd,
        )


def prepare(
    parent: Path,
    at: str,
    times: int,
    changes: OptionChanges,
    *,
    precision: float | None = None,
    cost_limit_usd: float | None = None,
) -> Rollout:
    """Resolve and check a rollout; nothing is started.

    Raises: UserError, MachineError, RecordError.
    """
    first = first_event(parent)
    if "model" not in changes and (first.imported is not None or first.model.name in _FREE):
        origin = "imported" if first.imported is not None else f"made by {first.model.asked}"
        raise UserError(f"{parent.name} was {origin}; name the model of the children with --model")
    if first.imported is not None and "task" not in changes:
        raise UserError(f"{parent.name} was imported; name the task that judges its children with --task")
    steps = parse_steps(at, current_summary(parent).steps, parent.name)
    changes = {**changes, "evaluate": True}
    order, start = fork(parent, steps[0], **changes)
    kind, settings = order.spec.kind, settings_of(start.first_event(order))
    starts = [start, *(at_step(start, step, order) for step in steps[1:])]
    losses = {point.step: expected_losses(point, kind) for point in starts}
    if not order.evaluate:
        raise UserError(f"{parent.name}: {order.task.id} has no evaluation, so its children could not pass or fail")
    expert = None if order.expert is None else order.expert.guidance.model
    if cost_limit_usd is not None:
        _check_prices(order, expert, cost_limit_usd)
    plan = RolloutPlan(
        steps, times, before=_before(parent, settings), precision=precision, cost_limit_usd=cost_limit_usd
    )
    if precision is not None:
        _check_precision(plan, steps, times, precision)
    bound = cost_bound(order.model.info, order.limits, order.prices, expert, "child")
    return Rollout(parent, steps, changes, order, plan, bound, losses, settings, cost_limit_usd)


def _before(parent: Path, settings: str) -> dict[int, Count]:
    """Return the counts of earlier children with the same settings, by step."""
    counts: dict[int, Count] = {}
    for child in children_of(_same(forks_of(parent), settings)):
        if child.status == "counted":
            counts[child.step] = counts.get(child.step, Count()).plus(bool(child.passed))
    return counts


def _same(forks: list[ForkedTrial], settings: str) -> list[ForkedTrial]:
    return [fork for fork in forks if fork.settings == settings]


def _check_prices(order: Order, expert: ModelRef | None, cost_limit_usd: float) -> None:
    """Check that a limit on all children can be kept: every model that costs something has a price."""
    priced = [] if order.model.info.free is not None else [order.model.info.ref.name]
    priced += [expert.name] if expert is not None and expert.name != FREE_EXPERT else []
    for name in priced:
        if problem := price_problem(order.prices, name):
            raise UserError(f"--cost-limit {cost_limit_usd:g}: {problem}, so the limit could not be kept; leave it out")


def _check_precision(plan: RolloutPlan, steps: tuple[int, ...], times: int, precision: float) -> None:
    for step in steps:
        if (least := plan.least_half_width(step)) > precision:
            raise UserError(
                f"--precision {precision:g} cannot be reached with --times {times}: even if all children of step "
                f"{step} agree, the half-width is {least:.3f}; choose more --times"
            )
