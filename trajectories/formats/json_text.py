"""The one way that exporters write JSON: ASCII only, without NaN and infinities."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any

import jsonlines

from trajectories.formats.errors import CannotExport


def json_document(value: Any, *, indent: int | None = None) -> bytes:
    """Return a value as one JSON text, without a newline at its end.

    Raises: CannotExport for NaN and infinities, which JSON cannot express.
    """
    return _dumped(value, indent).encode()


def json_lines(values: Iterable[Any]) -> bytes:
    """Return each value as a line of JSON.

    Raises: CannotExport for NaN and infinities.
    """
    file = io.BytesIO()
    with jsonlines.Writer(file, dumps=_dumped) as writer:
        writer.write_all(values)
    return file.getvalue()


def _dumped(value: Any, indent: int | None = None) -> str:
    try:
        return json.dumps(value, indent=indent, allow_nan=False)
    except ValueError:
        raise CannotExport("the trial holds a number that JSON cannot express (NaN or an infinity)") from None
