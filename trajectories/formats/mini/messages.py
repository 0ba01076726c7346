"""Conversion of a trajectory's messages to items, in order; the shape of each message determines its layout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from trajectories.formats.errors import BadDocument
from trajectories.formats.fields import Oddities, amount, items, part, text_of, time_of, word
from trajectories.formats.items import (
    AnsweredCall,
    Command,
    InheritedAnswer,
    Item,
    Observation,
    PlainMessage,
    Role,
    TypedCommands,
)
from trajectories.formats.mini import observations, replies
from trajectories.formats.mini.submission import submits
from trajectories.record.events import Reply, Why
from trajectories.record.usage import Costs
from trajectories.writing import excerpts

_WHYS: tuple[Why, ...] = get_args(Why)


@dataclass
class Reader:
    """Reads messages in order and collects the end of the run."""

    deadline_s: float | None
    status: str | None
    """Exit word of the run: `info.exit_status`, or that of the exit message."""
    oddities: Oddities
    labels: set[str] = field(default_factory=set)
    """Layouts that occurred."""
    submission: str | None = None
    exception: str = ""
    _pending: tuple[Command, ...] = ()
    _unusable: bool = False
    """True if the last reply has no command and no message about that has followed yet."""

    def read(self, messages: list[Any]) -> Iterator[Item]:
        """Yield the items of the messages.

        Raises: BadDocument.
        """
        for n, message in enumerate(messages):
            place = f"messages[{n}]"
            if not isinstance(message, dict):
                raise BadDocument("not an object", place)
            yield from self._items(message, place, n, last=n == len(messages) - 1)

    def _items(self, message: dict[str, Any], place: str, n: int, *, last: bool) -> Iterator[Item]:
        extra = part(message, "extra", place)
        role, kind = message.get("role"), message.get("type")
        ours = extra.get("retrace")
        if isinstance(ours, dict) and ours.get("why") in _WHYS and role in ("system", "user", "tool"):
            yield self._ours(message, role, ours, place)
        elif replies.is_reply(message):
            yield self._reply(message, extra, place)
        elif role == "system":
            yield self._plain(message, place, "system", n)
        elif role == "exit":
            self._exit(message, extra, place)
        elif kind == "function_call_output":
            self.labels.add("responses")
            yield self._observed(message, "tool", "output", message.get("call_id"), extra, place)
        elif role == "tool":
            self.labels.add("chat")
            yield self._observed(message, "tool", "content", message.get("tool_call_id"), extra, place)
        elif role == "user" or kind == "message":
            yield from self._user(message, extra, place, n, last=last)
        else:
            raise BadDocument(f"unknown role or type {excerpts.beginning(str(role or kind), 40)!r}", place)

    def _ours(self, message: dict[str, Any], role: Role, ours: dict[str, Any], place: str) -> Item:
        """Read a message that `write` wrote."""
        why: Why = ours["why"]
        plain = self._plain(message, place, why, 0)
        id = message.get("tool_call_id")
        tool_call_id = id if isinstance(id, str) else None
        plain = replace(plain, role=role, tool_call_id=tool_call_id, inherited=ours.get("inherited") is True)
        executed = why != "not_executed" or plain.inherited
        return plain if executed else Observation(plain, None, executed=False)

    def _reply(self, message: dict[str, Any], extra: dict[str, Any], place: str) -> Item:
        ours = replies.ours_of(extra, place)
        if ours is not None and ours.inherited_step is not None:
            answered = replies.answer(message, part(extra, "response", f"{place}.extra"), place)
            return InheritedAnswer(answered.reply, ours.inherited_step, answered.served)
        call = replies.called(message, place, self.deadline_s, self.oddities)
        self._pending = call.commands
        self._unusable = not call.commands and not call.reply.tool_calls
        if "output" in message:
            self.labels.add("responses")
        elif isinstance(message.get("content"), list) and call.reply.tool_calls:
            self.labels.add("anthropic")
        elif call.reply.tool_calls:
            self.labels.add("chat")
        else:
            self.labels.add("text")
        return call

    def _user(
        self, message: dict[str, Any], extra: dict[str, Any], place: str, n: int, *, last: bool
    ) -> Iterator[Item]:
        content = message.get("content")
        if extra.get("interrupt_type") == "FormatError":
            yield from self._format_error(message, extra, place, n)
        elif isinstance(content, list) and any(_is_result(block) for block in content):
            self.labels.add("anthropic")
            yield from self._results(content, items(extra, "observations", f"{place}.extra"), place, n)
        elif "returncode" in extra:
            yield self._observed(message, "user", "content", None, extra, place)
        elif "actions" in extra:
            commands = replies.listed_commands(extra, place, self.deadline_s, self.oddities)
            self._pending = commands
            yield TypedCommands(self._plain(message, place, "hint", n), commands)
        elif last and not extra and n > 1 and self._is_end():
            if self.status in (None, "Submitted"):
                self.submission = text_of(content, place)
            else:
                self.exception = text_of(content, place)
        elif self._pending and not extra:
            yield self._text_observation(message, place)
        else:
            why: Why = "task" if n <= 1 and not self.labels else "notice"
            if self._unusable and not extra:
                why = "format_error"  # 1.x: the previous reply did not have exactly one block
            self._unusable = False
            yield self._plain(message, place, why, n)

    def _is_end(self) -> bool:
        """Return True if the last user message is the submission or the reason for the end, as before 2.x."""
        if not self.labels <= {"text"}:
            return False
        if self.status is not None:
            return True
        return bool(self._pending) and submits(self._pending[-1].script)

    def _text_observation(self, message: dict[str, Any], place: str) -> Item:
        plain = self._plain(message, place, "observation", 2)
        if plain.text.startswith(observations.REJECTED):
            self._pending = self._pending[1:]
            return Observation(replace(plain, why="not_executed"), None, executed=False)
        result = observations.from_text(plain.text)
        if result is None:
            self.oddities.add("the result of a command cannot be read from the message after it", place)
        self._pending = self._pending[1:]
        return Observation(plain, result)

    def _format_error(self, message: dict[str, Any], extra: dict[str, Any], place: str, n: int) -> Iterator[Item]:
        """Read a format error; up to 2.3.0 its reply is lost, in later versions it is in `extra.response`."""
        response = extra.get("response")
        self._pending = ()
        if isinstance(response, dict):
            answered = replies.answer({}, response, place)
            yield AnsweredCall(
                answered.reply,
                usage_raw=answered.usage_raw,
                usage=replies.usage_of(answered.usage_raw, place, self.oddities),
                costs=Costs(billed=amount(extra.get("cost"), "a cost of", f"{place}.extra.cost", self.oddities)),
                served=answered.served,
                finish_reason=answered.finish_reason,
            )
        else:
            self.oddities.add("a reply that was a format error is not in the file, nor are its tokens and cost", place)
            yield AnsweredCall(Reply())
        yield self._plain(message, place, "format_error", n)

    def _results(self, content: list[Any], extras: list[dict[str, Any]], place: str, n: int) -> Iterator[Item]:
        """Read Anthropic's blocks; `extra.observations` holds one object for each result."""
        results = 0
        for k, block in enumerate(content):
            where = f"{place}.content[{k}]"
            if _is_result(block):
                extra = extras[results] if results < len(extras) else {}
                results += 1
                yield self._observed(block, "tool", "content", block.get("tool_use_id"), extra, where)
            elif isinstance(block, dict) and isinstance(block.get("text"), str):
                yield PlainMessage("user", block["text"], "notice")

    def _observed(
        self, message: dict[str, Any], role: Role, key: str, id: Any, extra: dict[str, Any], place: str
    ) -> Item:
        text = text_of(message.get(key), f"{place}.{key}")
        at = time_of(extra.get("timestamp", message.get("timestamp")), f"{place}.extra.timestamp", self.oddities)
        tool_call_id = id if isinstance(id, str) else None
        if not extra:
            result, executed = observations.from_text(text), True
        else:
            result, executed = observations.from_extra(extra, text, place, self.oddities)
        why: Why = "observation" if executed else "not_executed"
        return Observation(PlainMessage(role, text, why, tool_call_id, at), result, executed)

    def _exit(self, message: dict[str, Any], extra: dict[str, Any], place: str) -> None:
        self.exception = text_of(extra.get("exception_str"), f"{place}.extra.exception_str")
        self.status = self.status or word(extra.get("exit_status"))
        if self.status == "Submitted":
            self.submission = text_of(extra.get("submission", message.get("content")), f"{place}.extra.submission")

    def _plain(self, message: dict[str, Any], place: str, why: Why, n: int) -> PlainMessage:
        at = time_of(
            part(message, "extra", place).get("timestamp", message.get("timestamp")),
            f"{place}.timestamp",
            self.oddities,
        )
        role: Role = "system" if message.get("role") == "system" else "user"
        return PlainMessage(role, text_of(message.get("content"), f"{place}.content"), why, at=at)


def _is_result(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"
