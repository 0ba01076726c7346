"""litellm's table of models: their names, their providers and the maximum size of a reply.

`scoring.pricing.tables` reads the table as a file inside litellm's wheel; litellm is not imported. Prices are the
concern of `scoring`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from scoring.pricing.tables import wheel_prices

_CHAT_MODES = ("chat", "responses")

Row = Mapping[str, Any]


@lru_cache(maxsize=1)
def litellm_version() -> str:
    """Return the installed version, or "unknown"."""
    try:
        return version("litellm")
    except PackageNotFoundError:
        return "unknown"


def table() -> Mapping[str, Row]:
    """Return the rows by name; empty if there is no table, in which case the check accepts every name."""
    return wheel_prices().rows


def provider_of_row(row: Row) -> str:
    """Return the provider as it is written before the slash of a name; the table subdivides some providers."""
    provider = str(row.get("litellm_provider", ""))
    for family in ("vertex_ai", "bedrock", "cohere", "fireworks_ai"):
        if provider.startswith((family + "-", family + "_")) and provider != "bedrock_mantle":
            return family
    return provider


def row_of(name: str) -> Row | None:
    """Return the row of `provider/model` or of a bare model name, but never that of another provider's model."""
    rows = table()
    if name in rows:
        return rows[name]
    provider, _, model = name.partition("/")
    row = rows.get(model)
    return row if row is not None and provider_of_row(row) == provider else None


@lru_cache(maxsize=1)
def chat_names() -> tuple[str, ...]:
    """Return the name of every chat model as `provider/model`."""
    names = []
    for name, row in table().items():
        if row.get("mode") in _CHAT_MODES:
            provider = provider_of_row(row)
            names.append(name if name.startswith(provider + "/") else f"{provider}/{name}")
    return tuple(names)


def near_names(name: str, count: int = 3) -> list[str]:
    """Return similar names of the table, the most similar first; a bare name is compared with bare names."""
    provider, slash, _ = name.partition("/")
    if slash:
        same = [listed for listed in chat_names() if listed.startswith(provider + "/")]
        return difflib.get_close_matches(name, same or chat_names(), count, 0.6)
    bare = {listed.rpartition("/")[2]: listed for listed in reversed(chat_names())}
    return [bare[similar] for similar in difflib.get_close_matches(name, bare, count, 0.6)]
