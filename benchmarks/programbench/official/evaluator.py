"""The official evaluator, as a subprocess around which nothing is taken on trust.

The order of things and the verdict live here: hidden tests there? -> clean-room check -> hand-over -> `programbench
eval` -> its result. It exits 0 whatever happens: only a whole result of this very run is one.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from benchmarks.programbench import changes, check, instances
from benchmarks.programbench.handover import HandOverError, hand_over
from benchmarks.programbench.instances import Instance
from benchmarks.programbench.official import hidden_tests, prepared, results, running
from benchmarks.programbench.official.hidden_tests import HiddenTests, NoTests
from benchmarks.programbench.official.last_words import failure_of_evaluation, reason
from benchmarks.programbench.official.prepared import Prepared
from benchmarks.task.task import TaskError
from environments.leftovers import owner
from environments.protocol import EnvironmentFault, EnvironmentUnavailable
from trajectories.record.text import cut_middle
from trajectories.record.verdict import Case, Evaluator, Verdict

NAME = "programbench"
CPUS_VARIABLE = "PROGRAMBENCH_DOCKER_CPUS"
ORGANISATION_VARIABLE = "PROGRAMBENCH_DOCKER_ORG"
SUBMISSION = "submission.tar.gz"
COMPILE_LOG = "compile.log"
LOG = "programbench.log"
ISOLATION = (
    "the official evaluator's: a fresh container for the build (network on, no DNS) and for each test branch (network "
    "on), all as root"
)
_COMPILE_S = 3600.0
"""All that the evaluator's steps up to the committed image may take together."""
_BRANCH_S = 3600.0 + 1500.0
"""A branch's own limit, and its steps before and after that."""
_TRIES = 2
"""The package's own default: a branch that failed or crashed is run once more."""


class EvaluatorFailed(Exception):
    """The evaluator or its infrastructure failed, not the submission; one line."""


@dataclass
class _Evaluation:
    """One evaluation under way; `inputs` and `notes` fill up as things become known."""

    instance: Instance
    workspace: Path
    scratch: Path
    check_s: float
    cpus: int | None
    began: float
    version: str
    inputs: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unofficial: list[str] = field(default_factory=list)
    """Why the score is none that the leaderboard would give."""

    @property
    def eval_json(self) -> Path:
        return self.scratch / f"{self.instance.id}.eval.json"


class _Hangs(Exception):
    """The check's deadline ended the build."""


def evaluate(
    instance: Instance,
    workspace: Path,
    scratch: Path,
    *,
    check_s: float = check.COMPILE_S,
    cpus: int | None = None,
    unofficial: Sequence[str] = (),
) -> Verdict:
    """Score an exported workspace (tar.zst) with `programbench eval`, exactly as the leaderboard would.

    `scratch` keeps `submission.tar.gz`, `<id>.eval.json`, `compile.log`, `programbench.log` and `changes.txt` (what
    the build changed in its container). What lies there of an earlier evaluation of the same workspace is gone on from:
    only branches that lack a result run again.
    `cpus`: of each container, by default PROGRAMBENCH_DOCKER_CPUS, else 10, never more than the daemon has.
    `unofficial`: what is known before to make the score none of the leaderboard's.

    A submission that does not build scores 0, every case missing, by the official evaluator's word. Two cases are a 0
    without it: a build that the check had to end after `check_s` (the official one would wait as long again and say
    `compile_failed`), and a compile.sh that prints what is not UTF-8, where the official evaluator was seen to die of
    it: it does so each time, and the leaderboard counts an instance without a result as 0. Everything else that leaves
    no whole result is the evaluator's failure: a verdict with status "error", never a score.
    """
    going = _Evaluation(instance, workspace, scratch, check_s, cpus, time.monotonic(), version("programbench"))
    going.unofficial += unofficial
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        return _evaluate(going)
    except (EvaluatorFailed, NoTests, HandOverError, EnvironmentFault, TaskError, OSError) as error:
        return Verdict(
            status="error",
            evaluator=_evaluator(going),
            isolation=ISOLATION,
            seconds=time.monotonic() - going.began,
            error=(str(error).splitlines() or [type(error).__name__])[0],
            notes=tuple(going.notes),
        )


