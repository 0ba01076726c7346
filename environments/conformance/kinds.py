"""The three kinds of this package, for the kit: making one, and killing it from outside."""

from __future__ import annotations

from dataclasses import replace

from environments.conformance.place import Make
from environments.protocol import Environment, EnvironmentSpec


def maker(spec: EnvironmentSpec) -> Make:
    """Return a function that makes environments of this spec, with changes."""

    def make(**changes: object) -> Environment:
        from environments.choose import make as make_one

        return make_one(replace(spec, **changes))  # type: ignore[arg-type]

    return make


def sever(environment: Environment) -> None:
    """Pause the container (killing it would remove its files), or kill the process of a sandbox or local one."""
    from environments.docker.environment import DockerEnvironment
    from environments.local import LocalEnvironment
    from environments.sandbox.environment import SandboxEnvironment

    if isinstance(environment, DockerEnvironment):
        from environments.docker import daemon

        api = daemon.connect()
        assert environment._container is not None
        api.pause(environment._container)
        api.close()
    elif isinstance(environment, LocalEnvironment | SandboxEnvironment):
        assert environment._link is not None
        environment._link.process.kill()
    else:
        raise TypeError(f"{type(environment).__name__} is not an environment of this package")
