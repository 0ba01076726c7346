"""Environments that break the properties of an action, or of the report about it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from environments.conformance.broken.wrapper import Claims
from environments.protocol import Environment, EnvironmentLost, Execution, Started


class AlwaysZero(Claims):
    """Every action seems to succeed."""

    def reported(self, execution: Execution) -> Execution:
        return replace(execution, exit_code=0, signal=None)


class Prefixed(Claims):
    """A prefix is added to each script, on its first line."""

    prefix: ClassVar[str] = ""

    def rewritten(self, script: str) -> str:
        return f"{self.prefix}; {script}" if self.prefix else script


class Stateful(Prefixed):
    """Variables and functions of one action are there in the next one."""

    prefix = (
        "state=~/.state; [[ -e $state ]] && . $state 2>/dev/null; "
        "trap '{ declare -p; declare -f; umask -p; echo cd $PWD; } >$state' EXIT"
    )


class ExtraLine(Prefixed):
    prefix = "true\n"

    def rewritten(self, script: str) -> str:
        return "true\n" + script


class OpenInput(Prefixed):
    prefix = "exec < <(sleep 3)"


class WedgedByQuestions(OpenInput):
    """A command that waited for input blocks the next action."""

    wedged = False

    def execute(self, script: str, *, deadline_s: float, **options: Any) -> Execution:
        if self.wedged:
            time.sleep(2.2)
        self.wedged = script.startswith("read ")
        return super().execute(script, deadline_s=deadline_s, **options)


class Forgetful(Prefixed):
    """Each action begins in an empty workspace."""

    prefix = "rm -rf -- ./kept.txt ./*"


class LeaksDescriptor(Prefixed):
    prefix = "exec 7</dev/null"


class IgnoresInterrupts(Prefixed):
    prefix = "trap '' INT"


class IgnoresSpecVariables(Claims):
    def rewritten(self, script: str) -> str:
        return f"unset {' '.join(self.spec.env) or '_none'}; {script}"


class NoProfile(Prefixed):
    """The profile of the user is not read."""

    prefix = "[[ -e ~/.profile ]] && PATH=/usr/bin:/bin"


class IgnoresOptions(Claims):
    """Directory and variables of one action are dropped."""

    def execute(self, script: str, *, deadline_s: float, **options: Any) -> Execution:
        options |= {"cwd": None, "env": None}
        return super().execute(script, deadline_s=deadline_s, **options)


class SilentlyElsewhere(Claims):
    """A directory that does not exist is replaced silently."""

    def reported(self, execution: Execution) -> Execution:
        return replace(execution, output=b"") if b"cannot enter" in execution.output else execution


class UnquotedVariables(Claims):
    """Values are put between double quotes without escapes."""

    def execute(
        self, script: str, *, deadline_s: float, env: Mapping[str, str] | None = None, **options: Any
    ) -> Execution:
        exports = "".join(f'export {name}="{value}"\n' for name, value in (env or {}).items())
        return super().execute(exports + script, deadline_s=deadline_s, **options)


_last: list[Execution] = []


class MixesUp(Claims):
    """The results of all environments go through one list."""

    def reported(self, execution: Execution) -> Execution:
        _last.append(execution)
        time.sleep(0.02)
        return _last[-1]


class BoundToItsThread(Claims):
    """It ends with the thread that started it (`--die-with-parent` means the thread)."""

    def start(self) -> Started:
        thread = threading.current_thread()
        started = super().start()
        if thread is not threading.main_thread():
            threading.Thread(target=self._end_with, args=(thread,), daemon=True).start()
        return started

    def _end_with(self, thread: threading.Thread) -> None:
        thread.join()
        self.inner.stop()


class NoMeasures(Claims):
    def reported(self, execution: Execution) -> Execution:
        return replace(execution, cpu_s=None, peak_memory_bytes=None, duration_s=0.0)


class WallIsCpu(Claims):
    def reported(self, execution: Execution) -> Execution:
        return replace(execution, cpu_s=execution.duration_s)


class CountsNone(Claims):
    def reported(self, execution: Execution) -> Execution:
        return replace(execution, left_running=0)


class NamesOthers(Claims):
    def reported(self, execution: Execution) -> Execution:
        return replace(execution, left_pids=tuple(pid + 1_000_000 for pid in execution.left_pids))


class NoAdministrator(Claims):
    """Its administrator has no more rights than an action."""

    def execute(self, script: str, *, deadline_s: float, as_root: bool = False, **options: Any) -> Execution:
        if as_root:
            return Execution("exited", b"Permission denied\n", 18, 0.01, exit_code=1)
        return super().execute(script, deadline_s=deadline_s, **options)


class SwallowsInterrupts(Claims):
    def execute(self, script: str, *, deadline_s: float, **options: Any) -> Execution:
        try:
            return super().execute(script, deadline_s=deadline_s, **options)
        except KeyboardInterrupt:
            return Execution("exited", b"", 0, 0.1, exit_code=130)


class LostAfterInterrupt(Claims):
    def execute(self, script: str, *, deadline_s: float, **options: Any) -> Execution:
        try:
            return super().execute(script, deadline_s=deadline_s, **options)
        except KeyboardInterrupt:
            self.inner.stop()
            raise


class LoopbackDown(Claims):
    """A network namespace of its own in which loopback is down."""

    needs_root = True

    def rewritten(self, script: str) -> str:
        return f"exec unshare --net bash -c {_quoted(script)}"


class AllowsSetuid(Claims):
    """Actions run as another user, but programs may still change that."""

    needs_root = True

    def start(self) -> Started:
        started = super().start()
        self.inner.execute("chmod 755 .. . && chown 65534 .", deadline_s=5, as_root=True)
        return started

    def execute(self, script: str, *, deadline_s: float, as_root: bool = False, **options: Any) -> Execution:
        if not as_root:
            script = f"exec setpriv --reuid=65534 --regid=65534 --clear-groups bash -c {_quoted(script)}"
        return super().execute(script, deadline_s=deadline_s, as_root=as_root, **options)


class NeverReaps(Claims):
    """Orphans are adopted by a process that never waits for them."""

    _HOLDER = (
        "import ctypes,os,subprocess,sys,time\n"
        "ctypes.CDLL(None).prctl(36,1,0,0,0)\n"
        "code = subprocess.Popen(['bash','-c',sys.argv[1]],stdin=0).wait()\n"
        "print(code, file=open(sys.argv[2],'w'), flush=True)\n"
        "os.rename(sys.argv[2], sys.argv[2]+'.done')\n"
        "time.sleep(4)\n"
    )

    def rewritten(self, script: str) -> str:
        holder = f"{sys.executable} -I -c {_quoted(self._HOLDER)} {_quoted(script)} ~/code"
        return f"rm -f ~/code*; {holder} & while [[ ! -e ~/code.done ]]; do sleep 0.05; done; exit $(<~/code.done)"


class DiesOfKillAll(Claims):
    """It does not survive `kill -9 -1`, nor a signal to its first process. No such command is ever run."""

    deadly: ClassVar[tuple[str, ...]] = ("kill -9 -1", "kill -$s 1", "kill -STOP -1")

    def execute(self, script: str, *, deadline_s: float, **options: Any) -> Execution:
        if any(words in script for words in self.deadly):
            self.inner.stop()
            raise EnvironmentLost("the supervisor was killed by an action")
        return super().execute(script, deadline_s=deadline_s, **options)


class DiesOfForks(DiesOfKillAll):
    """It does not survive a fork bomb. None is ever run."""

    deadly = ("bomb",)


class SharedProcesses(Claims):
    """A local environment without a process list of its own."""

    def __init__(self, inner: Environment) -> None:
        from environments.local import LocalEnvironment

        super().__init__(LocalEnvironment(inner.spec, own_pids=False))


class ShowsTheSocket(Claims):
    """The Docker socket is at its usual path."""

    def rewritten(self, script: str) -> str:
        return script.replace("/var/run/docker.sock", "/dev/null")


def _quoted(script: str) -> str:
    import shlex

    return shlex.quote(script)


class ClaimsAsRoot(Claims):
    """Actions run as root."""

    needs_root = True


class IgnoresShell(Claims):
    """It uses fresh shells even if a persistent one is requested."""

    behind: ClassVar[Mapping[str, object]] = {"shell": "fresh"}


class ForgetsUlimits(Claims):
    behind: ClassVar[Mapping[str, object]] = {"ulimits": {}}


class DockerAsRoot(Claims):
    over = "docker"
    behind: ClassVar[Mapping[str, object]] = {"user": "root", "cap_drop": ()}
