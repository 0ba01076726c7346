"""The official evaluator, run as a subprocess. Nothing that it reports is taken on trust.

The order of the steps: find the hidden tests, check and hand over the submission, run `programbench eval`, read its
result. That command exits with 0 whatever happens: only a complete result of this very run counts.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.judging.submission import EvaluatorFailed
from benchmarks.programbench import changes, check
from benchmarks.programbench.handover import HandOverError
from benchmarks.programbench.instances import Instance
from benchmarks.programbench.official import hidden_tests, results, running
from benchmarks.programbench.official.evaluation import Evaluation
from benchmarks.programbench.official.hidden_tests import HiddenTests, NoTests
from benchmarks.programbench.official.log_errors import LoggedError, error_of_evaluation, last_error
from benchmarks.programbench.official.preparation import Prepared, prepare
from benchmarks.task.task import TaskError
from environments.leftovers import owner
from environments.protocol import EnvironmentFault
from trajectories.record.verdict import Verdict
from trajectories.writing import excerpts

CPUS_VARIABLE = "PROGRAMBENCH_DOCKER_CPUS"
ORGANIZATION_VARIABLE = "PROGRAMBENCH_DOCKER_ORG"
LOG = "programbench.log"
_COMPILE_S = 3600.0
"""Time for all steps of the evaluator up to the committed image."""
_BRANCH_S = 3600.0 + 1500.0
"""Time for one branch: its own limit, and the evaluator's steps before and after it."""
_TRIES = 2
"""Default of the package: a branch that failed or crashed runs once more."""


def evaluate(
    instance: Instance,
    workspace: Path,
    scratch: Path,
    *,
    check_s: float = check.COMPILE_S,
    cpus: int | None = None,
    unofficial: Sequence[str] = (),
) -> Verdict:
    """Score an exported workspace (tar.zst) with `programbench eval`, exactly as the leaderboard does.

    `scratch` keeps `submission.tar.gz`, `<id>.eval.json`, `compile.log`, `programbench.log` and `changes.txt` (the
    changes of the build in its container). If it holds files of an earlier evaluation of the same workspace, this one
    continues from them: only branches without a result run again.
    `cpus`: of each container. The default is PROGRAMBENCH_DOCKER_CPUS or 10, but never more than the daemon has.
    `unofficial`: reasons, known in advance, why the leaderboard would not give this score.

    A submission that does not build scores 0, with every case missing, if the official evaluator reports that. Two
    cases are a 0 without its report. The first is a build that the check had to end after `check_s`: the official
    evaluator would wait as long again and report `compile_failed`. The second is a compile.sh whose output is not
    UTF-8, if the official evaluator crashed because of it: it crashes every time, and the leaderboard counts an
    instance without a result as 0. Everything else without a complete result is a failure of the evaluator: a verdict
    with status "error", never a score.
    """
    evaluation = Evaluation(instance, workspace, scratch, check_s, cpus, list(unofficial))
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        return _evaluate(evaluation)
    except (EvaluatorFailed, NoTests, HandOverError, EnvironmentFault, TaskError, OSError) as error:
        return evaluation.failed(error)


def _evaluate(evaluation: Evaluation) -> Verdict:
    tests = hidden_tests.find(evaluation.instance, evaluation.scratch / LOG)
    evaluation.inputs.update(instance=evaluation.instance.id, tests=tests.revision)
    if not tests.official:
        evaluation.unofficial.append("the hidden tests are not from the benchmark's dataset")
    wanted_cpus = evaluation.cpus or _cpus_wanted()
    preparation = prepare(
        evaluation.instance,
        evaluation.workspace,
        evaluation.scratch,
        tests=tests.revision,
        package=evaluation.version,
        cpus=wanted_cpus,
        check_s=evaluation.check_s,
    )
    prepared = preparation.results
    evaluation.add_preparation(preparation)
    if preparation.hangs:
        rule = f"gives it {check.COMPILE_S:g} s and then says compile_failed"
        return evaluation.nothing_built(f"{prepared.why}; the official evaluator, which {rule}, was not asked")
    cpus = evaluation.cpus or min(wanted_cpus, preparation.image.daemon_cpus)
    evaluation.inputs["docker_cpus"] = str(cpus)
    error = _run(evaluation, tests, cpus)
    if error and not prepared.utf8 and error.exception == "UnicodeDecodeError":
        reason = "compile.sh printed what is not UTF-8, of which the official evaluator dies without a result"
        return evaluation.nothing_built(f"{reason}: the leaderboard would count 0 ({error.text})")
    if error:
        raise EvaluatorFailed(f"programbench eval failed: {error.text}; see {LOG}")
    return _scored(evaluation, prepared)


