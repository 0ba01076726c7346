"""The end of an action: its exit code or signal."""

from __future__ import annotations

from environments.conformance.checking import check, holds, same
from environments.conformance.place import Place
from environments.promises import Promise


@check(Promise.EXIT_STATUS, "AlwaysZero")
def check_exit_codes(place: Place) -> None:
    """Exit codes come back unchanged, even those that look like signals."""
    for code in (0, 1, 3, 126, 127, 130, 137, 255):
        action = place.run(f"exit {code}")
        same((action.ended, action.exit_code, action.signal), ("exited", code, None), f"exit {code}")


@check(Promise.EXIT_STATUS, "Naive")
def check_signals(place: Place) -> None:
    """A shell that was ended by a signal is distinguished from one that exited."""
    for name, number in ("KILL", 9), ("SEGV", 11), ("TERM", 15):
        action = place.run(f"echo before; kill -{name} $$; sleep 3")
        same(
            (action.ended, action.exit_code, action.signal, action.output), ("exited", None, number, b"before\n"), name
        )


@check(Promise.EXIT_STATUS, "AlwaysZero")
def check_replaced_shell(place: Place) -> None:
    """The status of a program that takes the shell's place is the action's."""
    same(place.run("exec bash -c 'exit 9'").exit_code, 9)


@check(Promise.EXIT_STATUS, "AlwaysZero")
def check_unknown_command(place: Place) -> None:
    """A command that does not exist gives 127 and the shell's own message."""
    action = place.run("no-such-command-anywhere")
    same(action.exit_code, 127)
    holds(b"no-such-command-anywhere" in action.output, "the shell says which", action.output)


@check(Promise.EXIT_STATUS, "AlwaysZero")
def check_syntax_error(place: Place) -> None:
    """A script that is not valid bash fails, and the next one runs."""
    holds(place.run("if then fi (").exit_code not in (0, None), "it fails")
    same(place.text("echo next"), "next\n")
