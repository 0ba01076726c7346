"""A record of its own for role calls that belong to no trial: begun, locked, masked and closed."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from agent.roles.asking import Asker
from agent.roles.calls import RoleCalls
from prompts import Prompt
from scoring.pricing.tables import PriceTable
from trajectories.interrupts import held
from trajectories.reading.reader import read_role_events
from trajectories.record.events import SCHEMA_VERSION, Event, Role, RoleRecordStarted, TaskRef, TextRef
from trajectories.writing.lock import TrialLock
from trajectories.writing.masking import Masker
from trajectories.writing.recorder import Recorder


@contextmanager
def role_record(
    directory: Path,
    *,
    role: Role,
    task: TaskRef,
    asker: Asker,
    prompt: Prompt,
    prices: PriceTable,
    options: Mapping[str, object],
) -> Iterator[RoleCalls]:
    """Begin the record in an empty folder, and close it at the end. Signals wait, except while a model is asked.

    Raises: RecordFull, TrialInUse.
    """
    with held(), TrialLock(directory):
        recorder = Recorder(directory, masker=Masker.from_environment(), has_steps=False)
        try:
            recorder.keep(prompt.data)  # first: a crash leaves no name without its text
            recorder.append(
                RoleRecordStarted(
                    schema_version=SCHEMA_VERSION,
                    record=directory.name,
                    role=role,
                    task=task,
                    model=asker.model,
                    prompt=TextRef(name=prompt.name, sha256=prompt.sha256),
                    prices=None if asker.is_free else prices.ref(asker.model.name),
                    options=dict(options),
                    versions={"retrace": importlib.metadata.version("retrace-agent"), **asker.versions},
                )
            )
            recorder.sync()
            yield RoleCalls(recorder, 1)
        finally:
            recorder.close()


@contextmanager
def continued_record(directory: Path) -> Iterator[tuple[Sequence[Event], RoleCalls]]:
    """Open a record for further role calls; yield its events so far, and the calls to come.

    Raises: RecordError, RecordFull, TrialInUse.
    """
    with held(), TrialLock(directory):
        events = list(read_role_events(directory))
        recorder = Recorder(directory, masker=Masker.from_environment(), after=events[-1], has_steps=False)
        try:
            yield events, RoleCalls.after(events, recorder)
        finally:
            recorder.close()
