"""The private networks of a group, and the names by which its members reach each other: the daemon's own DNS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from environments.docker import daemon
from environments.protocol import EnvironmentUnavailable, MachineLacks
from environments.services import Member, Network

if TYPE_CHECKING:
    from docker import APIClient

_NO_HOST = {"com.docker.network.bridge.inhibit_ipv4": "true"}
"""Option of a network on which this machine itself has no address, so that its own servers cannot be reached."""
_NO_DNS: Mapping[str, Any] = {"dns": ["127.0.0.1"], "dns_opt": ["timeout:1", "attempts:1"]}
"""Settings of a container whose lookups of other names must not leave it.

On an internal network, daemons before 25.0.5 still forward lookups to the machine's name server, which is a way out
(CVE-2024-29018). They do so from inside the container if its name server is given, and nothing listens there. They
do not answer then, so that a lookup takes as long as the resolver waits.
"""


def create(api: APIClient, group: str, network: Network, labels: Mapping[str, str], *, outside: bool) -> str:
    """Make a network of a group and return its id; `outside`: the members may reach other machines.

    Raises: MachineLacks.
    """
    internal = network.internal or not outside
    try:
        with daemon.reported(f"making a network for the services ({network.name})"):
            made = api.create_network(
                f"{group}-{network.name}",
                driver="bridge",
                options=_NO_HOST if internal else None,
                internal=internal,
                labels=dict(labels),
                check_duplicate=True,
            )
    except EnvironmentUnavailable as error:
        text = f"{error}; the services of this task need one (agent clean removes old ones)"
        raise MachineLacks(text) from None
    return str(made["Id"])


def host_options(networks: Sequence[str], *, outside: bool) -> dict[str, Any]:
    """Return the options of `create_host_config` for a member of these networks."""
    if not networks:
        return {"network_mode": "none"}
    return {"network_mode": networks[0], **({} if outside else _NO_DNS)}


def endpoint(api: APIClient, network: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the argument of `create_container` with the names of a member in its first network."""
    endpoints: Any = {network: api.create_endpoint_config(aliases=list(names))}
    config: dict[str, Any] = api.create_networking_config(endpoints)
    return config


def names_of(name: str, member: Member) -> list[str]:
    """Return the names by which a member is reached."""
    return list(dict.fromkeys([name, *member.aliases, *([member.hostname] if member.hostname else [])]))


def obstacle(api: APIClient) -> str | None:
    """Return the reason for which this daemon cannot make networks, or None. Found out by trying."""
    from environments.docker.services.removal import GROUP, remove_group
    from environments.leftovers import owner

    group = f"retrace-probe-{owner.this_process().prefix.strip('-')}"
    try:
        create(api, group, Network(), {**owner.this_process().labels(), GROUP: group}, outside=False)
    except MachineLacks as error:
        return str(error)
    finally:
        remove_group(api, group)
    return None