def _cpus_wanted() -> int:
    wanted = os.environ.get(CPUS_VARIABLE) or str(check.CPUS)
    if not wanted.isdecimal() or not int(wanted):
        raise EvaluatorFailed(f"{CPUS_VARIABLE} is {wanted!r}; set it to a number of CPUs, or unset it")
    return int(wanted)


def _run(evaluation: Evaluation, tests: HiddenTests, cpus: int) -> LoggedError | None:
    """Run `programbench eval` on a run directory with this submission; return the error if it left no result.

    Raises: OSError.
    """
    instance, log = evaluation.instance, evaluation.scratch / LOG
    timeout_s = _COMPILE_S + _TRIES * _BRANCH_S * len(instance.branches())
    with tempfile.TemporaryDirectory(prefix=f"{owner.this_process().prefix}programbench-") as name:
        run = Path(name, "run")
        run.mkdir()
        # The evaluator writes its result beside the submission: so both are directly where they are kept.
        (run / instance.id).symlink_to(evaluation.scratch.absolute())
        organization, _, image = instance.image.rpartition("/")
        arguments = ["eval", str(run), "--docker-cpus", str(cpus), "--image-tag", image.rpartition(":")[2]]
        variables = {
            hidden_tests.VARIABLE: str(tests.directory),
            changes.VARIABLE: str((evaluation.scratch / changes.FILE).absolute()),
            ORGANIZATION_VARIABLE: organization,
            CPUS_VARIABLE: str(cpus),
            "HF_HUB_OFFLINE": "1",
        }
        command = running.run(arguments, log, timeout_s, variables)
    if command.left:
        evaluation.notes.append(f"{command.left} containers or images that the evaluator left were removed")
    output = log.read_text("utf-8", "replace")
    if command.status is None:
        return LoggedError(f"no end after {timeout_s:g} s")
    if error := error_of_evaluation(output, instance.id):
        return error
    if command.status:
        return LoggedError(f"exit {command.status}: {last_error(output).text}")
    if not evaluation.eval_json.exists():
        return LoggedError(f"no {evaluation.eval_json.name}: {last_error(output).text}")
    return None


def _scored(evaluation: Evaluation, prepared: Prepared) -> Verdict:
    """Return the verdict for the result that the official evaluator wrote.

    Raises: EvaluatorFailed if there is no complete result, or if the infrastructure failed.
    """
    eval_json, notes = evaluation.eval_json, evaluation.notes
    try:
        result = results.read(eval_json, evaluation.instance)
    except results.Torn as error:
        raise EvaluatorFailed(f"programbench eval failed: {error}; see {LOG}") from None
    evaluation.inputs.update(reruns=result.reruns, executable_hash=result.executable_hash)
    if result.infrastructure(prepared.builds):
        cut_off = f"the daemon could not be reached, or the disk was full, in branch {', '.join(result.cut_off)}"
        reason = f"{result.error_code}: {result.error_details}" if result.error_code else cut_off
        raise EvaluatorFailed(f"programbench eval failed: {reason.splitlines()[0]}; see {eval_json.name}")
    if result.error_code:
        notes.append(f"{result.error_code}: {excerpts.middle(result.error_details, 1000) or 'no output'}")
        if prepared.builds:
            notes.append("the clean-room check had built it; the official evaluator's word counts")
    elif prepared.builds is False:
        notes.append(f"the clean-room check had not built it ({prepared.why}); the official evaluator's word counts")
    if changed := changes.note(evaluation.scratch):
        notes.append(changed)
    notes.extend(result.notes)
    return evaluation.scored(result.cases, result.quality, resolved=result.resolved, almost=result.almost)
