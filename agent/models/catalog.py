"""litellm's table of models: which names exist, whose they are, and how much they can write.

The table is `scoring.pricing.tables`'s, read as the file inside the wheel; litellm is not imported. What a
model costs is `scoring`'s.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from scoring.pricing.tables import wheel_prices

TALKING_MODES = ("chat", "responses")

Row = Mapping[str, Any]


@lru_cache(maxsize=1)
def litellm_version() -> str:
    """The installed version, or "unknown"."""
    try:
        return version("litellm")
    except PackageNotFoundError:
        return "unknown"


def table() -> Mapping[str, Row]:
    """Rows by name; empty where there is no table (the check then lets every name pass)."""
    return wheel_prices().rows


def provider_of_row(row: Row) -> str:
    """The provider as it is written before a slash: the table splits some of them further."""
    provider = str(row.get("litellm_provider", ""))
    for family in ("vertex_ai", "bedrock", "cohere", "fireworks_ai"):
        if provider.startswith((family + "-", family + "_")) and provider != "bedrock_mantle":
            return family
    return provider


def row_of(name: str) -> Row | None:
    """The row of `provider/model` or of a bare model name; of no other provider's model."""
    rows = table()
    if name in rows:
        return rows[name]
    provider, _, model = name.partition("/")
    row = rows.get(model)
    return row if row is not None and provider_of_row(row) == provider else None


@lru_cache(maxsize=1)
def talking_names() -> tuple[str, ...]:
    """Every chat model as `provider/model`."""
    names = []
    for name, row in table().items():
        if row.get("mode") in TALKING_MODES:
            provider = provider_of_row(row)
            names.append(name if name.startswith(provider + "/") else f"{provider}/{name}")
    return tuple(names)


def near_names(name: str, count: int = 3) -> list[str]:
    """Names of the table that look like this one, nearest first; a name without provider is compared without."""
    provider, slash, _ = name.partition("/")
    if slash:
        same = [known for known in talking_names() if known.startswith(provider + "/")]
        return difflib.get_close_matches(name, same or talking_names(), count, 0.6)
    bare = {known.rpartition("/")[2]: known for known in reversed(talking_names())}
    return [bare[found] for found in difflib.get_close_matches(name, bare, count, 0.6)]
