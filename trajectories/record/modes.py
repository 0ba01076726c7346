"""The mode of a trial: how people or other models take part in it, in the words of LongCLI-Bench.

A mode follows from other fields of the first event. It is stored so that readers of the record need not derive it.
"""

from __future__ import annotations

BASE = "base"


def mode_of(*, chain: bool, plan: bool) -> str:
    """Return the mode of a trial: in a chain of turns with feedback or not, with a plan or without."""
    parts = [name for name, present in (("self-correction", chain), ("plan", plan)) if present]
    return "-and-".join(parts) or BASE
