"""Places where a trial's commands run: docker, sandbox (bubblewrap), local; one protocol, one supervisor.

May import `trajectories`; knows no agent and no benchmark. Everything else in here is private.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from environments.archive import BadArchive as BadArchive
    from environments.choose import make as make
    from environments.host import Daemon as Daemon, Host as Host, survey as survey
    from environments.listing import Changed as Changed, Entry as Entry, Listing as Listing
    from environments.owner import Owner as Owner, this_process as this_process
    from environments.promises import Promise as Promise
    from environments.protocol import (
        KINDS as KINDS,
        Build as Build,
        DiskFull as DiskFull,
        Environment as Environment,
        EnvironmentFault as EnvironmentFault,
        EnvironmentLost as EnvironmentLost,
        EnvironmentSpec as EnvironmentSpec,
        EnvironmentUnavailable as EnvironmentUnavailable,
        Execution as Execution,
        Export as Export,
        Kind as Kind,
        Started as Started,
        SupervisorLost as SupervisorLost,
    )

_HOME = {
    "archive": ("BadArchive",),
    "choose": ("make",),
    "host": ("Daemon", "Host", "survey"),
    "listing": ("Changed", "Entry", "Listing"),
    "owner": ("Owner", "this_process"),
    "promises": ("Promise",),
    "protocol": (
        "KINDS",
        "Build",
        "DiskFull",
        "Environment",
        "EnvironmentFault",
        "EnvironmentLost",
        "EnvironmentSpec",
        "EnvironmentUnavailable",
        "Execution",
        "Export",
        "Kind",
        "Started",
        "SupervisorLost",
    ),
}
_MODULE = {name: module for module, names in _HOME.items() for name in names}
__all__ = sorted(_MODULE)


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE[name]}"), name)
