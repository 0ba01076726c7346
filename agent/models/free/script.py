"""The model `script:FILE`: answers with the turns of a YAML or JSON list. Costs nothing.

A turn is a command, a list of commands (several tool calls), or a mapping:

    text, commands, calls ({name, arguments: text or object}), usage, finish_reason, refusal,
    reply_delay_s, fail ({error, detail, retry_after_s, status})

A turn with `fail` is one failed try of the call that the next turn answers. Like a provider's Retry-After,
`retry_after_s` is the least wait before the next try: the back-off may be longer. The next turn follows from the
history alone, so that a trial can be resumed. After the last turn the script gives up. A token count that `usage` does
not give is 0.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import ValidationError

from agent.models.bash_tool import BASH, COMMAND
from agent.models.free.costs import FREE, NO_TOKENS
from agent.models.free.model import FreeModel
from agent.models.growing import Replies
from agent.models.protocol import CallFailure, Completion, ModelInfo, ModelUnusable, Request
from trajectories.formats.provider_usage import MOST
from trajectories.record.events import FailureClass, ModelRef, Reply, ToolCall
from trajectories.record.text import storable
from trajectories.record.usage import Usage
from trajectories.writing import excerpts

_KEYS = ("text", "commands", "calls", "usage", "finish_reason", "refusal", "reply_delay_s", "fail")
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

    Raises: ModelUnusable naming file, turn and key.
    """

    def __init__(self, path: Path, typed: str) -> None:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ModelUnusable(f"--model {typed}: cannot read {path}: {error.strerror}") from None
        self._turns = parse_script(data, str(path))
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
            time.sleep(request.timeout_s)
            raise CallFailure("timeout", f"no whole reply within {request.timeout_s:g} s")
        if turn.reply_delay_s:
            time.sleep(turn.reply_delay_s)
        calls = tuple(
            ToolCall(id=f"call_{due + 1}_{number}", name=name, arguments=arguments)
            for number, (name, arguments) in enumerate(turn.calls, start=1)
        )
        reply = Reply(text=turn.text, tool_calls=calls, refusal=turn.refusal)
        finish_reason = turn.finish_reason or ("tool_calls" if calls else "stop")
        return Completion(reply, turn.usage, model_served="script", finish_reason=finish_reason)


def parse_script(data: bytes, file: str) -> list[Turn]:
    """Parse the turns of a script; failures at its end belong to a turn that gives up.

    Raises: ModelUnusable naming file, turn and key.
    """
    try:
        text = data.decode("utf-8")
        entries = json.loads(text) if file.endswith(".json") else yaml.safe_load(text)
    except UnicodeDecodeError as error:
        raise ModelUnusable(f"{file}: not UTF-8 (byte {error.start})") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ModelUnusable(f"{file}: neither YAML nor JSON: {' '.join(str(error).split())}") from None
    if not isinstance(entries, list):
        raise ModelUnusable(f"{file}: a script must be a list of turns, not {_kind(entries)}")
    turns: list[Turn] = []
    failures: list[Failure] = []
    for number, entry in enumerate(entries, start=1):
        place = f"{file}: turn {number}"
        if isinstance(entry, dict) and "fail" in entry:
            if len(entry) > 1:
                raise ModelUnusable(f"{place}: a turn with `fail` must have no other key")
            failures.append(_failure(entry["fail"], place))
            continue
        turns.append(_turn(entry, tuple(failures), place))
        failures = []
    if failures:
        turns.append(Turn(failures=tuple(failures), gives_up=True))
    return turns


