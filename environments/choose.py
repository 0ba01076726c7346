"""Which environment a trial runs in, and making it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from environments.protocol import Environment, EnvironmentSpec, EnvironmentUnavailable, Kind, MachineLacks


def choose(kinds_allowed: Sequence[Kind], has_image: bool, asked: Kind | None) -> Kind:
    """The kind to use: docker if allowed and a daemon answers, else sandbox if allowed or without an image to miss.

    `local` is only ever used when asked for. Raises: EnvironmentUnavailable, MachineLacks.
    """
    allowed = ", ".join(kinds_allowed)
    if asked is not None:
        if asked not in kinds_allowed:
            raise EnvironmentUnavailable(f"this task does not run in the {asked} environment; it allows: {allowed}")
        return asked
    why = []
    if "docker" in kinds_allowed:
        from environments.docker import daemon

        try:
            daemon.connect(daemon.QUICK_S).close()
            return "docker"
        except EnvironmentUnavailable as error:
            why.append(str(error))
    if "sandbox" in kinds_allowed or not has_image:
        from environments.sandbox import bubblewrap

        obstacle = bubblewrap.obstacle(bubblewrap.outer_user())
        if obstacle is None:
            return "sandbox"
        why.append(obstacle)
    if "local" in kinds_allowed:
        why.append("--env local would run it on this machine, unconfined")
    if why:
        raise MachineLacks("; ".join(why))
    raise EnvironmentUnavailable(f"this task allows only: {allowed}; choose one with --env")


def make(spec: EnvironmentSpec, progress: Callable[[str], None] | None = None) -> Environment:
    """An environment of the spec's kind, not yet started; `progress` gets the lines of a pull or a build."""
    if spec.kind == "docker":
        from environments.docker.environment import DockerEnvironment

        return DockerEnvironment(spec, progress)
    if spec.kind == "sandbox":
        from environments.sandbox.environment import SandboxEnvironment

        return SandboxEnvironment(spec)
    from environments.local import LocalEnvironment

    return LocalEnvironment(spec)
