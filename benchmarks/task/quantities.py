"""Durations, sizes and counts as people write them: `90`, `15m`, `6h`; `512m`, `2g`; `500k`.

Pure functions. An invalid value raises ValueError, whose message lists the valid forms.
"""

from __future__ import annotations

import re

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?")
_SECONDS = {"ms": 0.001, None: 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_COUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([km]?)", re.IGNORECASE)
_ONES = {"": 1, "k": 1_000, "m": 1_000_000}


def duration_s(text: str | float) -> float:
    """Return the seconds of `90`, `0.5`, `200ms`, `90s`, `15m`, `6h` or `1d`.

    Raises: ValueError.
    """
    match = _DURATION.fullmatch(str(text).strip())
    if match is None:
        raise ValueError(f"{text!r} is not a duration; write seconds, or 200ms, 90s, 15m, 6h, 1d")
    return float(match[1]) * _SECONDS[match[2]]


def size_bytes(text: str | int) -> int:
    """Return the bytes of `1048576`, `512m`, `2g` or `2GiB`; prefixes are powers of 1024.

    Raises: ValueError.
    """
    match = _SIZE.fullmatch(str(text).strip())
    if match is None:
        raise ValueError(f"{text!r} is not a size; write bytes, or 64k, 512m, 2g")
    return int(float(match[1]) * _BYTES[match[2].lower()])


def count(text: str | int) -> int:
    """Return the number of things in `2000`, `500k` or `2M`; prefixes are powers of 1000.

    Raises: ValueError.
    """
    match = _COUNT.fullmatch(str(text).strip())
    if match is None:
        raise ValueError(f"{text!r} is not a count; write a whole number, or 500k, 2M")
    return int(float(match[1]) * _ONES[match[2].lower()])
