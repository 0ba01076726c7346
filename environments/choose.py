"""The choice of the kind of environment for a trial, and making one of a kind."""

from __future__ import annotations

from collections.abc import Sequence

from environments.protocol import Environment, EnvironmentSpec, EnvironmentUnavailable, Kind, MachineLacks
from environments.reporting import Reporter


def choose(kinds_allowed: Sequence[Kind], has_image: bool, requested: Kind | None) -> Kind:
    """Return the kind to use, which is `requested` if the user named one.

    Otherwise it is docker if that is allowed and a daemon answers, or the sandbox if that is allowed or the task needs
    no image. `local` is only used on request.

    Raises: EnvironmentUnavailable, MachineLacks.
    """
    allowed = ", ".join(kinds_allowed)
    if requested is not None:
        if requested not in kinds_allowed:
            raise EnvironmentUnavailable(f"this task does not run in the {requested} environment; it allows: {allowed}")
        return requested
    reasons = []
    if "docker" in kinds_allowed:
        from environments.docker import daemon

        try:
            daemon.connect(daemon.QUICK_S).close()
            return "docker"
        except EnvironmentUnavailable as error:
            reasons.append(str(error))
    if "sandbox" in kinds_allowed or not has_image:
        from environments.sandbox import bubblewrap

        obstacle = bubblewrap.obstacle(bubblewrap.outer_user())
        if obstacle is None:
            return "sandbox"
        reasons.append(obstacle)
    if "local" in kinds_allowed:
        reasons.append("--env local would run it on this machine, unconfined")
    if reasons:
        raise MachineLacks("; ".join(reasons))
    raise EnvironmentUnavailable(f"this task allows only: {allowed}; choose one with --env")


def make(spec: EnvironmentSpec, reporter: Reporter | None = None) -> Environment:
    """Return an environment of the spec's kind, not yet started; `reporter` shows the lines of a pull or a build."""
    if spec.kind == "docker":
        from environments.docker.environment import DockerEnvironment

        return DockerEnvironment(spec, reporter)
    if spec.kind == "sandbox":
        from environments.sandbox.environment import SandboxEnvironment

        return SandboxEnvironment(spec)
    from environments.local import LocalEnvironment

    return LocalEnvironment(spec)
