"""Bounds on the size, the depth and the numbers of a reply or a document.

Without them, a record could hold values that no reader of JSON accepts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import Any

MAX_BYTES = 32 << 20
MAX_DEPTH = 100
MAX_DIGITS = 1000

_TOO_LONG = 10**MAX_DIGITS


class OutOfBounds(ValueError):
    """A reply or a document is not usable. The message completes "it is not usable: ..."."""


def check_bytes(count: int, most: int = MAX_BYTES) -> None:
    """Check the size of a body.

    Raises: OutOfBounds if it is larger than a reply may be.
    """
    if count > most:
        raise OutOfBounds(f"it is larger than {most >> 20} MiB")


def check(value: object, *, finite: bool = True, most_bytes: int = MAX_BYTES) -> None:
    """Check a JSON value. `finite` rejects infinities and NaN as well, which no request could send back.

    Raises: OutOfBounds.
    """
    size = 0
    open_: list[Iterator[Any]] = [iter((value,))]
    while open_:
        for item in open_[-1]:
            if len(open_) > MAX_DEPTH:
                raise OutOfBounds(f"it is nested deeper than {MAX_DEPTH} levels")
            if isinstance(item, dict):
                open_.append(chain.from_iterable(item.items()))
                break
            if isinstance(item, list | tuple):
                open_.append(iter(item))
                break
            if isinstance(item, str):
                size += len(item)
                check_bytes(size, most_bytes)
            elif isinstance(item, int) and not -_TOO_LONG < item < _TOO_LONG:
                raise OutOfBounds(f"it holds a number of more than {MAX_DIGITS} digits")
            elif finite and isinstance(item, float) and not math.isfinite(item):
                raise OutOfBounds(f"it holds {item}, which is not a number in JSON")
        else:
            open_.pop()
