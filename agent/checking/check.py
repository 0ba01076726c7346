"""All checks of one task, from its file to the trials that prove it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from agent.checking.findings import Finding, Report
from agent.checking.visible import HIDDEN_TESTS, search
from agent.config import datasets
from agent.errors import MachineError, UserError
from agent.trial.options import Options
from benchmarks.task import formats
from benchmarks.task.registry import resolve_task
from benchmarks.task.task import Benchmark, Task, TaskError
from environments.protocol import EnvironmentFault, Kind, MachineLacks
from trajectories.interrupts import held, interruptible


def check_task(options: Options, *, fast: bool, show: Callable[[Finding], None] = lambda finding: None) -> Report:
    """Check the task that the options name; `show` gets each result at once. `fast` starts no environment.

    Raises: UserError for a name that no task has; MachineError, KeyboardInterrupt.
    """
    assert options.task is not None
    findings: list[Finding] = []

    def add(results: Iterator[Finding]) -> list[Finding]:
        """Keep, show and return these results."""
        began = len(findings)
        for finding in results:
            findings.append(finding)
            show(finding)
        return findings[began:]

    directory = Path(options.task).expanduser()
    try:
        benchmark, task = resolve_task(options.task, options.task_settings, datasets=datasets())
    except TaskError as error:
        if not _names_a_task(options.task, directory):
            raise UserError(str(error)) from None
        add(iter([Finding(check="task file", status="failed", detail=str(error))]))
        return Report(task=options.task, format=formats.format_of(directory) or "", findings=tuple(findings))
    task_format = formats.of_task(task)
    add(_of_files(task, task_format))
    if not fast:
        with held():
            _in_environments(benchmark, task, options, add)
    return Report(task=task.id, format=task_format or "", findings=tuple(findings))


def require_names(references: Sequence[str]) -> None:
    """Accept only names of tasks that exist, though they may have mistakes, before any of them is checked.

    Raises: UserError with the reasons for all others.
    """
    problems = []
    for reference in references:
        try:
            resolve_task(reference, datasets=datasets())
        except TaskError as error:
            if not _names_a_task(reference, Path(reference).expanduser()):
                problems.append(str(error))
    if problems:
        raise UserError("; ".join(problems))


def _names_a_task(reference: str, directory: Path) -> bool:
    """Report if a name is that of a task that exists, so that only its content can be the problem."""
    if directory.name in formats.TASK_FILES or formats.format_of(directory) is not None:
        return directory.exists()
    name, _, id = reference.partition("/")
    folder = datasets().get(name)
    return folder is not None and bool(id) and formats.format_of(folder / id) is not None


def _of_files(task: Task, task_format: formats.Format | None) -> Iterator[Finding]:
    """Yield what the files alone show."""
    yield Finding(check="task file", status="passed")
    if task_format is not None and task.directory is not None:
        for defect in formats.defects(task_format, task.directory, task.settings.overlay):
            yield Finding(check=defect.check, status="failed" if defect.breaks else "warned", detail=defect.detail)
    if ignored := task.facts.get("keys without effect"):
        yield Finding(check="unknown keys", status="warned", detail=ignored)
    if not task.evaluable:
        yield Finding(check="tests", status="failed", detail="the task has no tests, so nothing can be judged")


def _in_environments(
    benchmark: Benchmark, task: Task, options: Options, add: Callable[[Iterator[Finding]], list[Finding]]
) -> None:
    from agent.checking.proofs import proofs
    from agent.evaluation.judged import kind_for
    from environments.leftovers.owner import this_process
    from environments.leftovers.removal import remove_tree

    kind = kind_for(task, options.env)
    findings = add(_started(benchmark, task, kind))
    if not task.evaluable or any(finding.status == "failed" for finding in findings if finding.check != HIDDEN_TESTS):
        return
    runs = Path(tempfile.mkdtemp(prefix=f"{this_process().prefix}check-"))
    try:
        add(proofs(task, options, runs))
    finally:
        _remove_commits(runs)
        remove_tree(runs)


def _remove_commits(runs: Path) -> None:
    """Remove the images that the trials have committed: their records go as well."""
    from trajectories.reading.reader import read_events
    from trajectories.record.events import Checkpoint

    trials = [path.parent for path in runs.glob("*/*/events.jsonl")]
    images = {event.image for trial in trials for event in read_events(trial) if isinstance(event, Checkpoint)}
    if images:
        from environments.docker import daemon
        from environments.leftovers.images import remove

        api = daemon.connect()
        try:
            for image in images:
                remove(api, image)
        finally:
            api.close()


def _started(benchmark: Benchmark, task: Task, kind: Kind) -> Iterator[Finding]:
    """Start the task's environment, and yield what it shows before an agent acts."""
    from environments.choose import make

    environment = make(replace(task.spec, kind=kind))
    try:
        with interruptible():
            started = environment.start()
            skipped = benchmark.prepare(task, environment)
            yield Finding(check="environment", status="passed", detail=started.image or kind)
            for entry in skipped:
                yield Finding(check="initial files", status="warned", detail=f"{entry.path}: {entry.why} is left out")
            missing = benchmark.lacking(task, environment)
            detail = f"the image lacks {', '.join(missing)}, which the evaluation needs" if missing else ""
            yield Finding(check="programs", status="failed" if missing else "passed", detail=detail)
            yield search(task, environment)
    except MachineLacks as error:
        raise MachineError(str(error)) from None
    except (EnvironmentFault, TaskError) as error:
        yield Finding(check="environment", status="failed", detail=str(error))
    finally:
        environment.stop()
