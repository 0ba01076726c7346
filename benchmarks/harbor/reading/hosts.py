"""Hosts of an allowlist: `example.org`, `*.example.org`, an address, or a network in CIDR form."""

from __future__ import annotations

import ipaddress
import re

_HOSTNAME = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9_-]{0,62})?(\.[a-z0-9_]([a-z0-9_-]{0,62})?)*")


def host(text: str) -> str:
    """Return a host in its usual form.

    Raises: ValueError for a URL, a port, a path, or a wildcard anywhere but in front.
    """
    name = text.strip().lower().removesuffix(".")
    try:
        return str(ipaddress.ip_network(name)) if "/" in name else str(ipaddress.ip_address(name.strip("[]")))
    except ValueError:
        if _HOSTNAME.fullmatch(name):
            return name
    raise ValueError(f"must be a host name, *.suffix, an address or a network, not {text!r}")
