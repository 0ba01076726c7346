"""A workspace in the form that evaluators take: one tar.zst.

It is made of a directory or of another archive. Memory is constant, and nothing is unpacked.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from agent.errors import UserError
from agent.trial.restoring.final_workspace import compress
from environments.archives.chunks import read_chunks
from environments.archives.open import archive_kind, open_archive


def as_workspace_archive(source: Path, to: Path) -> Path:
    """Return a directory or an archive (tar, tar.gz, tar.zst) as a tar.zst: the file itself if it is one, else `to`.

    Raises: UserError.
    """
    from benchmarks.task import tree
    from benchmarks.task.task import TaskError

    if source.is_dir():
        try:
            files = tree.scan(source.resolve())
            if files.skipped:
                skipped = files.skipped[0]
                raise UserError(f"{source / skipped.path}: {skipped.why}, which no archive can hold; remove it")
            with tree.packed(files, plain_modes=False) as stream:
                compress(read_chunks(stream), to)
        except TaskError as error:
            raise UserError(str(error)) from None
        return to
    kind = archive_kind(source)
    if kind is None:
        raise UserError(f"{source} is neither a directory nor a tar, tar.gz or tar.zst file")
    if kind == "tar.zst":
        return source
    try:
        with open_archive(source) as plain:
            compress(read_chunks(plain), to)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"{source} is not a complete {kind} file ({error})") from None
    return to
