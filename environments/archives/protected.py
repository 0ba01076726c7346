"""Archives of files for `/feedback`, which root owns: checked, and with their whole path."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO

from environments.archives.archive import BadArchive
from environments.protocol import PROTECTED, EnvironmentFault


@dataclass(frozen=True)
class ProtectedFile:
    """A file, or a directory (without content)."""

    path: PurePosixPath
    """Path below the root directory, without the slash at its beginning."""
    mode: int
    content: bytes | None


def members(archive: BinaryIO, directory: str) -> Iterator[ProtectedFile]:
    """Yield the files and directories of a tar stream that is to be unpacked in `directory`, the outer ones first.

    Raises: EnvironmentFault for a directory elsewhere, and for members that reach out of it or are something else.
    """
    place = PurePosixPath(directory)
    if ".." in place.parts or not place.is_relative_to(PROTECTED):
        raise EnvironmentFault(f"files of root can be put below {PROTECTED} only, not into {directory}")
    made: set[PurePosixPath] = set()
    with tarfile.open(fileobj=archive, mode="r:") as tar:
        for member in tar:
            path = place / member.name
            if ".." in path.parts or not path.is_relative_to(place):
                raise BadArchive(f"archive member {member.name!r} reaches out of its directory")
            if not (member.isfile() or member.isdir()):
                raise BadArchive(f"archive member {member.name!r} is neither a file nor a directory")
            relative = path.relative_to("/")
            above = [parent for parent in reversed(relative.parents) if parent.parts and parent not in made]
            yield from (ProtectedFile(parent, 0o755, None) for parent in above)
            made.update((relative, *above))
            source = tar.extractfile(member) if member.isfile() else None
            yield ProtectedFile(relative, member.mode & 0o777, None if source is None else source.read())


def rooted(archive: BinaryIO, directory: str) -> bytes:
    """Return the same files as a tar archive for the root directory, owned by root.

    Raises: EnvironmentFault as `members` does.
    """
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for entry in members(archive, directory):
            header = tarfile.TarInfo(str(entry.path))
            header.mode = entry.mode
            header.type = tarfile.DIRTYPE if entry.content is None else tarfile.REGTYPE
            header.size = len(entry.content or b"")
            tar.addfile(header, None if entry.content is None else io.BytesIO(entry.content))
    return stream.getvalue()
