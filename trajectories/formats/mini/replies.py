"""Conversion of a model's answer in any of the layouts to a reply.

The layouts are chat (a message, or a whole response with `choices`), OpenAI Responses (`object: "response"`, `output`)
and Anthropic's blocks. `Reply.message` is the message to send back: without `extra` and without display copies.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from trajectories.formats.errors import BadDocument
from trajectories.formats.fields import Oddities, amount, items, part, text_of, time_of, word
from trajectories.formats.items import AnsweredCall, Command
from trajectories.formats.provider_usage import to_usage
from trajectories.record.events import Json, Reply, ToolCall
from trajectories.record.usage import Costs, Usage

_FENCE = re.compile(r"```(?:bash|mswea_bash_command)[ \t]*\n(.*?)\n?```", re.DOTALL)


class OursOfCall(BaseModel):
    """Values that `write` adds to an answer, so that one of our trials can be read back exactly."""

    model_config = ConfigDict(extra="ignore")

    usage: Usage | None = None
    costs: Costs = Costs()
    usage_raw: Json | None = None
    latency_s: float | None = None
    refusal: str = ""
    inherited_step: int | None = None


@dataclass(frozen=True)
class Answered:
    """A reply with the other parts of a provider's response."""

    reply: Reply
    usage_raw: Json | None = None
    served: str | None = None
    finish_reason: str | None = None


def is_reply(message: dict[str, Any]) -> bool:
    """Return True for an entry of `messages` that is a model's answer."""
    return message.get("role") == "assistant" or ("role" not in message and message.get("object") == "response")


def called(message: dict[str, Any], place: str, deadline_s: float | None, oddities: Oddities) -> AnsweredCall:
    """Return the call that this entry answers, with its commands.

    Raises: BadDocument.
    """
    extra = part(message, "extra", place)
    response = extra.get("response")
    answered = answer(message, response if isinstance(response, dict) else {}, place)
    ours = ours_of(extra, place)
    if ours is not None:
        usage_raw, usage, costs = ours.usage_raw, ours.usage, ours.costs
    else:
        usage_raw = answered.usage_raw
        usage = usage_of(usage_raw, place, oddities)
        costs = Costs(billed=amount(extra.get("cost"), "a cost of", f"{place}.extra.cost", oddities))
    return AnsweredCall(
        reply=answered.reply if ours is None else answered.reply.model_copy(update={"refusal": ours.refusal}),
        commands=_commands(extra, answered.reply, place, deadline_s, oddities),
        usage_raw=usage_raw,
        usage=usage,
        costs=costs,
        served=answered.served,
        finish_reason=answered.finish_reason,
        at=time_of(extra.get("timestamp", message.get("timestamp")), f"{place}.extra.timestamp", oddities),
        latency_s=None if ours is None else ours.latency_s,
    )


def ours_of(extra: dict[str, Any], place: str) -> OursOfCall | None:
    """Return the values that `write` added; None if there are none.

    Raises: BadDocument if `write` cannot have written them.
    """
    if not isinstance(extra.get("retrace"), dict):
        return None
    try:
        return OursOfCall.model_validate(extra["retrace"])
    except ValidationError as error:
        raise BadDocument(error.errors()[0]["msg"], f"{place}.extra.retrace") from None


def usage_of(raw: Json | None, place: str, oddities: Oddities) -> Usage | None:
    """The buckets; unknown, with a note, where the counts cannot be."""
    usage = to_usage(raw)
    if raw and usage is None:
        oddities.add("a usage without a possible count of tokens counts as unknown", place)
    elif raw and any(isinstance(value, int | float) and value < 0 for value in raw.values()):
        oddities.add("a negative count of tokens counts as unknown", place)
    return usage


