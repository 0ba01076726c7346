"""Evaluates a submission with the test script of its task: the tests come, run as root, and leave their results.

LongCLI-Bench's tasks are judged in a fresh container over the exported workspace, terminal-bench's in the container
that they were solved in, or in its committed image. A script's exit status means nothing, as in the authors' harness.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.judging.faults import EvaluatorFailed, Fault, SubmissionFailed
from benchmarks.judging.system.evaluating import Facts, Outcome, directory_of, empty_scratch, maker, verdict
from benchmarks.judging.system.opening import Make, Opened, opened
from benchmarks.judging.system.running import run_script
from benchmarks.judging.system.script_run import ScriptResult, ScriptRun
from benchmarks.judging.system.solving import reference, solve
from benchmarks.task import tree
from benchmarks.task.submission import Archive, Submission
from benchmarks.task.task import TASK_FILE, Task
from benchmarks.terminalbench import task_file, test_sets
from benchmarks.terminalbench.compose_file import LOGS, TEST_DIR
from benchmarks.terminalbench.scores import NoResult, score, zero
from benchmarks.terminalbench.task_directory import RUN_TESTS, Source
from benchmarks.terminalbench.task_file import TerminalBenchFile
from environments.protocol import ImageUnusable
from environments.reporting import LogReporter, Reporter
from trajectories.record.verdict import Verdict

VERSION = "1"
"""Increased when the same submission could get another verdict."""
TESTS_LOG = "tests.log"
"""Name of the file in `scratch` that gets the output of the test script."""
_COLUMNS = "160"
"""Width of the terminal in which the authors' harness runs the tests: pytest shortens messages to it."""


@dataclass(frozen=True)
class Evaluation:
    """One evaluation of a task."""

    task: Task
    file: TerminalBenchFile
    source: Source
    scratch: Path
    make: Make
    reporter: Reporter

    @property
    def deadline_s(self) -> float:
        """The time that the whole test script may take."""
        return self.file.max_test_timeout_sec * self.task.settings.timeout_multiplier


def evaluate(
    task: Task, submission: Submission, scratch: Path, reporter: Reporter | None = None, make: Make | None = None
) -> Verdict:
    """Judge a submission; a failure of the evaluator is a verdict with status "error"."""
    facts = Facts.of(task)
    name = "longcli-bench" if task.result == "workspace" else "terminal-bench"

    def judge() -> Outcome:
        evaluation = _evaluation(task, scratch, reporter or LogReporter(), make)
        facts.inputs |= {"cpus": str(os.cpu_count()), "test_time_limit_s": f"{evaluation.deadline_s:g}"}
        facts.note_overlay(evaluation.source)
        if isinstance(submission, Archive):
            facts.inputs["workspace"] = tree.file_sha256(submission.path)
        facts.comparable = _is_comparable(task, submission)
        return _outcome(evaluation, submission, facts)

    return verdict(task, submission, (name, VERSION), facts, judge)


def _is_comparable(task: Task, submission: Submission) -> bool:
    """Return True if the task was judged unchanged and in the authors' way."""
    unchanged = task.settings.overlay is None and task.settings.timeout_multiplier == 1
    return unchanged and submission.kind == ("archive" if task.result == "workspace" else "live")


def _evaluation(task: Task, scratch: Path, reporter: Reporter, make: Make | None) -> Evaluation:
    source = Source.of(directory_of(task), task.settings)
    empty_scratch(scratch, (TESTS_LOG, *map(os.path.basename, test_sets.RESULT_FILES)))
    return Evaluation(task, task_file.read(source.file(TASK_FILE)), source, scratch, maker(make), reporter)


