"""The bill of a study: a line for each request, with tokens and dollars, in memory and in a file.

A request is billed when it comes, whoever still waits for the reply; one that is refused costs nothing. Prices are
those of litellm's table, applied here by a few lines of their own. A model that the table does not have is billed at
fixed prices, and its replies report their cost, as OpenRouter's do.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from scoring.pricing.tables import wheel_prices

Json = dict[str, Any]

UNLISTED_USD = (3e-6, 0.3e-6, 15e-6)
"""Dollars for a token of input, of input that was read from the cache, and of output, for models without a price."""
CACHE_LEAST = 1024
"""Smallest prompt in tokens whose beginning is read from the cache."""


@dataclass(frozen=True)
class Line:
    """One request."""

    request: int
    model: str
    messages: str
    """Hash of the messages, as `calls.py` of docs/studies/table4 computes it."""
    input: int
    """Tokens of the prompt that were not read from the cache."""
    cached: int
    output: int
    usd: float
    outcome: str
    """`answered`, or the kind of the fault."""

    @property
    def billed(self) -> bool:
        """False for a request that was refused."""
        return self.usd > 0


@lru_cache(maxsize=256)
def rates(model: str) -> tuple[float, float, float] | None:
    """Return dollars for a token of input, of cached input and of output; None for a model without a price."""
    row: Mapping[str, Any] | None = wheel_prices().rows.get(model)
    if row is None or not row.get("input_cost_per_token"):
        return None
    usual = row["input_cost_per_token"]
    return usual, row.get("cache_read_input_token_cost", usual), row["output_cost_per_token"]


def count(body: Json, reply: Json) -> tuple[int, int, int]:
    """Return the tokens of input outside of the cache, of cached input, and of output.

    The prompt of the request before is in the cache: everything up to the last reply.
    """
    sizes = [len(json.dumps(message)) for message in body["messages"]]
    prompt = (sum(sizes) + len(json.dumps(body.get("tools", ())))) // 4
    last = max((at for at, message in enumerate(body["messages"]) if message["role"] == "assistant"), default=0)
    cached = sum(sizes[:last]) // 4
    cached = cached - cached % 128 if cached >= CACHE_LEAST else 0
    return prompt - cached, cached, len(json.dumps(reply)) // 4


class Bill:
    """All requests of a study. Continues the numbers of a file that exists."""

    def __init__(self, path: Path | None = None) -> None:
        self.lines: list[Line] = []
        if path is not None and path.exists():
            self.lines = [Line(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
        self._file = None if path is None else path.open("a", encoding="utf-8", buffering=1)
        self._lock = threading.Lock()

    @property
    def usd(self) -> float:
        """Return the dollars of all requests."""
        return sum(line.usd for line in self.lines)

    @property
    def tokens(self) -> int:
        """Return the tokens of all requests that were billed."""
        return sum(line.input + line.cached + line.output for line in self.lines if line.billed)

    def next_number(self) -> int:
        """Return the number of the next request."""
        return len(self.lines) + 1

    def refuse(self, model: str, messages: str, outcome: str) -> Line:
        """Note a request that costs nothing."""
        return self._add(model, messages, (0, 0, 0), 0.0, outcome)

    def add(self, model: str, messages: str, tokens: tuple[int, int, int], outcome: str) -> Line:
        """Bill a request."""
        usd = sum(number * rate for number, rate in zip(tokens, rates(model) or UNLISTED_USD, strict=True))
        return self._add(model, messages, tokens, usd, outcome)

    def _add(self, model: str, messages: str, tokens: tuple[int, int, int], usd: float, outcome: str) -> Line:
        with self._lock:
            line = Line(self.next_number(), model, messages, *tokens, usd, outcome)
            self.lines.append(line)
            if self._file is not None:
                self._file.write(json.dumps(asdict(line)) + "\n")
        return line

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def usage(line: Line) -> Json:
    """Return the usage that a reply reports. `request` names the line of the bill."""
    prompt = line.input + line.cached
    reported: Json = {
        "prompt_tokens": prompt,
        "completion_tokens": line.output,
        "total_tokens": prompt + line.output,
        "prompt_tokens_details": {"cached_tokens": line.cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        "request": line.request,
    }
    return reported if rates(line.model) else {**reported, "cost": line.usd}