def _evaluate(going: _Evaluation) -> Verdict:
    instance = going.instance
    tests = hidden_tests.find(instance, going.scratch / LOG)
    going.inputs.update(instance=instance.id, tests=tests.revision)
    if not tests.official:
        going.unofficial.append("the hidden tests are not from the benchmark's dataset")
    wanted = going.cpus or _cpus_wanted()
    try:
        before, image = _prepare(going, tests, wanted)
    except _Hangs as hangs:
        rule = f"gives it {check.COMPILE_S:g} s and then says compile_failed"
        return _nothing_built(going, f"{hangs}; the official evaluator, which {rule}, was not asked")
    cpus = going.cpus or min(wanted, image.daemon_cpus)
    going.inputs["docker_cpus"] = str(cpus)
    failed = _run(going, tests, cpus)
    if failed and not before.utf8 and failed.startswith("UnicodeDecodeError"):
        why = "compile.sh printed what is not UTF-8, of which the official evaluator dies without a result"
        return _nothing_built(going, f"{why}: the leaderboard would count 0 ({failed})")
    if failed:
        raise EvaluatorFailed(f"programbench eval failed: {failed}; see {LOG}")
    return _scored(going, before)


def _cpus_wanted() -> int:
    wanted = os.environ.get(CPUS_VARIABLE) or str(check.CPUS)
    if not wanted.isdecimal() or not int(wanted):
        raise EvaluatorFailed(f"{CPUS_VARIABLE} is {wanted!r}; set it to a number of CPUs, or unset it")
    return int(wanted)


def _prepare(going: _Evaluation, tests: HiddenTests, cpus: int) -> tuple[Prepared, check.Image]:
    """Check and hand over, or find both done before; what is left of another evaluation is removed.

    Raises: _Hangs, HandOverError, EnvironmentFault, TaskError, OSError.
    """
    instance, scratch, submission = going.instance, going.scratch, going.scratch / SUBMISSION
    same = {
        "instance": instance.id,
        "workspace": prepared.sha256(going.workspace),
        "tests": tests.revision,
        "package": going.version,
    }
    found = prepared.read(scratch)
    try:
        image = check.look_up(instance.image) if found else None
    except EnvironmentUnavailable:
        image = None
    if found and image and found.of_the_same({**same, "image": image.id}) and _is(submission, found.submission):
        _tell(going, found, image)
        _remove_torn(going.eval_json)
        return found, image
    for name in (going.eval_json.name, prepared.NAME, SUBMISSION, changes.NAME):
        (scratch / name).unlink(missing_ok=True)
    with check.CleanRoom(instance, cpus) as room:
        withheld = {*instance.clean_hashes, *([room.original] if room.original else [])}
        handed = hand_over(going.workspace, submission, withheld)
        checked = room.compile(submission, going.check_s, scratch / COMPILE_LOG)
        image = room.image
        found = Prepared(
            **same,
            image=image.id,
            submission=handed.sha256,
            original=room.original,
            withheld=handed.removed,
            builds=checked.builds,
            why=checked.why,
            utf8=checked.utf8,
            check_seconds=checked.seconds,
        )
    _tell(going, found, image)
    if checked.hangs:
        raise _Hangs(checked.why)
    prepared.write(scratch, found)
    return found, image


def _tell(going: _Evaluation, found: Prepared, image: check.Image) -> None:
    """Put into the verdict what is known before the official evaluator begins."""
    going.inputs.update(
        image=image.reference,
        image_digest=image.digest,
        submission=found.submission,
        original=found.original or "none in the image",
    )
    if found.withheld:
        going.notes.append(f"left out of the submission, being the original executable: {', '.join(found.withheld)}")
    if found.builds is None:
        going.notes.append(f"the clean-room check could not tell whether it builds: {found.why}")
    if not image.published:
        going.unofficial.append(f"image {image.reference} is local: no registry is known to have it")
    elif not image.reference.startswith("programbench/"):
        going.unofficial.append(f"image {image.reference} is not the benchmark's")
    if not instances.official(going.instance.id):
        going.unofficial.append(f"{going.instance.id} is not one of the benchmark's instances")


