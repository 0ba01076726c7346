"""The most that one call can use: tokens, and dollars at list price.

Nothing here is an estimate: a call that is admitted with its bound never costs more than that at list price. A token is
at least one byte of the request, so bytes bound the tokens of everything whose count the provider has not reported yet.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agent.models import catalog
from agent.models.growing import Entry
from agent.models.protocol import AssistantTurn, ModelInfo
from agent.trial.gate import CallBound
from scoring.pricing.cost import find_price
from scoring.pricing.rates import BUCKETS, ModelPrice, standard_name
from scoring.pricing.tables import PriceTable
from trajectories.record.usage import Usage

if TYPE_CHECKING:
    from agent.trial.order import Order

HIDDEN_TOKENS = 2000
"""Tokens of a request that none of its bytes stand for: what a provider adds to explain tools to its model. The largest
documented number is 530 (Anthropic's tool use system prompt for Claude 3 Opus); other models' are 159 to 395."""
ENTRY_TOKENS = 64
"""The same for one message: its role and its borders. OpenAI documents 3 or 4."""
_OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


class CallBounds:
    """The bounds of the calls of one conversation. Each entry is looked at once, whatever the length is."""

    def __init__(self, info: ModelInfo, prices: PriceTable) -> None:
        self._info = info
        self._output = output_limit(info)
        self._prices = prices
        self._rates: dict[str, _Rates] = {}
        """Rates of the requested model, and of those that served calls, by the row of the table."""
        self._take_price_of(None)
        self._known = HIDDEN_TOKENS + _bytes(info.parameters)
        """Most tokens of the first `_covered` entries, parameters and tools included."""
        self._covered = 0
        self._since = 0
        """Bytes of the entries since then, up to `_counted`."""
        self._counted = 0

    def next(self, turns: Sequence[Entry]) -> CallBound:
        """Return the bound of a call that sends these entries, which begin with those of the last call."""
        for entry in turns[self._counted :]:
            self._since += _entry_bytes(entry)
        self._counted = len(turns)
        return self._bound(self._known + self._since)

    def answered(self, sent: int, usage: Usage | None, served: str | None = None) -> None:
        """Take in the usage of a call that sent the first `sent` entries; their tokens are known from now on.

        `served` is the model that answered: a later call may cost what that one costs.
        """
        if served:
            self._take_price_of(served)
        if usage is None or usage.input is None or sent < self._covered:
            return
        # what the model thought is sent back in a form of the provider's, which may be shorter than its tokens
        self._known = usage.prompt + (usage.output or 0)
        self._covered = self._counted = sent
        self._since = 0

    def _bound(self, prompt: int) -> CallBound:
        if self._output is None:
            return CallBound()
        costs = [rates.most_usd(prompt, self._output) for rates in self._rates.values()]
        known = [cost for cost in costs if cost is not None]
        usd = max(known) if known and len(known) == len(costs) else None
        return CallBound(usd, prompt + self._output)

    def _take_price_of(self, served: str | None) -> None:
        priced = find_price(self._prices, self._info.ref.name, served)
        if priced is not None and priced[0] not in self._rates:
            self._rates[priced[0]] = _Rates(priced[1], self._info)


def output_limit(info: ModelInfo) -> int | None:
    """Return the most tokens of a reply, reasoning included: of the parameters, or of the catalog; None if unknown."""
    parameters = [info.parameters, info.parameters.get("extra_body")]
    given = [own[name] for own in parameters if isinstance(own, dict) for name in _OUTPUT_LIMITS if name in own]
    if given:
        return max(given) if all(isinstance(limit, int) for limit in given) else None
    row = catalog.row_of(info.ref.name) or {}
    limit = row.get("max_output_tokens")
    return limit if isinstance(limit, int) and limit > 0 else None


def first_call(order: Order) -> CallBound:
    """Return the bound of the first call of a trial, from its order alone. Paths of the environment are left out.

    A budget below it never lets the trial begin.
    """
    from environments.protocol import Started
    from trajectories.record.events import Message

    said = order.opening(Started(kind=order.spec.kind, workdir="", promises=()))
    turns = [Message(id="", role=say.role, content=say.content, why=say.why) for say in said]
    return CallBounds(order.model.info, order.prices).next(turns)


class _Rates:
    """The highest rates that a call can be billed at, by the size of its prompt."""

    def __init__(self, price: ModelPrice, info: ModelInfo) -> None:
        tier = info.parameters.get("service_tier")
        steps = price.tiers.get(standard_name(tier if isinstance(tier, str) else None))
        buckets = [name for name in BUCKETS if name not in ("output", "reasoning")]
        if info.parameters.get("cache") != "1h":
            buckets.remove("cache_write_1h")
        self._steps: list[tuple[int, float | None, float | None]] = []
        """Highest rates of input and output for prompts with more than so many tokens."""
        reached: dict[str, float] = {}
        for above, rates in steps or ():
            reached.update(rates)
            self._steps.append((above, _most(reached, buckets), _most(reached, ["output", "reasoning"])))

    def most_usd(self, prompt: int, output: int) -> float | None:
        """Return the highest cost of a call with at most so many tokens; None without a price."""
        highest: float | None = None
        for above, input_rate, output_rate in self._steps:
            if above and above >= prompt:
                break
            if input_rate is None or output_rate is None:
                return None
            highest = max(highest or 0.0, prompt * input_rate + output * output_rate)
        return highest


def _most(rates: dict[str, float], buckets: Sequence[str]) -> float | None:
    return max((rates[bucket] for bucket in buckets if bucket in rates), default=None)


def _entry_bytes(entry: Entry) -> int:
    """Return at least the number of bytes that an entry has in a request of any protocol, in tokens."""
    if not isinstance(entry, AssistantTurn):
        return ENTRY_TOKENS + _bytes(entry.content) + _bytes(entry.tool_call_id)
    reply = entry.reply
    # Arguments are counted beside the message: those that cannot be sent as they came are sent in an object.
    calls = [[call.id, call.name, call.arguments] for call in reply.tool_calls]
    framing = ENTRY_TOKENS * (1 + len(calls))
    return framing + _bytes(reply.message or [reply.text, reply.refusal]) + _bytes(reply.text) + _bytes(calls)


def _bytes(value: Any) -> int:
    """Return the number of bytes of a value as JSON, which is at least that of its texts."""
    return len(json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass"))
