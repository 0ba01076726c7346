"""The output of sha256sum: lines of `HASH  NAME`. If a line begins with a backslash, NAME has escapes."""

from __future__ import annotations

import os
import re

_ESCAPED = re.compile(rb"\\(.)")
_MEANT = {b"n": b"\n", b"r": b"\r", b"\\": b"\\"}


def of_lines(lines: bytes) -> dict[str, str]:
    """Return the digest of each path, without the leading `./`."""
    digests = {}
    for line in lines.split(b"\n"):
        escaped = line.startswith(b"\\")
        digest, _, name = line[escaped:].partition(b" ")
        if len(digest) == 64 and name[:3] in (b" ./", b"*./"):
            name = name[3:]
            if escaped:
                name = _ESCAPED.sub(lambda char: _MEANT[char[1]], name)
            digests[os.fsdecode(name)] = digest.decode("ascii")
    return digests
