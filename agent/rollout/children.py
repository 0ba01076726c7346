"""Reads the children of a parent: forks at its steps, those of this run and those of earlier ones.

Children with the same settings differ from each other only in step and attempt. A hint makes other settings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from scoring.interventions.rollouts import Child, Spent, Status
from trajectories.errors import RecordError
from trajectories.reading.family import family
from trajectories.reading.reader import first_event, read_events
from trajectories.reading.runs import listed
from trajectories.reading.summary import Summary
from trajectories.reading.totals.tally import Tally
from trajectories.record.events import CallStarted, Resumed, RoleCallFinished, RoleCallStarted, TrialStarted, Warned
from trajectories.record.identity import configuration_hash


@dataclass(frozen=True)
class ForkedTrial:
    """A fork of the parent, by its first event."""

    directory: Path
    first: TrialStarted
    step: int

    @property
    def settings(self) -> str:
        """Hash of everything that forks of one rollout have in common."""
        return settings_of(self.first)


def settings_of(first: TrialStarted) -> str:
    """Return the hash of a trial's configuration without the step and the trial that it was forked from."""
    return configuration_hash(first.model_copy(update={"parent": None}))


def forks_of(parent: Path) -> list[ForkedTrial]:
    """Return the forks of a trial that can be read, in the order of step and attempt."""
    forks = []
    for member in family(parent)[1].children:
        if member.directory is None or member.step is None:
            continue
        try:
            forks.append(ForkedTrial(member.directory, first_event(member.directory), member.step))
        except RecordError:
            continue
    return sorted(forks, key=lambda fork: (fork.step, fork.first.attempt, fork.directory.name))


def children_of(forks: Iterable[ForkedTrial], new: Collection[str] = ()) -> tuple[Child, ...]:
    """Return the forks as children of a rollout; `new` are the names of those that this run made."""
    children = []
    for fork in forks:
        summary = listed(fork.directory).summary
        if summary is not None:
            children.append(_child(fork, summary, is_new=fork.directory.name in new))
    return tuple(children)


def _child(fork: ForkedTrial, summary: Summary, *, is_new: bool) -> Child:
    verdict = summary.verdict
    status = status_of(summary)
    return Child(
        trial=str(fork.directory),
        step=fork.step,
        attempt=fork.first.attempt,
        status=status,
        exit=f"{summary.exit.reason}: {summary.exit.cause}" if summary.exit else None,
        passed=verdict.passed if verdict is not None and status == "counted" else None,
        quality=verdict.quality if verdict is not None and status == "counted" else None,
        steps=summary.steps,
        cost=cost_of(fork.directory, summary),
        not_restored=_not_restored(fork.directory),
        is_new=is_new,
    )


def status_of(summary: Summary) -> Status:
    """Return if a child counts, from its exit and its verdict."""
    if summary.exit is None or summary.exit.reason == "user":
        return "unfinished"
    if summary.exit.reason == "infrastructure":
        return "infrastructure"
    scored = summary.verdict is not None and summary.verdict.status == "scored"
    return "counted" if scored else "unjudged"


def cost_of(directory: Path, summary: Summary) -> Spent:
    """Return the cost of a trial, with that of its expert.

    If that of a call is unknown, the known part is added up from its events.
    """
    experts = summary.interventions
    costs = [summary.cost_usd.best, *([] if experts is None else [experts.cost_usd.best])]
    known = [cost for cost in costs if cost is not None]
    if len(known) == len(costs):
        return Spent(usd=sum(known), at_least_usd=sum(known))
    tally = Tally()
    of_expert: set[int] = set()
    beside_usd = 0.0
    for event in read_events(directory):
        tally.feed(event)
        if isinstance(event, RoleCallStarted) and event.role == "expert":
            of_expert.add(event.call)
        elif isinstance(event, RoleCallFinished) and event.call in of_expert and event.costs is not None:
            beside_usd += event.costs.best or 0.0
    return Spent(usd=None, at_least_usd=tally.spent_usd + beside_usd)


def _not_restored(directory: Path) -> tuple[str, ...]:
    """Return what a fork recorded as lost before its first call."""
    lines: list[str] = []
    for event in read_events(directory):
        match event:
            case CallStarted():
                break
            case Warned(kind="not_restored" | "rerun_differs"):
                lines.append(event.text)
            case Resumed():
                lines += event.lost
    return tuple(dict.fromkeys(lines))
