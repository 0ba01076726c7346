"""The kit as a pytest class: one test id a check; what is not promised is skipped by name (`-ra` shows it)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from environments.conformance.checking import Check
from environments.conformance.kit import Kit, Unpromised, unpromised
from environments.conformance.topics import all_checks
from environments.protocol import Environment


class EnvironmentConformance:
    """Subclass it as `Test...` and say how an environment is made."""

    name: str | None = None
    """What skips call the environment; None is its kind."""

    def make(self, **changes: object) -> Environment:
        """An environment that is not started; `changes` are fields of its `EnvironmentSpec`."""
        raise NotImplementedError("a conformance test class needs make(self, **changes) -> Environment")

    sever = None
    """Optional method `sever(self, environment)`: kill what runs the actions, from outside; the files stay."""

    @pytest.fixture(scope="class")
    @classmethod
    def kit(cls) -> Iterator[Kit]:
        own = cls()
        kit = Kit(own.make, own.sever, own.name)
        yield kit
        kit.close()

    @pytest.mark.parametrize("check", all_checks(), ids=lambda check: check.id)
    def test_promise(self, kit: Kit, check: Check) -> None:
        """What the check's docstring says."""
        try:
            kit.run(check)
        except Unpromised as why:
            pytest.skip(str(why))

    def test_which_promises_are_not_made(self, kit: Kit) -> None:
        """Never fails; says in one line what such an environment, with nothing asked for, does not promise."""
        missing = unpromised(kit.started())
        if missing:
            pytest.skip(f"{kit.name}, with nothing asked for, does not promise: {', '.join(missing)}")
