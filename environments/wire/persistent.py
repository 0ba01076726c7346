"""The persistent shell: one interactive bash on a terminal, in which every action is a turn.

This is the harness's side: opening its terminal if there is none (anymore), running one turn, and reporting when its
state was lost. `supervisor/45-shell.sh` is the other side and explains how a turn ends.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace

from environments.promises import SHARED_USER, Promise
from environments.protocol import EnvironmentUnavailable, Execution, Started, SupervisorLost
from environments.wire.capture import extended
from environments.wire.channel import Channel, ShellGone
from environments.wire.terminal import Spawn, Terminal
from trajectories.writing import excerpts

OPEN_S = 15.0
FIRST_S = 20.0
"""Seconds for the first, empty turn. The first shell may be slow, because a login file may do much."""
LAST_SIGN_S = 0.3
"""Seconds to wait for the prompt after a turn."""

Open = Callable[[Sequence[str]], Spawn]
"""Opens a terminal and returns the harness's side; runs the command on it unless the supervisor does."""

_NOT_KEPT = frozenset(
    (Promise.UNFORGEABLE, Promise.FRESH_SHELL, Promise.EXIT_STATUS, Promise.CPU_TIME, Promise.EXACT_OUTPUT)
)
_LOST = (
    "persistent shell: an action shares it with what reports on it, so it could forge an exit code or a later result",
    "persistent shell: the processor time of an action is not measured",
)


class PersistentShell:
    """A shell that exists from `open` to the environment's end; see `Environment.execute`."""

    def __init__(self, channel: Channel, run: str, open_terminal: Open) -> None:
        """`run` is the supervisor's own directory, as seen from inside."""
        self._channel = channel
        self._run = run
        self._open_terminal = open_terminal
        self._terminal: Terminal | None = None
        self._mark = secrets.token_hex(8)

    def open(self) -> None:
        """Start the shell and run an empty turn.

        Raises: EnvironmentUnavailable, EnvironmentLost.
        """
        try:
            self._connect()
        except SupervisorLost as error:
            raise EnvironmentUnavailable(str(error)) from None
        try:
            trial = self._turn(b"", FIRST_S, 1 << 16)
        except ShellGone:
            raise EnvironmentUnavailable("a persistent shell ends at once here; use --shell fresh") from None
        if trial.ended != "exited" or trial.exit_code or trial.shell_lost:
            output = excerpts.ending(trial.output.decode(errors="replace").strip(), 300)
            raise EnvironmentUnavailable(
                f"a persistent shell does not work here ({trial.ended}, {trial.shell_lost or output or 'no output'}); "
                "use --shell fresh"
            )

    def run(self, script: bytes, *, deadline_s: float, cap: int) -> Execution:
        """Run one action. What it wrote to the terminal itself is appended to its output.

        Raises: EnvironmentLost.
        """
        if self._terminal and not self._terminal.ended:
            try:
                return self._turn(script, deadline_s, cap)
            except ShellGone:
                pass
        self._connect()
        try:
            execution = self._turn(script, deadline_s, cap)
        except ShellGone:
            raise SupervisorLost("a new shell's terminal ended at once") from None
        opened = "the shell's terminal had ended before this command, which ran in a new one"
        return replace(execution, shell_lost=execution.shell_lost or opened)

    def close(self) -> None:
        """Close the terminal; the supervisor ends what runs on it."""
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

        execution = self._channel.run(script, deadline_s=deadline_s, cap=cap, go=go)
        written = terminal.written(0.0 if execution.shell_lost else LAST_SIGN_S)
        if not written.strip(b"\n" if execution.ended != "exited" else b""):  # bash's own, at interruptions
            return execution
        output = extended(execution.output, written[: cap - len(execution.output)])
        return replace(execution, output=output, counted=execution.counted + len(written))


def with_persistent_shell(started: Started) -> Started:
    """Return the facts of a started environment, less the promises that it cannot keep if actions share a shell."""
    promises = tuple(promise for promise in started.promises if promise not in _NOT_KEPT)
    lost = (*(loss for loss in started.lost if loss != SHARED_USER), *_LOST)
    return replace(started, promises=(*promises, Promise.PERSISTENT_SHELL), lost=lost)
