"""The official evaluator, run as a subprocess. Nothing that it reports is taken on trust.

The order of the steps: find the hidden tests, check and hand over the submission, run `programbench eval`, read its
result. That command exits with 0 whatever happens: only a complete result of this very run counts.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.judging.faults import EvaluatorFailed, Fault, SubmissionFailed
from benchmarks.judging.progress import watched
from benchmarks.programbench import check
from benchmarks.programbench.handover import HandOverError, Unsubmittable
from benchmarks.programbench.instances import Instance
from benchmarks.programbench.official import causes, facts, hidden_tests, results, running
from benchmarks.programbench.official.evaluation import Evaluation
from benchmarks.programbench.official.facts import Facts
from benchmarks.programbench.official.hidden_tests import HiddenTests, NoTests
from benchmarks.programbench.official.log_errors import last_error
from benchmarks.programbench.official.preparation import Prepared, prepare
from benchmarks.programbench.tampering import observation, verdict as tampering
from benchmarks.task.task import TaskError
from environments.docker import daemon
from environments.leftovers import owner
from environments.protocol import EnvironmentFault
from environments.reporting import LogReporter, Reporter
from trajectories.record.verdict import Verdict, VerdictCause
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
_DOCKER_S = 900
"""Time limit of `docker run` and `docker commit`. The package's 300 s leave no time for a look at the changes."""
_MEMORY_BYTES = 2 << 30
"""Largest address space of the evaluator, which reads into memory whatever a container prints."""
_RESULTS_BYTES = 256 << 20
"""Largest size of the results of a branch, and of the evaluator's own result."""


def evaluate(
    instance: Instance,
    workspace: Path,
    scratch: Path,
    *,
    check_s: float = check.COMPILE_S,
    cpus: int | None = None,
    unofficial: Sequence[str] = (),
    reporter: Reporter | None = None,
) -> Verdict:
    """Score an exported workspace (tar.zst) with `programbench eval`, exactly as the leaderboard does.

    `scratch` keeps `submission.tar.gz`, `<id>.eval.json`, `compile.log`, `programbench.log` and `changes.json` (the
    changes of the build in its container). If it holds files of an earlier evaluation of the same workspace, this one
    continues from them: only branches without a result run again.
    `cpus`: of each container. The default is PROGRAMBENCH_DOCKER_CPUS or 10, but never more than the daemon has.
    `reporter` shows how far the evaluation is.
    `unofficial`: reasons, known in advance, why the leaderboard would not give this score.

    A submission that does not build scores 0, with every case missing, if the official evaluator reports that. A build
    that the check had to end after `check_s` is a 0 without its report: the official evaluator would wait as long again
    and report `compile_failed`. So is a submission because of which the official evaluator crashed (see `causes`): the
    leaderboard counts an instance without a result as 0. Everything else without a complete result is a failure of the
    evaluator or the machine: a verdict with status "error", never a score.
    """
    evaluation = Evaluation(instance, workspace, scratch, check_s, cpus, list(unofficial), reporter or LogReporter())
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        return _evaluate(evaluation)
    except Unsubmittable as error:
        return evaluation.zero(Fault("unpacking", str(error)))
    except SubmissionFailed as error:
        return evaluation.zero(error.fault)
    except (EvaluatorFailed, NoTests, HandOverError, EnvironmentFault, TaskError, OSError) as error:
        return evaluation.failed(error)


def _evaluate(evaluation: Evaluation) -> Verdict:
    tests = hidden_tests.find(evaluation.instance, evaluation.scratch / LOG)
    evaluation.inputs.update(instance=evaluation.instance.id, tests=tests.revision)
    if not tests.official:
        evaluation.unofficial.append("the hidden tests are not from the benchmark's dataset")
    wanted_cpus = evaluation.cpus or _cpus_wanted()
    evaluation.reporter.note(f"evaluation: building in the clean-room image, at most {evaluation.check_s:g} s")
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
        return evaluation.zero(Fault("time", f"{prepared.why}; the official evaluator, which {rule}, was not asked"))
    cpus = evaluation.cpus or min(wanted_cpus, preparation.image.daemon_cpus)
    evaluation.inputs["docker_cpus"] = str(cpus)
    facts_of_run = _run(evaluation, tests, cpus, prepared)
    return _scored(evaluation, prepared, facts_of_run, tests)


def _cpus_wanted() -> int:
    wanted = os.environ.get(CPUS_VARIABLE) or str(check.CPUS)
    if not wanted.isdecimal() or not int(wanted):
        raise EvaluatorFailed(f"{CPUS_VARIABLE} is {wanted!r}; set it to a number of CPUs, or unset it")
    return int(wanted)


