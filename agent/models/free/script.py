"""The model `script:FILE`: answers with the turns of a YAML or JSON list. Costs nothing.

A turn is a command, a list of commands (several tool calls), or a mapping:

    text, commands, ask (a question to the expert), calls ({name, arguments: text or object}), usage, finish_reason,
    refusal, reply_delay_s, fail ({error, detail, retry_after_s, status})

A turn with `fail` is one failed try of the call that the next turn answers. Like a provider's Retry-After,
`retry_after_s` is the least wait before the next try: the back-off may be longer. The next turn follows from the
history alone, so that a trial can be resumed. After the last turn the script gives up. A token count that `usage` does
not give is 0.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import ValidationError

from agent.models.free.costs import FREE, NO_TOKENS
from agent.models.free.model import FreeModel
from agent.models.growing import Replies
from agent.models.protocol import CallFailure, Completion, ModelInfo, ModelUnusable, Request
from agent.models.tools import ASK, BASH, COMMAND, QUESTION
from trajectories import yaml_mistakes
from trajectories.formats.provider_usage import MOST
from trajectories.record.events import FailureClass, ModelRef, Reply, ToolCall
from trajectories.record.texts.text import storable
from trajectories.record.usage import Usage
from trajectories.waiting import sleep
from trajectories.yaml_mistakes import Mistake, Mistakes, shown

_KEYS = ("text", "commands", "ask", "calls", "usage", "finish_reason", "refusal", "reply_delay_s", "fail")
_FAIL_KEYS = ("error", "detail", "retry_after_s", "status")


@dataclass(frozen=True)
class Failure:
    """One failed try."""

    error: FailureClass
    detail: str
    status: int | None
    retry_after_s: float | None

    def exception(self) -> CallFailure:
        """Return the exception that the try raises."""
        return CallFailure(self.error, self.detail, status=self.status, retry_after_s=self.retry_after_s)


@dataclass(frozen=True)
class Turn:
    """One reply, with the failed tries that come before it."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    """Name of the tool and arguments as text, for each call."""
    usage: Usage = NO_TOKENS
    finish_reason: str | None = None
    refusal: str = ""
    reply_delay_s: float = 0.0
    failures: tuple[Failure, ...] = ()
    gives_up: bool = False
    """True if no reply follows the failures."""


class ScriptModel(FreeModel):
    """A model that answers with the turns of a file, in order.

    Raises: ModelUnusable naming the file and all its mistakes.
    """

    def __init__(self, data: bytes, path: str, typed: str) -> None:
        self._turns = parse_script(data, path)
        self._replies = Replies()
        digest = hashlib.sha256(data).hexdigest()
        self.info = ModelInfo(ModelRef(asked=typed, name="script", settings={"sha256": digest}), "tool", free=FREE)

    def ask(self, request: Request) -> Completion:
        """Return the next turn.

        Raises: CallFailure as the script prescribes; `gave_up` after its last turn.
        """
        self._replies.take_in(request.history)
        due = self._replies.count
        turn = self._turns[due] if due < len(self._turns) else Turn(gives_up=True)
        if request.try_ <= len(turn.failures):
            raise turn.failures[request.try_ - 1].exception()
        if turn.gives_up:
            detail = f"the script has no turn left: it has {len(self._turns)}, and the history {due} replies"
            raise CallFailure("gave_up", detail)
        if turn.reply_delay_s > request.timeout_s:
            sleep(request.timeout_s)
            raise CallFailure("timeout", f"no whole reply within {request.timeout_s:g} s")
        if turn.reply_delay_s:
            sleep(turn.reply_delay_s)
        calls = tuple(
            ToolCall(id=f"call_{due + 1}_{number}", name=name, arguments=arguments)
            for number, (name, arguments) in enumerate(turn.calls, start=1)
        )
        reply = Reply(text=turn.text, tool_calls=calls, refusal=turn.refusal)
        finish_reason = turn.finish_reason or ("tool_calls" if calls else "stop")
        return Completion(reply, turn.usage, model_served="script", finish_reason=finish_reason)


def parse_script(data: bytes, file: str) -> list[Turn]:
    """Parse the turns of a script; failures at its end belong to a turn that gives up.

    Raises: ModelUnusable naming the file and all mistakes with line, turn and key.
    """
    turns: list[Turn] = []
    try:
        text = yaml_mistakes.decoded(data)
        if file.endswith(".json"):
            if mistakes := list(_take_turns(_json(text), turns)):
                raise yaml_mistakes.located(text, mistakes)
        else:
            yaml_mistakes.checked(text, lambda entries: _take_turns(entries, turns))
    except Mistakes as mistakes:
        raise ModelUnusable(f"{file}: {mistakes}") from None
    return turns


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Mistakes(f"is not JSON: {error}") from None


def _take_turns(entries: Any, turns: list[Turn]) -> Iterator[Mistake]:
    """Append the turns of a script, and yield the mistakes of those that cannot be used."""
    if not isinstance(entries, list):
        raise Mistakes(f"a script must be a list of turns, not {yaml_mistakes.kind_of(entries)}")
    failures: list[Failure] = []
    for index, entry in enumerate(entries):
        try:
            if isinstance(entry, dict) and "fail" in entry:
                failures.append(_failure(entry))
            else:
                turns.append(_turn(entry, tuple(failures)))
                failures = []
        except _Wrong as wrong:
            yield Mistake((index, *wrong.place), str(wrong), key=f"turn {index + 1}")
    if failures:
        turns.append(Turn(failures=tuple(failures), gives_up=True))


class _Wrong(Exception):
    """A turn that cannot be used, with the place of the mistake within the turn."""

    def __init__(self, reason: str, *place: str | int) -> None:
        super().__init__(reason)
        self.place = place


def _turn(entry: Any, failures: tuple[Failure, ...]) -> Turn:
    if isinstance(entry, str | list):
        entry = {"commands": entry}
    if not isinstance(entry, dict):
        raise _Wrong(f"must be a command, a list of commands or a mapping, not {yaml_mistakes.kind_of(entry)}")
    _check_keys(entry, _KEYS)
    commands = _value(entry, "commands", [])
    commands = [commands] if isinstance(commands, str) else commands
    if not isinstance(commands, list) or not all(isinstance(command, str) for command in commands):
        raise _Wrong(f"commands must be texts (quote numbers and `true`), not {shown(commands)}", "commands")
    calls = [(BASH, json.dumps({COMMAND: storable(command)})) for command in commands]
    if "ask" in entry:
        calls.append((ASK, json.dumps({QUESTION: _text(entry, "ask")})))
    return Turn(
        text=_text(entry, "text"),
        calls=(*calls, *_calls(_value(entry, "calls", []))),
        usage=_usage(_value(entry, "usage", {})),
        finish_reason=_text(entry, "finish_reason") or None,
        refusal=_text(entry, "refusal"),
        reply_delay_s=_seconds(entry, "reply_delay_s") or 0.0,
        failures=failures,
    )


def _calls(calls: Any) -> list[tuple[str, str]]:
    parsed = []
    for call in calls if isinstance(calls, list) else [None]:
        if not isinstance(call, dict):
            raise _Wrong(f"calls must be a list of {{name, arguments}}, not {shown(calls)}", "calls")
        _check_keys(call, ("name", "arguments"), "calls")
        arguments = call.get("arguments", {})
        try:
            text = storable(arguments) if isinstance(arguments, str) else json.dumps(arguments, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise _Wrong(f"arguments must be a text or a JSON value: {error}", "calls") from None
        parsed.append((_text(call, "name", "calls") or BASH, text))
    return parsed


def _usage(counts: Any) -> Usage:
    try:
        usage = Usage.model_validate({**NO_TOKENS.model_dump(), **counts})
    except (ValidationError, TypeError):
        usage = None
    if usage is None or usage.total > MOST:
        names = ", ".join(Usage.model_fields)
        raise _Wrong(f"usage must give token counts of {names}, not {shown(counts)}", "usage")
    return usage


def _failure(entry: dict[str, Any]) -> Failure:
    fail = entry["fail"]
    if len(entry) > 1:
        raise _Wrong("a turn with `fail` must have no other key", "fail")
    if not isinstance(fail, dict):
        raise _Wrong(f"fail must be a mapping with `error`, not {shown(fail)}", "fail")
    _check_keys(fail, _FAIL_KEYS, "fail")
    error = next((kind for kind in get_args(FailureClass) if kind == fail.get("error")), None)
    if error is None:
        classes = ", ".join(get_args(FailureClass))
        raise _Wrong(f"error {shown(fail.get('error'))} is not one of {classes}", "fail", "error")
    status = fail.get("status")
    if status is not None and (type(status) is not int or not 100 <= status <= 599):
        raise _Wrong(f"status must be an HTTP status from 100 to 599, not {shown(status)}", "fail", "status")
    return Failure(
        error, _text(fail, "detail", "fail") or "as the script says", status, _seconds(fail, "retry_after_s", "fail")
    )


def _value(entry: dict[str, Any], key: str, default: Any) -> Any:
    value = entry.get(key)
    return default if value is None else value


def _text(entry: dict[str, Any], key: str, *above: str) -> str:
    value = _value(entry, key, "")
    if not isinstance(value, str):
        raise _Wrong(f"{key} must be a text, not {shown(value)}", *above, key)
    return storable(value)


def _seconds(entry: dict[str, Any], key: str, *above: str) -> float | None:
    value = entry.get(key)
    if value is None or (type(value) in (int, float) and 0 <= value <= MOST):
        return None if value is None else float(value)
    raise _Wrong(f"{key} must be a number of seconds, not {shown(value)}", *above, key)


def _check_keys(entry: dict[str, Any], keys: tuple[str, ...], *above: str) -> None:
    for key in entry:
        if key not in keys:
            reason = yaml_mistakes.unknown_key(key, keys)
            raise _Wrong(f"{shown(key)}: {reason}", *above, str(key))
