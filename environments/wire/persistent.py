"""The persistent shell: one interactive bash on a terminal, in which every action is a turn.

What it is on the other side, and how a turn ends, is in `supervisor/45-shell.sh`. Here: opening its terminal when there
is none (any more), one turn, and what to say when its state was lost.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace

from environments.promises import Promise
from environments.protocol import EnvironmentUnavailable, Execution, Started, SupervisorLost
from environments.wire.capture import extended
from environments.wire.channel import Channel, ShellGone
from environments.wire.terminal import Spawn, Terminal

OPEN_S = 15.0
FIRST_S = 20.0
"""The first shell may be slow: a login file may do much."""
LAST_SIGN_S = 0.3
"""The prompt is back so soon after a turn, or its state is of no interest."""

Open = Callable[[Sequence[str]], Spawn]
"""Gives the harness's side of a terminal; runs the command on it unless the supervisor does."""

_NOT_KEPT = frozenset(
    (Promise.UNFORGEABLE, Promise.FRESH_SHELL, Promise.EXIT_STATUS, Promise.CPU_TIME, Promise.EXACT_OUTPUT)
)
_LOST = (
    "persistent shell: an action shares it with what reports on it, so it could forge an exit code or a later result",
    "persistent shell: the processor time of an action is not measured",
)


class PersistentShell:
    """A shell that is there from `open` to the environment's end; see `Environment.execute`."""

    def __init__(self, channel: Channel, run: str, open_terminal: Open) -> None:
        """`run` is the supervisor's own directory, as seen from inside."""
        self._channel = channel
        self._run = run
        self._open_terminal = open_terminal
        self._terminal: Terminal | None = None
        self._mark = secrets.token_hex(8)

    def open(self) -> None:
        """Start it, and try it out.

        Raises: EnvironmentUnavailable, EnvironmentLost.
        """
        try:
            self._connect()
        except SupervisorLost as error:
            raise EnvironmentUnavailable(str(error)) from None
        try:
            tried = self._turn(b"", FIRST_S, 1 << 16)
        except ShellGone:
            raise EnvironmentUnavailable("a persistent shell ends at once here; use --shell fresh") from None
        if tried.ended != "exited" or tried.exit_code or tried.shell_lost:
            said = tried.output.decode(errors="replace").strip()[-300:]
            raise EnvironmentUnavailable(
                f"a persistent shell does not work here ({tried.ended}, {tried.shell_lost or said or 'no word'}); "
                "use --shell fresh"
            )

    def run(self, script: bytes, *, deadline_s: float, cap: int) -> Execution:
        """One action. What it wrote to the terminal itself is put behind its output.

        Raises: EnvironmentLost.
        """
        if self._terminal and not self._terminal.ended:
            try:
                return self._turn(script, deadline_s, cap)
            except ShellGone:
                pass
        self._connect()
        try:
            done = self._turn(script, deadline_s, cap)
        except ShellGone:
            raise SupervisorLost("a new shell's terminal ended at once") from None
        opened = "the shell's terminal had ended before this command, which ran in a new one"
        return replace(done, shell_lost=done.shell_lost or opened)

    def close(self) -> None:
        """Let go of the terminal; the supervisor ends what is on it."""
        if self._terminal:
            self._terminal.close()

    def _connect(self) -> None:
        self.close()
        (answer,) = self._channel.ask("o", OPEN_S, self._mark.encode())
        if answer == "missing":
            raise EnvironmentUnavailable(
                "a persistent shell needs stty (coreutils) and, outside of docker, setsid (util-linux); "
                "install them or use --shell fresh"
            )
        spawn = self._open_terminal(["bash", "-p", "-m", f"{self._run}/keeper"])
        (keeper,) = self._channel.ask("j", OPEN_S)
        if keeper == "none":
            raise SupervisorLost("no shell came up on its terminal")
        self._terminal = Terminal(spawn)  # only now: a terminal that nobody has open reads as ended

    def _turn(self, script: bytes, deadline_s: float, cap: int) -> Execution:
        terminal = self._terminal
        assert terminal is not None

        def go(turn: int) -> None:
            sign = f"\x1e{self._mark}:{turn}".encode()
            try:
                terminal.type(f" . {self._run}/turn\n".encode(), sign + b"(", sign + b")")
            except OSError:
                pass  # the terminal is gone: the supervisor sees that too

        done = self._channel.run(script, deadline_s=deadline_s, cap=cap, go=go)
        written = terminal.written(0.0 if done.shell_lost else LAST_SIGN_S)
        if not written.strip(b"\n" if done.ended != "exited" else b""):  # bash's own, at interruptions
            return done
        output = extended(done.output, written[: cap - len(done.output)])
        return replace(done, output=output, counted=done.counted + len(written))


def with_persistent_shell(started: Started) -> Started:
    """What an environment can still be trusted with when its actions share a shell."""
    promises = tuple(promise for promise in started.promises if promise not in _NOT_KEPT)
    return replace(started, promises=(*promises, Promise.PERSISTENT_SHELL), lost=(*started.lost, *_LOST))