def answer(message: dict[str, Any], response: dict[str, Any], place: str) -> Answered:
    """Return the reply; `message` is the entry and `response` the provider's answer, and either may be empty."""
    if isinstance(message.get("output"), list) or isinstance(response.get("output"), list):
        return _responses(message if isinstance(message.get("output"), list) else response, place)
    usage = response.get("usage")
    choices = items(response, "choices", f"{place}.extra.response")
    choice = choices[0] if choices else {}
    finish = choice.get("finish_reason") or response.get("stop_reason")
    if not message:
        message = part(choice, "message", place) or {"role": "assistant", "content": response.get("content")}
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    if any(isinstance(block, dict) and block.get("type") == "tool_use" for block in blocks):
        reply = _blocks(blocks, response, place)
    else:
        reply = _chat(message, place)
    return Answered(reply, dict(usage) if isinstance(usage, dict) else None, word(response.get("model")), word(finish))


def _chat(message: dict[str, Any], place: str) -> Reply:
    calls = []
    for n, call in enumerate(items(message, "tool_calls", place)):
        function = part(call, "function", f"{place}.tool_calls[{n}]")
        calls.append(_tool_call(call.get("id"), function.get("name"), function.get("arguments")))
    kept = {key: value for key, value in message.items() if key not in ("extra", "timestamp") and value is not None}
    return Reply(text=text_of(message.get("content"), f"{place}.content"), tool_calls=tuple(calls), message=kept)


def _blocks(blocks: list[Any], response: dict[str, Any], place: str) -> Reply:
    """Read Anthropic's blocks; `text` on a tool_use block is a copy for display."""
    parts = [block for block in blocks if isinstance(block, dict)]
    text = "".join(text_of(block.get("text"), place) for block in parts if block.get("type") == "text")
    calls = tuple(
        _tool_call(block.get("id"), block.get("name"), block.get("input"))
        for block in parts
        if block.get("type") == "tool_use"
    )
    verbatim = response.get("content")
    if not isinstance(verbatim, list):
        verbatim = [
            {key: value for key, value in block.items() if key != "text"} if block.get("type") == "tool_use" else block
            for block in parts
        ]
    return Reply(text=text, tool_calls=calls, message={"role": "assistant", "content": verbatim})


def _responses(response: dict[str, Any], place: str) -> Answered:
    output = items(response, "output", place)
    text = "".join(text_of(item.get("content"), f"{place}.output") for item in output if item.get("type") == "message")
    calls = tuple(
        _tool_call(item.get("call_id"), item.get("name"), item.get("arguments"))
        for item in output
        if item.get("type") == "function_call"
    )
    usage = response.get("usage")
    return Answered(
        Reply(text=text, tool_calls=calls, message={"output": output}),
        dict(usage) if isinstance(usage, dict) else None,
        word(response.get("model")),
        word(response.get("status")),
    )


def _tool_call(id: Any, name: Any, arguments: Any) -> ToolCall:
    text = arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments)
    return ToolCall(id=id if isinstance(id, str) else "", name=str(name or ""), arguments=text)


def _commands(
    extra: dict[str, Any], reply: Reply, place: str, deadline_s: float | None, oddities: Oddities
) -> tuple[Command, ...]:
    """Return the commands in `extra.actions`, or else the only fenced block of the text.

    A text without a block, or with several, is a format error and has no command.
    """
    if "actions" in extra:
        return listed_commands(extra, place, deadline_s, oddities)
    if reply.tool_calls:
        return ()
    blocks = _FENCE.findall(reply.text)
    return (Command(blocks[0], deadline_s=deadline_s),) if len(blocks) == 1 else ()


def listed_commands(
    extra: dict[str, Any], place: str, deadline_s: float | None, oddities: Oddities
) -> tuple[Command, ...]:
    """Return the commands in `extra.actions`.

    Raises: BadDocument.
    """
    commands = []
    for n, action in enumerate(items(extra, "actions", f"{place}.extra")):
        script = action.get("command", action.get("action"))
        if not isinstance(script, str):
            raise BadDocument("an action without a command", f"{place}.extra.actions[{n}]")
        where = f"{place}.extra.actions[{n}].deadline_s"
        deadline = amount(action.get("deadline_s", deadline_s), "a deadline of", where, oddities)
        commands.append(Command(script, word(action.get("tool_call_id")), deadline or None))
    return tuple(commands)
