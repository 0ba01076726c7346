"""The model `nop`: submits at once, which shows the verdict on an untouched workspace. Costs nothing."""

from __future__ import annotations

from agent.loop.actions import SUBMIT
from agent.models.free.costs import FREE, completion
from agent.models.free.model import FreeModel
from agent.models.protocol import Completion, ModelInfo, Request
from trajectories.record.events import ModelRef

NOP = "nop"


class NopModel(FreeModel):
    """A model whose only command is the submission."""

    def __init__(self) -> None:
        self.info = ModelInfo(ModelRef(asked=NOP, name=NOP), "tool", free=FREE)

    def ask(self, request: Request) -> Completion:
        """Return the submission."""
        return completion(SUBMIT, request, NOP)
