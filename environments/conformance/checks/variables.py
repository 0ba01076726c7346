"""The variables that an action sees."""

from __future__ import annotations

import os

from environments.conformance.checking import check, holds, same
from environments.conformance.place import Place
from environments.promises import Promise


@check(Promise.CLEAN_VARIABLES, "Naive")
def check_nothing_is_forwarded(place: Place) -> None:
    """An action sees no key of the harness's own environment."""
    os.environ["RETRACE_CONFORMANCE_KEY"] = "sk-not-yours"
    try:
        other = place.another()
        holds("sk-not-yours" not in other.text("env; set"), "no variable has its value")
    finally:
        del os.environ["RETRACE_CONFORMANCE_KEY"]


@check(Promise.CLEAN_VARIABLES, "IgnoresSpecVariables", env={"FROM_SPEC": "a  b"})
def check_named_ones_arrive(place: Place) -> None:
    """Actions see the variables that the spec names."""
    same(place.text('echo "[$FROM_SPEC]"'), "[a  b]\n")


@check(Promise.CLEAN_VARIABLES, "IgnoresOptions", env={"FROM_SPEC": "a  b"})
def check_an_action_s_own(place: Place) -> None:
    """A variable of one action overrides that of the spec, for that action alone."""
    same(place.run('echo "[$FROM_SPEC]"', env={"FROM_SPEC": "other"}).output, b"[other]\n")
    same(place.text('echo "[$FROM_SPEC]"'), "[a  b]\n")


@check(Promise.CLEAN_VARIABLES, "UnquotedVariables")
def check_odd_values(place: Place) -> None:
    """Quotes, dollars, backslashes and newlines in a variable arrive unchanged."""
    value = "a 'b' \"c\" $d\\\ne"
    same(place.run('printf %s "$ODD"', env={"ODD": value}).output.decode(), value)
