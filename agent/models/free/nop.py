"""`nop`: submits at once, whatever the task; what an untouched workspace is worth. Costs nothing."""

from __future__ import annotations

from agent.loop.actions import SUBMIT
from agent.models.free.costs import FREE, answer
from agent.models.protocol import Completion, ModelInfo, Request
from trajectories.record.events import ModelRef

NOP = "nop"


class NopModel:
    """Says one thing: that the work is finished."""

    def __init__(self) -> None:
        self.info = ModelInfo(ModelRef(asked=NOP, name=NOP), "tool", free=FREE)

    def check(self) -> None:
        """Nothing can be wrong."""

    def warm_up(self) -> None:
        """Nothing is slow."""

    def ask(self, request: Request) -> Completion:
        """The submission."""
        return answer(SUBMIT, request, NOP)

    def close(self) -> None:
        """Nothing is held."""
