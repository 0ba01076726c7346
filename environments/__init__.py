"""The places where a trial's commands run: docker, sandbox (bubblewrap) and local, with one protocol and supervisor.

The package may import `trajectories`; it knows neither agents nor benchmarks. Names that are not listed here are
private.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from environments.archives.archive import BadArchive as BadArchive
    from environments.choose import make as make
    from environments.host import Daemon as Daemon, Host as Host, survey as survey
    from environments.kinds import KINDS as KINDS, Kind as Kind
    from environments.leftovers.owner import Owner as Owner, this_process as this_process
    from environments.listing.listing import Changed as Changed, ListedPath as ListedPath, Listing as Listing
    from environments.promises import Promise as Promise
    from environments.protocol import (
        Build as Build,
        DiskFull as DiskFull,
        Environment as Environment,
        EnvironmentFault as EnvironmentFault,
        EnvironmentLost as EnvironmentLost,
        EnvironmentPaused as EnvironmentPaused,
        EnvironmentSpec as EnvironmentSpec,
        EnvironmentUnavailable as EnvironmentUnavailable,
        Execution as Execution,
        Export as Export,
        ImageUnusable as ImageUnusable,
        OutOfMemory as OutOfMemory,
        Pausable as Pausable,
        Started as Started,
        SupervisorLost as SupervisorLost,
    )

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "archives.archive": ["BadArchive"],
        "choose": ["make"],
        "host": ["Daemon", "Host", "survey"],
        "kinds": ["KINDS", "Kind"],
        "leftovers.owner": ["Owner", "this_process"],
        "listing.listing": ["Changed", "ListedPath", "Listing"],
        "promises": ["Promise"],
        "protocol": [
            "Build",
            "DiskFull",
            "Environment",
            "EnvironmentFault",
            "EnvironmentLost",
            "EnvironmentPaused",
            "EnvironmentSpec",
            "EnvironmentUnavailable",
            "ImageUnusable",
            "Execution",
            "Export",
            "OutOfMemory",
            "Pausable",
            "Started",
            "SupervisorLost",
        ],
    },
)
