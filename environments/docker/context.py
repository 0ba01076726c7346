"""The files that an image is built from: those of the context, those that are laid over them, and the Dockerfile."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from environments.docker import dockerfile
from environments.protocol import Build, EnvironmentUnavailable


def instructions(build: Build) -> str:
    """Return the text of the Dockerfile, with the base images that are used.

    Raises: EnvironmentUnavailable if there is none.
    """
    for directory in (build.overlay, build.context):
        if directory is not None and (directory / build.dockerfile).is_file():
            text = (directory / build.dockerfile).read_bytes().decode("utf-8", "surrogateescape")
            return dockerfile.with_images(text, build.base_images, build.args) if build.base_images else text
    raise EnvironmentUnavailable(f"no {build.dockerfile} in {build.context} to build an image from")


def content_hash(build: Build, platform: str | None) -> str:
    """Return the sha256 of what a build depends on: files (names, executable bits, bytes), arguments, platform.

    Files that an overlay replaces do not count, and the Dockerfile counts with the base images that are used.
    """
    digest = hashlib.sha256(repr((build.dockerfile, sorted(build.args.items()), platform)).encode())
    paths = _paths(build)
    own = os.path.normpath(build.dockerfile) if build.base_images else ""
    for relative in sorted(paths):
        path = paths[relative]
        mode = path.lstat().st_mode
        name = os.fsencode(relative)
        if stat.S_ISLNK(mode):
            body = os.fsencode(os.readlink(path))
        elif str(relative) == own:
            body = hashlib.sha256(instructions(build).encode("utf-8", "surrogateescape")).digest()
        elif stat.S_ISREG(mode):
            with path.open("rb") as file:
                body = hashlib.file_digest(file, "sha256").digest()
        else:
            continue
        digest.update(b"%d %d %d %d\0" % (stat.S_IFMT(mode), mode & 0o111, len(name), len(body)) + name + body)
    return digest.hexdigest()


@contextmanager
def assembled(build: Build) -> Iterator[Path]:
    """Yield the directory to build from: the context itself, or a copy with the overlay and the Dockerfile changed.

    Raises: OSError.
    """
    if build.overlay is None and not build.base_images:
        yield build.context
        return
    with tempfile.TemporaryDirectory(prefix="retrace-build-") as name:
        directory = Path(name) / "context"
        directory.mkdir()
        for relative, path in _paths(build).items():
            copy = directory / relative
            copy.parent.mkdir(parents=True, exist_ok=True)
            if path.is_symlink() or path.is_file():
                shutil.copy2(path, copy, follow_symlinks=False)
        for path in _directories(build):
            (directory / path).mkdir(parents=True, exist_ok=True)
        text = instructions(build).encode("utf-8", "surrogateescape")
        (directory / build.dockerfile).unlink(missing_ok=True)
        (directory / build.dockerfile).write_bytes(text)
        yield directory


def _paths(build: Build) -> dict[Path, Path]:
    """Return the paths of all files and links by their names in the context."""
    paths = {path.relative_to(build.context): path for path in _files(build.context)}
    if build.overlay is not None:
        for path in _files(build.overlay):
            name = path.relative_to(build.overlay)
            for other in [other for other in paths if other in name.parents or name in other.parents]:
                del paths[other]  # a file where a directory was, or the other way around
            paths[name] = path
    return paths


def _directories(build: Build) -> Iterator[Path]:
    """Yield the directories of the context, because empty ones count, too."""
    tops = [build.context] if build.overlay is None else [build.context, build.overlay]
    files = _paths(build)
    for top in tops:
        for path, _, _ in os.walk(top):
            name = Path(path).relative_to(top)
            if not any(parent in files for parent in (name, *name.parents)):
                yield name


def _files(directory: Path) -> Iterator[Path]:
    for entry in os.scandir(directory):
        if entry.is_dir(follow_symlinks=False):
            if entry.name != "__pycache__":
                yield from _files(Path(entry.path))
        else:
            yield Path(entry.path)
