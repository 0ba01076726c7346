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
