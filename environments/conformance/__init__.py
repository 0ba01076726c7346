"""The conformance kit: what an environment promises, tried out.

Any environment passes it, also one of your own. In a test module:

    from environments.conformance import EnvironmentConformance

    class TestMine(EnvironmentConformance):
        def make(self, **changes):                  # an environment that is not started yet; `changes` are
            return Mine(replace(SPEC, **changes))   # fields of `EnvironmentSpec`, for instance pids=100

pytest then runs every check, one test id a check. Without pytest: `run_checks(make).table()`, or
`python -m environments.conformance MODULE:MAKE`. A check whose promise the environment does not make is listed.
`environments.conformance.broken` has for each check an environment that fails it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from environments.conformance.catalogue import all_checks as all_checks
    from environments.conformance.checking import Check as Check, check as check
    from environments.conformance.kit import (
        Kit as Kit,
        Report as Report,
        Unpromised as Unpromised,
        run_checks as run_checks,
        unpromised as unpromised,
    )
    from environments.conformance.place import Place as Place
    from environments.conformance.suite import EnvironmentConformance as EnvironmentConformance

_HOME = {
    "catalogue": ("all_checks",),
    "checking": ("Check", "check"),
    "kit": ("Kit", "Report", "Unpromised", "run_checks", "unpromised"),
    "place": ("Place",),
    "suite": ("EnvironmentConformance",),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}
__all__ = sorted(_MODULE)


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE[name]}"), name)
