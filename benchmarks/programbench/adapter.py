"""ProgramBench behind our protocol: which task an instance is, how its container begins, who scores it.

The conditions are those of the reference runner (mini-swe-agent 2.4.6, `config/benchmarks/programbench.yaml`).
"""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from benchmarks.programbench import instances, names, variants as ablations
from benchmarks.programbench.instances import Branch, Instance
from benchmarks.task.task import Named, Row, Task, TaskError
from environments.protocol import Environment, EnvironmentSpec, Kind
from trajectories.record.events import Limits, Skipped
from trajectories.record.verdict import Verdict

NAME = "programbench"
PACKAGE = "programbench"
WORKDIR = PurePosixPath("/workspace")
EXECUTABLE = "executable"
"""The original in the workspace: root's, mode 0111."""
SOLUTION = "solution"
"""Folder of an instance of one's own with what solves it."""
LIMITS = Limits(steps=1000, time_s=6 * 3600, command_s=180)
CPUS = 20
MEMORY_BYTES = 60 << 30
"""`docker run --memory 60g` is this many bytes (measured)."""
ENV = {"PAGER": "cat", "MANPAGER": "cat", "LESS": "-R", "PIP_PROGRESS_BAR": "off", "TQDM_DISABLE": "1"}
PLATFORM = "linux/amd64"
"""The only one that the images are made for."""
COMMITTER = ("Retrace agent", "agent@retrace.invalid")
_KIND: Kind = "docker"
_PREPARE_S = 60


class ProgramBench:
    """The benchmark's adapter."""

    name = NAME
    columns: tuple[str, ...] = ("id", "repository", "language", "difficulty", "tests")

    def ids(self) -> Iterable[str]:
        """The 200 instances' ids, and those of one's own."""
        return instances.ids()

    def named(self, word: str) -> Named:
        """The instances that a word means; see `names.named`."""
        return names.named(word)

    def rows(self) -> Iterable[Row]:
        """The instances' lines in a list.

        Raises: TaskError.
        """
        for instance in map(instances.instance, instances.ids()):
            yield {
                "id": f"{NAME}/{instance.id}",
                "title": _title(instance),
                "kind": "rebuild",
                "repository": instance.repository,
                "commit": instance.commit,
                "language": instance.language,
                "language_name": ablations.language_name(instance.language),
                "difficulty": instance.difficulty,
                "environments": [_KIND],
                "tests": _active(instance.branches()),
            }

    def load(self, id: str) -> Task:
        """The instance with this id, as the benchmark has it.

        Raises: TaskError.
        """
        instance = instances.instance(id)
        branches = instance.branches()
        solution = instance.directory / SOLUTION
        return Task(
            id=f"{NAME}/{id}",
            benchmark=NAME,
            title=_title(instance),
            instruction=ablations.instruction(instance.repository, instance.language),
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
                "tests": str(_active(branches)),
                "branches": str(len(branches)),
                "package": package_version() or "not installed",
            },
            directory=instance.directory,
            solution=solution if instance.own and solution.is_dir() else None,
            variants=ablations.variants_of(instance.language),
        )

    def vary(self, task: Task, variants: tuple[str, ...]) -> Task:
        """The task with these ablations; see `variants.vary`.

        Raises: TaskError for one that it does not have.
        """
        return ablations.vary(task, variants)

    def prepare(self, task: Task, environment: Environment) -> tuple[Skipped, ...]:
        """Check that the image is a clean room, and give git a committer; everything else is in the image.

        The reference runner writes the committer into the workspace's own `.git/config`. Here it is the user's: the
        workspace stays as it was, and a model that makes the repository anew can still commit.

        Raises: EnvironmentLost, TaskError.
        """
        name, email = COMMITTER
        script = (
            f"test -f {EXECUTABLE} -a -x {EXECUTABLE} || exit 3\n"
            "command -v git >/dev/null || exit 4\n"
            f"git config --global user.name '{name}' && git config --global user.email '{email}'\n"
        )
        done = environment.execute(script, deadline_s=_PREPARE_S, cwd=str(WORKDIR))
        where = f"{task.id}: the image {task.spec.image}"
        if done.exit_code == 3:
            raise TaskError(f"{where} has no program {WORKDIR / EXECUTABLE} that {task.spec.user} can run; {_WRONG}")
        if done.exit_code == 4:
            raise TaskError(f"{where} has no git; {_WRONG}")
        if done.exit_code != 0:
            said = " ".join(bytes(done.output).decode(errors="replace").split())[-300:]
            raise TaskError(f"{where}: git takes no committer's name ({said or done.ended})")
        return ()

    def evaluate(self, task: Task, workspace: Path, kind: Kind, scratch: Path) -> Verdict:
        """Score an exported workspace with the official evaluator; see `official.evaluate`."""
        from benchmarks.programbench.official import evaluator as official

        if kind != _KIND:
            raise TaskError(f"{task.id} is evaluated in docker only, not in {kind}")
        ablation = [f"{task.id} was solved as its variant {task.variant}"] if task.variant else []
        return official.evaluate(instances.instance(task.id.partition("/")[2]), workspace, scratch, unofficial=ablation)


_WRONG = "it is no clean-room image of the benchmark; remove it with `docker rmi`, and the right one is pulled"


def package_version() -> str | None:
    """The version of the installed package `programbench`: its data and its evaluator. None without it."""
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return None


def _title(instance: Instance) -> str:
    return f"Rebuild {instance.repository}"


def _active(branches: Mapping[str, Branch]) -> int:
    return sum(len(branch.active) for branch in branches.values())


def _digest(instance: Instance) -> str:
    """sha256 over the sha256 of what makes the instance: its data and the names of its tests."""
    try:
        parts = [
            hashlib.sha256((instance.directory / name).read_bytes()).hexdigest() for name in ("task.yaml", "tests.json")
        ]
    except OSError as error:
        raise TaskError(f"{instance.directory}: cannot be read ({error.strerror})") from None
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
