"""The tool calls of a step, the commands among them, and the result of each.

A tool call is a command if its tool is a shell by name. Terminus types `keystrokes` into a terminal: what does not end
with a line break is a key or half a line, and no command. The format has no field for a return code; producers put it
into `extra`. What the format calls the content of a result is taken for the output of a command.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from trajectories.formats.errors import BadDocument
from trajectories.formats.fields import Oddities, amount, items, part, text_of, word
from trajectories.formats.items import Command, CommandResult
from trajectories.record.events import Ended, ToolCall, Why
from trajectories.writing import excerpts

_SHELLS = frozenset(
    {
        *("bash", "bash_command", "cmd", "container.exec", "exec", "exec_command", "execute_bash", "execute_command"),
        *("local_shell", "run", "run_bash", "run_command", "run_shell_command", "run_terminal_cmd", "sh", "shell"),
        *("shell_command", "terminal"),
    }
)
"""Names of tools that run a command of the shell, as agents call them."""
_SCRIPTS = ("command", "cmd", "script")
_KEYS = "keystrokes"
_CODES = ("returncode", "return_code", "exit_code")
_WHYS: tuple[Why, ...] = get_args(Why)
_ENDS: tuple[Ended, ...] = get_args(Ended)


@dataclass(frozen=True)
class Called:
    """A tool call with the id that the file gives it, and its command if it is one."""

    id: str
    call: ToolCall
    command: Command | None = None
    typed: bool = False
    """True for a command that was typed into a terminal: the result is a part of the screen."""
    fenced: bool = False
    """True for a command from the text of a reply of ours, which has no tool call."""

    @property
    def answer_id(self) -> str | None:
        """Id that an answer to the call names."""
        return None if self.fenced else self.call.id


@dataclass(frozen=True)
class Result:
    """A result of a step, and the call that it answers; None if it answers none."""

    content: str
    called: Called | None
    result: CommandResult | None
    why: Why = "observation"


def calls_of(step: dict[str, Any], place: str, oddities: Oddities, *, ours: bool) -> tuple[Called, ...]:
    """Return the tool calls of a step.

    Raises: BadDocument for a call without an id or a name, and for an id that is used twice.
    """
    calls: list[Called] = []
    listed = items(step, "tool_calls", place)
    ids = Counter(id for call in listed if isinstance(id := call.get("tool_call_id"), str))
    for n, call in enumerate(listed):
        where = f"{place}.tool_calls[{n}]"
        id, name = call.get("tool_call_id"), word(call.get("function_name"))
        if not isinstance(id, str):
            raise BadDocument("a tool call without an id", f"{where}.tool_call_id")
        if ids[id] > 1:
            raise BadDocument(f"{excerpts.beginning(id, 40)!r} is the id of two calls", f"{where}.tool_call_id")
        if name is None:
            raise BadDocument("a tool call without a name", f"{where}.function_name")
        arguments = part(call, "arguments", where)
        extra = part(call, "extra", where) if ours else {}
        sent = extra.get("arguments_as_sent")
        as_sent = extra.get("id_as_sent")
        record = ToolCall(
            id=as_sent if isinstance(as_sent, str) and as_sent not in ids else id,
            name=name,
            arguments=sent if isinstance(sent, str) else json.dumps(arguments),
        )
        fenced = extra.get("fenced") is True
        command, typed = _command(name, arguments, None if fenced else record.id, where, oddities)
        calls.append(Called(id, record, command, typed, fenced))
    return tuple(calls)


def _command(
    name: str, arguments: dict[str, Any], id: str | None, place: str, oddities: Oddities
) -> tuple[Command | None, bool]:
    """Return the command of a call, and True if it was typed into a terminal."""
    if name.lower() not in _SHELLS:
        return None, False
    keys = arguments.get(_KEYS)
    if isinstance(keys, str):
        if not keys.endswith("\n") or not keys.strip():
            oddities.add("keys that are not a whole command are not one", f"{place}.arguments.{_KEYS}")
            return None, True
        return Command(keys.removesuffix("\n"), id), True
    for key in _SCRIPTS:
        script = arguments.get(key)
        if isinstance(script, list) and script and all(isinstance(word, str) for word in script):
            script = script[-1] if script[:-1] in (["bash", "-lc"], ["bash", "-c"], ["sh", "-c"]) else None
        if isinstance(script, str) and script:
            return Command(script, id), False
    oddities.add("a call of a shell without a command is not one", f"{place}.arguments")
    return None, False


def results_of(
    step: dict[str, Any], calls: tuple[Called, ...], place: str, oddities: Oddities, *, ours: bool
) -> Iterator[Result]:
    """Yield the results of a step, each with the call that it answers.

    Results are matched by id, and by position only if none of them has an id. One result without an id for several
    calls answers the last of them.

    Raises: BadDocument for the id of a call that the step does not have.
    """
    where = f"{place}.observation.results"
    results = items(part(step, "observation", place), "results", f"{place}.observation")
    by_id = {called.id: called for called in calls}
    answered: set[str] = set()
    has_ids = any(_id_of(result) for result in results)
    in_order = deque(calls if len(results) == len(calls) else calls[-1:] if len(results) == 1 else ())
    if calls and results and len(results) != len(calls) and not has_ids:
        oddities.add("results without an id that are not as many as the calls", where)
    for n, result in enumerate(results):
        id, at = _id_of(result), f"{where}[{n}]"
        if id is not None and id not in by_id:
            raise BadDocument(f"{excerpts.beginning(id, 40)!r} is not a call of this step", f"{at}.source_call_id")
        called = by_id[id] if id is not None else None
        if id is None and in_order and not has_ids:
            called = in_order.popleft()
        if called is not None and called.id in answered:
            oddities.add("a second result of a call is a message of its own", at)
            called = None
        answered |= {called.id} if called is not None else set()
        yield _result(result, called, at, oddities, ours=ours)


def _id_of(result: dict[str, Any]) -> str | None:
    return word(result.get("source_call_id"))


def content_of(value: Any, place: str, oddities: Oddities) -> str:
    """Return the text of a message or a result; pictures and sounds are left out, with a note.

    Raises: BadDocument if it is neither a text nor a list of parts.
    """
    if isinstance(value, list) and any(not isinstance(item, dict) or item.get("type") != "text" for item in value):
        oddities.add("a part that is not text is left out", place)
    return text_of(value, place)


def _result(result: dict[str, Any], called: Called | None, place: str, oddities: Oddities, *, ours: bool) -> Result:
    content = content_of(result.get("content"), f"{place}.content", oddities)
    extra = part(result, "extra", place)
    if ours:
        why: Why = extra["kind"] if extra.get("kind") in _WHYS else "observation"
        return Result(content, called, _of_ours(extra, place, oddities), why)
    if called is None or called.command is None:
        return Result(content, called, None)
    code = next((extra[key] for key in _CODES if extra.get(key) is not None), None)
    if code is not None and (isinstance(code, bool) or not isinstance(code, int) or not -(2**31) <= code < 2**32):
        raise BadDocument(f"{excerpts.beginning(str(code), 40)!r} is not a return code", f"{place}.extra")
    status = None if code in (None, -1) else int(code)
    whole = isinstance(result.get("content"), str) and not called.typed
    return Result(
        content,
        called,
        CommandResult(
            "unknown" if status is None else "exited",
            content,
            exit_code=status if status is not None and status >= 0 else None,
            signal=-status if status is not None and status < 0 else None,
            complete=whole,
            duration_s=amount(extra.get("duration_s"), "a duration of", f"{place}.extra.duration_s", oddities),
        ),
    )


def _of_ours(extra: dict[str, Any], place: str, oddities: Oddities) -> CommandResult | None:
    """Return the result of a command of one of our trials: its output is not in the file, only its size."""
    ended = extra.get("ended")
    if ended not in _ENDS:
        return None
    codes = {name: extra.get(name) for name in ("returncode", "signal")}
    for name, code in codes.items():
        if code is not None and (isinstance(code, bool) or not isinstance(code, int) or not 0 <= code < 2**32):
            raise BadDocument(f"{excerpts.beginning(str(code), 40)!r} is not a status", f"{place}.extra.{name}")
    size = part(extra, "output", f"{place}.extra").get("bytes")
    return CommandResult(
        ended,
        "",
        exit_code=codes["returncode"],
        signal=codes["signal"],
        left_out=int(amount(size, "a size of", f"{place}.extra.output.bytes", oddities) or 0),
        complete=False,
        duration_s=amount(extra.get("duration_s"), "a duration of", f"{place}.extra.duration_s", oddities),
    )
