"""A provider that repairs `demo/cronwhen` by what it sees, over HTTP, after it has lost one trial by a step of its own.

The first conversation, the parent, follows a script: at step 5 it deletes the sources that were given. In every later
one it looks first. If the sources are there it repairs them; if they are gone it can only guess, and fails.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Sequence
from typing import Any

import benchmarks
from agent.loop.actions import SUBMIT
from tests.wire.replies import Turn

FATAL = 5
"""Step of the parent that loses the trial."""
MODEL = "anthropic/claude-opus-4-7"
LOOK = "echo looking; ls cronwhen"
GUESS = "printf 'import sys\\nsys.exit(1)\\n' >when.py; echo guessed"


def repair(*names: str) -> str:
    """Return the command that repairs these files of the program."""
    _, task = benchmarks.resolve_task("demo/cronwhen")
    assert task.solution is not None
    lines = []
    for name in names:
        content = base64.b64encode((task.solution / "cronwhen" / name).read_bytes()).decode()
        lines.append(f"echo {content} | base64 -d >cronwhen/{name}")
    return "\n".join([*lines, "echo repaired"])


FILES = ("cli.py", "crontab.py", "fields.py", "schedule.py")
PARENT = (
    "cat README.md",
    "ls -l cronwhen",
    repair("fields.py"),
    repair("crontab.py"),
    "rm -rf cronwhen when.py; echo 'clean, I write it anew'",
    GUESS,
    "python3 when.py; echo exit $?",
    SUBMIT,
)


class Repairer:
    """The answers of the provider."""

    def __init__(self, forgets: float = 0.0, seed: int = 1) -> None:
        """`forgets` is the share of conversations in which it repairs only a part."""
        self.is_parent = True
        self._forgets = forgets
        self._random = random.Random(seed)

    def __call__(self, body: dict[str, Any]) -> Turn:
        """Return the answer to the body of a request."""
        if self.is_parent:
            step = sum(message["role"] == "assistant" for message in body["messages"])
            return Turn(text="I go on.", commands=(PARENT[step],))
        last = json.dumps(body["messages"][-1])
        begins = "From here" in last  # the notice of a fork, after a result of the parent
        if not begins and ("repaired" in last or "guessed" in last):
            return Turn(commands=(SUBMIT,))
        if begins or "looking" not in last:
            return Turn(text="I look at what is there.", commands=(LOOK,))
        if "fields.py" not in last:
            return Turn(text="The sources are gone; I guess.", commands=(GUESS,))
        return Turn(text="I repair the program.", commands=(repair(*self._chosen()),))

    def _chosen(self) -> Sequence[str]:
        return FILES[:1] if self._random.random() < self._forgets else FILES
