"""A task directory with its overlay, and a copy of one of its folders."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from benchmarks.task import taskdir, tree
from benchmarks.task.settings import TaskSettings
from benchmarks.task.task import TaskError


def recorded(settings: TaskSettings) -> dict[str, str]:
    """Return the settings that change a task, as a verdict names them; an overlay by its digest.

    That a verifier is isolated is told by the submission that it judges.

    Raises: TaskError for an overlay that cannot be read.
    """
    changes = {f"base_image {name}": image for name, image in sorted(settings.base_images.items())}
    if settings.overlay is not None:
        changes["overlay"] = _digest(settings.overlay)
    if settings.timeout_multiplier != 1.0:
        changes["test_timeout_multiplier"] = f"{settings.timeout_multiplier:g}"
    return changes


def _digest(overlay: Path) -> str:
    return tree.digest(tree.scan(overlay, taskdir.CACHES))


@dataclass(frozen=True)
class TaskSource:
    """A task directory and its overlay, a directory with the same layout whose files come first.

    With an overlay a broken task can be mended without a change to its own files.
    """

    directory: Path
    overlay: Path | None = None

    @classmethod
    def of(cls, directory: Path, settings: TaskSettings) -> Self:
        """Return a task directory with the overlay of the settings.

        Raises: TaskError if the overlay is not a directory.
        """
        if settings.overlay is not None and not settings.overlay.is_dir():
            raise TaskError(f"--overlay {settings.overlay}: is not a directory")
        return cls(directory.resolve(), settings.overlay.resolve() if settings.overlay is not None else None)

    @property
    def roots(self) -> tuple[Path, ...]:
        """Return the task directory and its overlay, whose files replace those before."""
        return (self.directory,) if self.overlay is None else (self.directory, self.overlay)

    def file(self, name: str) -> Path:
        """Return the path of a file, which need not exist."""
        if self.overlay is not None and (self.overlay / name).is_file():
            return self.overlay / name
        return self.directory / name

    def has_folder(self, name: str) -> bool:
        """Report if the task, or the overlay, has this folder."""
        return any((root / name).is_dir() for root in self.roots)

    def overlay_folder(self, name: str) -> Path | None:
        """Return the folder of that name in the overlay, if there is one."""
        folder = self.overlay / name if self.overlay is not None else None
        return folder if folder is not None and folder.is_dir() else None

    def copy(self, name: str, to: Path) -> None:
        """Copy the content of a folder, with that of the overlay over it, into a directory.

        Raises: TaskError if a file cannot be read, OSError if the host's disk is full.
        """
        ignored = shutil.ignore_patterns(*map(os.fsdecode, taskdir.CACHES))
        try:
            to.mkdir(parents=True, exist_ok=True)
            for root in self.roots:
                if (root / name).is_dir():
                    shutil.copytree(root / name, to, symlinks=True, dirs_exist_ok=True, ignore=ignored)
        except OSError as error:
            if error.errno == errno.ENOSPC or os.strerror(errno.ENOSPC) in str(error):  # shutil.Error has only texts
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(to)) from None
            raise TaskError(f"{self.directory / name}: cannot be read: {error}") from None

    def overlay_digest(self) -> str:
        """Return the sha256 over the files of the overlay; empty without one.

        Raises: TaskError.
        """
        return "" if self.overlay is None else _digest(self.overlay)

    def digest(self, of_directory: str) -> str:
        """Return the task's digest: that of its directory, and with an overlay the sha256 over both.

        Raises: TaskError.
        """
        if self.overlay is None:
            return of_directory
        return hashlib.sha256(f"{of_directory}\n{self.overlay_digest()}\n".encode()).hexdigest()
