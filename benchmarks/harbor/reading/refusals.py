"""Demands of a task that Retrace does not meet: each is refused by name before anything starts."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.harbor.reading.taskfile import EnvironmentPart, Network, TaskFile


def refusals(file: TaskFile) -> tuple[str, ...]:
    """Return what cannot be provided, one line each with its key."""
    return tuple(_refusals(file))


def agent_network(file: TaskFile) -> Network:
    """Return the network of the agent's phase."""
    return _phase_network(file.agent.network_mode, file.agent.allowed_hosts, file.environment.network)


def verifier_network(file: TaskFile) -> Network:
    """Return the network of the verifier's phase."""
    part = file.verifier.environment or file.environment
    return _phase_network(file.verifier.network_mode, file.verifier.allowed_hosts, part.network)


def _phase_network(mode: Network | None, hosts: tuple[str, ...] | None, baseline: Network) -> Network:
    if mode is not None:
        return mode
    return "allowlist" if hosts is not None else baseline


def _refusals(file: TaskFile) -> Iterator[str]:
    yield from _of_container(file.environment, "environment")
    if file.verifier.environment is not None:
        yield from _of_container(file.verifier.environment, "verifier.environment")
    for network, phase in ((agent_network(file), "agent"), (verifier_network(file), "verifier")):
        if network == "allowlist":
            yield f"{phase}: a network with an allowlist of hosts cannot be provided, only public and no-network"
    if not file.verifier.separate and agent_network(file) != verifier_network(file):
        yield (
            f"verifier.network_mode: a shared verifier has the network of the agent ({agent_network(file)}), and not "
            f'{verifier_network(file)}; environment_mode = "separate" would allow it'
        )
    for index, hook in enumerate(file.verifier.collect):
        if hook.service != "main":
            yield f"verifier.collect.{index}.service: commands can be run in main only, not in {hook.service!r}"
    for index, artifact in enumerate(file.artifacts):
        if artifact.service not in (None, "main"):
            yield f"artifacts.{index}.service: artifacts can be collected from main only, not from {artifact.service!r}"


def _of_container(part: EnvironmentPart, key: str) -> Iterator[str]:
    if part.os == "windows":
        yield f"{key}.os: Windows containers cannot be provided"
    if part.gpus or part.gpu_types:
        yield f"{key}.gpus: a GPU cannot be provided"
    if part.tpu is not None:
        yield f"{key}.tpu: a TPU cannot be provided"
    if part.mcp_servers:
        names = ", ".join(server.name for server in part.mcp_servers)
        yield f"{key}.mcp_servers: MCP servers cannot be provided ({names})"
