"""One shell for all actions, if the spec requests it."""

from __future__ import annotations

import time

from environments.conformance.checking import check, holds, same
from environments.conformance.place import Place
from environments.promises import Promise


@check(Promise.PERSISTENT_SHELL, "IgnoresShell", shell="persistent")
def check_state(place: Place) -> None:
    """Directory, variables, exports and functions persist."""
    place.text("cd /tmp; variable='a  b'; export EXPORTED=1; f() { echo f $1; }")
    same(place.text('pwd; echo "$variable"; sh -c "echo $EXPORTED"; f 2').split("\n")[:4], ["/tmp", "a  b", "1", "f 2"])
    place.text("cd - >/dev/null; unset variable EXPORTED f")


@check(Promise.PERSISTENT_SHELL, "AlwaysZero", shell="persistent")
def check_exit_codes(place: Place) -> None:
    """The exit code of an action is that of its last command."""
    same([place.run(script).exit_code for script in ("false", "true", "(exit 7)")], [1, 0, 7])


@check(Promise.PERSISTENT_SHELL, "IgnoresShell", shell="persistent")
def check_exit(place: Place) -> None:
    """An action that exits the shell reports that its state is lost, and the next one runs."""
    place.text("variable=1")
    action = place.run("exit 3")
    holds(action.shell_lost, "it says so", action)
    same(place.run('echo "[$variable]"').output.replace(b"\r", b""), b"[]\n")


@check(Promise.PERSISTENT_SHELL, "IgnoresShell", shell="persistent")
def check_deadline(place: Place) -> None:
    """After a deadline the state is still there, or its loss is reported."""
    place.text("variable=kept")
    began = time.monotonic()
    action = place.run("trap '' INT; sleep 4", 0.3)
    same(action.ended, "deadline")
    seen = place.run('echo "[$variable]"')
    holds(time.monotonic() - began < 4, "the next action did not wait for it")
    holds(b"[kept]" in seen.output or action.shell_lost, "it is kept, or its loss is reported", (seen.output, action))


@check(Promise.PERSISTENT_SHELL, "WedgedByQuestions", shell="persistent")
def check_questions(place: Place) -> None:
    """A command that waits for input does not block the shell longer than its deadline."""
    place.run("read -r answer", 1)
    began = time.monotonic()
    same(place.run("echo on", 3).output.replace(b"\r", b""), b"on\n")
    holds(time.monotonic() - began < 2, "the next action runs at once")


@check(Promise.PERSISTENT_SHELL, "IgnoresShell", shell="persistent")
def check_an_action_apart(place: Place) -> None:
    """An action with its own directory has its own shell and does not affect the shared one."""
    place.text("variable=shared")
    same(place.run('pwd; echo "[$variable]"; variable=other', cwd="/").output, b"/\n[]\n")
    same(place.text('echo "$variable"; unset variable').strip(), "shared")
