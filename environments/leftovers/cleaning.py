"""Remove what dead harness processes left on this machine, and nothing else.

Containers, networks, volumes and scratch images are recognized by their labels, temporary directories by their names,
lock files by the fact that nobody holds them. Other images stay unless their removal is asked for. A build that was
interrupted leaves no container; its layers carry no labels and speed up the next build.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from environments.docker import daemon
from environments.leftovers import containers, images, networks, temporary_files
from environments.leftovers.leftover import Leftover as Leftover
from environments.protocol import EnvironmentUnavailable

if TYPE_CHECKING:
    from docker import APIClient


@dataclass
class Cleaned:
    """The leftovers, grouped by what happened to them."""

    removed: list[Leftover] = field(default_factory=list)
    kept: list[Leftover] = field(default_factory=list)
    unknown: list[Leftover] = field(default_factory=list)
    failed: list[tuple[Leftover, str]] = field(default_factory=list)
    """Those that could not be removed, each with the reason."""
    docker: str | None = None
    """The reason for which containers and images were not examined; None if they were."""


def clean(*, dry_run: bool = False, kept: bool = False, images_older_s: float | None = None) -> Cleaned:
    """Remove what is dead; with `kept` also the containers that were left for inspection. Never raises OSError.

    With `images_older_s` commits of trials and built images that are at least as old are removed as well.

    With `dry_run` nothing is removed, and `removed` lists what would be.
    """
    cleaned = Cleaned()
    api: APIClient | None = None
    at_the_daemon: list[Leftover] = []
    try:
        api = daemon.connect(timeout_s=daemon.QUICK_S)
        at_the_daemon = _at_the_daemon(api)
        if images_older_s is not None:
            at_the_daemon += images.kept_images(api, images_older_s)
    except EnvironmentUnavailable as error:
        cleaned.docker = str(error)
    try:
        for leftover in [*at_the_daemon, *temporary_files.directories(), *temporary_files.locks()]:
            if leftover.fate == "unknown":
                cleaned.unknown.append(leftover)
            elif leftover.fate == "kept" and leftover.kind != "image" and not kept:
                cleaned.kept.append(leftover)
            elif dry_run:
                cleaned.removed.append(leftover)
            elif trouble := _remove(leftover, api):
                cleaned.failed.append((leftover, trouble))
            else:
                cleaned.removed.append(leftover)
    finally:
        if api is not None:
            api.close()
    return cleaned


def clean_trials(trials: Collection[str]) -> int:
    """Remove the containers of these trials whose owner is dead, with networks and volumes; return their number.

    A container that was paused cannot see that its harness died. Without a daemon nothing is done.
    """
    with suppress(EnvironmentUnavailable):
        api = daemon.connect(timeout_s=daemon.QUICK_S)
        try:
            left = [*containers.leftovers(api), *networks.leftovers(api)]
            dead = [each for each in left if each.fate == "dead" and each.trial in trials]
            return sum(_remove(leftover, api) is None for leftover in dead)
        finally:
            api.close()
    return 0


def count() -> int:
    """Return how many things `clean` would remove. Takes about 20 ms; without a daemon only files are counted."""
    leftovers = [*temporary_files.directories(measured=False), *temporary_files.locks()]
    with suppress(EnvironmentUnavailable):
        api = daemon.connect(timeout_s=daemon.QUICK_S)
        try:
            leftovers += _at_the_daemon(api)
        finally:
            api.close()
    return sum(leftover.fate == "dead" for leftover in leftovers)


def _at_the_daemon(api: APIClient) -> list[Leftover]:
    # In this order: a container holds its networks, its volumes and its image.
    return [*containers.leftovers(api), *networks.leftovers(api), *images.leftovers(api)]


def _remove(leftover: Leftover, api: APIClient | None) -> str | None:
    """Return the reason if it could not be removed; None if it is gone, whoever removed it."""
    try:
        if leftover.id is not None:
            assert api is not None
            if leftover.kind in ("network", "volume"):
                return networks.remove(api, leftover.kind, leftover.id)
            remove = images.remove if leftover.kind == "image" else containers.remove
            return remove(api, leftover.id)
        if leftover.kind == "lock":
            temporary_files.remove_lock(Path(leftover.name))
            return None
    except OSError as error:
        return daemon.reason(error)
    return temporary_files.remove_directory(leftover.name)
