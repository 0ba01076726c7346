"""`replay:TRIAL`: the replies of a recorded trial, one after the other. Costs nothing.

Replies come as they were recorded, whatever the commands now print; the recorded tokens and dollars
were spent then and are not counted again. After the last reply it gives up.
"""

from __future__ import annotations

from pathlib import Path

from agent.models.call_ids import with_own_ids
from agent.models.free.costs import FREE, NO_TOKENS
from agent.models.protocol import (
    ActionFormat,
    AssistantTurn,
    CallFailure,
    Completion,
    ModelInfo,
    ModelUnusable,
    Request,
)
from trajectories.errors import RecordError
from trajectories.reading.reader import read_events
from trajectories.record.events import CallFinished, ModelRef, TrialStarted
from trajectories.record.identity import sha256_of


class ReplayModel:
    """Answers with the replies of the trial in a directory.

    Raises: ModelUnusable if there is no readable record.
    """

    def __init__(self, trial: Path, asked: str) -> None:
        try:
            events = list(read_events(trial))
        except (RecordError, OSError) as error:
            raise ModelUnusable(f"--model {asked}: {error}") from None
        self._calls = [event for event in events if isinstance(event, CallFinished)]
        started = [event for event in events if isinstance(event, TrialStarted)]
        if not self._calls:
            raise ModelUnusable(f"--model {asked}: the trial holds no reply to replay")
        settings = {
            "trial": started[0].trial if started else "",
            "sha256": sha256_of([call.reply.model_dump() for call in self._calls]),
        }
        self.info = ModelInfo(ModelRef(asked=asked, name="replay", settings=settings), self._format(), free=FREE)

    def check(self) -> None:
        """The record was read when the model was made."""

    def warm_up(self) -> None:
        """Nothing is slow."""

    def ask(self, request: Request) -> Completion:
        """The recorded reply that is due; the history says which.

        Raises: CallFailure: `gave_up` after the last one.
        """
        due = sum(isinstance(entry, AssistantTurn) for entry in request.history)
        if due >= len(self._calls):
            raise CallFailure("gave_up", "the recording has no reply left")
        call = self._calls[due]
        return Completion(
            with_own_ids(call.reply, request),
            NO_TOKENS,
            model_served=call.model_served or call.model_requested,
            finish_reason=call.finish_reason,
        )

    def close(self) -> None:
        """Nothing is held."""

    def _format(self) -> ActionFormat:
        """Tool calls, unless the recording has text only."""
        text_only = not any(call.reply.tool_calls for call in self._calls)
        return "fenced" if text_only and any(call.reply.text for call in self._calls) else "tool"
