"""Claims the directory of a new trial in its batch, so that two trials never share one; and that of a new plan.

The name is made of the task, the model, the first digits of the configuration's hash and the number of the attempt.
"""

from __future__ import annotations

import re
from pathlib import Path

from trajectories.errors import RecordError
from trajectories.record.events import TrialStarted
from trajectories.record.identity import configuration_hash
from trajectories.record.layout import PLANS

_HASH_DIGITS = 8
_SLUG_CHARACTERS = 40
_NOT_SLUG = re.compile(r"[^a-z0-9]+")


def claim_directory(batch: Path, stem: str, attempt: int | None = None) -> tuple[Path, int]:
    """Make the directory `STEM.N` of the next free attempt (or of `attempt`); return it with the attempt's number.

    Raises: RecordError if it cannot be made or `attempt` is taken.
    """
    return _claim(batch, stem, attempt)


def trial_stem(task: str, model: str, configuration: str) -> str:
    """Return the beginning of the names of a configuration's trials. A point and the number of the attempt follow."""
    return f"{_slug(task)}.{_slug(model)}.{configuration[:_HASH_DIGITS]}"


def stem_of(first: TrialStarted) -> str:
    """Return the beginning of a trial's name from its event 0, which need not hold the name yet."""
    model = first.model.name if ":" in first.model.asked else first.model.asked  # a path does not fit into a name
    return trial_stem(first.task.id, model, configuration_hash(first))


def claim_plan(runs: Path, task: str, model: str) -> Path:
    """Make the directory of a new record of a plan, with the next free number, and return it.

    Raises: RecordError if it cannot be made.
    """
    return _claim(runs / PLANS, f"{_slug(task)}.{_slug(model)}", None)[0]


def _claim(batch: Path, stem: str, attempt: int | None) -> tuple[Path, int]:
    """Make the directory `STEM.N` with the next free number or the one of `attempt`; return it with the number."""
    try:
        batch.mkdir(parents=True, exist_ok=True)
        number = attempt or 1 + max((_number(path, stem) for path in batch.glob(f"{stem}.*")), default=0)
        while True:
            directory = batch / f"{stem}.{number}"
            try:
                directory.mkdir()
            except FileExistsError:
                if attempt is not None:
                    raise RecordError(f"{directory}: attempt {attempt} exists already; choose another number") from None
                number += 1
            else:
                return directory, number
    except OSError as error:
        raise RecordError(
            f"cannot write trials to {batch}: {error.strerror}; choose another place with --runs"
        ) from None


def _number(path: Path, stem: str) -> int:
    suffix = path.name[len(stem) + 1 :]
    return int(suffix) if suffix.isascii() and suffix.isdecimal() else 0


def _slug(text: str) -> str:
    return _NOT_SLUG.sub("-", text.rpartition("/")[2].lower()).strip("-")[:_SLUG_CHARACTERS] or "x"