def _outcome(evaluation: Evaluation, submission: Submission, facts: Facts) -> Outcome:
    """Return the score of a submission.

    Raises: EvaluatorFailed, also if the tests have no result without the submission either; EnvironmentFault.
    """
    fault: Fault | None = None
    try:
        with opened(submission, evaluation.task, evaluation.make, evaluation.reporter) as place:
            _note_place(place, facts)
            if evaluation.file.run_tests_in_same_shell and place.environment.spec.shell != "persistent":
                facts.notes.append("the tests run in a shell of their own, because the agent's is gone")
            try:
                result = _run(evaluation, place)
                facts.exposed += (*place.exposed(), *result.exposed, *_EXPOSED[evaluation.task.result])
                _keep(evaluation.scratch, result)
                return score(evaluation.file, result, evaluation.deadline_s)
            except SubmissionFailed as failure:
                fault = failure.fault
            except NoResult as error:
                fault = Fault("result", str(error))
    except SubmissionFailed as failure:  # it could not be opened, so no test ran
        return zero(evaluation.file, failure.fault)
    assert fault is not None
    _check_tests(evaluation, fault)
    reason = f"{fault.reason}; with {reference(evaluation.task)} they come to a result"
    return zero(evaluation.file, replace(fault, reason=reason))


_EXPOSED = {
    "workspace": (
        "the tests run programs of the workspace as root, and these could write the files with the results",
        "results are read from an output to which programs of the workspace print as well",
    ),
    "system": ("results are read from an output to which programs of the agent that the tests start print as well",),
}
"""Weaknesses of the authors' way to judge, by what is judged."""


def _note_place(place: Opened, facts: Facts) -> None:
    facts.processes_kept = place.processes_kept
    facts.note_image(place)
    beside = "beside what the agent left running" if place.processes_kept else "without processes of the agent"
    network = "with" if place.environment.spec.network else "without"
    facts.isolation = f"container {network} network, tests as root, {beside}"
    facts.notes += [f"{lowered.limit}: {lowered.given} instead of {lowered.asked}" for lowered in place.started.lowered]


def _run(evaluation: Evaluation, place: Opened) -> ScriptResult:
    """Run the test script; its standard input is closed, and nothing stops it at a command that fails."""
    of_sets = evaluation.file.is_longcli
    with evaluation.source.tests() as tests:
        run = ScriptRun(
            script=f"mkdir -p {' '.join(LOGS)} 2>/dev/null; bash {TEST_DIR}/{RUN_TESTS}",
            deadline_s=evaluation.deadline_s,
            files={TEST_DIR: tests},
            env={"TEST_DIR": TEST_DIR} if of_sets else {"TEST_DIR": TEST_DIR, "COLUMNS": _COLUMNS},
            results=test_sets.RESULT_FILES if of_sets else (),
            private=(test_sets.DIRECTORY,) if of_sets else (),
            shielded=place.needs_shield(),
            ready=place.exposed,
            agent_shell=evaluation.file.run_tests_in_same_shell and place.environment.spec.shell == "persistent",
        )
        return run_script(place.environment, place.started, run, evaluation.reporter)


def _keep(scratch: Path, result: ScriptResult) -> None:
    (scratch / TESTS_LOG).write_bytes(bytes(result.execution.output))
    for path, content in result.results.items():
        (scratch / os.path.basename(path)).write_bytes(content)


def _check_tests(evaluation: Evaluation, fault: Fault) -> None:
    """Run the tests on the task's own solution, or on its untouched start if it has none.

    Raises: EvaluatorFailed if they have no result there either: the submission is not the cause.
    """
    subject = reference(evaluation.task)
    evaluation.reporter.note(f"evaluation: {fault.reason}; judging {subject} for comparison")
    environment = evaluation.make(replace(evaluation.task.spec, keep=False, workspace=None))
    try:
        place = Opened(environment, environment.start(), processes_kept=evaluation.task.result == "system")
        solve(evaluation.task, place, evaluation.reporter)
        score(evaluation.file, _run(evaluation, place), evaluation.deadline_s)
    except ImageUnusable as error:
        raise EvaluatorFailed(str(error)) from None
    except (NoResult, SubmissionFailed) as error:
        last = _last_line(evaluation.scratch / TESTS_LOG)
        raise EvaluatorFailed(f"{fault.reason}; with {subject}: {error}{last}") from None
    finally:
        environment.stop()


def _last_line(log: Path) -> str:
    lines = log.read_bytes().decode("utf-8", "replace").strip().splitlines() if log.is_file() else []
    return f"; their output ends with {lines[-1].strip()[:300]!r}" if lines else "; they print nothing"
