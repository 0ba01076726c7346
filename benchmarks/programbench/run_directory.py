"""A run directory of ProgramBench made of trials, for `programbench eval` and `programbench submit`.

`<run>/<instance>/{submission.tar.gz, <instance>.traj.json, <instance>.eval.json}` and `_stats/*.json`. Writing it again
brings it up to date. Files of others (submission.yaml, README.md, other instances, _stats/score.json) are never
touched.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from benchmarks.programbench.attempts import PassedOver, choose
from benchmarks.programbench.instance_folder import STATS, InstanceExport, write_instance
from trajectories.errors import RecordError
from trajectories.formats.errors import CannotExport
from trajectories.formats.json_text import json_document
from trajectories.formats.write_file import write_file
from trajectories.reading.runs import directories_named


class LeftOut(BaseModel):
    """A trial that is not in the run directory, and the reason."""

    trial: str
    why: str


class RunExport(BaseModel):
    """The output of `agent export --format programbench --json`."""

    format: str = "programbench"
    output: str
    instances: list[InstanceExport]
    left_out: list[LeftOut]
    notes: list[str]

    def lines(self) -> list[str]:
        """Return the same as lines for people."""
        lines = []
        for instance in self.instances:
            evaluated = "evaluated" if instance.evaluated else "no eval.json"
            lines.append(f"{instance.instance}: {instance.trial} ({instance.exit}), {evaluated}")
            lines += [f"  {note}" for note in instance.notes]
        lines += [f"left out: {left_out.trial}: {left_out.why}" for left_out in self.left_out]
        return lines + self.notes


def export_run(names: Sequence[str], runs: Path, output: Path) -> RunExport:
    """Write trials, or the trials of batches, into a run directory, one for each instance.

    Raises: RecordError (CannotExport) if a named trial is not an attempt, if no trial is, or if writing fails.
    """
    named, of_batches = _trials(names, runs)
    attempts, passed_over = choose(named, of_batches)
    exports: list[InstanceExport] = []
    setups: dict[str, str] = {}
    changed = False
    for attempt in attempts:
        try:
            export, result_changed = write_instance(attempt, output / attempt.instance)
        except RecordError as error:
            if attempt.named:
                raise
            passed_over.append(PassedOver(attempt.directory, str(error)))
        else:
            exports.append(export)
            setups[attempt.summary.entry.setup] = attempt.summary.entry.label
            changed |= result_changed
    left_out = [LeftOut(trial=str(trial.trial), why=trial.reason) for trial in passed_over]
    if not exports:
        raise CannotExport(f"none of {len(left_out)} trials can be exported; {left_out[0].trial}: {left_out[0].why}")
    _write_stats(output / "_stats", exports)
    notes = []
    if len(setups) > 1:
        notes.append(
            f"{len(setups)} setups are mixed here ({'; '.join(sorted(setups.values()))}), but a submission is of one "
            "system; export each setup to a directory of its own"
        )
    if changed and (output / "_stats" / "score.json").exists():
        notes.append("results changed since this run was packaged: run `programbench submit package` again")
    return RunExport(output=str(output), instances=exports, left_out=left_out, notes=notes)


def _trials(names: Sequence[str], runs: Path) -> tuple[list[Path], list[Path]]:
    """Return the named trials, and the other trials of the named batches."""
    named: dict[str, Path] = {}
    of_batches: dict[str, Path] = {}
    for name in names:
        directories, batch_trials = directories_named([name], runs)
        (of_batches if batch_trials else named).update((os.path.realpath(path), path) for path in directories)
    return list(named.values()), [path for real, path in of_batches.items() if real not in named]


def _write_stats(folder: Path, exports: Sequence[InstanceExport]) -> None:
    """Update the figures of these instances in the files of `_stats`; figures of other instances stay."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in STATS:
            path = folder / f"{name}.json"
            figures = json.loads(path.read_bytes()) if path.exists() else {}
            if not isinstance(figures, dict):
                raise ValueError("not an object")
            for export in exports:
                value = getattr(export, name)
                figures.pop(export.instance, None)
                if value is not None:
                    figures[export.instance] = value
            write_file(path, json_document(dict(sorted(figures.items())), indent=2))
    except ValueError as error:
        raise CannotExport(f"{path}: is not a table of figures by instance ({error}); remove it") from None
    except OSError as error:
        raise CannotExport(f"{folder}: cannot be written ({error.strerror or error})") from None
