"""`agent evaluate`: a verdict on a workspace that is there already: a trial's, or any directory or archive.

A trial's verdict goes into its record, and only a trial that came to its own end gets one: what infrastructure or its
user ended is not scored as the agent's. No model is asked, so that none needs to be had. What is no trial leaves no
record; its task is said, and its verdict is printed, and written where one says.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from pydantic import BaseModel

from agent.continuation.standing import standing
from agent.errors import MachineError, UserError
from agent.evaluation.archives import as_workspace_archive, exported_again, require_export
from agent.trial.run import INTERRUPTED, Outcome, evaluate, verdict_on
from benchmarks.task.task import Benchmark, Task
from environments.leftovers.removal import remove_tree
from environments.protocol import Kind
from trajectories.interrupts import held, interruptible
from trajectories.reading.reader import read_events
from trajectories.reading.runs import find_trial
from trajectories.reading.summary import VerdictSummary
from trajectories.record.events import BaseEvent, Evaluated, EvaluationStarted, Exited, TrialStarted, Warned
from trajectories.record.layout import EVALUATION, EVENTS, POOL
from trajectories.record.verdict import Verdict
from trajectories.writing.derived import write_conveniences
from trajectories.writing.lock import TrialLock
from trajectories.writing.masking import Masker
from trajectories.writing.recorder import Recorder


class Evaluation(BaseModel):
    """One evaluation, as `--json` prints it."""

    trial: str | None
    """Its directory; None if it was none."""
    workspace: str
    task: str
    environment: Kind
    verdict: VerdictSummary | None
    why_none: str = ""
    logs: str | None
    """Where the evaluator's logs are; None if they were not kept."""


Done = tuple[Evaluation, Verdict | None]


def evaluate_any(
    what: str,
    runs: Path,
    *,
    task: str | None = None,
    env: Kind | None = None,
    output: Path | None = None,
    observer: Callable[[BaseEvent], None] | None = None,
) -> Done:
    """Evaluate what a user means: a directory or an archive by its path, a trial by its path or id.

    Raises: UserError, RecordError, TrialInUse.
    """
    if not what:
        raise UserError("nothing is named: write a trial, a directory or an archive")
    path = Path(what)
    is_workspace = path.is_dir() and not (path / EVENTS).is_file()
    if not is_workspace and (not path.is_file() or path.name == EVENTS):
        if output is not None:
            raise UserError(f"--output {output}: a trial's verdict and logs are kept with it; leave it out")
        return evaluate_trial(find_trial(what, runs), task=task, env=env, observer=observer)
    if task is None:
        raise UserError(f"{what} is no trial, so its task has to be said: --task TASK")
    return evaluate_workspace(path, task, env=env, output=output)


def evaluate_trial(
    directory: Path,
    *,
    task: str | None = None,
    env: Kind | None = None,
    observer: Callable[[BaseEvent], None] | None = None,
) -> Done:
    """Evaluate a trial, again or for the first time, by its task as it is now; `task` says that this is wanted.

    An evaluation that failed or was cut off finds what it left behind; one that gave a score is done anew.

    Raises: UserError, RecordError, TrialInUse.
    """
    with held(), TrialLock(directory):
        events = list(read_events(directory))
        found = standing(events)
        if found.exit is None:
            raise UserError(_not_ended(directory, events))
        with interruptible():
            benchmark, judged = _task_of(directory, found.start, task)
            recorded = found.start.environment
            kind = _kind(judged, env or (None if recorded == "unknown" else recorded))
            exported = require_export(directory, found)
        changed = judged.digest != found.start.task.digest
        recorder = Recorder(
            directory,
            masker=Masker.from_environment(),
            pool=directory.parent / POOL,
            observer=observer,
            after=found.last,
        )
        try:
            if changed:
                text = (
                    f"evaluated by {judged.id} {judged.digest[:12]}, and the trial's was {found.start.task.digest[:12]}"
                )
                recorder.append(Warned(kind="task_changed", text=text))
            outcome = Outcome(directory, found.exit.exit)
            if exported is None:
                with interruptible():
                    exported = exported_again(directory, recorder)
            goes_on = not changed and _goes_on(events, exported.sha256)
            with nullcontext() if goes_on else _anew(directory, outcome, keep=_scored(events)):
                last = evaluate(benchmark, judged, kind, recorder, exported, outcome)
        finally:
            recorder.close()
        write_conveniences(directory)
    return _done(
        directory, directory / exported.path, judged, kind, last.verdict, last.why_none, directory / EVALUATION
    )


def evaluate_workspace(workspace: Path, task: str, *, env: Kind | None = None, output: Path | None = None) -> Done:
    """Evaluate a directory or an archive (tar, tar.gz, tar.zst); verdict and logs are written to `output`, if anywhere.

    Raises: UserError.
    """
    from environments.leftovers.owner import this_process

    if output is not None and output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UserError(f"--output {output}: exists and is not an empty directory; name a new one")
    with held():
        base = Path(tempfile.mkdtemp(prefix=f"{this_process().prefix}evaluate-"))
        try:
            with interruptible():
                benchmark, judged = _resolved(task)
                kind = _kind(judged, env)
                archive = as_workspace_archive(workspace, base / "workspace.tar.zst")
            if output is not None:
                output.mkdir(parents=True, exist_ok=True)
            verdict, why_none = verdict_on(benchmark, judged, kind, archive, output or base / EVALUATION)
            if output is not None and verdict is not None:
                (output / "verdict.json").write_text(verdict.model_dump_json(indent=1) + "\n", encoding="utf-8")
        finally:
            remove_tree(base)
    return _done(None, workspace, judged, kind, verdict, why_none, output)


