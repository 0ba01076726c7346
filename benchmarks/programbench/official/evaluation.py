"""One evaluation in progress: the facts and notes gathered so far, and the verdict made of them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from benchmarks.judging.faults import Fault, HostFailed
from benchmarks.programbench import instances
from benchmarks.programbench.instances import Instance
from benchmarks.programbench.official.preparation import Preparation
from benchmarks.programbench.tampering.verdict import NOBODY_LOOKED, Changes
from environments.protocol import EnvironmentLost, EnvironmentUnavailable
from environments.reporting import LogReporter, Reporter
from trajectories.record.verdict import Case, Evaluator, Verdict, VerdictCause

NAME = "programbench"
ISOLATION = (
    "the official evaluator's: a fresh container for the build (network on, no DNS) and for each test branch (network "
    "{network}), all as root"
)
_OF_THE_HOST = (HostFailed, EnvironmentLost, EnvironmentUnavailable, OSError)
"""Errors whose cause is the machine: its disk, its daemon, or an image that it does not have."""


@dataclass
class Evaluation:
    """An evaluation of one workspace; `inputs`, `notes` and `unofficial` fill up as it proceeds."""

    instance: Instance
    workspace: Path
    scratch: Path
    check_s: float
    """Time limit of the build in the clean-room check."""
    cpus: int | None
    """CPUs of each container, or None for the usual number."""
    unofficial: list[str]
    """Reasons why the leaderboard would not give this score."""
    reporter: Reporter = field(default_factory=LogReporter)
    """Shows how far the evaluation is."""
    inputs: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    version: str = field(default_factory=lambda: version("programbench"))

    @property
    def own(self) -> bool:
        """Return True for an instance that is not one of the benchmark's: its tests need no network."""
        return not instances.official(self.instance.id)

    @property
    def eval_json(self) -> Path:
        """The file that the official evaluator writes its result to."""
        return self.scratch / f"{self.instance.id}.eval.json"

    def add_preparation(self, preparation: Preparation) -> None:
        """Add the facts that are known before the official evaluator starts."""
        prepared, image = preparation.results, preparation.image
        self.inputs.update(
            image=image.reference,
            image_digest=image.digest,
            submission=prepared.submission,
            original=prepared.original or "none in the image",
        )
        if prepared.withheld:
            names = ", ".join(prepared.withheld)
            self.notes.append(f"left out of the submission, being the original executable: {names}")
        if prepared.builds is None:
            self.notes.append(f"the clean-room check could not tell whether it builds: {prepared.why}")
        if not image.published:
            self.unofficial.append(f"image {image.reference} is local: no registry is known to have it")
        elif not image.reference.startswith("programbench/"):
            self.unofficial.append(f"image {image.reference} is not the benchmark's")
        if self.own:
            self.unofficial.append(f"{self.instance.id} is not one of the benchmark's instances")

    def scored(
        self,
        cases: tuple[Case, ...],
        quality: float,
        *,
        resolved: bool,
        almost: bool,
        cause: VerdictCause | None = None,
        changes: Changes = NOBODY_LOOKED,
    ) -> Verdict:
        """Return the verdict with this score; `cause` is what decided in place of the tests."""
        self.inputs["official"] = "no" if self.unofficial else "yes"
        return Verdict(
            status="scored",
            cause=cause,
            passed=resolved,
            quality=quality,
            cases=cases,
            metrics={"resolved": float(resolved), "almost": float(almost), "tests": float(len(cases))},
            evaluator=self._evaluator(),
            isolation=ISOLATION.format(network="off" if self.own else "on"),
            seconds=time.monotonic() - self.began,
            changed=changes.changed,
            tampered=changes.tampered,
            notes=(*self.notes, *(f"not an official score: {reason}" for reason in self.unofficial)),
        )

    def zero(self, fault: Fault) -> Verdict:
        """Return the verdict on a submission that decided its score itself: 0, every active test missing."""
        self.notes.append(fault.reason)
        cases = tuple(
            Case(id=f"{branch}/{name}", group=branch, status="missing")
            for branch, tests in self.instance.branches().items()
            for name in tests.active
        )
        return self.scored(cases, 0.0, resolved=False, almost=False, cause=fault.cause)

    def failed(self, error: Exception) -> Verdict:
        """Return the verdict after a failure of the evaluator or its infrastructure."""
        return Verdict(
            status="error",
            cause="host" if isinstance(error, _OF_THE_HOST) else "evaluator",
            evaluator=self._evaluator(),
            isolation=ISOLATION.format(network="off" if self.own else "on"),
            seconds=time.monotonic() - self.began,
            error=(str(error).splitlines() or [type(error).__name__])[0],
            notes=tuple(self.notes),
        )

    def _evaluator(self) -> Evaluator:
        return Evaluator(name=NAME, version=self.version, inputs=dict(self.inputs))
