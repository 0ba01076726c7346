"""Known secrets are masked at the moment of writing.

Masking is by value, never by pattern: a pattern misses keys and eats innocent text.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping

_SECRET_NAME = re.compile(r"(_API_KEY|_TOKEN|_SECRET|_SECRET_KEY|_ACCESS_KEY|_PASSWORD)$|^(API_KEY|TOKEN|PASSWORD)$")
_SHORTEST = 8
"""Shorter values are left alone: they would match innocent text."""


class Masker:
    """Replaces each known secret by `[secret:NAME]`."""

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        """`secrets` maps names to values; values under 8 characters are left alone."""
        known = {name: value for name, value in (secrets or {}).items() if len(value) >= _SHORTEST}
        longest_first = sorted(known.items(), key=lambda item: -len(item[1]))
        self._bytes = [(value.encode(), f"[secret:{name}]".encode()) for name, value in longest_first]
        self._json = [
            (json.dumps(value, ensure_ascii=False)[1:-1].encode(), mark)
            for (_, value), (_, mark) in zip(longest_first, self._bytes, strict=True)
        ]

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Masker:
        """The values of all variables that are named like a key, a token, a secret or a password."""
        return cls({name: value for name, value in environ.items() if _SECRET_NAME.search(name)})

    def data(self, data: bytes) -> tuple[bytes, bool]:
        """The bytes with secrets masked, and whether there were any."""
        return self._replace(data, self._bytes)

    def line(self, line: bytes) -> bytes:
        """A line of JSON with secrets masked inside its strings."""
        return self._replace(line, self._json)[0]

    @staticmethod
    def _replace(data: bytes, pairs: list[tuple[bytes, bytes]]) -> tuple[bytes, bool]:
        masked = False
        for value, mark in pairs:
            if value in data:
                data, masked = data.replace(value, mark), True
        return data, masked