def _done(
    trial: Path | None,
    workspace: Path,
    task: Task,
    kind: Kind,
    verdict: Verdict | None,
    why_none: str,
    logs: Path | None,
) -> Done:
    summary = None if verdict is None else VerdictSummary.of(verdict)
    said = Evaluation(
        trial=None if trial is None else str(trial),
        workspace=str(workspace),
        task=task.id,
        environment=kind,
        verdict=summary,
        why_none=why_none,
        logs=None if logs is None else str(logs),
    )
    return said, verdict


def exit_status(done: Evaluation) -> int:
    """0 where there is a score, also a bad one; 1 where the evaluator failed; 130 where it was interrupted."""
    if done.why_none == INTERRUPTED:
        return 130
    return 0 if done.verdict is not None and done.verdict.status == "scored" else 1


def _not_ended(directory: Path, events: Sequence[BaseEvent]) -> str:
    last = next((event.exit for event in reversed(events) if isinstance(event, Exited)), None)
    how = "has not ended" if last is None else f"was ended by {last.reason} ({last.cause})"
    return (
        f"{directory.name} {how}, so it is not scored: agent resume goes on with it; a copy of its workspace (agent "
        "checkout) can be evaluated by itself"
    )


def _task_of(directory: Path, start: TrialStarted, asked: str | None) -> tuple[Benchmark, Task]:
    """The task of a trial.

    Raises: UserError, also for a task that is not what it was, unless it was asked for.
    """
    from benchmarks.task.task import TaskError

    name, ref = directory.name, start.task
    if asked is None and (start.imported is not None or start.options.get("instruction")):
        raise UserError(f"{name} has no task that could evaluate it; say one with --task TASK")
    benchmark, task = _resolved(asked or str(start.options.get("task") or ref.id))
    if start.variant:
        try:
            task = benchmark.vary(task, tuple(start.variant.split("+")))
        except TaskError as error:
            raise UserError(str(error)) from None
    own = start.imported is None and not start.options.get("instruction")
    if own and task.id != ref.id:
        raise UserError(
            f"--task {asked}: {name} is a trial of {ref.id}, and its record takes no other task's verdict; its "
            f"workspace by itself does: agent evaluate {directory / 'workspace.tar.zst'} --task {asked}"
        )
    if own and asked is None and task.digest != ref.digest:
        raise UserError(
            f"the task {ref.id} is not what it was (its content was {ref.digest[:12]}, now it is {task.digest[:12]}); "
            f"to evaluate {name} by what it is now, say --task {ref.id}"
        )
    return benchmark, task


def _resolved(reference: str) -> tuple[Benchmark, Task]:
    from benchmarks.task.registry import resolve_task
    from benchmarks.task.task import TaskError

    try:
        benchmark, task = resolve_task(reference)
    except TaskError as error:
        raise UserError(str(error)) from None
    if not task.evaluable:
        raise UserError(f"{task.id} has no tests, so nothing can be evaluated by it")
    return benchmark, task


def _kind(task: Task, asked: Kind | None) -> Kind:
    """The environment to evaluate in, seen to be there.

    Raises: UserError.
    """
    from dataclasses import replace

    from environments.choose import choose, make
    from environments.protocol import EnvironmentUnavailable, MachineLacks

    try:
        kind = choose(task.kinds, has_image=bool(task.spec.image or task.spec.build), asked=asked)
        make(replace(task.spec, kind=kind)).check()
    except MachineLacks as error:
        raise MachineError(str(error)) from None
    except EnvironmentUnavailable as error:
        raise UserError(str(error)) from None
    return kind


@contextmanager
def _anew(directory: Path, outcome: Outcome, *, keep: bool) -> Iterator[None]:
    """An empty folder for the evaluator. `keep`: what was in it is that of the trial's verdict until there is another.

    An evaluation that comes to no score then leaves what it wrote in the folder's `failed`.
    """
    folder, before = directory / EVALUATION, directory / f".{EVALUATION}-before"
    if before.is_dir():  # a process that died had put it there
        remove_tree(folder)
        before.rename(folder)
    if not keep or not folder.is_dir():
        remove_tree(folder)
        yield
        return
    folder.rename(before)
    try:
        yield
    finally:
        if outcome.verdict is not None and outcome.verdict.status == "scored":
            remove_tree(before)
        else:
            remove_tree(before / "failed")
            if folder.is_dir():
                folder.rename(before / "failed")
            before.rename(folder)


def _goes_on(events: Sequence[BaseEvent], workspace_sha256: str) -> bool:
    """Whether the last evaluation was of this workspace, and none has come to a score."""
    last = next((event for event in reversed(events) if isinstance(event, EvaluationStarted)), None)
    return last is not None and last.workspace_sha256 == workspace_sha256 and not _scored(events)


def _scored(events: Sequence[BaseEvent]) -> bool:
    """Whether any evaluation has come to a score."""
    verdicts = (event.verdict for event in events if isinstance(event, Evaluated))
    return any(verdict is not None and verdict.status == "scored" for verdict in verdicts)
