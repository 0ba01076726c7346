"""The integrity panels of a record, with each judge's vote and the decision on each question.

A strict majority of all appointed judges decides a question, so a judge without a valid vote supports neither side:
`violated` is true if more than half of the judges answered so, false if more than half answered the opposite, and None
(undecided) otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import BaseModel

from trajectories.record.base import Json
from trajectories.record.events import (
    Answer,
    Event,
    PanelStarted,
    Resumed,
    RoleCallFinished,
    RoleCallStarted,
    Voted,
)
from trajectories.record.panel import INTEGRITY, KINDS, Kind, VoteOutcome
from trajectories.record.usage import Costs, Usage
from trajectories.record.words import FailureClass


class Decision(BaseModel):
    """A panel's decision on one question."""

    violated: bool | None
    """None if the panel is undecided."""
    yes: int
    no: int
    unanimous: bool
    """True if all valid votes are equal, also if there is only one."""


class Ask(BaseModel):
    """One request to a judge, and its result."""

    call: int
    """Number of the role call."""
    text: str | None = None
    """Text of the reply as it came. None if no reply came."""
    refusal: str = ""
    malformed: str = ""
    """Reason for which the reply is not a valid answer."""
    error: FailureClass | None = None
    """Class of the failure, if no reply came."""
    detail: str = ""
    """Description of the failure in one line."""
    usage_raw: Json | None = None
    usage: Usage | None = None
    costs: Costs | None = Costs()
    """Costs of the request. None if nothing shows that it was billed."""
    model_served: str | None = None
    latency_s: float | None = None

    @classmethod
    def of(cls, call: int, result: RoleCallFinished | None) -> Ask:
        """Return a request with its result, if one is recorded."""
        if result is None:
            return cls(call=call)
        malformed = result.detail if result.status == "malformed" else ""
        fields = {name: value for name, value in result if name in cls.model_fields}
        return cls(**{**fields, "malformed": malformed, "detail": "" if malformed else result.detail})


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
    calls: dict[int, RoleCallStarted] = {}
    results: dict[int, RoleCallFinished] = {}
    outdated = 0
    for event in events:
        if isinstance(event, PanelStarted) and event.about == INTEGRITY:
            started.append((event, {}))
        elif isinstance(event, Voted) and started and started[-1][0].panel == event.panel:
            started[-1][1].setdefault(event.judge, event)
        elif isinstance(event, RoleCallStarted):
            calls[event.call] = event
        elif isinstance(event, RoleCallFinished):
            results[event.call] = event
        elif isinstance(event, Resumed):
            outdated = len(started)
    asked: dict[tuple[int | None, int | None], list[Ask]] = {}
    for number, call in calls.items():
        asked.setdefault((call.purpose.panel, call.purpose.judge), []).append(Ask.of(number, results.get(number)))
    return [_panel(panel, votes, asked, number < outdated) for number, (panel, votes) in enumerate(started)]


def _panel(
    started: PanelStarted,
    voted: dict[int, Voted],
    asked: dict[tuple[int | None, int | None], list[Ask]],
    outdated: bool,
) -> Panel:
    votes = []
    for judge, model in enumerate(started.judges, start=1):
        vote = voted.get(judge)
        answers = {kind: vote.answers[kind] for kind in KINDS if kind in vote.answers} if vote else {}
        asks = asked.get((started.panel, judge), [])
        votes.append(
            Vote(judge=judge, model=model.asked, outcome=vote.outcome if vote else None, answers=answers, asks=asks)
        )
    asks = [ask for vote in votes for ask in vote.asks]
    unknown = [Costs()] * sum(vote.outcome is None and not vote.asks for vote in votes)  # so before schema 2.0
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
