"""What calls cost that nobody bills: nothing, and it is known to be nothing."""

from __future__ import annotations

from trajectories.usage import Costs, Usage

FREE = Costs(billed=0.0, computed=0.0, list=0.0)
NO_TOKENS = Usage(input=0, cache_read=0, cache_write_5m=0, cache_write_1h=0, output=0, reasoning=0)
