"""Environments that break output, caps and deadlines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from environments.conformance.broken.wrapper import Claims
from environments.protocol import Execution


class DropsNuls(Claims):
    def told(self, done: Execution) -> Execution:
        return replace(done, output=done.output.replace(b"\0", b""))


class Strips(Claims):
    def told(self, done: Execution) -> Execution:
        return replace(done, output=done.output.strip())


class LosesLastChunk(Claims):
    """What does not fill a block is not fetched, if there was one that did."""

    def told(self, done: Execution) -> Execution:
        whole = len(done.output) // 4096 * 4096
        return replace(done, output=done.output[: whole or None])


class BreaksLines(Claims):
    """A line buffer of one megabyte."""

    def told(self, done: Execution) -> Execution:
        size = 1_000_000
        pieces = [done.output[i : i + size] for i in range(0, len(done.output), size)]
        return replace(done, output=b"\n".join(pieces))


class MergesAnyway(Claims):
    def execute(self, script: str, *, deadline_s: float, separate: bool = False, **options: Any) -> Execution:
        return super().execute(script, deadline_s=deadline_s, **options)


class ThroughAFile(Claims):
    """The output goes to a file, which whoever opens it again cuts off."""

    def rewritten(self, script: str) -> str:
        return f"(\n{script}\n) >~/output 2>&1; code=$?; cat ~/output; exit $code"


class SharedLog(Claims):
    """One file takes the output of all actions; each gets what is new in it."""

    def rewritten(self, script: str) -> str:
        return (
            f"log=~/log; : >>$log; (\n{script}\n) >>$log 2>&1; code=$?; at=$(cat $log.at 2>/dev/null || echo 0); "
            "tail -c +$((at + 1)) $log | tee $log.new; echo $((at + $(stat -c %s $log.new))) >$log.at; exit $code"
        )


class ForgetsCap(Claims):
    """The output is cut off at the cap, but the action goes on, and nobody says so."""

    def execute(self, script: str, *, deadline_s: float, output_bytes: int | None = None, **options: Any) -> Execution:
        done = super().execute(script, deadline_s=deadline_s, **options)
        return replace(done, output=done.output[:output_bytes])


class CapOffByOne(Claims):
    def execute(self, script: str, *, deadline_s: float, output_bytes: int | None = None, **options: Any) -> Execution:
        less = max(1, output_bytes - 1) if output_bytes else None
        return super().execute(script, deadline_s=deadline_s, output_bytes=less, **options)


class CapsOnlyOutput(Claims):
    """Standard error by itself has no cap."""

    def execute(
        self, script: str, *, deadline_s: float, output_bytes: int | None = None, separate: bool = False, **options: Any
    ) -> Execution:
        cap = None if separate else output_bytes
        return super().execute(script, deadline_s=deadline_s, output_bytes=cap, separate=separate, **options)


class TakesAnyCap(Claims):
    behind: ClassVar[Mapping[str, object]] = {"output_bytes": 64 << 20}


class Copies(Claims):
    """Every layer keeps a copy of the output."""

    def told(self, done: Execution) -> Execution:
        self.copies = [bytes(done.output) + bytes(count) for count in range(3)]
        return done


class NoDeadline(Claims):
    """Actions end when they end."""

    def execute(self, script: str, *, deadline_s: float, **options: Any) -> Execution:
        return super().execute(script, deadline_s=60, **options)


class EarlyDeadline(Claims):
    def execute(self, script: str, *, deadline_s: float, **options: Any) -> Execution:
        return super().execute(script, deadline_s=deadline_s / 2, **options)


class Polite(Claims):
    """Asks with SIGTERM, and waits."""

    signal = "TERM"

    def execute(self, script: str, *, deadline_s: float, **options: Any) -> Execution:
        from environments.conformance.broken.actions import _quoted

        asked = f"exec timeout -s {self.signal} {deadline_s} bash -c {_quoted(script)}"
        done = super().execute(asked, deadline_s=20, **options)
        late = done.exit_code in (124, 137) or done.duration_s >= deadline_s
        return replace(done, ended="deadline", exit_code=None, signal=None) if late else done


class KillsGroup(Polite):
    """Kills the process group of the action, which others can leave."""

    signal = "KILL"


class KillsByDirectory(Claims):
    """After each action, everything that is in the workspace is killed, whosever it is."""

    def told(self, done: Execution) -> Execution:
        sweep = "w=$(pwd -P); for p in /proc/[0-9]*; do [[ $p == /proc/$$ ]] || "
        sweep += '[[ $(readlink $p/cwd)/ != "$w"/* ]] || kill -9 ${p#/proc/}; done 2>/dev/null; true'
        self.inner.execute(sweep, deadline_s=10)
        return done
