"""The conformance kit, which tests what an environment promises. It works with environments of your own, too.

In a test module:

    from environments.conformance import EnvironmentConformance

    class TestMine(EnvironmentConformance):
        def make(self, **changes):                  # returns an environment that is not started; `changes`
            return Mine(replace(SPEC, **changes))   # are fields of `EnvironmentSpec`, for example pids=100

pytest then runs every check under a test id of its own. Without pytest: `run_checks(make).table()`, or
`python -m environments.conformance MODULE:MAKE`. Checks of promises that the environment does not make are listed.
`environments.conformance.broken` has an environment that fails each check.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
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
    from environments.conformance.topics import all_checks as all_checks

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "checking": ["Check", "check"],
        "kit": ["Kit", "Report", "Unpromised", "run_checks", "unpromised"],
        "place": ["Place"],
        "suite": ["EnvironmentConformance"],
        "topics": ["all_checks"],
    },
)
