"""The conformance kit, run on every kind of environment that this machine has."""

from __future__ import annotations

import pytest

from environments.conformance import EnvironmentConformance
from environments.conformance.kinds import sever
from environments.protocol import Environment
from tests.environments.conftest import environment


class _Kind(EnvironmentConformance):
    def make(self, **changes: object) -> Environment:
        assert self.name
        return environment(self.name, **changes)

    def sever(self, environment: Environment) -> None:
        sever(environment)


class TestLocal(_Kind):
    name = "local"


class TestShared(_Kind):
    """A local environment without a process list of its own."""

    name = "shared"


@pytest.mark.sandbox
class TestSandbox(_Kind):
    name = "sandbox"


@pytest.mark.docker
class TestDocker(_Kind):
    name = "docker"
