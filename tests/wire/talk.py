"""A conversation with a model over the wire, as the loop holds it: each call gets one result."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from agent.models.choose import make_model
from agent.models.protocol import AssistantTurn, Completion, Model, Request
from tests.wire.replies import Answer, Script
from tests.wire.server import WireServer
from trajectories.record.events import Message

CHAT = ("chat", "openai/gpt-wire", {})
RESPONSES = ("responses", "openai/gpt-5.4", {"api": "responses"})
ANTHROPIC = ("anthropic", "anthropic/claude-opus-4-7", {})
PROTOCOLS = {"chat": CHAT, "responses": RESPONSES, "anthropic": ANTHROPIC}


class Talk:
    """One model, one growing history."""

    def __init__(self, model: Model, server: WireServer) -> None:
        self.model = model
        self.server = server
        self.step = 0
        self.history: list[Message | AssistantTurn] = []
        self.say("system", "You work in a shell.", "system")
        self.say("user", "Rebuild the program.", "task")

    def say(self, role: str, content: str, why: str, call: str | None = None) -> None:
        message = Message(id=f"m{len(self.history)}", role=role, content=content, why=why, tool_call_id=call)
        self.history.append(message)

    def ask(self, timeout_s: float = 20.0, try_: int = 1) -> Completion:
        """Make one try; the reply and the results of its calls are added to the history."""
        answer = self.model.ask(Request(self.step + 1, try_, self.history, timeout_s))
        self.step += 1
        self.history.append(AssistantTurn(f"m{len(self.history)}", answer.reply))
        for number, call in enumerate(answer.reply.tool_calls):
            printed = "line of output\n" * 5
            self.say("tool", f"exit code: 0\noutput {self.step}.{number}:\n{printed}", "observation", call.id)
        if not answer.reply.tool_calls:
            self.say("user", "exit code: 0", "observation")
        return answer

    @property
    def sent(self) -> dict:
        """Return the body of the newest request."""
        return self.server.requests[-1].body


@contextlib.contextmanager
def talking(
    protocol: str, script: Iterable[Answer] | Script, *, name: str | None = None, **settings: object
) -> Iterator[Talk]:
    """Start a server with these answers, and return a model that talks to it."""
    _, default_name, fixed = PROTOCOLS[protocol]
    with WireServer(script) as server:
        model = make_model(name or default_name, settings={**fixed, **settings}, api_base=server.base(protocol))
        try:
            yield Talk(model, server)
        finally:
            model.close()
