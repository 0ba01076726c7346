"""The adapter of ProgramBench: the task of an instance, the preparation of its container, and its evaluation.

The conditions are those of the reference runner (mini-swe-agent 2.4.6, `config/benchmarks/programbench.yaml`).
"""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from benchmarks.programbench import instances, names
from benchmarks.programbench.counts import TestCounts
from benchmarks.programbench.instances import Instance
from benchmarks.programbench.variants import instruction, language_name, variants_of, with_variants
from benchmarks.task.feedback import SCORES_ONLY, FeedbackContent, other_forms
from benchmarks.task.settings import UNCHANGED, TaskSettings
from benchmarks.task.submission import Archive, Submission
from benchmarks.task.task import Named, Row, Task, TaskError, no_settings
from environments.protocol import Environment, EnvironmentSpec, ImageUnusable, Kind
from environments.reporting import Reporter
from trajectories.record.events import FeedbackForm, Limits, Skipped
from trajectories.record.verdict import Verdict
from trajectories.writing import excerpts

NAME = "programbench"
PACKAGE = "programbench"
"""Name of the Python package with the data and the evaluator."""
WORKDIR = PurePosixPath("/workspace")
EXECUTABLE = "executable"
"""Name of the original in the workspace; it belongs to root and has mode 0111."""
SOLUTION = "solution"
"""Folder of one of the user's own instances with the files that solve it."""
LIMITS = Limits(steps=1000, time_s=6 * 3600, command_s=180)
CPUS = 20
MEMORY_BYTES = 60 << 30
"""Bytes of `docker run --memory 60g` (measured)."""
ENV = {"PAGER": "cat", "MANPAGER": "cat", "LESS": "-R", "PIP_PROGRESS_BAR": "off", "TQDM_DISABLE": "1"}
PLATFORM = "linux/amd64"
"""The only platform that the images exist for."""
COMMITTER = ("Retrace agent", "agent@retrace.invalid")
_KIND: Kind = "docker"
_PREPARE_S = 60
_MODULES = ("pytest", "xdist", "pytest_timeout")
"""Modules that the official evaluator's own options for pytest need."""


