"""The preparation of an evaluation: the clean-room check and the hand-over, whose results are kept on disk.

With them, a second evaluation of the same workspace needs no container for the preparation, and the official evaluator
continues from the results that it wrote. If the workspace, the image, the tests or the package differ, nothing is kept.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from benchmarks.programbench import check
from benchmarks.programbench.handover import SUBMISSION, hand_over
from benchmarks.programbench.instances import Instance
from benchmarks.programbench.official import results
from benchmarks.programbench.tampering import observation
from benchmarks.task.tree import file_sha256
from environments.protocol import EnvironmentUnavailable
from trajectories.record.words import Ended

FILE = "prepared.json"
COMPILE_LOG = "compile.log"


class Prepared(BaseModel):
    """The results that are kept. `workspace`, `submission` and `original` are sha256 in hex, `image` is an image id."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    instance: str
    workspace: str
    image: str
    tests: str
    package: str
    submission: str
    original: str | None
    withheld: tuple[str, ...]
    """Names of files that the hand-over left out."""
    builds: bool | None
    why: str
    utf8: bool
    ended: Ended | None
    """End of compile.sh in the check; None if it was not started."""
    written_bytes: int
    """Size of what the container of the check held in the end, besides its image."""
    check_seconds: float


@dataclass(frozen=True)
class Preparation:
    """The results of a preparation, with the clean-room image that they are for."""

    results: Prepared
    image: check.Image
    hangs: bool = False
    """True if the time limit of the check ended the build; such results are not kept."""


def prepare(
    instance: Instance, workspace: Path, scratch: Path, *, tests: str, package: str, cpus: int, check_s: float
) -> Preparation:
    """Return the results of the preparation, either kept from an earlier evaluation of the same workspace or new.

    `tests` and `package` are the revision of the hidden tests and the version of the package. Files of an evaluation
    of anything else are removed.

    Raises: HandOverError, EnvironmentFault, TaskError, OSError.
    """
    submission, eval_json = scratch / SUBMISSION, scratch / f"{instance.id}.eval.json"
    subject = {"instance": instance.id, "workspace": file_sha256(workspace), "tests": tests, "package": package}
    kept = read(scratch)
    try:
        image = check.look_up(instance.image) if kept else None
    except EnvironmentUnavailable:
        image = None
    if kept and image and _is_of(kept, {**subject, "image": image.id}) and _has_sha256(submission, kept.submission):
        _remove_if_torn(eval_json)
        return Preparation(kept, image)
    for path in (eval_json, scratch / FILE, submission, scratch / observation.FILE):
        path.unlink(missing_ok=True)
    with check.CleanRoom(instance, cpus) as room:
        withheld = {*instance.clean_hashes, *([room.original] if room.original else [])}
        handed = hand_over(workspace, submission, withheld)
        checked = room.compile(submission, check_s, scratch / COMPILE_LOG)
        prepared = Prepared(
            **subject,
            image=room.image.id,
            submission=handed.sha256,
            original=room.original,
            withheld=handed.removed,
            builds=checked.builds,
            why=checked.reason,
            utf8=checked.utf8,
            ended=checked.ended,
            written_bytes=checked.written_bytes,
            check_seconds=checked.seconds,
        )
    if not checked.hangs:
        write(scratch, prepared)
    return Preparation(prepared, room.image, hangs=checked.hangs)


def read(directory: Path) -> Prepared | None:
    """Return the results kept in a directory; None if there are none, or if they are torn.

    Raises: OSError.
    """
    try:
        return Prepared.model_validate_json((directory / FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def write(directory: Path, prepared: Prepared) -> None:
    """Keep the results in a directory. Raises: OSError."""
    temporary = directory / f".{FILE}.{os.getpid()}"
    temporary.write_text(prepared.model_dump_json(indent=1))
    os.replace(temporary, directory / FILE)


def _is_of(prepared: Prepared, subject: dict[str, str]) -> bool:
    return subject == prepared.model_dump(include=set(subject))


def _has_sha256(path: Path, digest: str) -> bool:
    return path.is_file() and file_sha256(path) == digest


def _remove_if_torn(eval_json: Path) -> None:
    """Remove a result that is cut off: it makes the package crash before it does anything else."""
    if eval_json.exists():
        try:
            results.whole(eval_json)
        except results.Torn:
            eval_json.unlink()
