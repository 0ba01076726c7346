"""Removal of keys and passwords from text about a failed call or an endpoint.

`trajectories.writing.masking` knows the secrets of this process. This module adds the forms in which providers echo
parts of a key, and the credentials inside a URL.
"""

from __future__ import annotations

import re

from trajectories.record.texts.text import storable
from trajectories.writing import excerpts

DETAIL_CHARACTERS = 300

_KEY_LIKE = re.compile(
    r"\b(?:sk|gsk|xai)[-_][A-Za-z0-9_*\-.]{6,}|\bAIza[A-Za-z0-9_*-]{10,}|(?<=\bBearer )[^\s'\"]{16,}"
)
_USERINFO = re.compile(r"(?<=://)[^/?#\s]*@")
_QUERY = re.compile(r"(?<=[?&])((?:[\w.-]{0,40}[_.-])?(?:key|token|secret|password|sig|signature)=)[^&#\s'\"]+", re.I)


def one_line(text: str) -> str:
    """Return the text on one line of bounded length, without secrets."""
    line = " ".join(redacted(text).split())
    return line if len(line) <= DETAIL_CHARACTERS else line[: DETAIL_CHARACTERS - 3] + "..."


def redacted(text: str) -> str:
    """Return the text without the secrets of this process, and without what looks like a key."""
    return _KEY_LIKE.sub("***", without_secrets(excerpts.masked(storable(text))))


def without_secrets(text: str) -> str:
    """Return the text without the `user:password@` of its URLs and without the values of keys in their queries."""
    return _QUERY.sub(r"\1***", _USERINFO.sub("", text))