def _run(evaluation: Evaluation, tests: HiddenTests, cpus: int, prepared: Prepared) -> Facts:
    """Run `programbench eval` on a run directory with this submission; return the facts about the run.

    Raises: SubmissionFailed or EvaluatorFailed if it left no result; OSError.
    """
    instance, log = evaluation.instance, evaluation.scratch / LOG
    timeout_s = _COMPILE_S + _TRIES * _BRANCH_S * len(instance.branches())
    with tempfile.TemporaryDirectory(prefix=f"{owner.this_process().prefix}programbench-") as name:
        run = Path(name, "run")
        run.mkdir()
        # The evaluator writes its result beside the submission: so both are directly where they are kept.
        (run / instance.id).symlink_to(evaluation.scratch.absolute())
        progress = Path(name, "progress")
        sizes = {branch: len(tests.active) for branch, tests in instance.branches().items()}
        organization, _, image = instance.image.rpartition("/")
        arguments = ["eval", str(run), "--docker-cpus", str(cpus), "--image-tag", image.rpartition(":")[2]]
        variables = {
            hidden_tests.VARIABLE: str(tests.directory),
            observation.VARIABLE: str((evaluation.scratch / observation.FILE).absolute()),
            ORGANIZATION_VARIABLE: organization,
            CPUS_VARIABLE: str(cpus),
            "HF_HUB_OFFLINE": "1",
            "PROGRAMBENCH_DOCKER_RUN_TIMEOUT": str(_DOCKER_S),
            facts.PROGRESS: str(progress),
            facts.FACTS: str(Path(name, "facts")),
            facts.FAILURE: str(Path(name, "failure.json")),
            facts.MEMORY: str(_MEMORY_BYTES),
            facts.RESULT_BLOCKS: str(_RESULTS_BYTES // 512),
            **({facts.NETWORK: "none"} if evaluation.own else {}),
        }
        evaluation.reporter.note("evaluation: the official evaluator builds")
        with watched(lambda: facts.how_far(progress, sizes), evaluation.reporter):
            command = running.run(arguments, log, timeout_s, variables)
        facts_of_run = facts.read(Path(name, "facts"), Path(name, "failure.json"))
    if command.left:
        evaluation.notes.append(f"{command.left} containers or images that the evaluator left were removed")
    if command.status is None:
        raise EvaluatorFailed(f"programbench eval failed: no end after {timeout_s:g} s; see {LOG}")
    fault = causes.of_failure(facts_of_run, prepared, _free_bytes()) if facts_of_run.failure else None
    if fault is None and facts_of_run.failure is None and command.status < 0:
        fault = causes.of_signal(command.status, facts_of_run)
    if fault is not None:
        raise SubmissionFailed(fault.cause, fault.reason)
    if facts_of_run.failure is not None:
        raise EvaluatorFailed(f"programbench eval failed: {facts_of_run.failure.text}; see {LOG}")
    if command.status or not evaluation.eval_json.exists():
        problem = f"exit {command.status}" if command.status else f"no {evaluation.eval_json.name}"
        error = last_error(log.read_text("utf-8", "replace"))
        raise EvaluatorFailed(f"programbench eval failed: {problem}: {error}; see {LOG}")
    return facts_of_run


def _scored(evaluation: Evaluation, prepared: Prepared, facts_of_run: Facts, tests: HiddenTests) -> Verdict:
    """Return the verdict for the result that the official evaluator wrote.

    Raises: SubmissionFailed, EvaluatorFailed if there is no complete result, or if the machine failed.
    """
    eval_json, notes = evaluation.eval_json, evaluation.notes
    if eval_json.stat().st_size > _RESULTS_BYTES:
        raise SubmissionFailed("output", f"the evaluator's own result has more than {_RESULTS_BYTES >> 20} MiB")
    try:
        result = results.read(eval_json, evaluation.instance)
    except results.Torn as error:
        raise EvaluatorFailed(f"programbench eval failed: {error}; see {LOG}") from None
    evaluation.inputs.update(reruns=result.reruns, executable_hash=result.executable_hash)
    if result.error_code == "wipe_workspace_failed":  # nothing of the submission was there yet
        raise EvaluatorFailed(f"programbench eval failed: {result.error_code}: {result.error_details}; see {LOG}")
    if (result.error_code or result.branches_failed) and (host := causes.of_machine(facts_of_run)):
        raise host
    if result.disk_full:
        causes.check_disk(facts_of_run, prepared, _free_bytes())
    if result.error_code:
        notes.append(f"{result.error_code}: {excerpts.middle(result.error_details, 1000) or 'no output'}")
        if prepared.builds:
            notes.append("the clean-room check had built it; the official evaluator's word counts")
    elif prepared.builds is False:
        notes.append(f"the clean-room check had not built it ({prepared.why}); the official evaluator's word counts")
    shielded = hidden_tests.shielded(tests, evaluation.instance)
    changes = tampering.read(evaluation.scratch, built=result.error_code is None, workspace=not shielded)
    notes.extend((*changes.notes, *result.notes))
    cause: VerdictCause | None = None
    if result.error_code:
        cause = "time" if result.timed_out else "build"
    return evaluation.scored(
        result.cases, result.quality, resolved=result.resolved, almost=result.almost, cause=cause, changes=changes
    )


def _free_bytes() -> int:
    """Return the free space of the disk with the daemon's data, or of the temporary directory if that is smaller."""
    api = daemon.connect()
    try:
        with daemon.reported("asking for the daemon's directory"):
            data = Path(str(daemon.facts(api).get("DockerRootDir") or "/"))
    finally:
        api.close()
    places = [Path(tempfile.gettempdir()), *([data] if data.exists() else [])]
    return min(shutil.disk_usage(place).free for place in places)
