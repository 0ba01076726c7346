"""A compose file as the containers of a task: the one in which the agent works, and the services beside it.

It is read as YAML and never run by compose. What it asks for and is not provided is refused by name, all at once. What
only this machine would see, such as published ports, is ignored.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from benchmarks.containers.compose_file import BuildPart, ComposeFile, HealthPart, NetworkPart, ServicePart, VolumePart
from benchmarks.containers.mistakes import Rules, mistakes_in, prepared
from benchmarks.task.published.source import TaskSource
from benchmarks.task.settings import TaskSettings
from benchmarks.task.task import TaskError
from benchmarks.task.yaml_file import text_of
from environments.build import Build
from environments.services import MAIN, Condition, Healthcheck, Member, Mount, Network, Service, in_order
from trajectories import yaml_mistakes
from trajectories.yaml_mistakes import Mistakes


@dataclass(frozen=True)
class Containers:
    """The containers of a task."""

    main: ServicePart
    member: Member
    services: tuple[Service, ...]
    network: bool
    """False if the main container has only its loopback device."""


@dataclass(frozen=True)
class Folder:
    """The folder of a task that paths in its compose file are relative to, and may not leave."""

    source: TaskSource
    name: str
    settings: TaskSettings

    @property
    def path(self) -> Path:
        """The folder on the disk."""
        return self.source.directory / self.name

    def build(self, part: BuildPart) -> Build:
        """Return how an image is built. The overlay of the task counts as far as it lies in the build context."""
        return Build(
            context=(self.path / part.context).resolve(),
            dockerfile=part.dockerfile,
            args=part.args,
            overlay=self.source.overlay_folder(os.path.normpath(Path(self.name, part.context))),
            base_images=self.settings.base_images,
        )

    def image(self, part: ServicePart) -> str | None:
        """Return the image of a service that is pulled; None if it is built."""
        if part.build is not None or not part.image:
            return None
        return self.settings.base_images.get(part.image, part.image)


def read(path: Path, rules: Rules, folder: Folder) -> Containers:
    """Return the containers of a compose file.

    Raises: TaskError (file, lines, keys, reasons).
    """
    try:
        text = text_of(path)
        content = yaml_mistakes.checked(text, lambda content: mistakes_in(content, rules, folder.path))
        parsed = ComposeFile.model_validate(prepared(content, rules))
        return _containers(parsed, rules, folder)
    except Mistakes as mistakes:
        raise TaskError(f"{path}: {mistakes}") from None
    except ValueError as error:  # of `in_order`
        raise TaskError(f"{path}: {error}") from None


def _containers(file: ComposeFile, rules: Rules, folder: Folder) -> Containers:
    """Return the containers of a file without mistakes.

    Raises: ValueError if a service needs itself.
    """
    main = file.services.get(rules.main) or ServicePart()
    member = _member(main, file, rules, folder.path)
    services = tuple(
        _service(name, part, file, rules, folder) for name, part in file.services.items() if name != rules.main
    )
    in_order(services, member)
    return Containers(main, member, services, network=main.network_mode != "none")


def _member(part: ServicePart, file: ComposeFile, rules: Rules, context: Path) -> Member:
    own = "default" if not part.networks else None
    networks = tuple(_network(name, file) for name in ([own] if own else part.networks))
    depends: dict[str, Condition] = {
        MAIN if name == rules.main else name: condition for name, condition in part.depends_on.items()
    }
    names = tuple(dict.fromkeys(alias for aliases in part.networks.values() for alias in aliases))
    return Member(
        networks=() if part.network_mode == "none" else networks,
        aliases=names if rules.main == MAIN or part is not file.services.get(rules.main) else (rules.main, *names),
        hostname=part.hostname,
        mounts=tuple(_mount(volume, context) for volume in part.volumes)
        + tuple(Mount("tmpfs", target) for target in part.tmpfs),
        depends_on=depends,
    )


def _network(name: str, file: ComposeFile) -> Network:
    part = file.networks.get(name) or NetworkPart()
    return Network(name, internal=part.internal)


def _mount(volume: VolumePart, context: Path) -> Mount:
    source = str((context / volume.source).resolve()) if volume.type == "bind" else volume.source
    return Mount(volume.type, volume.target, source, volume.read_only)


def _service(name: str, part: ServicePart, file: ComposeFile, rules: Rules, folder: Folder) -> Service:
    limits = part.deploy.resources.limits
    return Service(
        name=name,
        member=_member(part, file, rules, folder.path),
        image=folder.image(part),
        build=None if part.build is None else folder.build(part.build),
        platform=part.platform,
        command=part.command,
        entrypoint=part.entrypoint,
        user=part.user,
        workdir=part.working_dir,
        env=part.environment,
        healthcheck=None if part.healthcheck is None else _healthcheck(part.healthcheck),
        restart=part.restart,
        init=part.init,
        stop_signal=part.stop_signal,
        cpus=part.cpus or limits.cpus,
        memory_bytes=part.memory_bytes,
        pids=part.pids_limit or limits.pids or Service.pids,
        shm_bytes=part.shm_size,
    )


def _healthcheck(part: HealthPart) -> Healthcheck | None:
    if part.disable:
        return Healthcheck(())
    if part.test is None:
        return None
    return Healthcheck(part.test, part.interval, part.timeout, part.start_period, part.retries)
