"""A container of a rebuild image, in which the original runs."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from agent.errors import UserError
from environments.protocol import Environment, EnvironmentSpec, Execution
from environments.reporting import LogReporter
from trajectories.writing import excerpts

PROGRAM = "/workspace/executable"


def local_image(reference: str) -> str:
    """Return the id of a local image: nothing is pulled, and what is made depends on content alone.

    Raises: UserError, EnvironmentFault.
    """
    from environments.docker import daemon, images

    api = daemon.connect()
    try:
        local = images.look_up(api, reference)
    finally:
        api.close()
    if local is None:
        raise UserError(
            f"image {reference} does not exist on this daemon; build it with `agent tasks make rebuild image`"
        )
    return local.id


@contextmanager
def container(image: str, user: str | None = None) -> Iterator[Environment]:
    """Start a container of an image without network, and remove it afterwards.

    Raises: EnvironmentFault.
    """
    from environments.choose import make

    environment = make(EnvironmentSpec(kind="docker", image=image, user=user), LogReporter())
    try:
        environment.start()
        yield environment
    finally:
        environment.stop()


def put(environment: Environment, files: Mapping[str, bytes], directory: str) -> None:
    """Write files into a directory of the container; scripts are executable. Raises: EnvironmentFault."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            member.mode = 0o755 if name.endswith(".sh") else 0o644
            archive.addfile(member, io.BytesIO(data))
    buffer.seek(0)
    environment.put(buffer, directory)


def get(environment: Environment, path: str) -> bytes:
    """Return the content of a file in the container.

    Raises: FileNotFoundError, EnvironmentFault.
    """
    with tarfile.open(fileobj=io.BytesIO(b"".join(environment.get(path)))) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                return file.read()
    raise FileNotFoundError(path)


def last_line(execution: Execution) -> str:
    """Return the last line that a script printed, or how it ended if it printed nothing."""
    lines = execution.output.decode("utf-8", "replace").strip().splitlines()
    if execution.ended != "exited":
        return f"it was ended ({execution.ended}) after {execution.duration_s:.0f} s"
    return excerpts.beginning(lines[-1], 500) if lines else f"exit {execution.exit_code}"


def files_below(directory: Path) -> dict[str, bytes]:
    """Return the plain files of a directory without caches, by relative path. Raises: UserError."""
    files = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            try:
                files[path.relative_to(directory).as_posix()] = path.read_bytes()
            except OSError as error:
                raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    return files
