"""Environments that break output, caps and deadlines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from environments.conformance.broken.wrapper import Claims
from environments.protocol import Execution


class DropsNuls(Claims):
    def reported(self, execution: Execution) -> Execution:
        return replace(execution, output=execution.output.replace(b"\0", b""))


class Strips(Claims):
    def reported(self, execution: Execution) -> Execution:
        return replace(execution, output=execution.output.strip())


class LosesLastChunk(Claims):
    """The rest after the last full block is lost."""

    def reported(self, execution: Execution) -> Execution:
        whole = len(execution.output) // 4096 * 4096
        return replace(execution, output=execution.output[: whole or None])


class BreaksLines(Claims):
    """Lines are broken after one megabyte."""

    def reported(self, execution: Execution) -> Execution:
        size = 1_000_000
        pieces = [execution.output[i : i + size] for i in range(0, len(execution.output), size)]
        return replace(execution, output=b"\n".join(pieces))


class MergesAnyway(Claims):
    def execute(self, script: str, *, deadline_s: float, separate: bool = False, **options: Any) -> Execution:
        return super().execute(script, deadline_s=deadline_s, **options)


class ThroughAFile(Claims):
    """The output goes to a file, which is truncated if it is opened again."""

    def rewritten(self, script: str) -> str:
        return f"(\n{script}\n) >~/output 2>&1; code=$?; cat ~/output; exit $code"


class SharedLog(Claims):
    """One file takes the output of all actions; each action gets what is new in it."""

    def rewritten(self, script: str) -> str:
        return (
            f"log=~/log; : >>$log; (\n{script}\n) >>$log 2>&1; code=$?; at=$(cat $log.at 2>/dev/null || echo 0); "
            "tail -c +$((at + 1)) $log | tee $log.new; echo $((at + $(stat -c %s $log.new))) >$log.at; exit $code"
        )


class ForgetsCap(Claims):
    """The output is silently truncated at the cap, and the action keeps running."""

    def execute(self, script: str, *, deadline_s: float, output_bytes: int | None = None, **options: Any) -> Execution:
        execution = super().execute(script, deadline_s=deadline_s, **options)
        return replace(execution, output=execution.output[:output_bytes])


class CapOffByOne(Claims):
    def execute(self, script: str, *, deadline_s: float, output_bytes: int | None = None, **options: Any) -> Execution:
        less = max(1, output_bytes - 1) if output_bytes else None
        return super().execute(script, deadline_s=deadline_s, output_bytes=less, **options)


class CapsOnlyOutput(Claims):
    """Separate standard error has no cap."""

    def execute(
        self, script: str, *, deadline_s: float, output_bytes: int | None = None, separate: bool = False, **options: Any
    ) -> Execution:
        cap = None if separate else output_bytes
        return super().execute(script, deadline_s=deadline_s, output_bytes=cap, separate=separate, **options)


class TakesAnyCap(Claims):
    behind: ClassVar[Mapping[str, object]] = {"output_bytes": 64 << 20}


class Copies(Claims):
    """Every layer keeps a copy of the output."""

    def reported(self, execution: Execution) -> Execution:
        self.copies = [bytes(execution.output) + bytes(count) for count in range(3)]
        return execution


class NoDeadline(Claims):
    """Actions have no deadline."""

    def execute(self, script: str, *, deadline_s: float, **options: Any) -> Execution:
        return super().execute(script, deadline_s=60, **options)


class EarlyDeadline(Claims):
    def execute(self, script: str, *, deadline_s: float, **options: Any) -> Execution:
        return super().execute(script, deadline_s=deadline_s / 2, **options)


class Polite(Claims):
    """It sends SIGTERM and waits."""

    signal = "TERM"

    def execute(self, script: str, *, deadline_s: float, **options: Any) -> Execution:
        from environments.conformance.broken.actions import _quoted

        command = f"exec timeout -s {self.signal} {deadline_s} bash -c {_quoted(script)}"
        execution = super().execute(command, deadline_s=20, **options)
        late = execution.exit_code in (124, 137) or execution.duration_s >= deadline_s
        return replace(execution, ended="deadline", exit_code=None, signal=None) if late else execution


class KillsGroup(Polite):
    """It kills the process group of the action, which processes can leave."""

    signal = "KILL"


class KillsByDirectory(Claims):
    """After each action, every process in the workspace is killed."""

    def reported(self, execution: Execution) -> Execution:
        sweep = "w=$(pwd -P); for p in /proc/[0-9]*; do [[ $p == /proc/$$ ]] || "
        sweep += '[[ $(readlink $p/cwd)/ != "$w"/* ]] || kill -9 ${p#/proc/}; done 2>/dev/null; true'
        self.inner.execute(sweep, deadline_s=10)
        return execution
