"""Runs of `agent score`, with packages and the network if they are available, or without."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.solve.command import CommandResult, agent

OFFLINE = """
import socket, sys
for name in {names!r}:
    sys.modules[name] = None
def refused(*args, **kwargs):
    raise OSError("no network here")
socket.socket.connect = refused
"""


def score(folder: Path, *argv: str, **extra: str) -> Any:
    result = agent(folder, "score", *(argv or ("one",)), "--json", **extra)
    assert result.status == 0, result.err
    return result.json


def blocked(folder: Path, *names: str) -> dict[str, str]:
    """Return the environment of a command that cannot import these packages or connect to anything."""
    place = folder / "blocked"
    place.mkdir(exist_ok=True)
    (place / "sitecustomize.py").write_text(OFFLINE.format(names=names))
    return {"PYTHONPATH": f"{place}{os.pathsep}{Path(__file__).parents[2]}"}


def refused(result: CommandResult) -> str:
    assert (result.status, result.out) == (2, ""), result.out or result.err
    assert result.err.count("\n") == 1
    return result.err
