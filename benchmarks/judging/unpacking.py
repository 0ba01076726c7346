"""Unpacking an exported workspace into the environment that judges it."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, cast

from benchmarks.judging.faults import EvaluatorFailed, Fault
from environments.archives.archive import BadArchive
from environments.protocol import Environment, EnvironmentFault, EnvironmentLost, EnvironmentUnavailable
from trajectories.writing import excerpts


def unpack(workspace: Path, environment: Environment, directory: str) -> Fault | None:
    """Unpack an exported workspace; return its fault if its own content prevents that.

    Raises: EvaluatorFailed if the archive is not zstd, EnvironmentFault.
    """
    import zstandard

    try:
        with (
            workspace.open("rb") as raw,
            zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True) as plain,
        ):
            environment.put(cast(BinaryIO, plain), directory)
    except zstandard.ZstdError as error:
        raise EvaluatorFailed(f"{workspace.name} is no whole tar.zst: {error}") from None
    except (BadArchive, EnvironmentLost, EnvironmentUnavailable):  # the content is not the cause
        raise
    except EnvironmentFault as error:
        return Fault("unpacking", f"the submission cannot be unpacked: {excerpts.middle(str(error), 1000)}")
    return None
