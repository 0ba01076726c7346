"""The state of a batch for a view, from its coordinator."""

from __future__ import annotations

from collections import Counter

from agent.batch.coordinator import Coordinator
from agent.batch.state.view import BatchState, Phase, RunningUnit, time_left
from trajectories.batches.events import Holder


def state_of(
    coordinator: Coordinator, name: str, holder: Holder, began_s: float, now_s: float, *, is_over: bool = False
) -> BatchState:
    """Return the state of a batch at a time of the coordinator's clock."""
    failed: Counter[str] = Counter()
    held: Counter[str] = Counter()
    done = waiting = passed = judged = unevaluated = reruns = unpriced = 0
    for unit in coordinator.units.values():
        reruns += unit.counted
        unpriced += unit.reading.unpriced_calls
        if unit.phase == "running":
            continue
        if unit.status == "finished":
            done += 1
            verdict = unit.reading.passed
            judged += verdict is not None
            passed += bool(verdict)
            unevaluated += verdict is None
        elif unit.status == "failed":
            failed[unit.cause] += 1
        else:
            waiting += 1
            if unit.status == "waiting":
                held[unit.cause] += 1
    ledger, counts, settings = coordinator.ledger, coordinator.counts, coordinator.settings
    calls, tokens = coordinator.pace.per_minute(now_s)
    running = coordinator.running
    seconds = [now_s - unit.began_s for unit in running]
    reserved = ledger.reserved + ledger.kept
    return BatchState(
        name=name,
        units=len(coordinator.units),
        done=done,
        waiting=waiting,
        held=dict(held),
        failed=dict(failed),
        running=[
            RunningUnit(unit.trial, unit.configuration.arm, unit.steps, unit.doing, now_s - unit.began_s)
            for unit in running
        ],
        passed=passed,
        judged=judged,
        unevaluated=unevaluated,
        reruns=reruns,
        spent_usd=ledger.spent.usd,
        reserved_usd=reserved.usd,
        budget_usd=ledger.budget_usd,
        unpriced_calls=unpriced,
        tokens=ledger.spent.tokens,
        reserved_tokens=reserved.tokens,
        budget_tokens=ledger.budget_tokens,
        calls=counts.calls,
        calls_per_minute=calls,
        tokens_per_minute=tokens,
        cache_hit_rate=counts.cached_tokens / counts.prompt_tokens if counts.prompt_tokens else None,
        elapsed_s=now_s - began_s,
        left_s=time_left(counts.durations, seconds, waiting - sum(held.values()), settings.workers),
        phase=_phase(coordinator, waiting=waiting, is_over=is_over),
        coordinator=holder,
    )


def _phase(coordinator: Coordinator, *, waiting: int, is_over: bool) -> Phase:
    if not is_over:
        return "stopping" if coordinator.is_draining else "running"
    if not waiting:
        return "finished"
    return "interrupted" if coordinator.is_draining else "waiting"