def _run(going: _Evaluation, tests: HiddenTests, cpus: int) -> str | None:
    """Run `programbench eval` over a run directory of this one submission; why it left no result, or None.

    Raises: OSError.
    """
    log = going.scratch / LOG
    timeout_s = _COMPILE_S + _TRIES * _BRANCH_S * len(going.instance.branches())
    with tempfile.TemporaryDirectory(prefix=f"{owner.this_process().prefix}programbench-") as name:
        run = Path(name, "run")
        run.mkdir()
        # The evaluator writes its result beside the submission: both are where they are kept.
        (run / going.instance.id).symlink_to(going.scratch.absolute())
        organisation, _, image = going.instance.image.rpartition("/")
        arguments = ["eval", str(run), "--docker-cpus", str(cpus), "--image-tag", image.rpartition(":")[2]]
        variables = {
            hidden_tests.VARIABLE: str(tests.directory),
            changes.VARIABLE: str((going.scratch / changes.NAME).absolute()),
            ORGANISATION_VARIABLE: organisation,
            CPUS_VARIABLE: str(cpus),
            "HF_HUB_OFFLINE": "1",
        }
        ran = running.run(arguments, log, timeout_s, variables)
    if ran.left:
        going.notes.append(f"{ran.left} containers or images that the evaluator left were removed")
    said = log.read_text("utf-8", "replace")
    if ran.status is None:
        return f"no end after {timeout_s:g} s"
    failed = failure_of_evaluation(said, going.instance.id)
    if failed or ran.status:
        return failed or f"exit {ran.status}: {reason(said)}"
    return None if going.eval_json.exists() else f"no {going.eval_json.name}: {reason(said)}"


def _scored(going: _Evaluation, before: Prepared) -> Verdict:
    try:
        found = results.read(going.eval_json, going.instance)
    except results.Torn as error:
        raise EvaluatorFailed(f"programbench eval failed: {error}; see {LOG}") from None
    going.inputs.update(reruns=found.reruns, executable_hash=found.executable_hash)
    if found.infrastructure(before.builds):
        cut_off = f"the daemon could not be reached, or the disk was full, in branch {', '.join(found.cut_off)}"
        why = f"{found.error_code}: {found.error_details}" if found.error_code else cut_off
        raise EvaluatorFailed(f"programbench eval failed: {why.splitlines()[0]}; see {going.eval_json.name}")
    if found.error_code:
        going.notes.append(f"{found.error_code}: {cut_middle(found.error_details, 1000) or 'no output'}")
        if before.builds:
            going.notes.append("the clean-room check had built it; the official evaluator's word counts")
    elif before.builds is False:
        going.notes.append(
            f"the clean-room check had not built it ({before.why}); the official evaluator's word counts"
        )
    if changed := changes.note(going.scratch):
        going.notes.append(changed)
    going.notes.extend(found.notes)
    return _verdict(going, found.cases, found.quality, found.resolved, found.almost)


def _nothing_built(going: _Evaluation, why: str) -> Verdict:
    """The score of a submission that nothing could be tested of: 0, every active test missing."""
    going.notes.append(why)
    cases = tuple(
        Case(id=f"{branch}/{name}", group=branch, status="missing")
        for branch, tests in going.instance.branches().items()
        for name in tests.active
    )
    return _verdict(going, cases, 0.0, resolved=False, almost=False)


def _verdict(going: _Evaluation, cases: tuple[Case, ...], quality: float, resolved: bool, almost: bool) -> Verdict:
    going.inputs["official"] = "no" if going.unofficial else "yes"
    return Verdict(
        status="scored",
        passed=resolved,
        quality=quality,
        cases=cases,
        metrics={"resolved": float(resolved), "almost": float(almost), "tests": float(len(cases))},
        evaluator=_evaluator(going),
        isolation=ISOLATION,
        seconds=time.monotonic() - going.began,
        notes=(*going.notes, *(f"not an official score: {why}" for why in going.unofficial)),
    )


def _evaluator(going: _Evaluation) -> Evaluator:
    return Evaluator(name=NAME, version=going.version, inputs=dict(going.inputs))


def _is(path: Path, sha256: str) -> bool:
    return path.is_file() and prepared.sha256(path) == sha256


def _remove_torn(eval_json: Path) -> None:
    """The package dies of a result that is cut off, before it looks at anything else."""
    if eval_json.exists():
        try:
            results.whole(eval_json)
        except results.Torn:
            eval_json.unlink()