def _turn(entry: Any, failures: tuple[Failure, ...], place: str) -> Turn:
    if isinstance(entry, str | list):
        entry = {"commands": entry}
    if not isinstance(entry, dict):
        raise ModelUnusable(f"{place}: must be a command, a list of commands or a mapping, not {_kind(entry)}")
    _check_keys(entry, _KEYS, place)
    commands = _value(entry, "commands", [])
    commands = [commands] if isinstance(commands, str) else commands
    if not isinstance(commands, list) or not all(isinstance(command, str) for command in commands):
        raise ModelUnusable(f"{place}: commands must be texts (quote numbers and `true`), not {_shown(commands)}")
    calls = [(BASH, json.dumps({COMMAND: storable(command)})) for command in commands]
    return Turn(
        text=_text(entry, "text", place),
        calls=(*calls, *_calls(_value(entry, "calls", []), place)),
        usage=_usage(_value(entry, "usage", {}), place),
        finish_reason=_text(entry, "finish_reason", place) or None,
        refusal=_text(entry, "refusal", place),
        reply_delay_s=_seconds(entry, "reply_delay_s", place) or 0.0,
        failures=failures,
    )


def _calls(calls: Any, place: str) -> list[tuple[str, str]]:
    parsed = []
    for call in calls if isinstance(calls, list) else [None]:
        if not isinstance(call, dict):
            raise ModelUnusable(f"{place}: calls must be a list of {{name, arguments}}, not {_shown(calls)}")
        _check_keys(call, ("name", "arguments"), place)
        arguments = call.get("arguments", {})
        try:
            text = storable(arguments) if isinstance(arguments, str) else json.dumps(arguments, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise ModelUnusable(f"{place}: arguments must be a text or a JSON value: {error}") from None
        parsed.append((_text(call, "name", place) or BASH, text))
    return parsed


def _usage(counts: Any, place: str) -> Usage:
    try:
        usage = Usage.model_validate({**NO_TOKENS.model_dump(), **counts})
    except (ValidationError, TypeError):
        usage = None
    if usage is None or usage.total > MOST:
        names = ", ".join(Usage.model_fields)
        raise ModelUnusable(f"{place}: usage must give token counts of {names}, not {_shown(counts)}")
    return usage


def _failure(fail: Any, place: str) -> Failure:
    if not isinstance(fail, dict):
        raise ModelUnusable(f"{place}: fail must be a mapping with `error`, not {_shown(fail)}")
    _check_keys(fail, _FAIL_KEYS, place)
    error = next((kind for kind in get_args(FailureClass) if kind == fail.get("error")), None)
    if error is None:
        classes = ", ".join(get_args(FailureClass))
        raise ModelUnusable(f"{place}: error {_shown(fail.get('error'))} is not one of {classes}")
    status = fail.get("status")
    if status is not None and (type(status) is not int or not 100 <= status <= 599):
        raise ModelUnusable(f"{place}: status must be an HTTP status from 100 to 599, not {_shown(status)}")
    return Failure(
        error, _text(fail, "detail", place) or "as the script says", status, _seconds(fail, "retry_after_s", place)
    )


def _value(entry: dict[str, Any], key: str, default: Any) -> Any:
    value = entry.get(key)
    return default if value is None else value


def _text(entry: dict[str, Any], key: str, place: str) -> str:
    value = _value(entry, key, "")
    if not isinstance(value, str):
        raise ModelUnusable(f"{place}: {key} must be a text, not {_shown(value)}")
    return storable(value)


def _seconds(entry: dict[str, Any], key: str, place: str) -> float | None:
    value = entry.get(key)
    if value is None or (type(value) in (int, float) and 0 <= value <= MOST):
        return None if value is None else float(value)
    raise ModelUnusable(f"{place}: {key} must be a number of seconds, not {_shown(value)}")


def _check_keys(entry: dict[str, Any], keys: tuple[str, ...], place: str) -> None:
    for key in entry:
        if key not in keys:
            raise ModelUnusable(f"{place}: unknown key {_shown(key)}; keys are {', '.join(keys)}")


def _kind(value: Any) -> str:
    return "empty" if value is None else f"{type(value).__name__} {_shown(value)}"


def _shown(value: Any) -> str:
    try:
        return excerpts.beginning(repr(value), 80)
    except ValueError:
        return "a number of thousands of digits"
