"""The conversation of a running trial: recorded turn by turn, and sent with every request.

The record holds each message once; a request is known by the number of its messages and a hash over them.
"""

from __future__ import annotations

from agent.models.protocol import AssistantTurn
from agent.trial.gate import CallBound
from agent.trial.start import Turn
from trajectories.record.conversation import Conversation
from trajectories.record.events import (
    BaseEvent,
    CallFinished,
    CallStarted,
    InheritedReply,
    Json,
    Message,
)
from trajectories.record.texts.text import sendable
from trajectories.writing.recorder import Recorder


class History:
    """All turns so far, in order. Each new one gets the next id."""

    def __init__(self, recorder: Recorder) -> None:
        self.turns: list[Message | AssistantTurn] = []
        self._recorder = recorder
        self._conversation = Conversation()

    @property
    def next_id(self) -> str:
        """Id of the next turn."""
        return f"m{len(self.turns) + 1}"

    def take_in(self, event: BaseEvent) -> None:
        """Add the turn of an event that the record holds already."""
        match event:
            case Message():
                self._add(event, event)
            case CallFinished() | InheritedReply():
                self._add(event, AssistantTurn(event.id, event.reply))
            case CallStarted():
                self._conversation.take_new_ids()

    def inherit(self, turn: Turn) -> None:
        """Copy a turn of a parent into this record."""
        if isinstance(turn, CallFinished | InheritedReply):
            reply = self._recorder.append(
                InheritedReply(id=self.next_id, step=turn.step, reply=turn.reply, model_served=turn.model_served)
            )
            self._add(reply, AssistantTurn(reply.id, reply.reply))
            return
        if not isinstance(turn, Message):
            content, id = turn.content, turn.tool_call_id
            turn = Message(id=self.next_id, role=turn.role, content=content, why=turn.why, tool_call_id=id)
        inherited = {"id": self.next_id, "inherited": True, "content": sendable(turn.content)}
        message = self._recorder.append(turn.model_copy(update=inherited))
        self._add(message, message)

    def say(self, message: Message) -> Message:
        """Record a message and add it, with its own tool call id: the record may hold that masked."""
        recorded = self._recorder.append(message)
        self._add(recorded, recorded.model_copy(update={"tool_call_id": message.tool_call_id}))
        return recorded

    def answer(self, finished: CallFinished) -> CallFinished:
        """Record a completed call and add its reply, as the model gave it: the record may hold it masked."""
        recorded = self._recorder.append(finished)
        self._add(recorded, AssistantTurn(recorded.id, finished.reply))
        return recorded

    def request(self, step: int, try_: int, parameters: Json, bound: CallBound) -> CallStarted:
        """Return the event of a request with all turns so far; `bound` is what was reserved for it."""
        return CallStarted(
            step=step,
            try_=try_,
            message_ids=self._conversation.take_new_ids(),
            messages=len(self.turns),
            messages_sha256=self._conversation.sha256,
            parameters=parameters,
            reserved_usd=bound.usd,
            reserved_tokens=bound.tokens,
        )

    def _add(self, event: Message | CallFinished | InheritedReply, turn: Message | AssistantTurn) -> None:
        self._conversation.add(event)
        self.turns.append(turn)
