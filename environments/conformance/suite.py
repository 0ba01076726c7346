"""The kit as a pytest class: one test id for each check. Checks of promises that are not made are skipped (`-ra`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from environments.conformance.checking import Check
from environments.conformance.kit import Kit, Unpromised, unpromised
from environments.conformance.topics import all_checks
from environments.protocol import Environment


class EnvironmentConformance:
    """Base class for a `Test...` class that implements `make`."""

    name: str | None = None
    """Name of the environment in skip messages; None is its kind."""

    def make(self, **changes: object) -> Environment:
        """Return an environment that is not started; `changes` are fields of its `EnvironmentSpec`."""
        raise NotImplementedError("a conformance test class needs make(self, **changes) -> Environment")

    sever = None
    """Optional method `sever(self, environment)`, which kills from outside what runs the actions; the files stay."""

    @pytest.fixture(scope="class")
    @classmethod
    def kit(cls) -> Iterator[Kit]:
        own = cls()
        kit = Kit(own.make, own.sever, own.name)
        yield kit
        kit.close()

    @pytest.mark.parametrize("check", all_checks(), ids=lambda check: check.id)
    def test_promise(self, kit: Kit, check: Check) -> None:
        """Run the check; its docstring explains it."""
        try:
            kit.run(check)
        except Unpromised as reason:
            pytest.skip(str(reason))

    def test_which_promises_are_not_made(self, kit: Kit) -> None:
        """List in one line the promises that the environment does not make with an unchanged spec. It never fails."""
        missing = unpromised(kit.started())
        if missing:
            pytest.skip(f"{kit.name}, with nothing asked for, does not promise: {', '.join(missing)}")
