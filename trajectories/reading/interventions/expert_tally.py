"""Questions to the expert of a trial, and the tokens and costs of the expert's calls. They are never the agent's."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from trajectories.reading.totals.tally import MAYBE_BILLED
from trajectories.record.events import Answered, Asked, BaseEvent, RoleCallFinished, RoleCallStarted
from trajectories.record.usage import Costs, Usage

_NOTHING = Costs(billed=0.0, computed=0.0, list=0.0)


class Interventions(BaseModel):
    """Questions of one trial to its expert. Answers and refusals are counted apart."""

    model_config = ConfigDict(frozen=True)

    questions: int
    """Number of questions of the agent, those beyond the largest number included."""
    given: int
    """Number of interventions: answers of the expert that the agent got."""
    refused: int
    """Number of answers that broke the rule. A question may have several."""
    replaced: int
    """Number of questions for which the agent got the fixed text, because each try broke the rule."""
    nobody: int
    """Number of questions that nobody answered, or that came when no intervention was left."""
    calls: int
    """Number of calls of the model that answers."""
    usage: Usage
    """Tokens of these calls."""
    cost_usd: Costs
    """Costs of these calls. A kind is None if it is unknown for any of them."""


class ExpertTally:
    """The questions and calls over all events that were fed, in order."""

    def __init__(self) -> None:
        self._questions: set[int] = set()
        self._given = self._refused = self._replaced = self._nobody = 0
        self._unbilled = 0
        self._calls: dict[int, tuple[Usage | None, Costs]] = {}
        """By number of the call, its usage and costs; unknown ones until it has a result."""

    def feed(self, event: BaseEvent) -> None:
        """Take in one event."""
        match event:
            case Asked():
                self._questions.add(event.question)
            case Answered(status="given"):
                self._given += 1
            case Answered(status="nobody"):
                self._nobody += 1
            case Answered(status="refused"):
                self._refused += 1
            case Answered(status="replaced"):
                self._refused += 1
                self._replaced += 1
            case RoleCallStarted(role="expert"):
                self._calls[event.call] = (None, Costs())
            case RoleCallFinished() if event.call in self._calls:
                maybe_billed = event.status != "failed" or event.error in MAYBE_BILLED
                if maybe_billed or event.usage is not None or event.costs is not None:
                    self._calls[event.call] = (event.usage, event.costs or Costs())
                else:
                    del self._calls[event.call]
                    self._unbilled += 1

    @property
    def interventions(self) -> Interventions:
        """Totals so far."""
        return Interventions(
            questions=len(self._questions),
            given=self._given,
            refused=self._refused,
            replaced=self._replaced,
            nobody=self._nobody,
            calls=len(self._calls) + self._unbilled,
            usage=Usage.sum(usage for usage, _ in self._calls.values() if usage is not None),
            cost_usd=Costs.sum((_NOTHING, *(costs for _, costs in self._calls.values()))),
        )
