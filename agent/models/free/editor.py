"""Lets a person write a text in an editor of theirs: `$VISUAL`, `$EDITOR` or vi."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from environments.leftovers.owner import this_process


def edit(text: str = "", *, file: str) -> str:
    """Return the text as the person leaves it in the editor, in a temporary file of this name.

    It is empty if the editor cannot be run; a line on standard error tells that.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix=this_process().prefix) as folder:
        path = Path(folder) / file
        path.write_text(text, encoding="utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(path)], check=False)
            return path.read_text("utf-8", "replace").strip("\n")
        except (OSError, ValueError) as error:
            print(f"cannot run the editor {editor!r}: {error}; set $EDITOR", file=sys.stderr, flush=True)
            return ""
