"""A task of a kind of its own, written from docs/howto/tasks.md: its result is a file, and not a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from tests.solve.command import agent, script

TASK = Path(__file__).parent / "tasks" / "visits"
PARTIAL = "printf 'path,visits\\n/about,2\\n/contact,1\\n/home,2\\n' >report.csv"


@pytest.mark.sandbox
@pytest.mark.parametrize(("model", "quality"), [("oracle", 1.0), ("nop", 0.0), ("partial", 0.5)])
def test_the_example_is_solved_wholly_partly_or_not(tmp_path: Path, model: str, quality: float) -> None:
    name = script(tmp_path, PARTIAL, SUBMIT) if model == "partial" else model
    result = agent(tmp_path, "solve", "--task", str(TASK), "--model", name, "--json")
    assert result.json["verdict"]["quality"] == quality, result.err
