"""Which variables an action sees."""

from __future__ import annotations

import os

from environments.conformance.checking import check, holds, same
from environments.conformance.place import Place
from environments.promises import Promise


@check(Promise.CLEAN_VARIABLES, "Naive")
def check_nothing_is_forwarded(place: Place) -> None:
    """A key in the harness's own environment is in no action's, also not in its parents' in sight."""
    os.environ["RETRACE_CONFORMANCE_KEY"] = "sk-not-yours"
    try:
        other = place.another()
        holds("sk-not-yours" not in other.text("env; set"), "no variable has its value")
    finally:
        del os.environ["RETRACE_CONFORMANCE_KEY"]


@check(Promise.CLEAN_VARIABLES, "IgnoresSpecVariables", env={"FROM_SPEC": "a  b"})
def check_named_ones_arrive(place: Place) -> None:
    """A variable that the spec names is there."""
    same(place.text('echo "[$FROM_SPEC]"'), "[a  b]\n")


@check(Promise.CLEAN_VARIABLES, "IgnoresOptions", env={"FROM_SPEC": "a  b"})
def check_an_action_s_own(place: Place) -> None:
    """A variable of one action goes before the spec's, for that action alone."""
    same(place.run('echo "[$FROM_SPEC]"', env={"FROM_SPEC": "other"}).output, b"[other]\n")
    same(place.text('echo "[$FROM_SPEC]"'), "[a  b]\n")


@check(Promise.CLEAN_VARIABLES, "UnquotedVariables")
def check_odd_values(place: Place) -> None:
    """Quotes, dollars, backslashes and newlines in a variable arrive as they are."""
    value = "a 'b' \"c\" $d\\\ne"
    same(place.run('printf %s "$ODD"', env={"ODD": value}).output.decode(), value)
