"""The integrity panels of a record, with each judge's vote and the decision on each question.

A strict majority of all appointed judges decides a question, so a judge without a valid vote supports neither side:
`violated` is true if more than half of the judges answered so, false if more than half answered the opposite, and None
(undecided) otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import BaseModel

from trajectories.record.events import Answer, Ask, Event, PanelStarted, Resumed, Voted
from trajectories.record.panel import INTEGRITY, KINDS, Kind, VoteOutcome
from trajectories.record.usage import Costs, Usage


class Decision(BaseModel):
    """A panel's decision on one question."""

    violated: bool | None
    """None if the panel is undecided."""
    yes: int
    no: int
    unanimous: bool
    """True if all valid votes are equal, also if there is only one."""


class Vote(BaseModel):
    """The vote of one judge, with every request that was made for it."""

    judge: int
    model: str
    outcome: VoteOutcome | None
    """None if the judging was cut off before an outcome was recorded."""
    answers: dict[Kind, Answer]
    asks: list[Ask]


class Panel(BaseModel):
    """One panel of a trial."""

    panel: int
    judges: int
    models: list[str]
    valid: int
    decisions: dict[Kind, Decision]
    votes: list[Vote]
    usage: Usage
    cost_usd: Costs
    """Costs of all requests; each kind is None if the cost of one request is unknown."""
    left_out: list[str]
    outdated: bool
    """True if the trial continued after the panel."""


def panels_of(events: Iterable[Event]) -> list[Panel]:
    """Return the integrity panels of a record, in order."""
    started: list[tuple[PanelStarted, dict[int, Voted]]] = []
    outdated = 0
    for event in events:
        if isinstance(event, PanelStarted) and event.about == INTEGRITY:
            started.append((event, {}))
        elif isinstance(event, Voted) and started and started[-1][0].panel == event.panel:
            started[-1][1].setdefault(event.judge, event)
        elif isinstance(event, Resumed):
            outdated = len(started)
    return [_panel(panel, votes, number < outdated) for number, (panel, votes) in enumerate(started)]


def _panel(started: PanelStarted, voted: dict[int, Voted], outdated: bool) -> Panel:
    votes = []
    for judge, model in enumerate(started.judges, start=1):
        vote = voted.get(judge)
        answers = {kind: vote.answers[kind] for kind in KINDS if kind in vote.answers} if vote else {}
        asks = list(vote.asks) if vote else []
        votes.append(
            Vote(judge=judge, model=model.asked, outcome=vote.outcome if vote else None, answers=answers, asks=asks)
        )
    asks = [ask for vote in votes for ask in vote.asks]
    unknown = [Costs()] * sum(vote.outcome is None for vote in votes)
    return Panel(
        panel=started.panel,
        judges=len(votes),
        models=list(dict.fromkeys(vote.model for vote in votes)),
        valid=sum(vote.outcome == "valid" for vote in votes),
        decisions={kind: _decision(kind, votes) for kind in KINDS},
        votes=votes,
        usage=Usage.sum(ask.usage for ask in asks if ask.usage is not None),
        cost_usd=Costs.sum([*(ask.costs for ask in asks if ask.costs is not None), *unknown]),
        left_out=list(started.left_out),
        outdated=outdated,
    )


def _decision(kind: Kind, votes: Sequence[Vote]) -> Decision:
    answers = [vote.answers[kind].violated for vote in votes if vote.outcome == "valid" and kind in vote.answers]
    yes, no = answers.count(True), answers.count(False)
    violated = True if 2 * yes > len(votes) else False if 2 * no > len(votes) else None
    return Decision(violated=violated, yes=yes, no=no, unanimous=not (yes and no))
