"""A person in a role beside a trial: whatever a model would be asked is shown, and the person writes the reply."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from agent.errors import UserError
from agent.models.choose import HUMAN
from agent.models.free.costs import FREE, NO_TOKENS
from agent.models.free.editor import edit
from agent.models.free.model import FreeModel
from agent.models.protocol import AssistantTurn, CallFailure, Completion, ModelInfo, Request
from trajectories.record.events import Message, ModelRef, Reply
from trajectories.record.texts.text import printable, storable


class Person(FreeModel):
    """Implements `Model`: the person writes in `$VISUAL` or `$EDITOR`, or types up to the end of standard input."""

    def __init__(self, file: str) -> None:
        """`file` is the name of the file in the editor, such as `plan.md`.

        Raises: UserError if there is no standard input.
        """
        if sys.stdin is None or sys.stdin.closed:
            raise UserError(f"--model {HUMAN} needs a standard input to write into")
        self.info = ModelInfo(ModelRef(asked=HUMAN, name=HUMAN), "fenced", free=FREE)
        self._file = file
        self._shown = 0

    def ask(self, request: Request) -> Completion:
        """Show what is new, and return what the person writes.

        Raises: CallFailure: `gave_up` if that is nothing. KeyboardInterrupt.
        """
        for entry in request.history[self._shown :]:
            if isinstance(entry, Message):
                _print(f"{printable(entry.content)}\n")
        self._shown = len(request.history)
        text = storable(self._written(request.history))
        if not text.strip():
            raise CallFailure("gave_up", "the person wrote nothing")
        return Completion(Reply(text=text), NO_TOKENS, model_served=HUMAN, finish_reason="stop")

    def _written(self, history: Sequence[Message | AssistantTurn]) -> str:
        if sys.stdin.isatty() and (os.environ.get("VISUAL") or os.environ.get("EDITOR")):
            earlier = [turn.reply.text for turn in history if isinstance(turn, AssistantTurn)]
            return edit(earlier[-1] if earlier else "", file=self._file)
        if sys.stdin.isatty():
            _print("(write here, and end with Ctrl-D on a line of its own; with $EDITOR set, an editor opens instead)")
        return sys.stdin.read()


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