class ProgramBench:
    """The benchmark's adapter."""

    name = NAME
    columns: tuple[str, ...] = ("id", "repository", "language", "difficulty", "tests")

    def ids(self) -> Iterable[str]:
        """Return the ids of the 200 instances and of the user's own ones."""
        return instances.ids()

    def named(self, word: str) -> Named:
        """Return the instances that a word means; see `names.named`."""
        return names.named(word)

    def rows(self) -> Iterable[Row]:
        """Return the instances' lines in a list.

        Raises: TaskError.
        """
        counts = TestCounts()
        for instance in map(instances.instance, instances.ids()):
            yield {
                "id": f"{NAME}/{instance.id}",
                "title": _title(instance),
                "kind": "rebuild",
                "repository": instance.repository,
                "commit": instance.commit,
                "language": instance.language,
                "language_name": language_name(instance.language),
                "difficulty": instance.difficulty,
                "environments": [_KIND],
                "tests": counts.of(instance),
            }
        counts.save()

    def load(self, id: str, settings: TaskSettings = UNCHANGED) -> Task:
        """Return the task of the instance with this id, without ablations.

        Raises: TaskError.
        """
        no_settings(f"{NAME}/{id}", settings)
        instance = instances.instance(id)
        branches = instance.branches()
        solution = instance.directory / SOLUTION
        return Task(
            id=f"{NAME}/{id}",
            benchmark=NAME,
            title=_title(instance),
            instruction=instruction(instance.language),
            digest=_digest(instance),
            kinds=(_KIND,),
            spec=EnvironmentSpec(
                kind=_KIND,
                image=instance.image,
                platform=PLATFORM,
                workdir=WORKDIR,
                user="agent",
                env=ENV,
                network=False,
                cpus=CPUS,
                memory_bytes=MEMORY_BYTES,
                cap_drop=("SYS_PTRACE",),
            ),
            limits=LIMITS,
            prompt=NAME,
            language=instance.language,
            facts={
                "kind": "rebuild",
                "repository": instance.repository,
                "commit": instance.commit,
                "difficulty": instance.difficulty,
                "tests": str(instances.active_tests(branches)),
                "branches": str(len(branches)),
                "package": package_version() or "not installed",
            },
            directory=instance.directory,
            solution=solution if instance.own and solution.is_dir() else None,
            variants=variants_of(instance.language),
            feedback=SCORES_ONLY,
            feedback_revealing=other_forms(SCORES_ONLY),
        )

    def vary(self, task: Task, variants: tuple[str, ...]) -> Task:
        """Return the task with these ablations; see `variants.with_variants`.

        Raises: TaskError for an unknown one.
        """
        return with_variants(task, variants)

    def prepare(self, task: Task, environment: Environment) -> tuple[Skipped, ...]:
        """Check that the image is a clean room, and set git's committer; everything else is in the image.

        The reference runner writes the committer into the workspace's own `.git/config`. Here it is a setting of the
        user: the workspace stays unchanged, and a model that recreates the repository can still commit.

        Raises: EnvironmentLost, ImageUnusable.
        """
        name, email = COMMITTER
        script = (
            f"test -f {EXECUTABLE} -a -x {EXECUTABLE} || exit 3\n"
            "command -v git >/dev/null || exit 4\n"
            f"git config --global user.name '{name}' && git config --global user.email '{email}'\n"
        )
        execution = environment.execute(script, deadline_s=_PREPARE_S, cwd=str(WORKDIR))
        image = f"{task.id}: the image {task.spec.image}"
        if execution.exit_code == 3:
            raise ImageUnusable(
                f"{image} has no program {WORKDIR / EXECUTABLE} that {task.spec.user} can run; {_WRONG}"
            )
        if execution.exit_code == 4:
            raise ImageUnusable(f"{image} has no git; {_WRONG}")
        if execution.exit_code != 0:
            output = excerpts.on_one_line(bytes(execution.output).decode(errors="replace"))[-300:]
            raise ImageUnusable(f"{image}: git's committer cannot be set ({output or execution.ended})")
        return ()

    def lacking(self, task: Task, environment: Environment) -> tuple[str, ...]:
        """Return what the official evaluator needs in the image of one of the user's own instances and does not find.

        The published images are the evaluator's own, so nothing is looked for in them.

        Raises: EnvironmentLost.
        """
        if not instances.instance(task.id.partition("/")[2]).own:
            return ()
        names = " ".join(_MODULES)
        script = (
            "command -v python3 >/dev/null || { echo python3; exit; }\n"
            f'for name in {names}; do python3 -c "import $name" >/dev/null 2>&1 || echo "$name for python3"; done\n'
        )
        execution = environment.execute(script, deadline_s=_PREPARE_S, cwd="/")
        return tuple(execution.output.decode(errors="replace").splitlines())

    def evaluate(
        self, task: Task, submission: Submission, kind: Kind, scratch: Path, reporter: Reporter | None = None
    ) -> Verdict:
        """Score an exported workspace with the official evaluator; see `evaluator.evaluate`."""
        from benchmarks.programbench.official import evaluator

        if kind != _KIND:
            raise TaskError(f"{task.id} is evaluated in docker only, not in {kind}")
        ablation = [f"{task.id} was solved as its variant {task.variant}"] if task.variant else []
        instance = instances.instance(task.id.partition("/")[2])
        assert isinstance(submission, Archive)
        return evaluator.evaluate(instance, submission.path, scratch, unofficial=ablation, reporter=reporter)

    def feedback(self, task: Task, verdict: Verdict, scratch: Path, form: FeedbackForm) -> FeedbackContent:
        """Return the feedback on a verdict of the official evaluator.

        The names of branches are left out: several instances share one, and its tests could be looked up by it. The log
        of the build is that of the failed step, or of the clean-room check; both run without the tests.

        Raises: FeedbackError.
        """
        from benchmarks.judging import feedback
        from benchmarks.programbench.official import preparation, results

        result = scratch / f"{task.id.partition('/')[2]}.eval.json"
        tests_log = results.output(result) if form in ("output", "paths") else None
        failed_build = results.failed_build(result) if verdict.cause is not None else None
        return feedback.feedback(
            verdict,
            form,
            names=False,
            tests_log=None if tests_log is None else feedback.bounded(tests_log),
            build_log=feedback.bounded(failed_build or b"") or feedback.log(scratch / preparation.COMPILE_LOG),
        )


_WRONG = "it is not a clean-room image of the benchmark; remove it with `docker rmi` to pull the right one"


def package_version() -> str | None:
    """Return the version of the installed package `programbench`, or None if it is not installed."""
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return None


def _title(instance: Instance) -> str:
    return f"Rebuild {instance.repository}"


def _digest(instance: Instance) -> str:
    """Return the sha256 over the hashes of the two files that define the instance: its data and its tests' names."""
    try:
        parts = [
            hashlib.sha256((instance.directory / name).read_bytes()).hexdigest()
            for name in ("task.yaml", instances.TESTS_FILE)
        ]
    except OSError as error:
        raise TaskError(f"{instance.directory}: cannot be read ({error.strerror})") from None
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
