"""Images as the daemon stores them: looking one up and pulling one."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from environments.docker import daemon
from environments.protocol import EnvironmentUnavailable
from environments.reporting import Reporter

if TYPE_CHECKING:
    from docker import APIClient

PULL_S = 1800
PULL_SAID_EVERY_S = 5.0
"""Seconds between two lines about the progress of a pull."""
BUILT_LABEL = "retrace.build"
"""Label with the hash of the files and settings that an image was built from."""


@dataclass(frozen=True)
class Image:
    """A local image."""

    reference: str
    id: str
    digest: str
    """The registry's digest if the image came from one, otherwise the image's own id."""
    user: str
    env: dict[str, str]
    workdir: str = ""


def look_up(api: APIClient, reference: str) -> Image | None:
    """Return a local image, or None if there is none of this name.

    Raises: EnvironmentUnavailable.
    """
    with daemon.reported(f"looking up image {reference}"):
        try:
            facts = api.inspect_image(reference)  # type: ignore[no-untyped-call]
        except daemon.not_found():
            return None
    config = facts.get("Config") or {}
    env = dict(line.partition("=")[::2] for line in config.get("Env") or [])
    digests = facts.get("RepoDigests") or [facts["Id"]]
    return Image(
        reference,
        facts["Id"],
        digests[0].rpartition("@")[2],
        config.get("User") or "",
        env,
        config.get("WorkingDir") or "",
    )


def pull(api: APIClient, reference: str, platform: str | None, reporter: Reporter) -> None:
    """Pull an image, and report the progress every few seconds.

    Raises: EnvironmentUnavailable, DiskFull.
    """
    reporter.note(f"pulling {reference}")
    name = reference if "@" in reference or ":" in reference.rpartition("/")[2] else f"{reference}:latest"
    downloaded = _Downloaded()
    try:
        with daemon.reported(f"pulling {reference}"), daemon.patience(api, PULL_S):
            for line in api.pull(name, stream=True, decode=True, platform=platform):
                if "error" in line:
                    raise OSError(line["error"])
                if line.get("status") and "progressDetail" not in line:
                    reporter.note(f"{reference}: {line['status']}")
                elif text := downloaded.feed(line):
                    reporter.note(f"{reference}: {text}")
    except EnvironmentUnavailable as error:
        raise EnvironmentUnavailable(
            f"{error}; pull it when a registry answers, load it with `docker load`, or build it"
        ) from None


class _Downloaded:
    """The progress of a pull, summed over the daemon's lines about single layers."""

    def __init__(self) -> None:
        self._layers: dict[str, tuple[int, int]] = {}
        self._reported = time.monotonic()

    def feed(self, line: Mapping[str, Any]) -> str:
        """Take in a line of the daemon; return a line for the user, or "" if it is too early for one."""
        detail = line.get("progressDetail") or {}
        if line.get("status") != "Downloading" or not detail.get("total"):
            return ""
        self._layers[str(line.get("id"))] = int(detail.get("current") or 0), int(detail["total"])
        if time.monotonic() - self._reported < PULL_SAID_EVERY_S:
            return ""
        self._reported = time.monotonic()
        current, total = (sum(sizes) / 1e6 for sizes in zip(*self._layers.values(), strict=True))
        return f"{current:.0f} of {total:.0f} MB of the layers that have begun"
