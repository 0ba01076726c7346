"""Requests of a study that fail, and their faults: at given rates with a seed, or at given numbers.

The number of a request decides, so the same seed gives the same faults in the same order, whichever trial meets them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

KINDS = ("429", "500", "401", "cut", "stall", "hang_up")
"""Refused: 429 with Retry-After, 500, and 401. Billed, but the reply never comes as a whole: cut in the middle (`cut`),
never begun (`stall`), and a closed connection without a byte (`hang_up`)."""
REFUSED = {"429": 429, "500": 500, "401": 401}


@dataclass(frozen=True)
class Faults:
    """The faults of a study: a share of requests for each kind, and a kind for single requests by their number."""

    rates: Mapping[str, float] = field(default_factory=dict)
    at: Mapping[int, str] = field(default_factory=dict)
    seed: int = 0
    retry_after_s: float = 1.0

    def of(self, number: int) -> str | None:
        """Return the fault of a request, by its number from 1, or None."""
        if number in self.at:
            return self.at[number]
        chance = random.Random(f"{self.seed}-{number}").random() if self.rates else 1.0
        for kind, rate in self.rates.items():
            if chance < rate:
                return kind
            chance -= rate
        return None

    @classmethod
    def parse(cls, text: str, seed: int = 0, retry_after_s: float = 1.0) -> Faults:
        """Read `429=0.03,cut=0.01,500@7,401@12`: shares of requests, and numbers of requests.

        Raises: ValueError.
        """
        rates: dict[str, float] = {}
        at: dict[int, str] = {}
        for word in filter(None, text.split(",")):
            match = re.fullmatch(r"(\w+)(?:=([0-9.]+)|@(\d+))", word.strip())
            if match is None or match[1] not in KINDS:
                raise ValueError(f"{word!r}: write KIND=SHARE or KIND@NUMBER; kinds are {', '.join(KINDS)}")
            if match[2] is not None:
                rates[match[1]] = float(match[2])
            else:
                at[int(match[3])] = match[1]
        return cls(rates, at, seed, retry_after_s)
