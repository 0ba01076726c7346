"""A check, by bash itself, if the lines typed so far are a complete bash command."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

_UNFINISHED = re.compile(
    r"unexpected end of file|unexpected EOF|here-document at line \d+ delimited by end-of-file", re.IGNORECASE
)
_OPEN_BACKSLASH = re.compile(r"(?<!\\)(?:\\\\)*\\\n?\Z")
_CHECK_S = 5.0


def is_complete(script: str) -> bool:
    """Return False while a quote, a here-document, a block or a line continuation is open; nothing is run."""
    if _OPEN_BACKSLASH.search(script):
        return False
    bash = shutil.which("bash")
    if bash is None:
        return True
    try:
        checked = subprocess.run(
            [bash, "-n"],
            input=script.encode("utf-8", "replace") + b"\n",
            capture_output=True,
            timeout=_CHECK_S,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
        )
    except (OSError, subprocess.SubprocessError):
        return True
    return not _UNFINISHED.search(checked.stderr.decode("utf-8", "replace"))
