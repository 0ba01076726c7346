"""Makes the report of a rollout from the records of the parent and of its children."""

from __future__ import annotations

from pathlib import Path

from agent.errors import UserError
from agent.rollout.children import ForkedTrial, children_of, forks_of, settings_of
from agent.rollout.points import parse_steps, shared_losses
from agent.rollout.run import Rollout
from scoring.interventions.rollouts import RolloutReport, Spent, largest_drop, step_values
from trajectories.reading.reader import first_event
from trajectories.reading.runs import current_summary
from trajectories.reading.selection import fits


def report_of_run(rollout: Rollout, *, precision: float | None, only_whole: bool) -> RolloutReport:
    """Return the report after a run: all children with its settings, also those of earlier runs."""
    forks = forks_of(rollout.parent)
    chosen = [fork for fork in forks if fork.settings == rollout.settings]
    new = {outcome.directory.name for outcome in rollout.outcomes}
    report = _report(
        rollout.parent,
        chosen,
        steps=rollout.steps,
        model=rollout.order.model.info.ref.asked,
        new=new,
        only_whole=only_whole,
    )
    others = len(forks) - len(chosen)
    return report.model_copy(update={"run": rollout.as_run(), "precision": precision, "other_children": others})


def report_of_earlier(parent: Path, *, at: str | None, model: str | None, only_whole: bool) -> RolloutReport:
    """Return the report of the children that exist, without running any.

    Of children with different settings, those with the parent's own are taken, otherwise those of the newest child.
    `model` is a pattern that selects among them, and `at` the steps.

    Raises: UserError if there is none; RecordError.
    """
    forks = forks_of(parent)
    fitting = [
        fork
        for fork in forks
        if model is None or fits(model, fork.first.model.asked) or fits(model, fork.first.model.name)
    ]
    if not fitting:
        what = f"no fork by {model!r}" if forks else "no forks"
        raise UserError(f"{parent.name} has {what} to report on; give --at STEPS and --times N to make some")
    own = settings_of(first_event(parent))
    newest = max(fitting, key=lambda fork: fork.first.t)
    settings = own if any(fork.settings == own for fork in fitting) else newest.settings
    chosen = [fork for fork in fitting if fork.settings == settings]
    if at is not None:
        wanted = parse_steps(at, current_summary(parent).steps, parent.name)
        chosen = [fork for fork in chosen if fork.step in wanted]
        if not chosen:
            raise UserError(f"{parent.name} has no forks at these steps to report on; give --times N to make some")
    report = _report(parent, chosen, steps=(), model=newest.first.model.asked, new=set(), only_whole=only_whole)
    return report.model_copy(update={"other_children": sum(fork.settings != settings for fork in forks)})


def _report(
    parent: Path, forks: list[ForkedTrial], *, steps: tuple[int, ...], model: str, new: set[str], only_whole: bool
) -> RolloutReport:
    summary = current_summary(parent)
    children = children_of(forks, new)
    kinds = {fork.step: fork.first.environment for fork in forks}
    shared = {step: shared_losses(step, kind) for step, kind in kinds.items()}
    values = step_values([*steps, *kinds], children, shared)
    return RolloutReport(
        trial=str(parent),
        task=summary.task,
        model=forks[0].first.model.asked if forks else model,
        parent_passed=summary.verdict.passed if summary.verdict else None,
        parent_steps=summary.steps,
        steps=values,
        drop=largest_drop(values, only_whole=only_whole),
        only_whole=only_whole,
        children=children,
        cost=Spent.sum([child.cost for child in children]),
        unreadable_children=len(forks) - len(children),
    )
