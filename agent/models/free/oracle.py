"""The model `oracle`: puts the task's own solution into the workspace and submits. Costs nothing.

A solution that is a script gets its files into a directory of their own and is run, whatever its exit status.

It uses the ordinary loop: its bash commands carry the files as a base64 tar.gz into the workspace and unpack them
there, so its trial is recorded, replayed, forked and exported like any other. The evaluator builds the solution, as it
does for every model. The workspace holds all that the next command needs, and the next command follows from the history
alone: a trial can be resumed, and a fork of another model's trial begins with the first command.
"""

from __future__ import annotations

import base64
import gzip
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from agent.loop.actions import SUBMIT, Command, parse
from agent.models.free.costs import FREE, completion
from agent.models.free.model import FreeModel
from agent.models.protocol import FIRST_FENCE, AssistantTurn, CallFailure, Completion, ModelInfo, Request
from trajectories.record.events import Message, ModelRef

ORACLE = "oracle"
PLACED = "the task's own solution is in place"
"""Last line that the command prints which unpacks the solution."""
PART_BYTES = 192 << 10
"""Bytes of the archive in each command; base64 makes them a third more."""
_FILE = ".oracle-solution.b64"


@dataclass(frozen=True)
class Solution:
    """A task's solution: a tar of files, and a hash of their content that does not depend on the packing."""

    archive: bytes
    """Empty if nothing has to be unpacked."""
    sha256: str
    directory: str | None = None
    """Directory to unpack into; None is the working directory."""
    run: str = ""
    """Command that solves the task after the files are in place; empty if the files are the solution."""


class OracleModel(FreeModel):
    """A model that puts a solution into the workspace and submits."""

    def __init__(self, solution: Solution) -> None:
        placing = commands(solution.archive, directory=solution.directory) if solution.archive else []
        self._commands = [*placing, *([solution.run] if solution.run else []), SUBMIT]
        self._placed = len(placing)
        self._index = {command: index for index, command in enumerate(self._commands)}
        ref = ModelRef(asked=ORACLE, name=ORACLE, settings={"sha256": solution.sha256})
        self.info = ModelInfo(ref, "tool", free=FREE)

    def ask(self, request: Request) -> Completion:
        """Return the next command.

        Raises: CallFailure: `gave_up` if the solution could not be unpacked, or was submitted already.
        """
        due, since = self._next(request.history)
        if due == len(self._commands):
            raise CallFailure("gave_up", "the solution was submitted already")
        if 0 < due == self._placed and not any(PLACED in message.content for message in since):
            raise CallFailure("gave_up", "the solution could not be unpacked; the last observation says why")
        return completion(self._commands[due], request, ORACLE)

    def _next(self, history: Sequence[Message | AssistantTurn]) -> tuple[int, list[Message]]:
        """Return the index of the command after the last own command in the history, and the messages since then."""
        since: list[Message] = []
        for entry in reversed(history):
            if isinstance(entry, Message):
                since.append(entry)
                continue
            for action in parse(entry.reply, "tool", None, FIRST_FENCE):
                if isinstance(action, Command) and action.script in self._index:
                    return self._index[action.script] + 1, since
        return 0, since


def commands(archive: bytes, part_bytes: int = PART_BYTES, directory: str | None = None) -> list[str]:
    """Return bash commands that together unpack a tar with `cat`, `base64`, `gzip` and `tar`.

    They unpack into `directory`, which they make, or into the directory that they run in.

    The files get the time of the command as theirs, so a build that compares times finds them changed.
    """
    packed = gzip.compress(archive, mtime=0)
    parts = [packed[start : start + part_bytes] for start in range(0, len(packed), part_bytes)]
    unpack = f'| tar -xzmpof - && echo "{PLACED}"'
    if len(parts) == 1:
        return [_within(directory, f"base64 -d <<'SOLUTION' {unpack}\n{_text(parts[0])}SOLUTION")]
    append = [
        f"# part {number} of {len(parts)} of the task's own solution\n"
        f"cat {'>' if number == 1 else '>>'} {_FILE} <<'SOLUTION'\n{_text(part)}SOLUTION"
        for number, part in enumerate(parts, start=1)
    ]
    return [_within(directory, script) for script in (*append, f"base64 -d {_FILE} {unpack} && rm {_FILE}")]


def _within(directory: str | None, script: str) -> str:
    """Return the script as it runs in another directory, without effect on a persistent shell."""
    if directory is None:
        return script
    place = shlex.quote(directory)
    return f"(mkdir -p {place} && cd {place} || exit\n{script}\n)"


def _text(part: bytes) -> str:
    return base64.encodebytes(part).decode()
