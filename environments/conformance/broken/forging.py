"""Environments in which the output, the end or the script of an action can be forged or read."""

from __future__ import annotations

from dataclasses import replace

from environments.conformance.broken.wrapper import Claims
from environments.protocol import Execution


class PublishesItsPipe(Claims):
    """The output goes through a named pipe that everybody may write to."""

    over = "docker"

    def rewritten(self, script: str) -> str:
        pipe = "pipe=$(mktemp -u /tmp/published-XXXX); mkfifo -m 0622 $pipe; cat $pipe & exec >$pipe 2>&1"
        return f"{pipe}; trap 'rm -f $pipe' EXIT\n{script}"


class CutsAtAWord(Claims):
    """The end of an output is a word that everybody can guess."""

    def reported(self, execution: Execution) -> Execution:
        return replace(execution, output=bytes(execution.output).partition(b"THE-END")[0])


class MarksTheEnd(Claims):
    """A secret in the output tells its end."""

    def rewritten(self, script: str) -> str:
        return f"{script}\ncode=$?; printf '%s\n' secret-mark; exit $code"

    def reported(self, execution: Execution) -> Execution:
        return replace(execution, output=bytes(execution.output).partition(b"secret-mark")[0])
