"""Finding the archives of an instance's hidden tests: in a directory of the user's, or in the Hugging Face cache.

The evaluator opens the archive of each branch after it has compiled the submission, and a missing one costs the whole
instance its result. So all of them are looked up before any slow step, and the evaluator gets their directory.
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
from benchmarks.programbench.official.log_errors import last_error
from benchmarks.task.tree import file_sha256

VARIABLE = "PROGRAMBENCH_BLOB_DIR"
REPOSITORY = "programbench/ProgramBench-Tests"
SYNC_S = 3600
"""Time limit of a download, in seconds."""
RUN = "eval/run.sh"
"""Script in every archive that runs its tests."""
_SHIELDS = {"PYTHONSAFEPATH=1", "/dev/null", "--confcutdir=eval"}
"""Words of a script that keeps the workspace's own modules and configuration away from pytest."""
_CACHED = "Blobs cached at "


class NoTests(Exception):
    """The hidden tests are not available; the message is one line with the way out."""


@dataclass(frozen=True)
class HiddenTests:
    """The archives of all branches of an instance, in `directory/<instance>/tests`."""

    directory: Path
    """Value for PROGRAMBENCH_BLOB_DIR: with it, the evaluator uses neither the network nor another revision."""
    revision: str
    """Commit of the dataset, or `local:` and the sha256 over the archives' names and contents."""
    official: bool
    """True if they are a revision of the benchmark's own dataset."""


def find(instance: Instance, log: Path) -> HiddenTests:
    """Return the archives, downloaded if necessary; the package's output goes to `log`.

    Raises: NoTests, TaskError, OSError.
    """
    needed = [f"{branch}.tar.gz" for branch in instance.branches()]
    local = os.environ.get(VARIABLE)
    if local:
        directory = Path(local).absolute()
        _check_complete(directory / instance.id, needed, f"{VARIABLE} is {local}")
        for branch, tests in instance.branches().items():
            if tests.tests:
                _check_runnable(directory / instance.id / "tests" / f"{branch}.tar.gz")
        return HiddenTests(directory, _local_revision(directory / instance.id, needed), official=False)
    snapshot = _downloaded(instance, log)
    _check_complete(snapshot, needed, "the dataset was downloaded")
    commit = snapshot.parent.name
    official = (os.environ.get("PROGRAMBENCH_HF_REPO") or REPOSITORY) == REPOSITORY
    return HiddenTests(snapshot.parent, commit, official=official and bool(re.fullmatch("[0-9a-f]{40}", commit)))


def shielded(tests: HiddenTests, instance: Instance) -> bool:
    """Return True if no branch's script lets pytest read configuration or modules of the workspace's top directory.

    The scripts of instances made here do not.
    """
    archives = [
        tests.directory / instance.id / "tests" / f"{branch}.tar.gz"
        for branch, of in instance.branches().items()
        if of.tests
    ]
    return all(set(_script(archive).split()) >= _SHIELDS for archive in archives)


def _script(archive: Path) -> str:
    with tarfile.open(archive, "r|gz") as tar:
        for member in tar:
            file = tar.extractfile(member) if posixpath.normpath(member.name) == RUN and member.isfile() else None
            if file is not None:
                return file.read(1 << 20).decode("utf-8", "replace")
    return ""


def _check_complete(directory: Path, needed: Iterable[str], source: str) -> None:
    missing = [name for name in needed if not (directory / "tests" / name).is_file()]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise NoTests(
            f"{source}, but there is no {directory / 'tests' / missing[0]}{more}: put the archives of the hidden tests "
            f"there, or unset {VARIABLE} to have them downloaded"
        )


def _check_runnable(archive: Path) -> None:
    """Accept only an archive with the script that runs its tests: without it, they would all count as not passed.

    Raises: NoTests.
    """
    try:
        with tarfile.open(archive, "r|gz") as tests:
            if any(posixpath.normpath(member.name) == RUN and member.isfile() for member in tests):
                return
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise NoTests(f"{archive} is no whole tar.gz ({error}); copy it again") from None
    raise NoTests(f"{archive} has no {RUN}, so its tests cannot be run; pack the branch's tree as the dataset does")


def _downloaded(instance: Instance, log: Path) -> Path:
    """Download the tests; return the instance's directory in a snapshot of the dataset in the Hugging Face cache."""
    command = running.run(["blob", "sync", instance.id], log, SYNC_S, {"HF_HUB_DISABLE_PROGRESS_BARS": "1"})
    output = log.read_text("utf-8", "replace")
    cached = next((line for line in reversed(output.splitlines()) if line.startswith(_CACHED)), None)
    if command.status == 0 and cached is not None:
        return Path(cached.removeprefix(_CACHED))
    reason = f"no end after {SYNC_S} s" if command.status is None else last_error(output)
    raise NoTests(
        f"the hidden tests of {instance.id} cannot be downloaded: {reason}; "
        f"try `programbench blob sync {instance.id}`, or set {VARIABLE} to a directory that holds them"
    )


def _local_revision(directory: Path, needed: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for name in sorted(needed):
        digest.update(f"{name} {file_sha256(directory / 'tests' / name)}\n".encode())
    return f"local:{digest.hexdigest()}"
