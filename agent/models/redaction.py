"""What may be said of a failed call or of an endpoint: one line, without keys and passwords.

Known secrets are `trajectories.writing.masking`'s to tell; here are only the forms in which providers echo a key
in part, and the user and password of a URL.
"""

from __future__ import annotations

import re

from trajectories.record.text import storable
from trajectories.writing.masking import Masker

DETAIL_CHARACTERS = 300

_KEY_LIKE = re.compile(
    r"\b(?:sk|gsk|xai)[-_][A-Za-z0-9_*\-.]{6,}|\bAIza[A-Za-z0-9_*-]{10,}|(?<=\bBearer )[^\s'\"]{16,}"
)
_USERINFO = re.compile(r"(?<=://)[^/?#\s]*@")
_QUERY = re.compile(r"(?<=[?&])((?:[\w.-]{0,40}[_.-])?(?:key|token|secret|password|sig|signature)=)[^&#\s'\"]+", re.I)


def one_line(text: str) -> str:
    """The text in one line of bounded length, without secrets."""
    known_masked = Masker.from_environment().data(storable(text).encode())[0].decode()
    line = " ".join(_KEY_LIKE.sub("***", without_secrets(known_masked)).split())
    return line if len(line) <= DETAIL_CHARACTERS else line[: DETAIL_CHARACTERS - 3] + "..."


def without_secrets(text: str) -> str:
    """The text with `user:password@` taken out of its URLs, and the values of keys in their queries."""
    return _QUERY.sub(r"\1***", _USERINFO.sub("", text))
