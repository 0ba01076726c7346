"""All services of one environment, and what they share: started, held and removed together."""

from __future__ import annotations

import logging
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from environments.docker import daemon, images, pausing, watch
from environments.docker.services import container, network
from environments.docker.services.reaper import Reaper
from environments.docker.services.removal import GROUP, remove_group
from environments.leftovers import owner
from environments.protocol import EnvironmentFault, EnvironmentSpec, EnvironmentUnavailable
from environments.reporting import Reporter
from environments.services import MAIN, Condition, Healthcheck, Member, Service, in_order

if TYPE_CHECKING:
    from docker import APIClient

APPEAR_S = 1.0
"""Seconds for which something may still appear if its creation was interrupted."""
_log = logging.getLogger(__name__)


@dataclass
class _Running:
    service: Service
    container: str
    heard: watch.Watched
    check: Healthcheck | None
    is_healthy: bool = False
    is_held: bool = False
    is_reported: bool = False


class Group:
    """The services of a spec, from the networks that are made before the main container to their removal."""

    def __init__(self, spec: EnvironmentSpec, reporter: Reporter) -> None:
        self._spec = spec
        self._reporter = reporter
        self._name = f"retrace-{secrets.token_hex(6)}"
        self._before, self._after = in_order(spec.services, spec.member)
        self._networks: dict[str, str] = {}
        """Ids of the networks, by their names in the task."""
        self._images: dict[str, images.Image] = {}
        self._running: dict[str, _Running] = {}
        self._reaper: Reaper | None = None
        self._is_asking = False
        """True while the daemon makes something; what an interrupted request makes may still appear."""

    # --- the main container --------------------------------------------------------------------------

    @property
    def labels(self) -> dict[str, str]:
        """Labels of everything that belongs to the group."""
        kept = {owner.KEEP: "1"} if self._spec.keep else {}
        return {**self._spec.labels, **owner.this_process().labels(), **kept, GROUP: self._name}

    def main_options(self) -> dict[str, Any]:
        """Return options of `create_host_config` for the main container."""
        member = self._spec.member
        networks = self._joined(member)
        mounts = container.mounts_of(self._name, member)
        return {"mounts": mounts, **network.host_options(networks, outside=self._spec.network)}

    def main_endpoint(self, api: APIClient) -> dict[str, Any] | None:
        """Return the argument of `create_container` that gives the main container its names."""
        networks = self._joined(self._spec.member)
        return network.endpoint(api, networks[0], network.names_of(MAIN, self._spec.member)) if networks else None

    def join_others(self, api: APIClient, name: str, id: str, member: Member) -> None:
        """Connect a container that has not started to its networks after the first.

        Raises: EnvironmentUnavailable.
        """
        for each in self._joined(member)[1:]:
            with daemon.reported(f"connecting {name} to a network of its services"):
                api.connect_container_to_network(id, each, aliases=network.names_of(name, member))

    # --- starting ------------------------------------------------------------------------------------

    def start_before_main(self, api: APIClient) -> None:
        """Make networks and volumes, and start the services that do not need the main container.

        Raises: EnvironmentUnavailable, MachineLacks, DiskFull.
        """
        self._images = {
            service.name: images.make_available(
                api,
                EnvironmentSpec(
                    "docker",
                    image=None if service.build else service.image,
                    build=service.build,
                    platform=service.platform,
                ),
                self._reporter,
            )
            for service in self._spec.services
        }
        self._reaper = Reaper(self._name)
        self._is_asking = True
        members = [self._spec.member, *(service.member for service in self._spec.services)]
        for each in {each.name: each for member in members for each in member.networks}.values():
            self._networks[each.name] = network.create(api, self._name, each, self.labels, outside=self._spec.network)
        volumes = {m.source for member in members for m in member.mounts if m.kind == "volume" and m.source}
        for volume in sorted(volumes):
            with daemon.reported(f"making volume {volume}"):
                api.create_volume(f"{self._name}-{volume}", labels=self.labels)
        for service in self._before:
            self._start(api, service)
        self._await(api, MAIN, self._spec.member)
        self._is_asking = False

    def start_after_main(self, api: APIClient) -> None:
        """Start the services that need the main container, and wait until all that can be healthy are.

        Raises: EnvironmentUnavailable, DiskFull.
        """
        self._is_asking = True
        for service in self._after:
            self._start(api, service)
        self._is_asking = False
        for each in self._running.values():
            self._reach(api, each, "healthy" if each.check else "started")

    def _start(self, api: APIClient, service: Service) -> None:
        self._await(api, service.name, service.member)
        image = self._images[service.name]
        self._reporter.note(f"starting service {service.name}")
        id = container.create(
            api,
            service,
            image,
            f"{self._name}-{service.name}",
            self._joined(service.member),
            container.mounts_of(self._name, service.member),
            self.labels,
            outside=self._spec.network,
        )
        self.join_others(api, service.name, id, service.member)
        heard = watch.watch(api, id, _nothing)
        self._running[service.name] = _Running(service, id, heard, container.healthcheck(api, service, image))
        with daemon.reported(f"starting service {service.name}"):
            api.start(id)

    def _await(self, api: APIClient, name: str, member: Member) -> None:
        for needed, condition in member.depends_on.items():
            if needed == MAIN:
                continue  # it has started, or this one would not be started now
            try:
                self._reach(api, self._running[needed], condition)
            except EnvironmentUnavailable as error:
                raise EnvironmentUnavailable(f"{error}; {name} needs it") from None

    def _reach(self, api: APIClient, each: _Running, condition: Condition) -> None:
        """Wait until a service has reached a state.

        Raises: EnvironmentUnavailable if it cannot be reached anymore.
        """
        name = each.service.name
        if condition == "completed":
            container.wait_completed(api, name, each.container)
        elif (status := container.exit_status(api, name, each.container)) is not None:
            if status:
                raise container.ended(api, name, each.container, status)
        elif condition == "healthy" and not each.is_healthy:
            if each.check is None:
                raise EnvironmentUnavailable(f"service {name} has no health check; its dependents wait for one")
            container.wait_healthy(api, name, each.container, each.check)
            each.is_healthy = True

    def _joined(self, member: Member) -> list[str]:
        return [self._networks[each.name] for each in member.networks]

    # --- while it runs -------------------------------------------------------------------------------

    def hold(self, api: APIClient) -> None:
        """Pause every service that runs.

        Raises: EnvironmentFault; then none is held.
        """
        try:
            for each in self._running.values():
                if self._runs(api, each):
                    each.is_held = True
                    pausing.hold(api, each.container, each.heard, _no_trouble)
        except BaseException:
            self.let_go(api)
            raise

    def let_go(self, api: APIClient) -> None:
        """Let the services go on that `hold` has paused. One that has ended meanwhile is only reported."""
        for each in self._running.values():
            if each.is_held:
                each.is_held = False
                try:
                    pausing.let_go(api, each.container, each.heard, _no_trouble)
                except EnvironmentFault as error:
                    _log.warning("service %s: %s", each.service.name, error)

    def losses(self, api: APIClient) -> tuple[str, ...]:
        """Return a line for each service that has failed since the last call.

        The daemon is asked only about services whose end it has reported.
        """
        lines = []
        for each in self._running.values():
            if each.heard.status is None or each.is_reported:
                continue
            try:
                status = container.exit_status(api, each.service.name, each.container)
            except EnvironmentUnavailable as error:
                status, text = -1, str(error)
            else:
                text = f"service {each.service.name} ended with status {status}"
            if status is None:
                each.heard.status = None  # the daemon has started it again
                continue
            each.is_reported = True
            if status:
                lines.append(f"{text}{container.last_lines(api, each.container)}")
        return tuple(lines)

    def _runs(self, api: APIClient, each: _Running) -> bool:
        return container.exit_status(api, each.service.name, each.container) is None

    # --- the end -------------------------------------------------------------------------------------

    def remove(self, api: APIClient) -> None:
        """Remove the group; the main container has to be removed before. May be called after a start that failed."""
        for each in self._running.values():
            watch.forget(api, each.container)
        if self._reaper is None:
            return
        appear_s = APPEAR_S if self._is_asking else 0.0
        left = remove_group(api, self._name, appear_s=appear_s, keep=self._spec.keep)
        if left:
            _log.warning("services could not be removed (%s); agent clean will find them", "; ".join(left))
        self._reaper.dismiss()


def _nothing() -> None:
    """Do nothing: the loss of a service does not end an action."""


def _no_trouble() -> None:
    return None
