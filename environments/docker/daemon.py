"""The Docker daemon (or Podman's Docker-compatible service): reaching it, and its words in one line."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from environments.protocol import DiskFull, EnvironmentUnavailable, MachineLacks

if TYPE_CHECKING:
    from docker import APIClient

API_S = 60
QUICK_S = 5
"""For questions and removals: a daemon that is slower than this does not count as answering."""


def connect(timeout_s: int = API_S) -> APIClient:
    """A client of the daemon that DOCKER_HOST (else the default socket) names.

    Raises: EnvironmentUnavailable.
    """
    import docker

    try:
        client: APIClient = docker.from_env(timeout=timeout_s).api  # asks the daemon for its version
    except (docker.errors.DockerException, OSError) as error:
        raise MachineLacks(f"no Docker daemon answers ({reason(error)}); start one, or set DOCKER_HOST") from None
    return client


def address(api: APIClient) -> str:
    """Which daemon a client talks to; every Unix socket has the same `base_url`."""
    return getattr(getattr(api, "_custom_adapter", None), "socket_path", None) or str(api.base_url)


def another(api: APIClient) -> Callable[[], APIClient]:
    """Makes further clients of the daemon that `api` was just connected to, without asking it anything."""
    from docker import APIClient
    from docker.utils import kwargs_from_env

    settings = kwargs_from_env()
    return lambda: APIClient(version=api.api_version, timeout=API_S, **settings)


def answers(api: APIClient, within_s: float = 0) -> bool:
    """Whether the daemon takes a new connection, now or within so long."""
    until = time.monotonic() + within_s
    connect = another(api)
    while True:
        try:
            fresh = connect()
            fresh.timeout = QUICK_S
            try:
                fresh.ping()
                return True
            finally:
                fresh.close()
        except Exception:
            if time.monotonic() > until:
                return False
            time.sleep(0.1)


@contextmanager
def patience(api: APIClient, seconds: int) -> Iterator[None]:
    """Wait for an answer so long, instead of the usual time."""
    usual, api.timeout = api.timeout, seconds
    try:
        yield
    finally:
        api.timeout = usual


def not_found() -> type[Exception]:
    """What the SDK raises for something that does not exist."""
    from docker.errors import NotFound

    found: type[Exception] = NotFound
    return found


_facts: dict[str, dict[str, Any]] = {}


def facts(api: APIClient) -> dict[str, Any]:
    """`docker info`, asked once a daemon."""
    where = address(api)
    if where not in _facts:
        with told("asking the daemon what it has"):
            _facts[where] = api.info()
    return _facts[where]


def is_local(api: APIClient | None) -> bool:
    """Whether the daemon's files are on this machine."""
    if api is None or not api.base_url.startswith("http+docker://"):
        return False
    return Path(facts(api)["DockerRootDir"]).exists()


def reason(error: BaseException) -> str:
    """The innermost thing that a daemon or a connection said, in one line."""
    said = getattr(error, "explanation", None)
    if not said:
        while error.__cause__ or error.__context__:
            inner = error.__cause__ or error.__context__
            assert inner is not None
            error = inner
        said = getattr(error, "strerror", None) or str(error)
    if isinstance(said, bytes):
        said = said.decode(errors="replace")
    return " ".join(str(said).split())


@contextmanager
def told(doing: str) -> Iterator[None]:
    """Turn the SDK's errors into ours: what was tried, and what the daemon said.

    Raises: EnvironmentUnavailable, DiskFull.
    """
    import docker

    try:
        yield
    except (docker.errors.DockerException, OSError) as error:
        said = reason(error)
        if "no space left" in said.lower():
            raise DiskFull(f"{doing}: {said}") from None
        raise EnvironmentUnavailable(f"{doing} failed: {said}") from error
