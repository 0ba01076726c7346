"""Proofs of a task by trials without a price: `nop` must fail, `oracle` must pass, and again in the same way.

The trials run with the machinery of `agent solve`, in a folder that is removed afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from agent.checking.findings import Finding
from agent.continuation.chain import Results, run_chain
from agent.evaluation.evaluate import evaluate_any
from agent.loop.worker import LoopWorker
from agent.models.choose import NOP, ORACLE
from agent.trial.fresh import Fresh
from agent.trial.options import Options
from agent.trial.order import Order
from agent.trial.outcome import Outcome
from agent.trial.resolve import resolve
from agent.trial.run import run_new
from benchmarks.task.task import Task
from trajectories.interrupts import interruptible
from trajectories.reading.interventions.stages import StageResult, together
from trajectories.record.events import Chain, Event
from trajectories.record.verdict import Verdict

RUNS = 3
"""Number of evaluations of one submission that must agree."""
_SHOWN = 3


def proofs(task: Task, options: Options, runs: Path) -> Iterator[Finding]:
    """Yield the results of the trials of `nop` and `oracle`, and of evaluating one of them again.

    Raises: UserError, MachineError, KeyboardInterrupt.
    """
    nop = _trial(replace(options, model=NOP, runs=runs))
    verdict = nop.verdict
    yield _no_verdict("nop", nop) or _of_nop(nop)
    if verdict is not None and verdict.status == "scored":
        yield from _of_sets(verdict)
    last, model = nop, NOP
    if not all(part.reference is not None for part in task.stages or (task,)):
        yield Finding(check="oracle", status="skipped", detail=task.solve_problem or "the task has no solution")
    else:
        last, model = _trial(replace(options, model=ORACLE, runs=runs)), ORACLE
        yield _no_verdict("oracle", last) or _of_oracle(last)
    if last.verdict is not None and last.verdict.status == "scored":
        repeated = replace(options, model=model, runs=runs) if task.result == "system" else None
        yield _of_repetition(last, runs, repeated)


def _trial(options: Options) -> Outcome:
    """Run one trial. Raises: UserError, MachineError, KeyboardInterrupt."""
    with interruptible():
        order = resolve(options)
    if order.chain is not None:
        results: Results = []
        run_chain(order, _unwatched, results)
        outcome = _of_stages([outcome for outcome, _ in results], order.chain)
    else:
        outcome, _ = run_new(order, Fresh(), LoopWorker(order))
    if outcome.interrupted:
        raise KeyboardInterrupt
    return outcome


@contextmanager
def _unwatched(order: Order, before: Sequence[Event], part: str) -> Iterator[None]:
    """Show no progress of a stage."""
    yield


def _of_stages(outcomes: Sequence[Outcome], chain: Chain) -> Outcome:
    """Return the outcome of a task with stages: the last one, with the verdict on all of them."""
    last, verdicts = outcomes[-1], [outcome.verdict for outcome in outcomes if outcome.verdict is not None]
    assert chain.result is not None
    if len(verdicts) < len(outcomes) or any(verdict.status != "scored" for verdict in verdicts):
        return last
    stages = [StageResult(bool(each.passed), each.quality or 0.0, each.metrics) for each in verdicts]
    result = together(stages, chain.result, chain.turns)
    assert result is not None
    cases = [
        case.model_copy(update={"id": f"{stage.name}: {case.id}"})
        for stage, verdict in zip(chain.stages, verdicts, strict=False)
        for case in verdict.cases
    ]
    update = {"passed": result.passed, "quality": result.quality, "metrics": result.metrics, "cases": tuple(cases)}
    return replace(last, verdict=verdicts[-1].model_copy(update=update))


def _no_verdict(check: str, outcome: Outcome) -> Finding | None:
    """Return the reason for which there is no score, or None."""
    verdict = outcome.verdict
    if verdict is None:
        reason = f"the trial was ended: {outcome.exit.cause}: {outcome.exit.detail}".rstrip(": ")
        return Finding(check=check, status="failed", detail=reason)
    if verdict.status == "error":
        return Finding(check=check, status="failed", detail=f"the evaluator failed: {verdict.error}")
    return None


def _of_nop(outcome: Outcome) -> Finding:
    verdict = outcome.verdict
    assert verdict is not None
    if verdict.passed:
        return Finding(check="nop", status="failed", detail="doing nothing passes, so the tests prove nothing")
    return Finding(check="nop", status="passed", detail=f"doing nothing fails ({_counts(verdict)})")


def _of_oracle(outcome: Outcome) -> Finding:
    verdict = outcome.verdict
    assert verdict is not None
    if verdict.passed:
        return Finding(check="oracle", status="passed", detail=f"the solution passes ({_counts(verdict)})")
    detail = f"the solution fails ({_counts(verdict)}): {_failing(verdict)}"
    return Finding(check="oracle", status="failed", detail=detail)


def _of_sets(verdict: Verdict) -> Iterator[Finding]:
    """Yield the state of the test sets F2P and P2P at the start, if the task has them, as metrics or as groups."""
    f2p, p2p = _set(verdict, "F2P"), _set(verdict, "P2P")
    if f2p is not None:
        detail = f"step score of the untouched repository: {f2p.step}"
        yield Finding(check="F2P at the start", status="failed" if f2p.passes else "passed", detail=detail)
    if p2p is not None:
        broken = "" if p2p.passes else f"; the untouched repository fails {_failing(verdict, 'P2P')}"
        detail = f"step score of the untouched repository: {p2p.step}{broken}"
        yield Finding(check="P2P at the start", status="passed" if p2p.passes else "failed", detail=detail)


@dataclass(frozen=True)
class _Set:
    """The result of a test set."""

    passes: bool
    step: float | None


def _set(verdict: Verdict, name: str) -> _Set | None:
    """Return the result of a test set; None if the verdict has no such set."""
    passes = verdict.metrics.get(f"{name.lower()}_pass")
    if passes is not None:
        return _Set(bool(passes), verdict.metrics.get(f"{name.lower()}_step"))
    cases = [case.status == "passed" for case in verdict.cases if case.group == name]
    return _Set(all(cases), round(sum(cases) / len(cases), 3)) if cases else None


def _of_repetition(outcome: Outcome, runs: Path, repeated: Options | None) -> Finding:
    """Evaluate a submission until there are three verdicts on it, and compare them.

    `repeated` are the options of a trial to run again instead: the live system of an agent is judged only once.
    """
    assert outcome.verdict is not None
    results = [_result(outcome.verdict)]
    subject = "evaluations of one submission" if repeated is None else "trials of one solution"
    for _ in range(RUNS - 1):
        if repeated is None:
            _, verdict = evaluate_any(str(outcome.directory), runs)
        else:
            verdict = _trial(repeated).verdict
        if verdict is None or verdict.status == "error":
            reason = "there was no verdict" if verdict is None else verdict.error
            return Finding(check="same result", status="failed", detail=f"an evaluation failed: {reason}")
        results.append(_result(verdict))
        if difference := _difference(results[0], results[-1]):
            return Finding(check="same result", status="failed", detail=f"two {subject} differ in {difference}")
    return Finding(check="same result", status="passed", detail=f"{RUNS} {subject} agree")


def _difference(first: Mapping[str, object], second: Mapping[str, object]) -> str:
    """Return the names of the values in which two results differ."""
    names = sorted(name for name in {*first, *second} if first.get(name) != second.get(name))
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _result(verdict: Verdict) -> dict[str, object]:
    """Return what must be the same in each evaluation."""
    cases = {case.id: case.status for case in verdict.cases}
    return {"passed": verdict.passed, "quality": verdict.quality, **verdict.metrics, **cases}


def _counts(verdict: Verdict) -> str:
    passed = sum(case.status == "passed" for case in verdict.cases)
    return f"{passed} of {len(verdict.cases)} tests pass" if verdict.cases else f"quality {verdict.quality}"


def _failing(verdict: Verdict, group: str | None = None) -> str:
    """Return the first tests that do not pass."""
    of_group = [case.id for case in verdict.cases if case.status != "passed" and group in (None, case.group)]
    more = f" and {len(of_group) - _SHOWN} more" if len(of_group) > _SHOWN else ""
    return ", ".join(of_group[:_SHOWN]) + more or verdict.error or "see the notes of the verdict"
