"""The Docker daemon (or Podman's Docker-compatible service): connecting to it, and its errors in one line each."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from environments.protocol import DiskFull, EnvironmentUnavailable, MachineLacks
from trajectories.waiting import sleep

if TYPE_CHECKING:
    from docker import APIClient

API_S = 60
"""Seconds to wait for the daemon's answer, as a rule."""
QUICK_S = 5
"""Seconds to wait for answers to questions and removals; a slower daemon does not count as answering."""
_CONFLICT = 409
"""HTTP status of a request that the state of the container rules out."""


def connect(timeout_s: int = API_S) -> APIClient:
    """Return a client of the daemon that DOCKER_HOST names, or of the one at the default socket.

    Raises: EnvironmentUnavailable.
    """
    import docker
    from docker.utils import kwargs_from_env

    from environments.docker.transport.client import InterruptibleClient

    try:
        client: APIClient = InterruptibleClient(timeout=timeout_s, **kwargs_from_env())  # asks for its version
    except (docker.errors.DockerException, OSError) as error:
        raise MachineLacks(f"no Docker daemon answers ({reason(error)}); start one, or set DOCKER_HOST") from None
    return client


def address(api: APIClient) -> str:
    """Return the address of a client's daemon. (Every Unix socket has the same `base_url`.)"""
    return getattr(getattr(api, "_custom_adapter", None), "socket_path", None) or str(api.base_url)


def another(api: APIClient) -> Callable[[], APIClient]:
    """Return a function that makes further clients of the daemon of `api`, without a request to it."""
    from docker.utils import kwargs_from_env

    from environments.docker.transport.client import InterruptibleClient

    settings = kwargs_from_env()
    return lambda: InterruptibleClient(version=api.api_version, timeout=API_S, **settings)


def answers(api: APIClient, within_s: float = 0) -> bool:
    """Return whether the daemon accepts a new connection, now or within so many seconds."""
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
            sleep(0.1)


@contextmanager
def patience(api: APIClient, seconds: int) -> Iterator[None]:
    """Wait for each answer this long instead of the usual time."""
    usual, api.timeout = api.timeout, seconds
    try:
        yield
    finally:
        api.timeout = usual


def not_found() -> type[Exception]:
    """Return the exception that the SDK raises for something that does not exist."""
    from docker.errors import NotFound

    exception: type[Exception] = NotFound
    return exception


def is_conflict(error: BaseException) -> bool:
    """Return whether the daemon refused a request because of the container's state.

    To a kill it answers so if the container does not run, to a forced removal if it is being removed already.
    """
    from docker.errors import APIError

    return isinstance(error, APIError) and error.status_code == _CONFLICT


_facts: dict[str, dict[str, Any]] = {}


def facts(api: APIClient) -> dict[str, Any]:
    """Return what `docker info` reports. Each daemon is asked only once."""
    where = address(api)
    if where not in _facts:
        with reported("asking the daemon what it has"):
            _facts[where] = api.info()
    return _facts[where]


def is_local(api: APIClient | None) -> bool:
    """Return whether the daemon's files are on this machine."""
    if api is None or not api.base_url.startswith("http+docker://"):
        return False
    return Path(facts(api)["DockerRootDir"]).exists()


def free_bytes(api: APIClient) -> int | None:
    """Return the space that is left for images and containers; None if the daemon's files are not on this machine."""
    if not is_local(api):
        return None
    try:
        return shutil.disk_usage(facts(api)["DockerRootDir"]).free
    except OSError:  # only root may look there
        return None


def is_on_this_kernel(api: APIClient) -> bool:
    """Return whether the daemon's containers run on this machine's kernel."""
    return is_local(api) and facts(api).get("Name") == os.uname().nodename


def reason(error: BaseException) -> str:
    """Return the daemon's explanation of an error, or the innermost error of the connection, in one line."""
    text = getattr(error, "explanation", None)
    if not text:
        while error.__cause__ or error.__context__:
            inner = error.__cause__ or error.__context__
            assert inner is not None
            error = inner
        text = getattr(error, "strerror", None) or str(error)
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    return " ".join(str(text).split())


@contextmanager
def reported(doing: str) -> Iterator[None]:
    """Turn the SDK's errors into ours, which name what was tried and the daemon's reason.

    Raises: EnvironmentUnavailable, DiskFull.
    """
    import docker

    try:
        yield
    except (docker.errors.DockerException, OSError) as error:
        text = reason(error)
        if "no space left" in text.lower():  # its status is the same as that of other failures
            raise DiskFull(f"{doing}: {text}") from None
        raise EnvironmentUnavailable(f"{doing} failed: {text}") from error
