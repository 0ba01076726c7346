"""The environments under test: one of each kind, started once, and a fixture that starts more."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from environments.choose import make
from environments.docker import daemon, images
from environments.local import LocalEnvironment
from environments.protocol import Build, Environment, EnvironmentSpec, Execution, Kind, Started

DOCKER = pytest.param("docker", marks=pytest.mark.docker)
SANDBOX = pytest.param("sandbox", marks=pytest.mark.sandbox)
ALL = ["local", "shared", SANDBOX, DOCKER]
"""`shared` is local without a process list of its own."""

BASE = os.environ.get("RETRACE_TEST_BASE")
"""Another base image for the docker tests, for instance one with an older bash."""
_IMAGE = Build(Path(__file__).parent / "image", args={"BASE": BASE} if BASE else {})


class Place:
    """A started environment, with short names for what tests do often."""

    def __init__(self, environment: Environment, started: Started, label: str) -> None:
        self.environment = environment
        self.started = started
        self.label = label

    def run(self, script: str, deadline_s: float = 20, **options: object) -> Execution:
        return self.environment.execute(script, deadline_s=deadline_s, **options)  # type: ignore[arg-type]

    def text(self, script: str, **options: object) -> str:
        action = self.run(script, **options)
        assert (action.ended, action.exit_code) == ("exited", 0), action
        return action.output.decode("utf-8", "surrogateescape")


def environment(label: str, **changes: object) -> Environment:
    kind: Kind = "local" if label == "shared" else label  # type: ignore[assignment]
    spec = EnvironmentSpec(kind=kind, build=_IMAGE if kind == "docker" else None)
    spec = replace(spec, **changes)  # type: ignore[arg-type]
    return LocalEnvironment(spec, own_pids=False) if label == "shared" else make(spec)


def made_image() -> str:
    """Return the tag of the image of the tests, which is built if it is not there."""
    tag = f"{images.BUILT}:{images.content_hash(_IMAGE, None)[:24]}"
    api = daemon.connect()
    if images.look_up(api, tag) is None:
        made = environment("docker")
        made.start()
        made.stop()
    api.close()
    return tag


@pytest.fixture(scope="session", params=ALL)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """An environment that all tests of a worker share: a test must leave nothing relevant in it."""
    made = environment(request.param)
    try:
        yield Place(made, made.start(), request.param)
    finally:
        made.stop()


@pytest.fixture
def start() -> Iterator[Callable[..., Place]]:
    """A function that starts a test's own environment: `start(label, **changes of the spec)`."""
    made: list[Environment] = []

    def start_one(label: str, **changes: object) -> Place:
        made.append(environment(label, **changes))
        return Place(made[-1], made[-1].start(), label)

    yield start_one
    for made_environment in made:
        made_environment.stop()
