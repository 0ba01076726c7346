"""The model `replay:TRIAL`: returns the replies of a recorded trial, one after the other. Costs nothing.

The replies are those of the record, whatever the commands print now. The recorded tokens and costs are not counted
again. After the last reply the model gives up.
"""

from __future__ import annotations

from pathlib import Path

import prompts
from agent.models.call_ids import with_own_ids
from agent.models.free.costs import FREE, NO_TOKENS
from agent.models.free.model import FreeModel
from agent.models.growing import Replies
from agent.models.protocol import (
    FIRST_FENCE,
    ActionFormat,
    CallFailure,
    Completion,
    Fence,
    ModelInfo,
    ModelUnusable,
    Request,
)
from trajectories.blobs.store import BlobStore
from trajectories.errors import RecordError
from trajectories.reading.reader import read_events
from trajectories.record.events import Answered, CallFinished, ModelRef, TrialStarted
from trajectories.record.identity import sha256_of
from trajectories.record.layout import TrialFolder


class ReplayModel(FreeModel):
    """A model that answers with the replies of the trial in a directory.

    Raises: ModelUnusable if there is no readable record.
    """

    def __init__(self, trial: Path, typed: str) -> None:
        try:
            events = list(read_events(trial))
        except (RecordError, OSError) as error:
            raise ModelUnusable(f"--model {typed}: {error}") from None
        self._replies = Replies()
        self._calls = [event for event in events if isinstance(event, CallFinished)]
        started = [event for event in events if isinstance(event, TrialStarted)]
        if not self._calls:
            raise ModelUnusable(f"--model {typed}: the trial holds no reply to replay")
        settings = {
            "trial": started[0].trial if started else "",
            "sha256": sha256_of([call.reply.model_dump() for call in self._calls]),
        }
        self.guidance = started[0].guidance if started else None
        """Expert of the recorded trial, if it had one."""
        self.answers = [event for event in events if isinstance(event, Answered)]
        """Answers of that expert."""
        self.info = ModelInfo(
            ModelRef(asked=typed, name="replay", settings=settings),
            self._format(),
            fence=_recorded_fence(trial, started[0]) if started else FIRST_FENCE,
            free=FREE,
        )

    def ask(self, request: Request) -> Completion:
        """Return the next recorded reply, by the number of replies in the history.

        Raises: CallFailure: `gave_up` after the last one.
        """
        self._replies.take_in(request.history)
        due = self._replies.count
        if due >= len(self._calls):
            raise CallFailure("gave_up", "the recording has no reply left")
        call = self._calls[due]
        return Completion(
            with_own_ids(call.reply, request, self._replies),
            NO_TOKENS,
            model_served=call.model_served or call.model_requested,
            finish_reason=call.finish_reason,
        )

    def _format(self) -> ActionFormat:
        """Return `tool`, unless the recording has text only."""
        text_only = not any(call.reply.tool_calls for call in self._calls)
        return "fenced" if text_only and any(call.reply.text for call in self._calls) else "tool"


def _recorded_fence(trial: Path, start: TrialStarted) -> Fence:
    """Return the rule of the prompt that the recorded model was given.

    An imported trial has a prompt of another program, and is read by the rule of version 1.
    """
    if start.imported is not None:
        return FIRST_FENCE
    ref = start.prompt
    try:
        prompt = prompts.parse(ref.name, BlobStore(TrialFolder(trial).blobs).get(ref.sha256))
    except (RecordError, prompts.PromptError):
        shipped = prompts.with_sha256(ref.sha256)
        if shipped is None:
            return FIRST_FENCE
        prompt = shipped
    return Fence(prompt.fence, None if start.guidance is None else prompt.ask_fence)
