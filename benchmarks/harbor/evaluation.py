"""Evaluates a submission with the task's verifier, in the agent's container (shared) or in one of its own (separate).

The exit status of `test.sh` means nothing; the reward that it leaves is the result. A submission whose tests leave no
reward scores 0 if they leave one for the task's own solution, or for its untouched start if it has none. Otherwise the
tests are broken, and the verdict is an error.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harbor import artifacts, ctrf, rewards
from benchmarks.harbor.places import variables, verifier_spec
from benchmarks.harbor.readiness import make_ready, wait_until_healthy
from benchmarks.harbor.reading.task_directory import SCRIPT, HarborTask, Source, read
from benchmarks.harbor.rewards import NoReward
from benchmarks.harbor.steps import at_step, begin_step, tests_of
from benchmarks.judging.faults import EvaluatorFailed, Fault, SubmissionFailed
from benchmarks.judging.system.evaluating import Facts, Outcome, directory_of, empty_scratch, maker, verdict
from benchmarks.judging.system.opening import Make, Opened, opened
from benchmarks.judging.system.running import run_script
from benchmarks.judging.system.script_run import ScriptRun
from benchmarks.judging.system.solving import reference, solve
from benchmarks.task import tree
from benchmarks.task.submission import Submission
from benchmarks.task.task import Task
from environments.protocol import Environment, ImageUnusable, Started
from environments.reporting import LogReporter, Reporter
from trajectories.record.verdict import Verdict

NAME = "harbor"
VERSION = "1"
"""Increased when the same submission could get another verdict."""
TESTS_LOG = "test-stdout.txt"
"""Name of the file in `scratch` that gets the output of the test script."""
_TESTS = "/tests"
_EARLIER_TESTS = (
    "what the agent left running in an earlier stage ran beside its tests, and could have kept them for this one"
)


@dataclass(frozen=True)
class _Evaluation:
    """One evaluation of a task."""

    task: Task
    harbor: HarborTask
    scratch: Path
    make: Make
    reporter: Reporter
    env: Mapping[str, str]

    @property
    def deadline_s(self) -> float:
        """The time that the test script may take."""
        return self.harbor.file.verifier.timeout_sec * self.task.settings.timeout_multiplier


def evaluate(
    task: Task, submission: Submission, scratch: Path, reporter: Reporter | None = None, make: Make | None = None
) -> Verdict:
    """Judge a submission; a failure of the evaluator is a verdict with status "error"."""
    facts = Facts.of(task)

    def judge() -> Outcome:
        evaluation = _evaluation(task, scratch, reporter or LogReporter(), make, facts)
        facts.comparable = _is_comparable(evaluation, submission)
        left, fault = _rewards(evaluation, submission, facts)
        quality = rewards.quality(left) if left else 0.0
        notes = (*rewards.note(left), *((fault.reason,) if fault else ()))
        return Outcome(quality >= 1, quality, facts.cases, metrics=left, notes=notes, fault=fault)

    return verdict(task, submission, (NAME, VERSION), facts, judge)


def _evaluation(task: Task, scratch: Path, reporter: Reporter, make: Make | None, facts: Facts) -> _Evaluation:
    harbor = at_step(read(Source.of(directory_of(task), task.settings)), task.stage)
    evaluation = _Evaluation(task, harbor, scratch, maker(make), reporter, variables(harbor)[1])
    if harbor.step is not None:
        facts.inputs["step"] = harbor.step
    facts.inputs["verifier"] = "separate" if harbor.file.verifier.separate else "shared"
    facts.inputs["test_time_limit_s"] = f"{evaluation.deadline_s:g}"
    facts.note_overlay(harbor.source)
    empty_scratch(scratch, (TESTS_LOG,))
    return evaluation


def _is_comparable(evaluation: _Evaluation, submission: Submission) -> bool:
    """Return True if the task was judged unchanged and as Harbor judges it.

    A separate verifier sees files only, so an image is as good as a container, unless commands collect them first.
    """
    settings, verifier = evaluation.task.settings, evaluation.harbor.file.verifier
    unchanged = settings.overlay is None and settings.timeout_multiplier == 1
    return unchanged and (submission.kind == "live" or (verifier.separate and not verifier.collect))


def _rewards(evaluation: _Evaluation, submission: Submission, facts: Facts) -> tuple[dict[str, float], Fault | None]:
    """Return the rewards of a submission, or its fault.

    Raises: EvaluatorFailed, EnvironmentFault, TaskError, OSError.
    """
    try:
        with opened(submission, evaluation.task, evaluation.make, evaluation.reporter) as opening:
            _note(opening, evaluation, facts)
            try:
                return _judged(evaluation, opening, facts), None
            finally:
                if not evaluation.harbor.file.verifier.separate:
                    facts.exposed = [*opening.exposed(), *facts.exposed]
    except SubmissionFailed as failure:
        fault = failure.fault
    except NoReward as failure:
        fault = Fault("result", str(failure))
    _check_tests(evaluation, fault)
    return {}, fault


def _note(opening: Opened, evaluation: _Evaluation, facts: Facts) -> None:
    separate = evaluation.harbor.file.verifier.separate
    facts.processes_kept = opening.processes_kept and not separate
    facts.note_image(opening)
    if separate:
        facts.isolation = "a container of its own for the tests, fed by the declared artifacts"
        facts.notes.append("the verifier is separate: its container has nothing of the agent's but the artifacts")
    else:
        beside = "beside what the agent left running" if opening.processes_kept else "without processes of the agent"
        facts.isolation = (
            f"the container of the agent, tests as {evaluation.harbor.file.verifier.user or 'root'}, {beside}"
        )
        if (evaluation.task.stage or 1) > 1:
            facts.exposed.append(_EARLIER_TESTS)


def _judged(evaluation: _Evaluation, opening: Opened, facts: Facts) -> dict[str, float]:
    """Return the rewards that the verifier gives to what is in a container.

    Raises: NoReward, SubmissionFailed, EvaluatorFailed, EnvironmentFault, TaskError, OSError.
    """
    for hook in evaluation.harbor.file.verifier.collect:
        run = ScriptRun(hook.command, hook.timeout_sec, user=hook.user or evaluation.task.spec.user)
        outcome = run_script(opening.environment, opening.started, run, evaluation.reporter)
        if outcome.execution.exit_code != 0:
            facts.notes.append(f"the command that collects {hook.command[:100]!r} failed: {outcome.execution.ended}")
    if not evaluation.harbor.file.verifier.separate:
        return _run(evaluation, opening, facts)
    with tempfile.TemporaryFile(dir=evaluation.scratch) as archive:
        collected = artifacts.collect(opening.started, evaluation.harbor.file.artifacts, archive)
        facts.notes += [f"artifact {source}: does not exist" for source in collected.missing]
        if collected.dropped:
            facts.notes.append(f"artifacts: {collected.dropped} special files and links that lead outside are left out")
        return _apart(evaluation, collected, facts)


def _apart(evaluation: _Evaluation, collected: artifacts.Collected, facts: Facts) -> dict[str, float]:
    """Return the rewards that the verifier gives to artifacts in a container of its own."""
    harbor = evaluation.harbor
    environment = evaluation.make(verifier_spec(harbor, evaluation.task.settings))
    try:
        started = _started(environment)
        part = harbor.file.verifier.environment
        if part is not None and part.healthcheck is not None:
            wait_until_healthy(harbor, environment, part.healthcheck)
        facts.inputs |= {"verifier_image": started.image or ""}
        artifacts.place(started, collected)
        return _run(evaluation, Opened(environment, started, processes_kept=False), facts)
    finally:
        environment.stop()


def _started(environment: Environment) -> Started:
    try:
        return environment.start()
    except ImageUnusable as error:
        raise EvaluatorFailed(f"the verifier's image: {error}") from None


def _run(evaluation: _Evaluation, opening: Opened, facts: Facts) -> dict[str, float]:
    """Run the test script and return the rewards that it leaves.

    Raises: NoReward, SubmissionFailed, EvaluatorFailed, EnvironmentFault, TaskError, OSError.
    """
    verifier = evaluation.harbor.file.verifier
    in_image = evaluation.harbor.tests_in_image
    path = f"{_TESTS}/{SCRIPT}"
    if in_image:
        opening.environment.execute(f"chmod +x {path}", deadline_s=60, cwd="/", as_root=True)
    with tests_of(evaluation.harbor) as tests:
        run = ScriptRun(
            script=f"exec {path}",
            deadline_s=evaluation.deadline_s,
            files={} if in_image else {_TESTS: _executable(tests)},
            user=verifier.user,
            env=evaluation.env,
            results=(rewards.JSON, rewards.TEXT),
            extras=(ctrf.FILE,),
            private=(rewards.LOGS,),
            shielded=opening.needs_shield(verifier.user),
            ready=opening.exposed,
        )
        result = run_script(opening.environment, opening.started, run, evaluation.reporter)
        facts.exposed += [line for line in result.exposed if line not in facts.exposed]
        (evaluation.scratch / TESTS_LOG).write_bytes(bytes(result.execution.output))
        fault = result.ended_by(evaluation.deadline_s)
        if fault is not None and not result.results:
            raise SubmissionFailed(fault.cause, fault.reason)
        chosen = rewards.choose(result.results, _bytes(tests))
    if chosen == rewards.TEXT and rewards.JSON in result.results:
        facts.notes.append("reward.json does not count: no file of the tests names it, so something else wrote it")
    if fault is not None:
        raise SubmissionFailed(fault.cause, fault.reason)
    left = rewards.parsed(chosen, result.results[chosen])
    if ctrf.FILE in result.extras:
        try:
            facts.cases = ctrf.cases(result.extras[ctrf.FILE])
        except ctrf.NotCtrf as error:
            facts.notes.append(f"the single tests are not listed: ctrf.json cannot be used: {error}")
    return left


def _parts(task: Task) -> list[tuple[int | None, Task]]:
    """Return the task, or its steps up to the one that is judged, with their numbers."""
    if task.stage is None:
        return [(None, task)]
    return [(number, task.at_stage(number)) for number in range(1, task.stage + 1)]


def _executable(tests: tree.Tree) -> tree.Tree:
    """Return the tests with a script that can be started."""
    entries = tuple(
        tree.Entry(entry.path, entry.type, entry.mode | 0o111, entry.size, entry.target)
        if entry.path == SCRIPT.encode()
        else entry
        for entry in tests.entries
    )
    return tree.Tree(tests.root, entries, tests.skipped)


def _bytes(tests: tree.Tree) -> bytes:
    """Return the content of the tests' small files."""
    return b"\n".join(
        (tests.root / entry.path.decode("utf-8", "surrogateescape")).read_bytes()
        for entry in tests.entries
        if entry.type == "file" and entry.size < 1 << 20
    )


def _check_tests(evaluation: _Evaluation, fault: Fault) -> None:
    """Judge the task's own solution, or its untouched start if it has none.

    Raises: EvaluatorFailed if the verifier leaves no reward there either.
    """
    subject = reference(evaluation.task)
    evaluation.reporter.note(f"evaluation: {fault.reason}; judging {subject} for comparison")
    facts = Facts.of(evaluation.task)
    environment = evaluation.make(evaluation.task.spec)
    log = evaluation.scratch / TESTS_LOG
    kept = log.read_bytes() if log.is_file() else None
    try:
        place = Opened(environment, _started(environment), processes_kept=True)
        make_ready(evaluation.harbor, environment, evaluation.harbor.file.environment.healthcheck)
        for number, part in _parts(evaluation.task):
            if number is not None:
                begin_step(evaluation.harbor, number, environment)
            solve(part, place, evaluation.reporter)
        _judged(evaluation, place, facts)
    except (NoReward, SubmissionFailed) as error:
        raise EvaluatorFailed(f"{fault.reason}; with {subject}: {error}") from None
    finally:
        environment.stop()
        if kept is not None:
            log.write_bytes(kept)
