"""Environments that are broken on purpose: each claims all promises and breaks at least one.

A check names those that must fail it; `tests/conformance/test_broken.py` tests that they do. Nothing in here may harm
the machine it runs on: `kill -9 -1`, fork bombs and endless output only run in environments that contain them.
"""

from __future__ import annotations

from typing import Protocol

from environments.conformance.broken import actions, archives, forging, lives, output, pausing, sizes
from environments.conformance.broken.naive import Naive
from environments.conformance.broken.wrapper import Claims
from environments.protocol import Environment, EnvironmentSpec, Kind


class MakeKind(Protocol):
    """Makes an environment of a kind, which is not started."""

    def __call__(self, kind: Kind, **changes: object) -> Environment: ...


WRAPPERS: dict[str, type[Claims]] = {
    name: wrapper
    for module in (actions, archives, forging, lives, output, pausing, sizes)
    for name, wrapper in vars(module).items()
    if isinstance(wrapper, type) and issubclass(wrapper, Claims) and not name.startswith("_")
}
"""The broken environments by name, except `Naive`; a check must name at least one."""


def over(name: str) -> Kind:
    """Return the kind of environment that a broken one is made from."""
    return "local" if name == "Naive" else WRAPPERS[name].over


def make_broken(name: str, make: MakeKind, **changes: object) -> Environment:
    """Make a broken environment from one that `make` makes."""
    if name == "Naive":
        return Naive(EnvironmentSpec(kind="local", **changes))  # type: ignore[arg-type]
    wrapper = WRAPPERS[name]
    return wrapper(make(wrapper.over, **{**changes, **wrapper.behind}))


def sever(environment: Environment) -> None:
    """Kill the environment behind a broken one."""
    from environments.conformance.kinds import sever as sever_kind

    sever_kind(environment.inner if isinstance(environment, Claims) else environment)
