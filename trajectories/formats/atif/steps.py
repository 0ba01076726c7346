"""Conversion of ATIF's steps to items, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, get_args

from pydantic import ValidationError

from trajectories.formats.atif.tools import Called, Result, calls_of, content_of, results_of
from trajectories.formats.errors import BadDocument
from trajectories.formats.fields import Oddities, amount, count, items, part, time_of, word
from trajectories.formats.items import (
    AnsweredCall,
    Command,
    FailedCall,
    InheritedAnswer,
    Item,
    Observation,
    PlainMessage,
    TypedCommands,
)
from trajectories.record.events import FailureClass, Reply, Why
from trajectories.record.usage import Costs, Usage
from trajectories.writing import excerpts

_WHYS: tuple[Why, ...] = get_args(Why)
_FAILURES: tuple[FailureClass, ...] = get_args(FailureClass)


@dataclass
class Reader:
    """Reads steps in order."""

    ours: bool
    """True for a trial of ours that `write` wrote: its `extra` objects are read too."""
    oddities: Oddities
    _has_task: bool = False
    _calls: int = 0
    _copied: int = 0

    def read(self, steps: list[dict[str, Any]]) -> Iterator[Item]:
        """Yield the items of the steps.

        Raises: BadDocument.
        """
        for n, step in enumerate(steps):
            place = f"steps[{n}]"
            id = step.get("step_id")
            if isinstance(id, bool) or not isinstance(id, int) or id != n + 1:
                shown = excerpts.beginning(str(id), 40)
                raise BadDocument(f"{shown} instead of {n + 1}: steps are numbered from 1", f"{place}.step_id")
            match step.get("source"):
                case "system" | "user" as source:
                    yield from self._message(step, source, place)
                case "agent":
                    yield from self._agent(step, place)
                case other:
                    raise BadDocument(f"unknown source {excerpts.beginning(str(other), 40)!r}", f"{place}.source")

    def _message(self, step: dict[str, Any], source: str, place: str) -> Iterator[Item]:
        copied = step.get("is_copied_context") is True
        kind = part(step, "extra", place).get("kind") if self.ours else None
        if kind in _WHYS:
            why: Why = kind
        elif source == "system":
            why = "notice" if self._has_task or self._calls else "system"
        else:
            why = "notice" if self._has_task else "task"
        self._has_task |= source == "user"
        text, at = self._text(step, place), self._time(step, place)
        yield PlainMessage("system" if source == "system" else "user", text, why, at=at, inherited=copied)
        for result in results_of(step, (), place, self.oddities, ours=self.ours):
            yield PlainMessage("user", result.content, "notice", inherited=copied)

    def _agent(self, step: dict[str, Any], place: str) -> Iterator[Item]:
        text, at = self._text(step, place), self._time(step, place)
        calls = calls_of(step, place, self.oddities, ours=self.ours)
        results = results_of(step, calls, place, self.oddities, ours=self.ours)
        commands = tuple(called.command for called in calls if called.command is not None)
        made = count(step.get("llm_call_count"), "a number of calls of", f"{place}.llm_call_count", self.oddities)
        if step.get("is_copied_context") is True:
            yield from self._copy(step, self._reply(step, text, calls, place), results, place)
        elif made == 0:
            message = PlainMessage("user", text, "notice", at=at)
            if self._calls:
                yield TypedCommands(message, tuple(replace(command, tool_call_id=None) for command in commands))
            else:
                yield message
                self.oddities.add("commands before the first call of the model are not recorded as commands", place)
            yield from self._observations(results, tool_calls=False)
        else:
            if made is not None and made > 1:
                self.oddities.add(f"a step stands for {made} calls and counts as one", place)
            self._calls += 1
            yield from self._answer(step, self._reply(step, text, calls, place), commands, at, place)
            yield from self._observations(results, tool_calls=True)

    def _copy(self, step: dict[str, Any], reply: Reply, results: Iterator[Result], place: str) -> Iterator[Item]:
        """Yield a reply that was copied from another document, with its results: no call of this run."""
        self._copied += 1
        number = part(step, "extra", place).get("parent_step") if self.ours else None
        whole = isinstance(number, int) and not isinstance(number, bool) and 0 < number < 2**31
        yield InheritedAnswer(reply, int(number) if whole and number else self._copied, word(step.get("model_name")))
        for result in results:
            id = result.called.answer_id if result.called is not None else None
            yield PlainMessage("user" if id is None else "tool", result.content, result.why, id, inherited=True)

    def _observations(self, results: Iterator[Result], *, tool_calls: bool) -> Iterator[Item]:
        for result in results:
            called = result.called
            if called is None:
                yield PlainMessage("user", result.content, "notice")
                continue
            id = called.answer_id if tool_calls else None
            message = PlainMessage("user" if id is None else "tool", result.content, result.why, id)
            if called.command is None or (self.ours and result.why == "format_error"):
                yield message
            else:
                executed = result.why != "not_executed"
                yield Observation(message, result.result if executed else None, executed)

    def _reply(self, step: dict[str, Any], text: str, calls: tuple[Called, ...], place: str) -> Reply:
        reasoning = word(step.get("reasoning_content"))
        refusal = word(part(step, "extra", place).get("refusal")) if self.ours else None
        return Reply(
            text=text,
            tool_calls=tuple(called.call for called in calls if not called.fenced),
            refusal=refusal or "",
            message={} if reasoning is None else {"reasoning_content": reasoning},
        )

    def _answer(
        self, step: dict[str, Any], reply: Reply, commands: tuple[Command, ...], at: float | None, place: str
    ) -> Iterator[Item]:
        metrics, where = part(step, "metrics", place), f"{place}.metrics"
        extra = part(step, "extra", place) if self.ours else {}
        of_metrics = part(metrics, "extra", where) if self.ours else {}
        yield from self.failed_attempts(of_metrics, where, retried=True)
        yield AnsweredCall(
            reply,
            commands=commands,
            usage=self._usage(metrics, of_metrics, where),
            costs=self._costs(metrics, of_metrics, where),
            served=word(step.get("model_name")),
            finish_reason=word(extra.get("finish_reason")),
            at=at,
            latency_s=amount(extra.get("latency_s"), "a latency of", f"{place}.extra.latency_s", self.oddities),
        )

    def failed_attempts(self, extra: dict[str, Any], place: str, *, retried: bool) -> Iterator[FailedCall]:
        """Yield the failed tries that one of our documents lists.

        Raises: BadDocument.
        """
        attempts = items(extra, "failed_attempts", place)
        for n, attempt in enumerate(attempts):
            error = attempt.get("error")
            if error not in _FAILURES:
                shown = excerpts.beginning(str(error), 40)
                raise BadDocument(f"unknown failure {shown!r}", f"{place}.failed_attempts[{n}].error")
            yield FailedCall(error, word(attempt.get("detail")) or "", retry=retried or n < len(attempts) - 1)

    def _usage(self, metrics: dict[str, Any], extra: dict[str, Any], place: str) -> Usage | None:
        """Return the buckets: `prompt_tokens` includes cached ones, and cache writes have no field of their own."""
        figures = {name: self._count(metrics, name, place) for name in ("prompt_tokens", "completion_tokens")}
        prompt, output = figures["prompt_tokens"], figures["completion_tokens"]
        read = self._count(metrics, "cached_tokens", place)
        if prompt is None and output is None:
            return None
        short, long = (self._count(extra, f"cache_write_{ttl}_tokens", f"{place}.extra") for ttl in ("5m", "1h"))
        reasoning = self._count(extra, "reasoning_tokens", f"{place}.extra")
        rest = None if prompt is None else prompt - (read or 0) - (short or 0) - (long or 0)
        if rest is not None and rest < 0:
            self.oddities.add("more tokens of the prompt are cached than it has, so their number is unknown", place)
            rest, read, short, long = prompt, None, None, None
        if reasoning is not None and (output is None or reasoning > output):
            reasoning = None
        return Usage(
            input=rest, cache_read=read, cache_write_5m=short, cache_write_1h=long, output=output, reasoning=reasoning
        )

    def _count(self, value: dict[str, Any], name: str, place: str) -> int | None:
        return count(value.get(name), "a number of tokens of", f"{place}.{name}", self.oddities)

    def _costs(self, metrics: dict[str, Any], extra: dict[str, Any], place: str) -> Costs:
        if self.ours:
            try:
                return Costs.model_validate(extra.get("costs_usd") or {})
            except ValidationError as error:
                raise BadDocument(error.errors()[0]["msg"], f"{place}.extra.costs_usd") from None
        return Costs(billed=amount(metrics.get("cost_usd"), "a cost of", f"{place}.cost_usd", self.oddities))

    def _text(self, step: dict[str, Any], place: str) -> str:
        return content_of(step.get("message"), f"{place}.message", self.oddities)

    def _time(self, step: dict[str, Any], place: str) -> float | None:
        """Return Unix seconds; None, with a note, for a text that is not a time."""
        text, where = step.get("timestamp"), f"{place}.timestamp"
        if text is None:
            return None
        try:
            moment = datetime.fromisoformat(text)
        except (TypeError, ValueError):
            self.oddities.add(
                f"a time of {excerpts.beginning(str(text), 40)} is impossible and counts as unknown", where
            )
            return None
        if moment.tzinfo is None:
            self.oddities.add("a time without a zone counts as UTC", where)
            moment = moment.replace(tzinfo=UTC)
        return time_of(moment.timestamp(), where, self.oddities)
