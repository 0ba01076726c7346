"""Environments that are broken on purpose: each claims all promises, and breaks at least one.

A check names those that must fail it; `tests/conformance/test_broken.py` sees to it that they do. Nothing in here may
harm the machine it runs on: no `kill -9 -1`, no fork bomb and no endless output leaves an environment that can hold it.
"""

from __future__ import annotations

from typing import Protocol

from environments.conformance.broken import actions, archives, lives, output
from environments.conformance.broken.naive import Naive
from environments.conformance.broken.wrapper import Claims
from environments.protocol import Environment, EnvironmentSpec, Kind


class MakeKind(Protocol):
    """Makes an environment of a kind, not started."""

    def __call__(self, kind: Kind, **changes: object) -> Environment: ...


WRAPPERS: dict[str, type[Claims]] = {
    name: one
    for module in (actions, archives, lives, output)
    for name, one in vars(module).items()
    if isinstance(one, type) and issubclass(one, Claims) and not name.startswith("_")
}
"""By name; a check that names none of these or `Naive` is a mistake."""


def over(name: str) -> Kind:
    """The kind of environment that it is made from."""
    return "local" if name == "Naive" else WRAPPERS[name].over


def make_broken(name: str, make: MakeKind, **changes: object) -> Environment:
    """A broken environment, from what `make` makes."""
    if name == "Naive":
        return Naive(EnvironmentSpec(kind="local", **changes))  # type: ignore[arg-type]
    wrapper = WRAPPERS[name]
    return wrapper(make(wrapper.over, **{**changes, **wrapper.behind}))


def sever(environment: Environment) -> None:
    """Kill what is behind it."""
    from environments.conformance.kinds import sever as sever_kind

    sever_kind(environment.inner if isinstance(environment, Claims) else environment)
