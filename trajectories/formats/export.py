"""Export of a trial in another program's format, by the format's name."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from trajectories.formats.errors import CannotExport
from trajectories.formats.source import Source

Format = Literal["mini", "atif", "openai", "asciicast"]
FORMATS: tuple[Format, ...] = get_args(Format)


def export(directory: Path, format: Format, *, reasoning: bool = False) -> bytes:
    """Return the bytes of the exported file; `reasoning` only applies to `openai`.

    Raises: RecordError if the trial cannot be read, CannotExport if the format cannot express it.
    """
    source = Source.of(directory)
    match format:
        case "mini":
            from trajectories.formats.mini.write import write as write_mini

            return write_mini(source)
        case "atif":
            from trajectories.formats.atif.write import write as write_atif

            return write_atif(source)
        case "openai":
            from trajectories.formats.openai import write as write_openai

            return write_openai(source, reasoning=reasoning)
        case "asciicast":
            from trajectories.formats.asciicast import write as write_asciicast

            return write_asciicast(source)
    raise CannotExport(f"unknown format {format!r}; choose one of {', '.join(FORMATS)}")
