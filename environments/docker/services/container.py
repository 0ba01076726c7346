"""The container of one service: its settings, its state, and its health."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from environments.docker import daemon, images
from environments.docker.services import network
from environments.protocol import EnvironmentUnavailable
from environments.services import Healthcheck, Member, Service
from trajectories.waiting import sleep

if TYPE_CHECKING:
    from docker import APIClient

LOG_BYTES = "1m"
"""Most that the daemon keeps of a service's output, so that it cannot fill the host's disk."""
COMPLETED_S = 600.0
"""Seconds within which a service has to end if others wait for its end. A compose file cannot name a time for that."""
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.1, 1.0
_LAST_LINES = 3
_NANO = 1e9


def mounts_of(group: str, member: Member) -> list[Any]:
    """Return the mounts of a member, as the daemon is asked for them."""
    from docker.types import Mount

    mounts = []
    for each in member.mounts:
        source = each.source or None
        if each.kind == "volume" and source:
            source = f"{group}-{source}"
        size = each.size_bytes if each.kind == "tmpfs" else None
        mounts.append(Mount(each.target, source, type=each.kind, read_only=each.read_only, tmpfs_size=size))
    return mounts


def create(
    api: APIClient,
    service: Service,
    image: images.Image,
    name: str,
    networks: Sequence[str],
    mounts: list[Any],
    labels: Mapping[str, str],
    *,
    outside: bool,
) -> str:
    """Make the container of a service, in the first of these networks, and return its id.

    Raises: EnvironmentUnavailable.
    """
    from docker.types import LogConfig

    options: dict[str, Any] = {}
    if service.cpus is not None:
        options["nano_cpus"] = round(min(service.cpus, daemon.facts(api)["NCPU"]) * _NANO)
    if service.memory_bytes is not None:
        options["mem_limit"] = service.memory_bytes
    if service.pids is not None:
        options["pids_limit"] = service.pids
    if service.shm_bytes is not None:
        options["shm_size"] = service.shm_bytes
    host = api.create_host_config(
        mounts=mounts,
        security_opt=["no-new-privileges:true"],
        init=service.init,
        restart_policy={"Name": service.restart},
        log_config=LogConfig(type="json-file", config={"max-size": LOG_BYTES, "max-file": "1"}),
        **network.host_options(networks, outside=outside),
        **options,
    )
    with daemon.reported(f"creating the container of service {service.name}"):
        made = api.create_container(
            image.id,
            None if service.command is None else list(service.command),
            name=name,
            entrypoint=None if service.entrypoint is None else list(service.entrypoint),
            user=service.user,
            working_dir=service.workdir,
            hostname=service.member.hostname or service.name,
            environment=dict(service.env),
            stop_signal=service.stop_signal,
            healthcheck={"test": ["NONE"]},  # we run it ourselves, so that nothing runs while the service is paused
            labels=dict(labels),
            platform=service.platform,
            host_config=host,
            networking_config=network.endpoint(api, networks[0], network.names_of(service.name, service.member))
            if networks
            else None,
        )
    return str(made["Id"])


def healthcheck(api: APIClient, service: Service, image: images.Image) -> Healthcheck | None:
    """Return the health check of a service, which may be its image's; None if it has none or it is turned off."""
    if service.healthcheck is not None:
        return service.healthcheck if service.healthcheck.test else None
    with daemon.reported(f"looking up image {image.reference}"):
        config = api.inspect_image(image.id).get("Config") or {}  # type: ignore[no-untyped-call]
    own = config.get("Healthcheck") or {}
    kind, *words = own.get("Test") or ["NONE"]
    if kind == "NONE":
        return None
    return Healthcheck(
        ("/bin/sh", "-c", *words) if kind == "CMD-SHELL" else tuple(words),
        interval_s=(own.get("Interval") or 30 * _NANO) / _NANO,
        timeout_s=(own.get("Timeout") or 30 * _NANO) / _NANO,
        start_period_s=(own.get("StartPeriod") or 0) / _NANO,
        retries=own.get("Retries") or 3,
    )


def wait_healthy(api: APIClient, service: str, container: str, check: Healthcheck) -> None:
    """Wait until the health check of a service succeeds.

    It runs sooner and more often than its interval says, but the service has as much time as with that interval.

    Raises: EnvironmentUnavailable.
    """
    allowed_s = check.start_period_s + check.interval_s * max(check.retries, 1)
    until, wait_s = time.monotonic() + allowed_s, _FIRST_WAIT_S
    while True:
        outcome = _checked(api, service, container, check)
        if outcome == "":
            return
        if (status := exit_status(api, service, container)) is not None:
            raise ended(api, service, container, status)
        if time.monotonic() > until:
            shown = " ".join(check.test)[:200]
            text = f"service {service} is not healthy after {allowed_s:g} s: {shown!r} {outcome}"
            raise EnvironmentUnavailable(f"{text}{last_lines(api, container)}")
        sleep(wait_s)
        wait_s = min(2 * wait_s, check.interval_s, _LONGEST_WAIT_S)


def _checked(api: APIClient, service: str, container: str, check: Healthcheck) -> str:
    """Run a health check once; return its failure, or "" if it succeeded."""
    try:
        made = api.exec_create(container, list(check.test), stdout=False, stderr=False)
        api.exec_start(made["Id"], detach=True)
        until, wait_s = time.monotonic() + check.timeout_s, 0.02
        while True:
            facts = api.exec_inspect(made["Id"])
            if not facts["Running"] and facts["ExitCode"] is not None:
                return "" if facts["ExitCode"] == 0 else f"ends with status {facts['ExitCode']}"
            if time.monotonic() > until:
                return f"does not end within {check.timeout_s:g} s"
            sleep(wait_s)
            wait_s = min(2 * wait_s, 0.5)
    except OSError as error:
        return f"cannot be run ({daemon.reason(error)})"


def wait_completed(api: APIClient, service: str, container: str) -> None:
    """Wait until a service ends by itself, with status 0.

    Raises: EnvironmentUnavailable.
    """
    until, wait_s = time.monotonic() + COMPLETED_S, 0.02
    while (status := exit_status(api, service, container)) is None:
        if time.monotonic() > until:
            text = f"service {service} has not ended after {COMPLETED_S:g} s, and others wait for its end"
            raise EnvironmentUnavailable(f"{text}{last_lines(api, container)}")
        sleep(wait_s)
        wait_s = min(2 * wait_s, 0.5)
    if status != 0:
        raise ended(api, service, container, status)


def exit_status(api: APIClient, service: str, container: str) -> int | None:
    """Return the exit status of a service that has ended for good; None while it runs or will be started again.

    Raises: EnvironmentUnavailable.
    """
    with daemon.reported(f"examining service {service}"):
        state = api.inspect_container(container)["State"]
    return None if state["Running"] or state.get("Restarting") else int(state["ExitCode"])


def ended(api: APIClient, service: str, container: str, status: int) -> EnvironmentUnavailable:
    """Return the error of a service that ended too early."""
    return EnvironmentUnavailable(f"service {service} ended with status {status}{last_lines(api, container)}")


def last_lines(api: APIClient, container: str) -> str:
    """Return the last lines of a service's output, to be put behind a message."""
    try:
        output = api.logs(container, tail=_LAST_LINES).decode(errors="replace")
    except OSError:
        return ""
    lines = [" ".join(line.split())[:300] for line in output.splitlines() if line.strip()]
    return f"; its last lines: {' | '.join(lines)}" if lines else ""
