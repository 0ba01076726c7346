"""`oracle`: the task's own solution takes the model's place. Costs nothing.

It goes through the ordinary loop: bash commands that carry the files as a base64 tar.gz into the workspace and unpack
them there, then the submission; so its trial is recorded, replayed, forked and exported like any other. The evaluator
builds what has to be built, as it does for everyone. A workspace holds all that the next command needs, and what is
due follows from the history alone: a trial goes on after a crash, and one that is forked from another model's begins
with the first command.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from dataclasses import dataclass

from agent.loop.actions import SUBMIT, Command, parse
from agent.models.free.costs import FREE, answer
from agent.models.protocol import AssistantTurn, CallFailure, Completion, ModelInfo, Request
from trajectories.record.events import Message, ModelRef

ORACLE = "oracle"
PLACED = "the task's own solution is in place"
"""The last line of the command that unpacks it."""
PART_BYTES = 192 << 10
"""Of the archive, in one command: a third more as base64."""
_FILE = ".oracle-solution.b64"


@dataclass(frozen=True)
class Solution:
    """What the oracle brings: a tar of files, and a hash of their content that does not depend on how it was packed."""

    archive: bytes
    sha256: str


class OracleModel:
    """Puts a solution into the workspace and submits."""

    def __init__(self, solution: Solution) -> None:
        self._turns = [*commands(solution.archive), SUBMIT]
        self._place = {command: index for index, command in enumerate(self._turns)}
        ref = ModelRef(asked=ORACLE, name=ORACLE, settings={"sha256": solution.sha256})
        self.info = ModelInfo(ref, "tool", free=FREE)

    def check(self) -> None:
        """The solution was read when the model was made."""

    def warm_up(self) -> None:
        """Nothing is slow."""

    def ask(self, request: Request) -> Completion:
        """The command that is due.

        Raises: CallFailure: `gave_up` where the solution could not be unpacked, or was submitted already.
        """
        due, since = self._due(request.history)
        if due == len(self._turns):
            raise CallFailure("gave_up", "the solution was submitted already")
        if self._turns[due] == SUBMIT and not any(PLACED in message.content for message in since):
            raise CallFailure("gave_up", "the solution could not be unpacked; the last observation says why")
        return answer(self._turns[due], request, ORACLE)

    def close(self) -> None:
        """Nothing is held."""

    def _due(self, history: Sequence[Message | AssistantTurn]) -> tuple[int, list[Message]]:
        """Which command comes after the last one of its own that was said, and the messages since then."""
        since: list[Message] = []
        for entry in reversed(history):
            if isinstance(entry, Message):
                since.append(entry)
                continue
            for said in parse(entry.reply, "tool", None):
                if isinstance(said, Command) and said.script in self._place:
                    return self._place[said.script] + 1, since
        return 0, since


def commands(archive: bytes, part_bytes: int = PART_BYTES) -> list[str]:
    """Bash commands that unpack a tar in their directory, in order; with `cat`, `base64`, `gzip` and `tar`.

    The files are as new as the command: a build that goes by times finds them changed.
    """
    packed = gzip.compress(archive, mtime=0)
    parts = [packed[start : start + part_bytes] for start in range(0, len(packed), part_bytes)]
    unpack = f'| tar -xzmpof - && echo "{PLACED}"'
    if len(parts) == 1:
        return [f"base64 -d <<'SOLUTION' {unpack}\n{_text(parts[0])}SOLUTION"]
    said = [
        f"# part {number} of {len(parts)} of the task's own solution\n"
        f"cat {'>' if number == 1 else '>>'} {_FILE} <<'SOLUTION'\n{_text(part)}SOLUTION"
        for number, part in enumerate(parts, start=1)
    ]
    return [*said, f"base64 -d {_FILE} {unpack} && rm {_FILE}"]


def _text(part: bytes) -> str:
    return base64.encodebytes(part).decode()
