"""Where the archives of an instance's hidden tests are: a directory of one's own, or the Hugging Face cache.

The evaluator opens every branch's archive after it has compiled, and one that is missing loses the whole instance
without a result. So all of them are looked for before anything slow, and the evaluator is then told where they are.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import tarfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.programbench.instances import Instance
from benchmarks.programbench.official import running
from benchmarks.programbench.official.last_words import reason

VARIABLE = "PROGRAMBENCH_BLOB_DIR"
REPOSITORY = "programbench/ProgramBench-Tests"
SYNC_S = 3600
RUN = "eval/run.sh"
"""In every archive: what runs its tests."""
_CACHED = "Blobs cached at "


class NoTests(Exception):
    """The hidden tests cannot be had; one line with the way out."""


@dataclass(frozen=True)
class HiddenTests:
    """Archives of all branches of an instance, below `directory/<instance>/tests`."""

    directory: Path
    """For PROGRAMBENCH_BLOB_DIR: with it, the evaluator asks no network and no other revision."""
    revision: str
    """The dataset's commit, or `local:` and the sha256 over the archives' names and contents."""
    official: bool
    """Whether they are a revision of the benchmark's own dataset."""


def find(instance: Instance, log: Path) -> HiddenTests:
    """The archives, downloaded if need be; what the package says while it does goes to `log`.

    Raises: NoTests, TaskError, OSError.
    """
    needed = [f"{branch}.tar.gz" for branch in instance.branches()]
    local = os.environ.get(VARIABLE)
    if local:
        directory = Path(local).absolute()
        _all_there(directory / instance.id, needed, f"{VARIABLE} is {local}")
        for branch, tests in instance.branches().items():
            if tests.tests:
                _check_runnable(directory / instance.id / "tests" / f"{branch}.tar.gz")
        return HiddenTests(directory, _local_revision(directory / instance.id, needed), official=False)
    found = _downloaded(instance, log)
    _all_there(found, needed, "the dataset was downloaded")
    commit = found.parent.name
    official = (os.environ.get("PROGRAMBENCH_HF_REPO") or REPOSITORY) == REPOSITORY
    return HiddenTests(found.parent, commit, official=official and bool(re.fullmatch("[0-9a-f]{40}", commit)))


def _all_there(directory: Path, needed: Iterable[str], what: str) -> None:
    missing = [name for name in needed if not (directory / "tests" / name).is_file()]
    if missing:
        count = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise NoTests(
            f"{what}, but there is no {directory / 'tests' / missing[0]}{count}: put the archives of the hidden tests "
            f"there, or unset {VARIABLE} to have them downloaded"
        )


def _check_runnable(archive: Path) -> None:
    """Raises: NoTests, for an archive without what runs its tests: the evaluator would count them all as not passed."""
    try:
        with tarfile.open(archive, "r|gz") as tests:
            if any(posixpath.normpath(member.name) == RUN and member.isfile() for member in tests):
                return
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise NoTests(f"{archive} is no whole tar.gz ({error}); copy it again") from None
    raise NoTests(f"{archive} has no {RUN}, so its tests cannot be run; pack the branch's tree as the dataset does")


def _downloaded(instance: Instance, log: Path) -> Path:
    """The instance's directory within a snapshot of the dataset in the Hugging Face cache."""
    ran = running.run(["blob", "sync", instance.id], log, SYNC_S, {"HF_HUB_DISABLE_PROGRESS_BARS": "1"})
    said = log.read_text("utf-8", "replace")
    cached = next((line for line in reversed(said.splitlines()) if line.startswith(_CACHED)), None)
    if ran.status == 0 and cached is not None:
        return Path(cached.removeprefix(_CACHED))
    why = f"no end after {SYNC_S} s" if ran.status is None else reason(said)
    raise NoTests(
        f"the hidden tests of {instance.id} cannot be downloaded: {why}; "
        f"try `programbench blob sync {instance.id}`, or set {VARIABLE} to a directory that holds them"
    )


def _local_revision(directory: Path, needed: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for name in sorted(needed):
        with (directory / "tests" / name).open("rb") as file:
            digest.update(f"{name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return f"local:{digest.hexdigest()}"
