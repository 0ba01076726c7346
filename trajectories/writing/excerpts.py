"""Excerpts of a text that may hold a secret of this process: masked first, then cut.

The other order leaves a part of the secret at the cut, which no later masking recognizes. A text that is not cut is
returned as it is, because the recorder and the command line mask whole texts themselves.
"""

from __future__ import annotations

from trajectories.record.texts.text import cut_middle
from trajectories.writing.masking import Masker


def beginning(text: str, characters: int) -> str:
    """Return the first characters of the text."""
    return text if len(text) <= characters else masked(text)[:characters]


def ending(text: str, characters: int) -> str:
    """Return the last characters of the text."""
    return text if len(text) <= characters else masked(text)[-characters:]


def middle(text: str, characters: int) -> str:
    """Return the first and the last characters of the text around a notice, as `cut_middle` does."""
    return text if len(text) <= characters else cut_middle(masked(text), characters)


def on_one_line(text: str) -> str:
    """Return the masked text with every run of white space replaced by one blank."""
    return " ".join(masked(text).split())


def last_bytes(data: bytes) -> str:
    """Return the text of bytes whose beginning may have been cut off."""
    masker = Masker.from_environment()
    return masker.ending(masker.data(data)[0]).decode("utf-8", "replace")


def masked(text: str) -> str:
    """Return the text with the secrets of this process masked."""
    return Masker.from_environment().text(text)
