"""The base class of the models that cost nothing."""

from __future__ import annotations

from agent.models.protocol import ModelInfo


class FreeModel:
    """A model without anything to check, to import or to release; subclasses add `ask` and override the rest."""

    info: ModelInfo

    def check(self) -> None:
        """Do nothing: all was checked when the model was made."""

    def warm_up(self) -> None:
        """Do nothing: no import is slow."""

    def close(self) -> None:
        """Do nothing: no resource is held."""
